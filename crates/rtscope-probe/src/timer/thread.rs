//! The measuring threads: their roles (policy, priority, CPU, grid), their common start, and their results.

use super::grid::Grid;
use super::live::{add_picture, live};
use super::sampling::{LoopEnd, LoopLimits, MonotonicClock, sample};
use super::trace::Tracer;
use crate::measured::Failure;
use crate::protocol::{Late, Live};
use crate::witness::{Post, RunningWitness};
use rtscope_record::{Distribution, Effect, Policy, Settings, ThreadInfo, Warning};
use rtscope_samples::sampler::{LiveCell, Picture, Ring, Sampler};
use rtscope_sys::rt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time from the moment the last thread is ready to the start of the grid.
const LEAD: Duration = Duration::from_millis(2);
/// Stack size of a measuring thread; `MCL_FUTURE` locks all of it.
const STACK: usize = 64 * 1024;
const PREFAULT: usize = 24 * 1024;

type SharedRing = Option<Arc<Ring>>;

/// The role of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Role {
    label: String,
    cpu: Option<u32>,
    policy: Policy,
    priority: u8,
    interval: u64,
    offset: u64,
    /// Number of grid points; `u64::MAX` without a duration.
    points: u64,
}

/// The role of thread `i` in these settings.
fn role(s: &Settings, i: u32) -> Role {
    let interval = s.interval.0 + s.distance.0 * u64::from(i);
    let offset = s.start_offset.0 * u64::from(i);
    let cpu = if s.migrate || s.cpus.is_empty() { None } else { Some(s.cpus[i as usize % s.cpus.len()]) };
    let round = if s.cpus.is_empty() { i } else { i / u32::try_from(s.cpus.len()).unwrap_or(u32::MAX) };
    let label = match cpu {
        Some(cpu) if round == 0 => format!("cpu{cpu}"),
        Some(cpu) => format!("cpu{cpu}.{round}"),
        None => format!("thread{i}"),
    };
    let descend = if s.priority_descends { u8::try_from(i).unwrap_or(u8::MAX) } else { 0 };
    let priority = if s.policy.has_priority() { s.priority.saturating_sub(descend).max(1) } else { 0 };
    let points = s.duration.map_or(u64::MAX, |d| d.0.saturating_sub(offset) / interval);
    Role { label, cpu, policy: s.policy, priority, interval, offset, points }
}

/// The measurements of a thread, and what it was refused.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) distribution: Distribution,
    pub(super) broken: Option<u64>,
    /// The grid point and latency that it stopped the tracer at.
    traced: Option<(u64, u64)>,
    refused: Option<(Policy, u8, String)>,
}

impl Outcome {
    /// The sample that it stopped the tracer at, of a run that began at `start`.
    pub(super) fn late(&self, start: u64) -> Option<Late> {
        let (expiry, latency) = self.traced?;
        let d = &self.distribution;
        let (tid, cpu) = d.parts().thread.as_ref().map(|t| (t.tid, t.cpu))?;
        let at = expiry.saturating_add(latency).saturating_sub(start);
        Some(Late { label: d.label().into(), tid, cpu: cpu?, at, expiry, latency })
    }
}

/// The starting line shared by main and all threads.
#[derive(Debug)]
struct Line {
    ready: Barrier,
    go: Barrier,
    start: AtomicU64,
}

/// A thread that was started.
#[derive(Debug)]
pub(super) struct Worker {
    role: Role,
    line: Arc<Line>,
    handle: Option<JoinHandle<Result<Outcome, Failure>>>,
    live: Arc<LiveCell>,
    picture: Option<Picture>,
    pub(super) ring: SharedRing,
    tid: Arc<AtomicU32>,
    pub(super) broken: Arc<AtomicBool>,
}

impl Worker {
    pub(super) fn finished(&self) -> bool {
        self.handle.as_ref().is_none_or(JoinHandle::is_finished)
    }

    pub(super) fn tid(&self) -> u32 {
        self.tid.load(SeqCst)
    }

