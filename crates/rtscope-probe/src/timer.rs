//! The timer test in user space: absolute sleeps on a grid, one thread per distribution, latency = wake-up -
//! intended time. Also the timer test in the kernel, by a module.

pub(crate) mod conditions;
pub mod grid;
pub mod kernel;
pub(crate) mod live;
pub mod sampling;
mod thread;
mod trace;

use crate::measured::{Failure, Measured};
use crate::protocol::{Event, ProbePlan};
use crate::reporter::Reporter;
use crate::snapshot::Root;
use crate::snapshot::cpus::parse_list;
use crate::witness::{RunningWitness, WitnessOrder};
use rtscope_record::{Policy, Settings, Warning};
use rtscope_sys::rt::{self, Signals};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use thread::{Outcome, Worker};
use trace::Tracer;

/// Refuses settings that can't be measured. `allowed` are the CPUs that a thread can be pinned to.
pub fn check(s: &Settings, allowed: &[u32]) -> Result<(), Failure> {
    let usage = |message: String, remedy: &str| Err(Failure::usage(message, remedy));
    if s.interval.0 == 0 {
        return usage("the interval is 0".into(), "choose an interval of at least 1us, such as --interval 1ms");
    }
    if s.interval.0 < 1_000 {
        return usage(format!("the interval {} is below 1us", s.interval), "choose an interval of at least 1us");
    }
    if s.interval.0 > 86_400_000_000_000 {
        return usage(format!("the interval {} is above one day", s.interval), "choose a shorter interval");
    }
    if s.distance.0 > 86_400_000_000_000 || s.start_offset.0 > 86_400_000_000_000 {
        return usage("the distance or offset of the threads is above one day".into(), "choose a shorter one");
    }
    if s.duration.is_some_and(|d| d.0 < s.interval.0) {
        return usage("the duration is shorter than one interval".into(), "measure for longer, or shorten the interval");
    }
    if s.loops == Some(0) {
        return usage("0 loops were asked for".into(), "ask for at least one, or for a duration");
    }
    if s.threads == 0 || s.threads > 4096 {
        return usage(format!("{} threads were asked for", s.threads), "choose 1 to 4096 threads");
    }
    if s.policy.has_priority() && !(1..=99).contains(&s.priority) {
        return usage(format!("priority {} is out of range for the policy {}", s.priority, s.policy), "choose 1 to 99");
    }
    if s.linear_bins.is_some_and(|(bins, unit)| bins > 10_000_000 || unit == 0) {
        return usage("more than 10,000,000 equal-width bins were asked for".into(), "the ns histogram needs none: leave them out");
    }
    if let Some(cpu) = s.cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        let known = allowed.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        return usage(
            format!("CPU {cpu} is not one that this process may use (they are {known})"),
            "name online CPUs with --affinity",
        );
    }
    if s.policy == Policy::Deadline && !s.migrate && !s.cpus.is_empty() && s.cpus.len() < allowed.len() {
        return usage("the kernel refuses SCHED_DEADLINE for a pinned thread".into(), "add --migrate, or use --policy fifo");
    }
    Ok(())
}

