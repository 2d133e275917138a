//! The timer test in the kernel. The module rtscope_timer expires a timer on each CPU and stamps its callback;
//! this module books its records.

use super::conditions::hold_dma_latency;
use super::live::live;
use crate::measured::{Failure, Measured};
use crate::protocol::{Event, ProbePlan};
use crate::reporter::Reporter;
use crate::snapshot::Root;
use crate::witness::{RunningWitness, WitnessOrder};
use rtscope_record::{Distribution, Effect, Handler, Policy, Settings, ThreadInfo, Warning};
use rtscope_samples::sampler::{LiveCell, Sampler};
use rtscope_sys::module_devices::{TIMER_DEVICE, Timer, TimerConfig, TimerEvent, TimerStatus};
use rtscope_sys::rt::{self, Signals};
use rtscope_sys::wire_device::ABI;
use std::io;
use std::sync::Arc;

/// Time from START to the first grid point, ns.
const LEAD: u64 = 1_000_000;
/// Shortest interval that the module accepts, ns.
const SHORTEST: u64 = 10_000;
/// Longest interval, ns.
const LONGEST: u64 = 3_600_000_000_000;
/// Records (32 bytes each) in all rings together at most, and in each ring at least.
const RINGS: (u64, u64) = (1 << 17, 1 << 10);
/// What to do where no timer's interrupt can be made a FIQ.
const NO_FIQ: &str = "--handler fiq takes 32-bit Arm: a kernel with CONFIG_FIQ, the architecture's timer, and a GICv2 without security extensions, as in --target lab:debian/6.12/armhf; elsewhere choose --handler hard";
/// How often the run is checked, ms.
const POLL_INTERVAL: i32 = 50;

/// Runs the test. Parameters as in [`super::run`].
pub fn run(plan: &ProbePlan, signals: &Signals, input: i32, say: &mut dyn FnMut(Event)) -> Result<Measured, Failure> {
    let s = &plan.settings;
    let config = config(s)?;
    let mut warnings = Vec::new();
    let _awake = hold_dma_latency(s, &mut warnings);
    let mut timer = Timer::open().map_err(failed("open"))?;
    timer.configure(&config).map_err(failed("configure"))?;
    let mut cpus = Cpus::new(s);
    // Nothing precedes a hard interrupt. The thread of the soft one, if there is one, runs at FIFO 1.
    let ours = (s.handler == Some(Handler::Soft)).then_some((Policy::Fifo, 1));
    let order = WitnessOrder {
        cpus: s.cpus.clone(),
        ours,
        planned: s.duration.map(|d| d.0),
        grid: Some(s.interval.0),
        ends_only: plan.progress_ms == 0,
    };
    let witness = RunningWitness::start(Root::of_this_machine(), &order)?;
    let _ = rt::come_before_ordinary_tasks();
    rt::settle();
    say(Event::Started);
    let start = rt::now();
    timer.start().map_err(failed("start"))?;
    let began = timer.status(s.cpus[0]).map_err(failed("ask"))?.started_ns;
    witness.begin(began);
    let mut reporter = Reporter::new(plan, signals, input);
    reporter.begin(start, 0);
    loop {
        reporter.wait(POLL_INTERVAL);
        if reporter.interrupted() || witness.ended_it() {
            timer.stop().map_err(failed("stop"))?;
        }
        let ended = timer.read(|event| cpus.take(event, began)).map_err(failed("read"))?;
        reporter.report(|| cpus.live(s), say);
        if ended {
            break;
        }
    }
    let status = |cpu: u32| timer.status(cpu).map_err(failed("ask"));
    let elapsed_ns = rt::now().saturating_sub(began);
    let distributions = cpus.finish(s, status)?;
    warnings.extend(remarks(&distributions));
    let witness = Some(witness.finish(elapsed_ns)?);
    Ok(Measured { distributions, warnings, elapsed_ns, interrupted: reporter.interrupted(), instrument: None, witness })
}

fn failed(act: &'static str) -> impl FnOnce(io::Error) -> Failure {
    move |e| {
        let remedy = match e.raw_os_error() {
            Some(libc::ENOENT) => "load the kernel module rtscope_timer: run as root, or insmod rtscope_timer.ko",
            Some(libc::EBUSY) if act == "start" => {
                "the kernel itself, or another module, has the FIQ or its timer: choose --handler hard"
            }
            Some(libc::EBUSY) => "another run has it: wait for its end",
            Some(libc::EOPNOTSUPP) => NO_FIQ,
            Some(libc::EPROTO | libc::ENOTTY) => "the module is of another version of rtscope: build it anew",
            Some(libc::EACCES | libc::EPERM) => "run as root",
            Some(libc::ENXIO) => "name online CPUs with --affinity",
            _ => "the kernel's log says more: dmesg | tail",
        };
        Failure::machine(format!("{TIMER_DEVICE}: {act}: {e}"), remedy)
    }
}

