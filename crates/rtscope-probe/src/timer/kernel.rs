//! The timer test in the kernel: the module rtscope_timer expires a timer on each CPU and stamps its callback; here its records are booked.

use super::sampler::{LiveCell, Sampler};
use super::{Failure, Measured, live};
use crate::protocol::{Event, Plan};
use crate::sys::modules::{TIMER_DEVICE, Timer, TimerConfig, TimerEvent, TimerStatus};
use crate::sys::rt::{self, Signals, Woken};
use crate::sys::wire::ABI;
use rtscope_record::{Distribution, Effect, Handler, Settings, ThreadInfo, Warning};
use std::io;
use std::sync::Arc;

/// From START to the first grid point, ns.
const LEAD: u64 = 1_000_000;
/// Shortest interval that the module takes, ns.
const SHORTEST: u64 = 10_000;
/// Longest, ns.
const LONGEST: u64 = 3_600_000_000_000;
/// Records of 32 bytes in all rings together, and at least in each.
const RINGS: (u64, u64) = (1 << 17, 1 << 10);
/// How often it is looked after, ms.
const GLANCE: i32 = 50;

/// Runs the test. As [`super::run`].
pub fn run(plan: &Plan, signals: &Signals, input: i32, say: &mut dyn FnMut(Event)) -> Result<Measured, Failure> {
    let s = &plan.settings;
    let config = config(s)?;
    let mut warnings = Vec::new();
    let _awake = super::hold_dma_latency(s, &mut warnings);
    let mut timer = Timer::open().map_err(failed("open"))?;
    timer.configure(&config).map_err(failed("configure"))?;
    let mut books = Books::new(s);
    let _ = rt::come_before_ordinary_tasks();
    say(Event::Started);
    let start = rt::now();
    timer.start().map_err(failed("start"))?;
    let began = timer.status(s.cpus[0]).map_err(failed("ask"))?.started_ns;
    let mut interrupted = false;
    let mut driver = input;
    let mut next_progress = start;
    loop {
        match signals.wait(if interrupted { -1 } else { driver }, GLANCE) {
            Woken::Signal => interrupted = true,
            Woken::Input if crate::serve::ended(driver) => interrupted = true,
            Woken::Input => driver = input,
            Woken::Timeout => {}
        }
        if interrupted {
            timer.stop().map_err(failed("stop"))?;
        }
        let ended = timer.read(|event| books.take(event, began)).map_err(failed("read"))?;
        let now = rt::now();
        if plan.progress_ms > 0 && now >= next_progress {
            next_progress = now + u64::from(plan.progress_ms) * 1_000_000;
            say(Event::Progress { elapsed_ns: now - start, threads: books.live(s) });
        }
        if ended {
            break;
        }
    }
    let status = |cpu: u32| timer.status(cpu).map_err(failed("ask"));
    let elapsed_ns = rt::now().saturating_sub(began);
    let distributions = books.finish(s, status)?;
    warnings.extend(remarks(&distributions));
    Ok(Measured { distributions, warnings, elapsed_ns, interrupted, instrument: None })
}

fn failed(act: &'static str) -> impl FnOnce(io::Error) -> Failure {
    move |e| {
        let remedy = match e.raw_os_error() {
            Some(libc::ENOENT) => "load the kernel module rtscope_timer: run as root, or insmod rtscope_timer.ko",
            Some(libc::EBUSY) => "another run has it: wait for its end",
            Some(libc::EPROTO | libc::ENOTTY) => "the module is of another version of rtscope: build it anew",
            Some(libc::EACCES | libc::EPERM) => "run as root",
            Some(libc::ENXIO) => "name online CPUs with --affinity",
            _ => "the kernel's log says more: dmesg | tail",
        };
        Failure::machine(format!("{TIMER_DEVICE}: {act}: {e}"), remedy)
    }
}

/// What the module is told; refuses what it can't do.
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
    // Room for all of it where that is possible, so that nobody need read meanwhile.
    let most = (RINGS.0 / s.cpus.len() as u64).max(RINGS.1);
    let ring = count.clamp(64, most).next_power_of_two();
    let ring_records = u32::try_from(ring).unwrap_or(1 << 17);
    Ok(TimerConfig {
        abi: ABI,
        context: u32::from(s.handler == Some(Handler::Soft)),
        ring_records,
        interval_ns: s.interval.0,
        start_delay_ns: LEAD,
        count,
        wake_records: if count <= ring { ring_records } else { ring_records / 2 },
        cpus,
        ..TimerConfig::default()
    })
}