/// The CPUs that a thread can be pinned to: those that this process was started on, and those that the kernel keeps free (`isolcpus`). No
/// process starts on the latter, and they are the ones to measure on.
fn with_isolated(allowed: &[u32], root: &Root) -> Vec<u32> {
    let listed = |name: &str| {
        root.value(&format!("/sys/devices/system/cpu/{name}")).and_then(|text| parse_list(&text, 0)).unwrap_or_default()
    };
    let online = listed("online");
    let isolated = listed("isolated").into_iter().filter(|cpu| online.contains(cpu));
    let mut all: Vec<u32> = allowed.iter().copied().chain(isolated).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Prepares, runs and collects the test, and restores everything. `say` gets progress and sample events.
/// `input` is the driver's pipe (a file descriptor whose end of file means stop), negative without one.
pub fn run(plan: &ProbePlan, signals: &Signals, input: i32, say: &mut dyn FnMut(Event)) -> Result<Measured, Failure> {
    let s = &plan.settings;
    let allowed = rt::allowed_cpus().map_err(|e| Failure::machine(format!("sched_getaffinity: {e}"), "report this"))?;
    check(s, &with_isolated(&allowed, &Root::of_this_machine()))?;
    let mut warnings = Vec::new();
    let _awake = conditions::hold_dma_latency(s, &mut warnings);
    rt::one_arena();
    let limit = Arc::new(AtomicU64::new(s.loops.unwrap_or(u64::MAX)));
    let witness = RunningWitness::start(Root::of_this_machine(), &WitnessOrder::of(s, &allowed).for_plan(plan))?;
    let tracer = Tracer::of(plan)?.map(Arc::new);
    let mut workers = thread::prepare(s, &limit, &witness, tracer.as_ref(), plan.picture)?;
    // After the samplers exist, so that they are locked too; before the loops, so that these touch no page for the
    // first time.
    if s.mlockall {
        if let Err(e) = rt::lock_memory() {
            warnings.push(conditions::memory_not_locked(&e));
        }
    }
    // The reporter rarely wakes up, but after the run it must not wait behind the load.
    if s.policy != Policy::Other {
        let _ = rt::come_before_ordinary_tasks();
    }
    if !witness.free_cpus().is_empty() {
        let _ = rt::pin_to(witness.free_cpus());
    }
    rt::settle();
    tracer.as_ref().map_or(Ok(()), |t| t.start())?;
    say(Event::Started);
    let start = thread::start(&workers);
    witness.begin(start);
    let watch = Watch { plan, start, ends: s.duration.map(|d| d.0), witness: &witness };
    let mut reporter = Reporter::new(plan, signals, input);
    let interrupted = watch.until_done(&mut reporter, &workers, &limit, say);
    let outcomes: Vec<Outcome> = workers.iter_mut().map(Worker::join).collect::<Result<_, _>>()?;
    let elapsed_ns = rt::now().saturating_sub(start);
    watch.drain(&workers, say);
    if let Some(late) = outcomes.iter().find_map(|o| o.late(start)) {
        say(Event::Traced(late));
    }
    warnings.extend(thread::warnings(s, &outcomes));
    let lost: u64 = workers.iter().filter_map(|w| w.ring.as_ref()).map(|r| r.lost()).sum();
    if lost > 0 {
        warnings.push(Warning::new(
            "samples-not-sent",
            rtscope_record::Effect::Note,
            format!("{lost} raw samples found their ring full and were not sent; the histograms hold every sample"),
            "lengthen the interval, or do without raw samples",
        ));
    }
    let broken = outcomes.iter().any(|o| o.broken.is_some()) || witness.ended_it();
    let distributions = outcomes.into_iter().map(|o| o.distribution).collect();
    let witness = Some(witness.finish(elapsed_ns)?);
    Ok(Measured { distributions, warnings, elapsed_ns, interrupted: interrupted && !broken, instrument: None, witness })
}

/// Waits for the threads and reports meanwhile.
struct Watch<'a> {
    plan: &'a ProbePlan,
    start: u64,
    ends: Option<u64>,
    witness: &'a RunningWitness,
}

impl Watch<'_> {
    /// Returns whether the run was ended early.
    fn until_done(&self, reporter: &mut Reporter<'_>, workers: &[Worker], limit: &AtomicU64, say: &mut dyn FnMut(Event)) -> bool {
        reporter.begin(self.start, reporter.every());
        loop {
            if workers.iter().all(Worker::finished) {
                return reporter.interrupted();
            }
            let broken = workers.iter().any(|w| w.broken.load(Relaxed));
            if broken || reporter.interrupted() || self.witness.ended_it() {
                limit.store(0, Relaxed);
                // Repeatedly, because a thread between its check and its sleep would miss a single signal.
                workers.iter().filter(|w| !w.finished()).for_each(|w| rt::wake_thread(w.tid()));
            }
            let now = rt::now();
            // Short waits only near the end, so that the reporter does not disturb a long run.
            let rest = self.ends.map_or(u64::MAX, |d| (self.start + d).saturating_sub(now));
            let tick = if self.plan.settings.samples { 20 } else { 100 };
            let wait = if limit.load(Relaxed) == 0 || rest < 1_000_000_000 { 5 } else { tick };
            reporter.wait(wait);
            self.drain(workers, say);
            reporter.report(|| workers.iter().map(Worker::live).collect(), say);
        }
    }

    fn drain(&self, workers: &[Worker], say: &mut dyn FnMut(Event)) {
        if !self.plan.settings.samples {
            return;
        }
        for (thread, w) in workers.iter().enumerate() {
            if let Some(ring) = &w.ring {
                let thread = u32::try_from(thread).unwrap_or(u32::MAX);
                ring.drain(|cycle, value| say(Event::Sample { thread, cycle, value }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::SystemCallFacts;

    #[test]
    fn an_isolated_cpu_can_be_measured() {
        let dir = tempfile::tempdir().unwrap();
        let cpu = dir.path().join("sys/devices/system/cpu");
        std::fs::create_dir_all(&cpu).unwrap();
        let of = |online: &str, isolated: &str| {
            std::fs::write(cpu.join("online"), online).unwrap();
            std::fs::write(cpu.join("isolated"), isolated).unwrap();
            with_isolated(&[0, 2], &Root::at(dir.path(), SystemCallFacts::default()))
        };
        assert_eq!(of("0-3\n", "\n"), [0, 2]);
        assert_eq!(of("0-3\n", "1,3\n"), [0, 1, 2, 3]);
        assert_eq!(of("0-2\n", "1,3\n"), [0, 1, 2]);
    }
}