/// The module's name for a handler: `enum rtscope_context`.
fn context(handler: Option<Handler>) -> u32 {
    match handler {
        Some(Handler::Soft) => 1,
        Some(Handler::Fiq) => 2,
        _ => 0,
    }
}

/// The module's configuration. Fails for settings that the module does not support.
fn config(s: &Settings) -> Result<TimerConfig, Failure> {
    let usage = |message: String, remedy: &str| Err(Failure::usage(message, remedy));
    if !(SHORTEST..=LONGEST).contains(&s.interval.0) {
        return usage(format!("the interval {} is not from 10us to 1h", s.interval), "the kernel's timer takes 10us and more");
    }
    if s.migrate || s.cpus.is_empty() {
        return usage("a timer in the kernel is pinned to its CPU".into(), "leave --migrate out");
    }
    let other = s.break_above.is_some() || s.samples || s.linear_bins.is_some() || s.distance.0 > 0 || s.start_offset.0 > 0;
    if other || s.threads as usize != s.cpus.len() {
        let message = "in the kernel there is one timer for each CPU, on one grid, without break, raw samples or bins";
        return usage(message.into(), "leave these options out");
    }
    let count = s.loops.or(s.duration.map(|d| d.0 / s.interval.0)).unwrap_or(0);
    if count == 0 {
        return usage("a run of nothing was asked for".into(), "ask for a duration of at least one interval, or for loops");
    }
    let mut cpus = [0u64; 16];
    for &cpu in &s.cpus {
        let Some(word) = cpus.get_mut(cpu as usize / 64) else {
            return usage(format!("CPU {cpu} is beyond 1023"), "name others with --affinity");
        };
        *word |= 1 << (cpu % 64);
    }
    // Room for all records if possible, so that nothing has to be read during the run.
    let most = (RINGS.0 / s.cpus.len() as u64).max(RINGS.1);
    let ring = count.clamp(64, most).next_power_of_two();
    let ring_records = u32::try_from(ring).unwrap_or(1 << 17);
    Ok(TimerConfig {
        abi: ABI,
        context: context(s.handler),
        ring_records,
        interval_ns: s.interval.0,
        start_delay_ns: LEAD,
        count,
        wake_records: if count <= ring { ring_records } else { ring_records / 2 },
        cpus,
        ..TimerConfig::default()
    })
}

/// The records of one CPU's timer.
struct CpuSamples {
    cpu: u32,
    sampler: Sampler,
    cell: Arc<LiveCell>,
    /// The latest record.
    last: Option<TimerEvent>,
    /// Points passed over, according to the records.
    said: u64,
    /// Those of them whose latency is known.
    known: u64,
}

impl CpuSamples {
    fn take(&mut self, e: &TimerEvent, began: u64) {
        self.said += u64::from(e.missed);
        if let Some(last) = self.last.replace(*e) {
            // A record says how many points were passed over before it; when, follows from the previous record, which may
            // be lost.
            let step = e.expected_ns.wrapping_sub(last.expected_ns);
            let regular = Some(step) == (u64::from(e.missed) + 1).checked_mul(self.sampler.passed.interval());
            if e.seq == last.seq.wrapping_add(1) && regular {
                self.passed_after(&last, e.missed.into());
            }
        }
        self.sampler.record(e.actual_ns.saturating_sub(e.expected_ns), e.actual_ns.max(began), began);
        self.sampler.show_missed(self.known);
    }

    /// Books the points that this record's callback passed over, but not more than are possible.
    fn passed_after(&mut self, e: &TimerEvent, points: u64) {
        let interval = self.sampler.passed.interval();
        let late = e.actual_ns.saturating_sub(e.expected_ns);
        if points > 0 && late.checked_div(interval).is_some_and(|most| points <= most) {
            self.sampler.passed.stall(late - interval, points);
            self.known += points;
        }
    }

    /// Makes the distribution. `counts` are the module's own, which must agree with the records.
    fn finish(mut self, s: &Settings, counts: &TimerStatus) -> Result<Distribution, Failure> {
        let (cpu, read) = (self.cpu, self.sampler.count());
        if read + counts.lost != counts.samples || counts.samples + counts.missed != counts.due {
            let message = format!("cpu{cpu}: the module's counts do not add up: {read} read, {counts:?}");
            return Err(Failure::machine(message, "report this"));
        }
        // What the last callback passed over is in no record, but in the counts.
        if let (Some(last), 0) = (self.last, counts.lost) {
            self.passed_after(&last, counts.missed.saturating_sub(self.said));
        }
        // Points passed over by the callback of a lost record count as dropped like its sample, because their latency
        // is unknown.
        let missed = self.known.min(counts.missed);
        let dropped = counts.lost + (counts.missed - missed);
        let interval = s.interval.0;
        let distribution = self.sampler.finish(|p| {
            p.label = format!("cpu{cpu}");
            (p.missed, p.dropped, p.expected) = (missed, dropped, Some(counts.due));
            p.thread =
                Some(ThreadInfo { tid: 0, cpu: Some(cpu), policy: None, priority: 0, interval, last: None, first_at: Some(0) });
        });
        distribution.map_err(|e| Failure::machine(format!("the counts do not add up: {e}"), "report this"))
    }
}

