//! A run of a test over lines: opens the lines, starts the device under test where it is the probe's own, follows the instrument, collects.

use super::asked::Asked;
use super::device::{Device, Duty};
use super::fpga::{self, Fpga};
use super::kernel::{self, Taker};
use super::module::ModuleDut;
use super::order::Order;
use super::remarks;
use super::schedule::Schedule;
use super::stimulate::{Ended, RunCounts, Until, stimulate};
use super::wires::Real;
use crate::lines::{LineError, LineSpec};
use crate::measured::{Failure, Measured};
use crate::protocol::{Event, Plan};
use crate::snapshot::Root;
use crate::timer::conditions;
use crate::timer::live::live;
use crate::witness::{Post, Witness};
use rtscope_record::lines::LineFacts;
use rtscope_record::{Distribution, Instrument, Nanos, Policy, Space, Test, ThreadInfo, Warning};
use rtscope_samples::phase::PhaseSampler;
use rtscope_samples::sampler::LiveCell;
use rtscope_samples::stimuli::Shape;
use rtscope_sys::rt::{self, Signals, Woken};
use rtscope_sys::wire::Wire;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::time::Duration;

/// Stack of the instrument: `MCL_FUTURE` locks all of it.
const STACK: usize = 128 * 1024;
const PREFAULT: usize = 64 * 1024;
/// How long a device of another program may take to be there, ns.
const PATIENCE: u64 = 3_000_000_000;
/// The instrument in the kernel, in words.
const KERNEL: &str = "the kernel module rtscope_wire on this machine, in hard-IRQ context";
/// Stimuli of a calibration, and their interval, ns.
const CALIBRATION: (u64, u64) = (1000, 1_000_000);
/// How long a device may take to answer the last stimulus of a calibration that it heard, ns.
const CALIBRATION_REST: u64 = 1_000_000_000;

/// Prepares, calibrates, runs and collects the test of `plan`; the lines are given back whatever happens. As [`crate::timer::run`].
pub fn run(plan: &Plan, signals: &Signals, input: i32, say: &mut dyn FnMut(Event)) -> Result<Measured, Failure> {
    let asked = Asked::of(plan.test, &plan.settings)?;
    let s = asked.settings;
    let mut warnings = Vec::new();
    let _awake = conditions::hold_dma_latency(s, &mut warnings);
    rt::one_arena();
    if s.mlockall {
        if let Err(e) = rt::lock_memory() {
            warnings.push(conditions::memory_not_locked(&e));
        }
    }
    let witness = Witness::start(Root::of_this_machine(), &asked.watch(plan.test).for_plan(plan))?;
    rtscope_sys::rt::settle();
    let mut bench = Bench {
        plan,
        witness: Some(witness),
        posted: None,
        asked,
        signals,
        input,
        interrupted: false,
        device: None,
        module: None,
        facts: Instrument::default(),
        warnings,
    };
    bench.facts.what = if bench.asked.answer.is_wire() { KERNEL } else { "a task in user space on this machine" }.into();
    let measured = match plan.test {
        Test::Response => bench.response(say),
        Test::Periodic => bench.periodic(say),
        Test::Sustained => bench.sustained(say),
        Test::Timer => Err(Failure::usage("`timer` is not a test over lines", "measure response")),
    }?;
    bench.collect(measured)
}

/// What a test gives before the bench adds what it knows.
pub(super) struct Taken {
    pub(super) distributions: Vec<Distribution>,
    pub(super) own: RunCounts,
    pub(super) ended: Ended,
}

/// A job of the instrument's thread, and what became of it.
pub(super) struct Ran<T> {
    pub(super) outcome: T,
    pub(super) tid: u32,
    pub(super) refused: Option<Warning>,
}

/// What stimulates and times.
pub(super) enum Rig {
    /// A task in user space, over lines.
    Lines(Real),
    /// The kernel module rtscope_wire.
    Wire(Wire),
    /// The FPGA instrument.
    Fpga(Box<Fpga>),
}

impl Rig {
    /// Whether it is an instrument that does not answer any more.
    pub(super) fn is_gone(&mut self) -> bool {
        if let Self::Fpga(fpga) = self { fpga.status().is_err() } else { false }
    }
}

