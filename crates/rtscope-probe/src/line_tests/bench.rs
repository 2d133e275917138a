//! A run of a test over lines: opens the lines, starts the DUT if it is the probe's own, follows the
//! instrument, collects the results.

use super::checked::LineTest;
use super::device::{Device, Duty};
use super::instrument::{Answers, Ended, Instrument, Order, RunCounts};
use super::instruments;
use super::module::ModuleDut;
use super::warnings;
use crate::lines::{LineError, LineSpec};
use crate::measured::{Failure, Measured};
use crate::protocol::{Event, ProbePlan};
use crate::reporter::Reporter;
use crate::snapshot::Root;
use crate::timer::conditions;
use crate::timer::live::live;
use crate::witness::{Post, RunningWitness};
use rtscope_record::lines::{InstrumentFacts, LineFacts};
use rtscope_record::{Distribution, Effect, Nanos, Policy, Shape, Space, Test, ThreadInfo, Warning};
use rtscope_samples::phase::PhaseSampler;
use rtscope_samples::sampler::LiveCell;
use rtscope_sys::rt::{self, Signals, Woken};
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Relaxed, SeqCst},
};

/// Stack size of the instrument's thread; `MCL_FUTURE` locks all of it.
const STACK: usize = 128 * 1024;
const PREFAULT: usize = 64 * 1024;
/// How often a working instrument is checked, ms.
const POLL_INTERVAL: i32 = 10;
/// How long to wait for a device of another program, ns.
const DEVICE_TIMEOUT: u64 = 3_000_000_000;
/// Number of stimuli of a calibration, and their interval, ns.
const CALIBRATION: (u64, u64) = (1000, 1_000_000);

/// Prepares, calibrates, runs and collects the test of `plan`. The lines are released in every case. Parameters
/// as in [`crate::timer::run`].
pub fn run(plan: &ProbePlan, signals: &Signals, input: i32, say: &mut dyn FnMut(Event)) -> Result<Measured, Failure> {
    let test = LineTest::of(plan.test, &plan.settings)?;
    let s = test.settings;
    let mut warnings = Vec::new();
    let _awake = conditions::hold_dma_latency(s, &mut warnings);
    rt::one_arena();
    if s.mlockall {
        if let Err(e) = rt::lock_memory() {
            warnings.push(conditions::memory_not_locked(&e));
        }
    }
    let witness = RunningWitness::start(Root::of_this_machine(), &test.watch(plan.test).for_plan(plan))?;
    rtscope_sys::rt::settle();
    let mut bench = Bench {
        plan,
        witness: Some(witness),
        posted: None,
        test,
        signals,
        reporter: Reporter::new(plan, signals, input),
        broken: false,
        device: None,
        module: None,
        facts: InstrumentFacts::default(),
        warnings,
    };
    let measured = match plan.test {
        Test::Response => bench.response(say),
        Test::Periodic => bench.periodic(say),
        Test::Sustained => bench.sustained(say),
        Test::Timer => Err(Failure::usage("`timer` is not a test over lines", "measure response")),
    }?;
    bench.collect(measured)
}

/// The result of a test, before the bench adds what it knows.
pub(super) struct Taken {
    pub(super) distributions: Vec<Distribution>,
    pub(super) counts: RunCounts,
    pub(super) ended: Ended,
}

/// The outcome of a job on the instrument's thread.
pub(super) struct Ran<T> {
    pub(super) outcome: T,
    pub(super) tid: u32,
    pub(super) refused: Option<Warning>,
}

/// Everything that a test over lines needs around its loop.
pub(super) struct Bench<'a> {
    pub(super) plan: &'a ProbePlan,
    pub(super) test: LineTest<'a>,
    signals: &'a Signals,
    reporter: Reporter<'a>,
    /// The limit of missed stimuli was reached.
    broken: bool,
    device: Option<Device>,
    module: Option<(ModuleDut, Duty)>,
    witness: Option<RunningWitness>,
    /// The post of the instrument's thread, once there was one.
    posted: Option<Arc<Post>>,
    pub(super) facts: InstrumentFacts,
    pub(super) warnings: Vec<Warning>,
}

/// The order for a calibration.
fn calibration() -> Order {
    let (count, interval) = CALIBRATION;
    Order {
        capture: false,
        intervals: (interval, interval),
        timeout: interval,
        stimuli: Some(count),
        duration: None,
        count,
        seed: 0,
        answers: Answers::NullWire,
        shape: Shape::default(),
        again: false,
    }
}

fn facts(line: &LineSpec) -> LineFacts {
    let can = line.abilities();
    LineFacts { name: line.to_string(), what: can.what.into(), stamp: can.stamp }
}