/// What each CPU's timer did.
struct Books {
    all: Vec<(u32, Sampler, Arc<LiveCell>, u64)>,
}

impl Books {
    fn new(s: &Settings) -> Self {
        let one = |&cpu: &u32| {
            let sampler = Sampler::new(s.worst, None, false);
            let cell = sampler.live();
            (cpu, sampler, cell, 0)
        };
        Self { all: s.cpus.iter().map(one).collect() }
    }

    fn take(&mut self, e: &TimerEvent, began: u64) {
        if let Some((_, sampler, _, missed)) = self.all.iter_mut().find(|(cpu, ..)| *cpu == e.cpu) {
            sampler.record(e.actual_ns.saturating_sub(e.expected_ns), e.actual_ns.max(began), began);
            *missed += u64::from(e.missed);
            sampler.show_missed(*missed);
        }
    }

    fn live(&self, s: &Settings) -> Vec<crate::protocol::Live> {
        self.all.iter().map(|(cpu, _, cell, _)| live(cell, &format!("cpu{cpu}"), 0, 0, s.interval.0)).collect()
    }

    /// The distributions; `status` gives the module's own counts, which must be ours.
    fn finish(self, s: &Settings, status: impl Fn(u32) -> Result<TimerStatus, Failure>) -> Result<Vec<Distribution>, Failure> {
        let one = |(cpu, sampler, ..): (u32, Sampler, Arc<LiveCell>, u64)| {
            let counts = status(cpu)?;
            let read = sampler.count();
            if read + counts.lost != counts.samples || counts.samples + counts.missed != counts.due {
                let message = format!("cpu{cpu}: the module's counts do not add up: {read} read, {counts:?}");
                return Err(Failure::machine(message, "report this"));
            }
            let interval = s.interval.0;
            let distribution = sampler.finish(|p| {
                p.label = format!("cpu{cpu}");
                (p.missed, p.dropped, p.expected) = (counts.missed, counts.lost, Some(counts.due));
                p.thread =
                    Some(ThreadInfo { tid: 0, cpu: Some(cpu), policy: None, priority: 0, interval, last: None, first_at: Some(0) });
            });
            distribution.map_err(|e| Failure::machine(format!("the counts do not add up: {e}"), "report this"))
        };
        self.all.into_iter().map(one).collect()
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
                format!("{label}: {lost} records of the kernel module found their ring full"),
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
            assert!(config(&wrong).unwrap_err().usage);
        }
    }

    #[test]
    fn records_become_distributions_that_add_up() {
        let s = settings();
        let mut books = Books::new(&s);
        let event = |cpu, expected_ns, late, missed| TimerEvent { cpu, expected_ns, actual_ns: expected_ns + late, missed, seq: 0 };
        for e in [event(1, 100, 7, 0), event(1, 400, 9, 2), event(70, 100, 5, 0)] {
            books.take(&e, 100);
        }
        let counts = |cpu| {
            Ok(if cpu == 1 {
                TimerStatus { due: 5, samples: 3, missed: 2, lost: 1, ..TimerStatus::default() }
            } else {
                TimerStatus { due: 1, samples: 1, ..TimerStatus::default() }
            })
        };
        let all = books.finish(&s, counts).unwrap();
        assert_eq!((all[0].label(), all[0].count(), all[0].missed(), all[0].max()), ("cpu1", 2, 2, Some(9)));
        assert_eq!((all[0].parts().dropped, all[0].parts().expected, all[0].worst()[0].at), (1, Some(5), 309));
        assert_eq!(remarks(&all).iter().map(|w| w.code.as_str()).collect::<Vec<_>>(), ["missed-periods", "samples-lost"]);
        let unsound = Books::new(&s).finish(&s, |_| Ok(TimerStatus { due: 1, ..TimerStatus::default() }));
        assert!(unsound.unwrap_err().message.contains("add up"));
    }
}