/// The records of all CPUs' timers.
struct Cpus {
    all: Vec<CpuSamples>,
}

impl Cpus {
    fn new(s: &Settings) -> Self {
        let one = |&cpu: &u32| {
            let sampler = Sampler::new(s.worst, None, false).on_grid(s.interval.0);
            CpuSamples { cpu, cell: sampler.live(), sampler, last: None, said: 0, known: 0 }
        };
        Self { all: s.cpus.iter().map(one).collect() }
    }

    fn take(&mut self, e: &TimerEvent, began: u64) {
        if let Some(cpu) = self.all.iter_mut().find(|b| b.cpu == e.cpu) {
            cpu.take(e, began);
        }
    }

    fn live(&self, s: &Settings) -> Vec<crate::protocol::Live> {
        self.all.iter().map(|b| live(&b.cell, &format!("cpu{}", b.cpu), 0, 0, s.interval.0)).collect()
    }

    /// Makes the distributions; `status` gives the module's counts for a CPU.
    fn finish(self, s: &Settings, status: impl Fn(u32) -> Result<TimerStatus, Failure>) -> Result<Vec<Distribution>, Failure> {
        self.all.into_iter().map(|cpu| status(cpu.cpu).and_then(|counts| cpu.finish(s, &counts))).collect()
    }
}