    pub(super) fn live(&self) -> Live {
        let mut figures = live(&self.live, &self.role.label, self.tid(), self.role.priority, self.role.interval);
        if let Some(picture) = self.picture {
            add_picture(picture, &mut figures);
        }
        figures
    }

    pub(super) fn join(&mut self) -> Result<Outcome, Failure> {
        let handle = self.handle.take().ok_or_else(|| Failure::machine("a thread was joined twice", "report this"))?;
        handle.join().map_err(|_| Failure::machine("a measuring thread panicked", "report this with the lines above"))?
    }
}

/// Starts all threads. Each sets itself up and waits at the starting line.
pub(super) fn prepare(
    s: &Settings,
    limit: &Arc<AtomicU64>,
    witness: &RunningWitness,
    tracer: Option<&Arc<Tracer>>,
    pictures: bool,
) -> Result<Vec<Worker>, Failure> {
    let line = Arc::new(Line {
        ready: Barrier::new(s.threads as usize + 1),
        go: Barrier::new(s.threads as usize + 1),
        start: AtomicU64::new(0),
    });
    // Samplers first: nothing may be allocated once a thread has started, and a failed allocation must not leave
    // other threads waiting.
    let sampler = |i| Sampler::new(s.worst, s.linear_bins, s.samples).on_grid(role(s, i).interval).in_blocks();
    let samplers: Vec<Sampler> = (0..s.threads).map(sampler).collect();
    let mut workers = Vec::new();
    for (i, mut sampler) in (0..).zip(samplers) {
        let role = role(s, i);
        let (live, ring, tid) = (sampler.live(), sampler.ring(), Arc::new(AtomicU32::new(0)));
        let broken = Arc::new(AtomicBool::new(false));
        let picture = pictures.then(|| sampler.picture());
        let job = Job {
            role: role.clone(),
            line: Arc::clone(&line),
            limit: Arc::clone(limit),
            tid: Arc::clone(&tid),
            broken: Arc::clone(&broken),
            post: witness.post(&role.label, Some(Arc::clone(&live)), role.interval.saturating_add(role.offset)),
            break_above: s.break_above.map_or(u64::MAX, |n| n.0),
            tracer: tracer.cloned(),
        };
        let spawned =
            std::thread::Builder::new().name(format!("rts-{}", role.label)).stack_size(STACK).spawn(move || job.run(sampler));
        let handle = match spawned {
            Ok(handle) => Some(handle),
            // The threads started so far wait at a line that is never complete; the process ends with this error.
            Err(e) => return Err(Failure::machine(format!("thread {i} of {}: {e}", s.threads), "ask for fewer threads")),
        };
        workers.push(Worker { role, line: Arc::clone(&line), handle, live, picture, ring, tid, broken });
    }
    // At the line, all threads are set up, with their stacks mapped and touched.
    line.ready.wait();
    Ok(workers)
}

/// Releases all threads. Returns the common start, ns.
pub(super) fn start(workers: &[Worker]) -> u64 {
    let start = rt::now() + u64::try_from(LEAD.as_nanos()).unwrap_or(0);
    if let Some(w) = workers.first() {
        w.line.start.store(start, SeqCst);
        w.line.go.wait();
    }
    start
}

struct Job {
    role: Role,
    line: Arc<Line>,
    limit: Arc<AtomicU64>,
    tid: Arc<AtomicU32>,
    broken: Arc<AtomicBool>,
    post: Arc<Post>,
    break_above: u64,
    tracer: Option<Arc<Tracer>>,
}