/// Labels and live figures shown while a run is followed.
pub(super) type Cells = Vec<(&'static str, Arc<LiveCell>)>;

impl Bench<'_> {
    /// Opens the instrument, calibrates it, starts the device or waits for it.
    pub(super) fn open(&mut self, duty: Duty, say: &mut dyn FnMut(Event)) -> Result<Box<dyn Instrument>, Failure> {
        self.facts.stimulus = self.test.stimulus.as_ref().map(facts);
        self.facts.answer = Some(facts(&self.test.answer));
        let mut instrument = instruments::open(self.plan, &self.test)?;
        instrument.describe(&mut self.facts);
        let calibrated = self.test.null_wire.is_some();
        if calibrated {
            if self.test.answer.is_wire() && self.plan.space == Space::Kernel {
                let message = "the DUT's module would answer during the calibration as well";
                return Err(Failure::usage(message, "calibrate in a run without it, such as --dut wire"));
            }
            self.calibrate(instrument.as_mut(), say)?;
        }
        instrument.prepare(&Order { timeout: self.test.lines.timeout.0, ..calibration() }, calibrated)?;
        if instrument.answers_itself() {
            self.facts.dut = "none: the instrument answers itself".into();
        } else {
            self.start_device(duty, instrument.as_ref())?;
        }
        Ok(instrument)
    }

    /// Starts the probe's own device, or waits for one elsewhere.
    fn start_device(&mut self, duty: Duty, instrument: &dyn Instrument) -> Result<(), Failure> {
        // Without our own DUT, the module may be on the machine at the other end of the wires. The wires of the
        // kernel's instrument end on this machine.
        let elsewhere = self.test.lines.dut.is_none() && !self.test.answer.is_wire() && !ModuleDut::is_loaded(duty);
        // Software lines are memory of this machine, so whoever answers there runs here.
        if elsewhere && !self.test.answer.is_soft() && self.test.lines.dut.is_none() && self.test.lines.self_answer.is_none() {
            // The state of this machine belongs to the instrument; nothing is known of the DUT's.
            self.facts.system = Some(Box::default());
        }
        if self.plan.space == Space::Kernel && elsewhere {
            self.facts.dut = "a task in the kernel of another machine, as the options say".into();
            return self.wait_for_device(instrument);
        }
        if self.plan.space == Space::Kernel {
            let module = ModuleDut::find(duty)?;
            self.facts.dut.clone_from(&module.what);
            self.module = Some((module, duty));
            return Ok(());
        }
        if let Some(settings) = &self.test.lines.dut {
            let post = self.witness.as_ref().map(|w| w.post("dut", None, 0));
            let mut device = Device::start(settings, duty, post)?;
            self.warnings.extend(device.warning.take());
            let priority = if settings.priority == 0 { "an ordinary task".into() } else { format!("FIFO {}", settings.priority) };
            let place = settings.cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
            self.facts.dut = format!("the probe's own thread in user space, {priority}{place}");
            self.device = Some(device);
        } else if self.test.lines.self_answer.is_some() {
            self.facts.dut = "none: the instrument answered itself".into();
        } else {
            self.facts.dut = "another program or machine".into();
            self.wait_for_device(instrument)?;
        }
        Ok(())
    }

    /// Measures the instrument's own delay.
    fn calibrate(&mut self, instrument: &mut dyn Instrument, say: &mut dyn FnMut(Event)) -> Result<(), Failure> {
        let mut samples = PhaseSampler::new(CALIBRATION.0);
        let ran = self.follow(&Vec::new(), say, |stop| instrument.calibrate(&calibration(), stop, &mut samples))?;
        let phase = samples.finish();
        if let Some((message, remedy)) = instrument.dead_null_wire().filter(|_| phase.count == 0 && ran.outcome.0 != Ended::Stopped)
        {
            return Err(Failure::machine(message, remedy));
        }
        self.facts.calibration = Some(phase);
        Ok(())
    }

    /// Waits until the device's ends are there before the first stimulus, if the lines can tell.
    fn wait_for_device(&self, instrument: &dyn Instrument) -> Result<(), Failure> {
        let end = rt::now() + DEVICE_TIMEOUT;
        loop {
            let [heard, driven] = instrument.other_ends().map(|there| there != Some(false));
            if heard && driven {
                return Ok(());
            }
            if rt::now() > end || self.signals.wait(-1, 20) == Woken::Signal {
                let stimulus = self.test.stimulus.as_ref();
                let (line, what) = if heard {
                    (self.test.answer.to_string(), "drives")
                } else {
                    (stimulus.map(ToString::to_string).unwrap_or_default(), "listens to")
                };
                let inlet = stimulus.map(|s| format!(" --in {s}")).unwrap_or_default();
                let task = if stimulus.is_some() { "response" } else { "periodic" };
                return Err(Failure::machine(
                    format!("nobody {what} {line}: there is no DUT"),
                    format!("start it: rtscope dut {task}{inlet} --out {}; or leave --dut none out", self.test.answer),
                ));
            }
        }
    }

    /// The instrument's thread, for the distributions that it measured.
    pub(super) fn thread(&self, tid: u32, refused: Option<&Warning>) -> ThreadInfo {
        let s = self.test.settings;
        let asked = if refused.is_some() { (Policy::Other, 0) } else { (s.policy, s.priority) };
        let (policy, priority) = self.posted.as_ref().and_then(|p| p.began_as()).unwrap_or(asked);
        let cpu = self.cpu();
        ThreadInfo { tid, cpu, policy: Some(policy), priority, interval: s.interval.0, last: None, first_at: None }
    }

    fn cpu(&self) -> Option<u32> {
        let s = self.test.settings;
        if s.migrate { None } else { s.cpus.first().copied() }
    }

    /// Runs `job` on the instrument's own thread, and reports meanwhile.
    pub(super) fn follow<T: Send>(
        &mut self,
        cells: &Cells,
        say: &mut dyn FnMut(Event),
        job: impl FnOnce(&AtomicBool) -> Result<T, LineError> + Send,
    ) -> Result<Ran<T>, Failure> {
        let stop = AtomicBool::new(self.reporter.interrupted());
        let tid = AtomicU32::new(0);
        let (settings, cpu, reader) = (self.test.settings, self.cpu(), self.test.answer.is_autonomous());
        let start = rt::now();
        let post = self.witness.as_ref().map(|w| w.post("instrument", None, 0));
        self.posted.clone_from(&post);
        if !cells.is_empty() {
            say(Event::Started);
            self.witness.iter().for_each(|w| w.begin(start));
        }
        let (outcome, refused) = std::thread::scope(|scope| {
            let run = || {
                tid.store(rt::tid(), SeqCst);
                rt::prefault_stack::<PREFAULT>();
                // A thread that only reads kernel stamps must not keep the DUT from its CPU.
                let refused = if reader { None } else { warnings::take_place(settings, cpu) };
                let _ = if reader { rt::come_before_ordinary_tasks() } else { Ok(()) };
                if let Some(p) = &post {
                    p.enter();
                }
                let outcome = job(&stop);
                if let Some(p) = &post {
                    p.leave();
                }
                // Back to an ordinary thread: what follows is not measured.
                if !post.as_ref().is_some_and(|p| p.is_emergency()) {
                    let _ = rt::set_policy(Policy::Other, 0, 0);
                }
                (outcome, refused)
            };
            let builder = std::thread::Builder::new().name("rts-instrument".into()).stack_size(STACK);
            let handle = builder
                .spawn_scoped(scope, run)
                .map_err(|e| Failure::machine(format!("thread of the instrument: {e}"), "end other programs"))?;
            self.reporter.begin(start, 0);
            while !handle.is_finished() {
                let ended = self.witness.as_ref().is_some_and(RunningWitness::ended_it);
                let missed = cells.iter().map(|(_, cell)| cell.missed.load(Relaxed)).sum::<u64>();
                if self.test.lines.shape.break_missed.is_some_and(|most| missed >= most) && !self.broken {
                    self.broken = true;
                    self.warnings.push(Warning::new(
                        "broken",
                        Effect::Note,
                        format!("the run was ended with {missed} missed"),
                        "the limit was asked for with --break-missed",
                    ));
                }
                if self.broken || self.reporter.interrupted() || ended || self.device.as_ref().is_some_and(Device::ended) {
                    stop.store(true, SeqCst);
                }
                self.reporter.wait(POLL_INTERVAL);
                // No live figures for a calibration or a trial of the search.
                if !cells.is_empty() {
                    let figures = |(label, cell): &(&'static str, Arc<LiveCell>)| {
                        live(cell, label, tid.load(SeqCst), settings.priority, settings.interval.0)
                    };
                    self.reporter.report(|| cells.iter().map(figures).collect(), say);
                }
            }
            handle.join().map_err(|_| Failure::machine("the instrument's thread panicked", "report this with the lines above"))
        })?;
        Ok(Ran { outcome: outcome?, tid: tid.into_inner(), refused })
    }

    /// Ends the device, and assembles the result.
    fn collect(mut self, taken: Taken) -> Result<Measured, Failure> {
        let Taken { distributions, counts, ended } = taken;
        if let Some(device) = self.device.take() {
            device.end()?;
        }
        if let Some((module, duty)) = self.module.take() {
            self.warnings.extend(module.check(duty)?);
        }
        self.facts.uncertainty = counts.span_max;
        self.facts.uncertainty_mean = counts.span_sum.div_ceil(counts.stimuli.max(1));
        (self.facts.lost, self.facts.behind, self.facts.narrow) = (counts.lost, counts.behind, counts.narrow);
        if counts.edges == 0 && self.plan.test == Test::Periodic {
            return Err(Failure::machine(
                format!("no edge came on {} in {}", self.test.answer, Nanos(counts.elapsed)),
                "is the wave being made, and is its line wired to this one?",
            ));
        }
        if counts.edges == 0 && counts.stimuli > 0 && (ended != Ended::Stopped || counts.stimuli >= 20) {
            return Err(warnings::nothing_came(self.facts.stimulus.as_ref(), &self.test.answer, counts.stimuli));
        }
        self.warnings.extend(warnings::of(&self.test, &self.facts, &distributions, counts, ended));
        let witness = self.witness.take().map(|w| w.finish(counts.elapsed)).transpose()?;
        Ok(Measured {
            distributions,
            warnings: self.warnings,
            elapsed_ns: counts.elapsed,
            interrupted: self.reporter.interrupted(),
            instrument: Some(self.facts),
            witness,
        })
    }
}