/// Everything that a test over lines needs around its loop.
pub(super) struct Bench<'a> {
    pub(super) plan: &'a Plan,
    pub(super) asked: Asked<'a>,
    signals: &'a Signals,
    input: i32,
    pub(super) interrupted: bool,
    device: Option<Device>,
    module: Option<(ModuleDut, Duty)>,
    witness: Option<Witness>,
    /// The instrument's thread, once it has been there.
    posted: Option<Arc<Post>>,
    pub(super) facts: Instrument,
    pub(super) warnings: Vec<Warning>,
}

/// The order to an instrument that calibrates by itself.
fn calibration() -> Order {
    let (count, interval) = CALIBRATION;
    Order {
        capture: false,
        intervals: (interval, interval),
        timeout: interval,
        count,
        seed: 0,
        inject: kernel::NULL_WIRE,
        shape: Shape::default(),
    }
}

fn facts(line: &LineSpec) -> LineFacts {
    let can = line.abilities();
    LineFacts { name: line.to_string(), what: can.what.into(), stamp: can.stamp }
}

/// Labels and live figures of what is followed.
pub(super) type Cells = Vec<(&'static str, Arc<LiveCell>)>;

impl Bench<'_> {
    /// Opens the lines, calibrates, starts the device or waits for it.
    pub(super) fn open(&mut self, duty: Duty, say: &mut dyn FnMut(Event)) -> Result<Rig, Failure> {
        let (stimulus, answer) = (self.asked.stimulus.clone(), self.asked.answer.clone());
        self.facts.stimulus = stimulus.as_ref().map(facts);
        self.facts.answer = Some(facts(&answer));
        if let Some(port) = answer.fpga_port() {
            let mut fpga = fpga::open(port)?;
            let who = fpga.identity();
            self.facts.emulated = fpga.is_emulated();
            let (name, ps) = (who.board_name(), who.resolution_ps());
            self.facts.what = format!("the FPGA instrument, {name}, at {port}, resolution {}.{:02} ns", ps / 1000, ps % 1000 / 10);
            if self.facts.emulated && !who.is_emulator() {
                self.facts.what += ", emulated: there is no hardware behind that port";
            }
            if self.asked.null_wire.is_some() {
                self.calibrate_fpga(&mut fpga, say)?;
            }
            self.start_device(duty, None)?;
            return Ok(Rig::Fpga(Box::new(fpga)));
        }
        if answer.is_wire() {
            let mut wire = kernel::open()?;
            if self.asked.null_wire.is_some() {
                if self.plan.space == Space::Kernel {
                    let message = "the DUT's module would answer during the calibration as well";
                    return Err(Failure::usage(message, "calibrate in a run without it, such as --dut wire"));
                }
                self.calibrate_wire(&mut wire, say)?;
            }
            self.start_device(duty, None)?;
            return Ok(Rig::Wire(wire));
        }
        let mut output = stimulus.as_ref().map(LineSpec::output).transpose()?;
        if let Some(null_wire) = self.asked.null_wire.clone() {
            output = self.calibrate(Real { stimulus: output, answer: null_wire.input()? }, &null_wire, say)?.stimulus;
        }
        let wires = Real { stimulus: output, answer: answer.input()? };
        self.start_device(duty, Some(&wires))?;
        Ok(Rig::Lines(wires))
    }

    /// Starts the probe's own device, or waits for the one that is somewhere else.
    fn start_device(&mut self, duty: Duty, wires: Option<&Real>) -> Result<(), Failure> {
        // With no DUT of ours the module may be on the machine at the other end of the wires; those of the kernel's instrument end here.
        let elsewhere = self.asked.lines.dut.is_none() && !self.asked.answer.is_wire() && !ModuleDut::is_loaded(duty);
        // Software lines are memory of this machine: whoever answers there, is here.
        if elsewhere && !self.asked.answer.is_soft() && self.asked.lines.dut.is_none() && self.asked.lines.self_answer.is_none() {
            // What this machine is like stands with the instrument; of the other one nothing is known.
            self.facts.system = Some(Box::default());
        }
        if self.plan.space == Space::Kernel && elsewhere {
            self.facts.dut = "another machine's task in kernel space, as was said".into();
            return wires.map_or(Ok(()), |wires| self.wait_for_device(wires));
        }
        if self.plan.space == Space::Kernel {
            let module = ModuleDut::find(duty)?;
            self.facts.dut.clone_from(&module.what);
            self.module = Some((module, duty));
            return Ok(());
        }
        if let Some(settings) = &self.asked.lines.dut {
            let post = self.witness.as_ref().map(|w| w.post("dut", None, 0));
            let mut device = Device::start(settings, duty, post)?;
            self.warnings.extend(device.warning.take());
            let priority = if settings.priority == 0 { "an ordinary task".into() } else { format!("FIFO {}", settings.priority) };
            let place = settings.cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
            self.facts.dut = format!("the probe's own thread in user space, {priority}{place}");
            self.device = Some(device);
        } else if self.asked.lines.self_answer.is_some() {
            self.facts.dut = "none: the instrument answered itself".into();
        } else {
            self.facts.dut = "another program or machine".into();
            wires.map_or(Ok(()), |wires| self.wait_for_device(wires))?;
        }
        Ok(())
    }

    /// The null wire inside the kernel's instrument.
    fn calibrate_wire(&mut self, wire: &mut Wire, say: &mut dyn FnMut(Event)) -> Result<(), Failure> {
        let mut brief = PhaseSampler::new(CALIBRATION.0);
        let order = calibration();
        self.follow(&Vec::new(), say, |stop| kernel::run(wire, &order, u64::MAX, stop, &mut Taker::Sink(&mut brief)))?;
        self.facts.calibration = Some(brief.finish());
        Ok(())
    }

    /// The loop inside the FPGA instrument.
    fn calibrate_fpga(&mut self, fpga: &mut Fpga, say: &mut dyn FnMut(Event)) -> Result<(), Failure> {
        let mut brief = PhaseSampler::new(CALIBRATION.0);
        let shape = Shape { active_low: self.asked.lines.active_low, ..Shape::default() };
        let (order, line) = (Order { shape, ..calibration() }, self.asked.answer.to_string());
        let ran = self.follow(&Vec::new(), say, |stop| fpga::calibrate(&line, fpga, &order, stop, &mut brief))?;
        let phase = brief.finish();
        if phase.count == 0 && ran.outcome.0 != Ended::Stopped {
            let message = format!("no stimulus came back over the loop inside {line}");
            return Err(Failure::machine(message, "test it: `rtscope fpga selftest PORT`"));
        }
        self.facts.calibration = Some(phase);
        // The stimuli were on the pin too: the device's last answers are not the run's.
        std::thread::sleep(Duration::from_nanos(self.asked.lines.timeout.0.min(CALIBRATION_REST)));
        Ok(())
    }

    /// Where a line can tell, the device's ends must be there before the first stimulus.
    fn wait_for_device(&self, wires: &Real) -> Result<(), Failure> {
        let end = rt::now() + PATIENCE;
        loop {
            let heard = wires.stimulus.as_ref().and_then(|o| o.has_listener()) != Some(false);
            let driven = wires.answer.has_driver() != Some(false);
            if heard && driven {
                return Ok(());
            }
            if rt::now() > end || self.signals.wait(-1, 20) == Woken::Signal {
                let stimulus = self.asked.stimulus.as_ref();
                let (line, what) = if heard {
                    (self.asked.answer.to_string(), "drives")
                } else {
                    (stimulus.map(ToString::to_string).unwrap_or_default(), "listens to")
                };
                let inlet = stimulus.map(|s| format!(" --in {s}")).unwrap_or_default();
                let task = if stimulus.is_some() { "response" } else { "periodic" };
                return Err(Failure::machine(
                    format!("nobody {what} {line}: there is no DUT"),
                    format!("start it: rtscope dut {task}{inlet} --out {}; or leave --dut none out", self.asked.answer),
                ));
            }
        }
    }

    /// The null wire: how long the instrument itself takes to see its own stimulus.
    fn calibrate(&mut self, wires: Real, line: &LineSpec, say: &mut dyn FnMut(Event)) -> Result<Real, Failure> {
        let mut brief = PhaseSampler::new(CALIBRATION.0);
        let mut wires = wires;
        let ran = self.follow(&Vec::new(), say, |stop| {
            let until = Until { stimuli: CALIBRATION.0, end: u64::MAX, stop };
            let mut schedule = Schedule::new(CALIBRATION.1, CALIBRATION.1, 0);
            stimulate(&mut wires, &mut schedule, CALIBRATION.1, &until, &mut brief)
        })?;
        let phase = brief.finish();
        if phase.count == 0 && ran.outcome.0 != Ended::Stopped {
            return Err(Failure::machine(
                format!("no edge of the stimulus came back on the null wire {line}"),
                "wire it straight to the stimulus line, or name the line that is: --calibrate=LINE",
            ));
        }
        self.facts.calibration = Some(phase);
        Ok(wires)
    }

    /// The instrument's thread, for the distributions that it took.
    pub(super) fn thread(&self, tid: u32, refused: Option<&Warning>) -> ThreadInfo {
        let s = self.asked.settings;
        let asked = if refused.is_some() { (Policy::Other, 0) } else { (s.policy, s.priority) };
        let (policy, priority) = self.posted.as_ref().and_then(|p| p.began_as()).unwrap_or(asked);
        let cpu = self.cpu();
        ThreadInfo { tid, cpu, policy: Some(policy), priority, interval: s.interval.0, last: None, first_at: None }
    }

    fn cpu(&self) -> Option<u32> {
        let s = self.asked.settings;
        if s.migrate { None } else { s.cpus.first().copied() }
    }

    /// Runs `job` on the instrument's own thread, and reports meanwhile.
    pub(super) fn follow<T: Send>(
        &mut self,
        cells: &Cells,
        say: &mut dyn FnMut(Event),
        job: impl FnOnce(&AtomicBool) -> Result<T, LineError> + Send,
    ) -> Result<Ran<T>, Failure> {
        let stop = AtomicBool::new(self.interrupted);
        let tid = AtomicU32::new(0);
        let (settings, cpu, reader) = (self.asked.settings, self.cpu(), self.asked.answer.is_autonomous());
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
                // Who only reads what the kernel stamped must not keep the DUT from its CPU.
                let refused = if reader { None } else { remarks::take_place(settings, cpu) };
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
            let mut next_progress = start;
            let mut driver = self.input;
            while !handle.is_finished() {
                let ended = self.witness.as_ref().is_some_and(Witness::ended_it);
                if self.interrupted || ended || self.device.as_ref().is_some_and(Device::ended) {
                    stop.store(true, SeqCst);
                }
                match self.signals.wait(if self.interrupted { -1 } else { driver }, 10) {
                    Woken::Signal => self.interrupted = true,
                    Woken::Input if rtscope_sys::ended(driver) => self.interrupted = true,
                    Woken::Input => driver = self.input,
                    Woken::Timeout => {}
                }
                let now = rt::now();
                if self.plan.progress_ms > 0 && !cells.is_empty() && now >= next_progress {
                    next_progress = now + u64::from(self.plan.progress_ms) * 1_000_000;
                    let figures = |(label, cell): &(&'static str, Arc<LiveCell>)| {
                        live(cell, label, tid.load(SeqCst), settings.priority, settings.interval.0)
                    };
                    say(Event::Progress { elapsed_ns: now - start, threads: cells.iter().map(figures).collect() });
                }
            }
            handle.join().map_err(|_| Failure::machine("the instrument's thread panicked", "report this with the lines above"))
        })?;
        Ok(Ran { outcome: outcome?, tid: tid.into_inner(), refused })
    }

    /// Ends the device, and puts everything together.
    fn collect(mut self, taken: Taken) -> Result<Measured, Failure> {
        let Taken { distributions, own, ended } = taken;
        if let Some(device) = self.device.take() {
            device.end()?;
        }
        if let Some((module, duty)) = self.module.take() {
            self.warnings.extend(module.check(duty)?);
        }
        self.facts.uncertainty = own.span_max;
        self.facts.uncertainty_mean = own.span_sum.div_ceil(own.stimuli.max(1));
        (self.facts.lost, self.facts.behind, self.facts.narrow) = (own.lost, own.behind, own.narrow);
        if own.edges == 0 && self.plan.test == Test::Periodic {
            return Err(Failure::machine(
                format!("no edge came on {} in {}", self.asked.answer, Nanos(own.elapsed)),
                "is the wave being made, and is its line wired to this one?",
            ));
        }
        if own.edges == 0 && own.stimuli > 0 && (ended != Ended::Stopped || own.stimuli >= 20) {
            return Err(remarks::nothing_came(self.facts.stimulus.as_ref(), &self.asked.answer, own.stimuli));
        }
        self.warnings.extend(remarks::of(&self.asked, &self.facts, &distributions, own, ended));
        let witness = self.witness.take().map(|w| w.finish(own.elapsed)).transpose()?;
        Ok(Measured {
            distributions,
            warnings: self.warnings,
            elapsed_ns: own.elapsed,
            interrupted: self.interrupted,
            instrument: Some(self.facts),
            witness,
        })
    }
}