impl Job {
    fn run(self, mut sampler: Sampler) -> Result<Outcome, Failure> {
        let tid = rt::tid();
        self.tid.store(tid, SeqCst);
        self.post.arrive();
        rt::prefault_stack::<PREFAULT>();
        let pin = || self.role.cpu.map_or(Ok(()), rt::pin);
        let (pinned, refused) = if self.role.policy == Policy::Deadline {
            // A deadline task can't be pinned any more.
            (pin(), self.take_policy())
        } else {
            // As an ordinary task it would wait on its CPU behind whatever is busy there.
            let refused = self.take_policy();
            (pin(), refused)
        };
        self.post.enter();
        self.line.ready.wait();
        self.line.go.wait();
        let start = self.line.start.load(SeqCst);
        if let (Err(e), Some(cpu)) = (pinned, self.role.cpu) {
            return Err(Failure::machine(
                format!("sched_setaffinity to CPU {cpu}: {e}"),
                "name CPUs that are online and in this cpuset",
            ));
        }
        let first = start + self.role.offset + self.role.interval;
        let mut grid = Grid::new(first, self.role.interval, self.role.points);
        let above = self.tracer.as_ref().map_or(u64::MAX, |t| t.above);
        let until = LoopLimits { samples: &self.limit, break_above: self.break_above.min(above) };
        let ended = sample(&mut MonotonicClock, &mut grid, &mut sampler, start, &until);
        let mut late = (ended, None);
        if let Some(tracer) = &self.tracer {
            (grid, late) = self.stop_tracer(tracer, ended, grid, &mut sampler, start);
        }
        let (ended, traced) = late;
        self.post.leave();
        let broken = match ended {
            LoopEnd::Broken { latency, .. } => {
                self.broken.store(true, Relaxed);
                Some(latency)
            }
            LoopEnd::Complete | LoopEnd::Stopped => None,
        };
        // Back to an ordinary thread: what follows is not measured and must not starve others.
        if self.role.policy != Policy::Other && !self.post.is_emergency() {
            let _ = rt::set_policy(Policy::Other, 0, 0);
        }
        let asked = refused.as_ref().map_or((self.role.policy, self.role.priority), |r| (r.0, r.1));
        let (policy, priority) = self.post.began_as().unwrap_or(asked);
        let distribution = sampler
            .finish(|p| {
                p.label.clone_from(&self.role.label);
                p.missed = grid.missed();
                p.expected = p.count.checked_add(p.missed);
                let (interval, offset) = (self.role.interval, self.role.offset);
                let first_at = Some(offset + interval);
                p.thread =
                    Some(ThreadInfo { tid, cpu: self.role.cpu, policy: Some(policy), priority, interval, last: None, first_at });
            })
            .map_err(|e| Failure::machine(format!("the counts do not add up: {e}"), "report this"))?;
        let passed = (grid.next() - first) / self.role.interval;
        if distribution.parts().expected != Some(passed) {
            let message = format!(
                "{}: {passed} grid points passed, but the counts are of {:?}",
                self.role.label,
                distribution.parts().expected
            );
            return Err(Failure::machine(message, "report this"));
        }
        Ok(Outcome { distribution, broken, traced, refused })
    }

    /// Stops the tracer if sampling ended by a latency above its limit, and samples the rest of the grid. Returns how that ended, and the
    /// grid point and latency that the tracer was stopped at.
    ///
    /// A path of its own, which takes the grid and gives it back: so the loop of a run without tracer is what it would be without this.
    #[cold]
    #[inline(never)]
    fn stop_tracer(
        &self,
        tracer: &Tracer,
        ended: LoopEnd,
        mut grid: Grid,
        sampler: &mut Sampler,
        start: u64,
    ) -> (Grid, (LoopEnd, Option<(u64, u64)>)) {
        let LoopEnd::Broken { due, latency } = ended else { return (grid, (ended, None)) };
        let traced = (latency > tracer.above && tracer.stop(due, latency)).then_some((due, latency));
        let samples = self.limit.load(Relaxed);
        let ended = if latency > self.break_above {
            ended
        } else if sampler.count() >= samples {
            // The sample may have been the last one.
            if samples == 0 { LoopEnd::Stopped } else { LoopEnd::Complete }
        } else {
            let until = LoopLimits { samples: &self.limit, break_above: self.break_above };
            sample(&mut MonotonicClock, &mut grid, sampler, start, &until)
        };
        (grid, (ended, traced))
    }