fn remarks(distributions: &[Distribution]) -> Vec<Warning> {
    let mut all = Vec::new();
    for d in distributions {
        let (label, missed, lost) = (d.label(), d.missed(), d.parts().dropped);
        if missed > 0 {
            all.push(Warning::new(
                "missed-periods",
                Effect::Note,
                format!("{label} passed over {missed} grid points: see the corrected percentiles"),
                "a longer interval, or a less loaded or better prepared machine (rtscope check)",
            ));
        }
        if lost > 0 {
            all.push(Warning::new(
                "samples-lost",
                Effect::Invalid,
                format!("{label}: {lost} samples are not known: records of the kernel module found their ring full"),
                "a longer interval, fewer CPUs, or a less loaded machine",
            ));
        }
        if d.count() == 0 {
            all.push(Warning::new(
                "no-samples",
                Effect::Invalid,
                format!("{label} took no sample at all"),
                "measure for longer than the interval",
            ));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rtscope_record::Nanos;

    fn settings() -> Settings {
        Settings { cpus: vec![1, 70], threads: 2, duration: Some(Nanos(1_000_000_000)), ..Settings::default() }
    }

    #[test]
    fn the_module_is_told_what_was_asked_for() {
        let c = config(&settings()).unwrap();
        assert_eq!((c.count, c.interval_ns, c.context, c.ring_records, c.wake_records), (1000, 1_000_000, 0, 1024, 1024));
        assert_eq!((c.cpus[0], c.cpus[1]), (2, 1 << 6));
        let long = Settings { loops: Some(1 << 40), handler: Some(Handler::Soft), ..settings() };
        let c = config(&long).unwrap();
        assert_eq!((c.context, c.count, c.ring_records, c.wake_records), (1, 1 << 40, 1 << 16, 1 << 15));
        assert_eq!(config(&Settings { handler: Some(Handler::Fiq), ..settings() }).unwrap().context, 2);
        assert_eq!(config(&Settings { handler: Some(Handler::Hard), ..settings() }).unwrap().context, 0);
    }

    #[test]
    fn what_the_module_can_not_do_is_refused() {
        let s = settings();
        for wrong in [
            Settings { interval: Nanos(9_999), ..s.clone() },
            Settings { migrate: true, cpus: Vec::new(), ..s.clone() },
            Settings { cpus: vec![1024], threads: 1, ..s.clone() },
            Settings { duration: Some(Nanos(10)), ..s.clone() },
            Settings { break_above: Some(Nanos(1)), ..s.clone() },
            Settings { threads: 5, ..s },
        ] {
            assert!(config(&wrong).unwrap_err().is_usage());
        }
    }

    /// The module's records of a timer with the latencies `lates`, repeated for `points` grid points; its counts;
    /// and the true wait of each point.
    fn module(lates: &[u64], interval: u64, points: u64) -> (Vec<TimerEvent>, TimerStatus, Vec<u64>) {
        let (mut events, mut c, mut truth, mut passed) = (Vec::new(), TimerStatus::default(), Vec::new(), 0);
        for (seq, late) in (0..).zip(lates.iter().cycle()) {
            if c.due == points {
                break;
            }
            let expected_ns = 1_000 + c.due * interval;
            events.push(TimerEvent { seq, expected_ns, actual_ns: expected_ns + late, cpu: 1, missed: passed });
            let after = (late / interval).min(points - c.due - 1);
            truth.extend((0..=after).map(|k| late - k * interval));
            (c.samples, c.missed, c.due) = (c.samples + 1, c.missed + after, c.due + 1 + after);
            passed = u32::try_from(after).unwrap();
        }
        (events, c, truth)
    }

    fn one_cpu(interval: u64) -> Settings {
        Settings { cpus: vec![1], threads: 1, interval: Nanos(interval), ..settings() }
    }

    proptest! {
        #[test]
        fn the_corrected_view_is_what_each_point_waited(
            lates in prop::collection::vec(prop_oneof![0u64..50_000, 0u64..3_000_000], 1..20), interval in 10_000u64..500_000, points in 1u64..800,
        ) {
            let s = one_cpu(interval);
            let (events, counts, truth) = module(&lates, interval, points);
            let mut cpus = Cpus::new(&s);
            for e in &events { cpus.take(e, 0); }
            let d = cpus.finish(&s, |_| Ok(counts)).unwrap().remove(0);
            let mut plain = rtscope_record::Histogram::new();
            for &v in &truth { plain.record(v, 1).unwrap(); }
            let c = rtscope_record::correction::Corrected::exact(&d).unwrap();
            prop_assert_eq!((c.count(), d.dropped()), (points, 0));
            prop_assert_eq!(c.histogram, plain);
            let mean = truth.iter().sum::<u64>() as f64 / points as f64;
            prop_assert!((c.mean.unwrap() - mean).abs() <= 1e-9 * mean.max(1.0));
        }

        /// Whichever records are lost, everything that is booked is true, and everything else is dropped.
        #[test]
        fn what_is_lost_with_a_record_is_dropped(
            lates in prop::collection::vec(0u64..100_000, 1..20), lost in prop::collection::vec(0usize..60, 0..12), points in 1u64..200,
        ) {
            let s = one_cpu(20_000);
            let (events, mut counts, truth) = module(&lates, 20_000, points);
            let mut cpus = Cpus::new(&s);
            for (i, e) in events.iter().enumerate() {
                if lost.contains(&i) { counts.lost += 1 } else { cpus.take(e, 0) }
            }
            let d = cpus.finish(&s, |_| Ok(counts)).unwrap().remove(0);
            prop_assert_eq!(d.count() + d.missed() + d.dropped(), points);
            prop_assert!(d.dropped() >= counts.lost);
            let mut known = d.histogram().clone();
            if let Some(p) = d.passed() { known.merge(&p.histogram).unwrap(); }
            for (slot, n) in known.slots() {
                let all = truth.iter().filter(|&&v| rtscope_record::histogram::slot_of(v) == slot).count() as u64;
                prop_assert!(n <= all, "{} of {} in slot {}", n, all, slot);
            }
        }
    }

    #[test]
    fn records_become_distributions_that_add_up() {
        let s = settings();
        let mut cpus = Cpus::new(&s);
        let event =
            |cpu, expected_ns, late, missed, seq| TimerEvent { cpu, expected_ns, actual_ns: expected_ns + late, missed, seq };
        // The second record of cpu1 is lost, and with it the time at which two points were passed over.
        for e in [event(1, 100, 7, 0, 0), event(1, 4_000_100, 9, 2, 2), event(70, 100, 5, 0, 0)] {
            cpus.take(&e, 100);
        }
        let counts = |cpu| {
            Ok(if cpu == 1 {
                TimerStatus { due: 5, samples: 3, missed: 2, lost: 1, ..TimerStatus::default() }
            } else {
                TimerStatus { due: 1, samples: 1, ..TimerStatus::default() }
            })
        };
        let all = cpus.finish(&s, counts).unwrap();
        assert_eq!((all[0].label(), all[0].count(), all[0].missed(), all[0].max()), ("cpu1", 2, 0, Some(9)));
        assert_eq!((all[0].parts().dropped, all[0].parts().expected, all[0].worst()[0].at), (3, Some(5), 4_000_009));
        assert_eq!(remarks(&all).iter().map(|w| w.code.as_str()).collect::<Vec<_>>(), ["samples-lost"]);
        let unsound = Cpus::new(&s).finish(&s, |_| Ok(TimerStatus { due: 1, ..TimerStatus::default() }));
        assert!(unsound.unwrap_err().message.contains("add up"));
    }
}