    /// Sets the policy. If it is refused, returns the policy and priority in force instead, and what was refused.
    fn take_policy(&self) -> Option<(Policy, u8, String)> {
        let r = &self.role;
        let error: io::Error = rt::set_policy(r.policy, r.priority, r.interval).err()?;
        Some((Policy::Other, 0, format!("{} priority {}: {error}", r.policy, r.priority)))
    }
}

/// The warnings that follow from how the threads fared.
pub(super) fn warnings(s: &Settings, outcomes: &[Outcome]) -> Vec<Warning> {
    let mut all = Vec::new();
    if let Some((.., what)) = outcomes.iter().find_map(|o| o.refused.as_ref()) {
        all.push(Warning::new(
            "priority-refused",
            Effect::Invalid,
            format!("sched_setattr {what}: the threads ran as ordinary ones, so the latencies are not those of a real-time task"),
            "run as root, or allow it: `setcap cap_sys_nice,cap_ipc_lock+ep` on rtscope-probe, or rtprio in /etc/security/limits.conf",
        ));
    } else if s.policy == Policy::Other {
        all.push(Warning::new(
            "policy-other",
            Effect::Inconclusive,
            format!("measured as an ordinary task (SCHED_OTHER), as asked: a real-time task would be woken sooner{}", slack()),
            "--policy fifo --priority 95",
        ));
    }
    if !s.mlockall {
        all.push(Warning::new(
            "memory-not-locked-by-request",
            Effect::Inconclusive,
            "memory was not locked, as asked: page faults may be part of the latencies",
            "lock it: leave out --no-mlockall (cyclictest: add -m)",
        ));
    }
    for o in outcomes {
        let d = &o.distribution;
        if let Some(latency) = o.broken {
            all.push(Warning::new(
                "broken",
                Effect::Note,
                format!("{} broke the run with a latency of {} us", d.label(), latency / 1000),
                "the limit was asked for with --breaktrace",
            ));
        }
        if d.missed() > 0 {
            let share = 100.0 * d.missed() as f64 / (d.count() + d.missed()) as f64;
            all.push(Warning::new(
                "missed-periods",
                Effect::Note,
                format!("{} passed over {} grid points ({share:.3} %): see the corrected percentiles", d.label(), d.missed()),
                "a longer interval, or a less loaded or better prepared machine (rtscope check)",
            ));
        }
        if d.count() == 0 {
            all.push(Warning::new(
                "no-samples",
                Effect::Invalid,
                format!("{} took no sample at all", d.label()),
                "measure for longer than the interval",
            ));
        }
    }
    all
}

/// A remark about the timer slack of ordinary tasks, which is 50 us unless changed.
fn slack() -> String {
    let ns = rtscope_sys::sched::timer_slack().unwrap_or(0);
    if ns == 0 { String::new() } else { format!(", and the timer slack of {} is in each latency", rtscope_record::Nanos(ns)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_record::Nanos;

    #[test]
    fn roles_follow_the_settings() {
        let s = Settings {
            interval: Nanos(1_000_000),
            start_offset: Nanos(250_000),
            duration: Some(Nanos(10_000_000)),
            threads: 3,
            cpus: vec![4, 6],
            priority_descends: true,
            priority: 90,
            ..Settings::default()
        };
        let roles: Vec<Role> = (0..3).map(|i| role(&s, i)).collect();
        assert_eq!(roles.iter().map(|r| r.label.as_str()).collect::<Vec<_>>(), ["cpu4", "cpu6", "cpu4.1"]);
        assert_eq!(roles.iter().map(|r| r.priority).collect::<Vec<_>>(), [90, 89, 88]);
        assert_eq!(roles.iter().map(|r| r.points).collect::<Vec<_>>(), [10, 9, 9]);
        let free = Settings { migrate: true, ..s };
        assert_eq!((role(&free, 1).label.as_str(), role(&free, 1).cpu), ("thread1", None));
    }
}
