//! From observations to warnings: threads, rivals, duration. Changes of the machine itself are in `conditions.rs`.

use super::conditions;
use super::seen::{Changed, OtherRun, Rival, Starved, ThreadSeen, ThreadState, Witness};
use super::words::{amount, seconds};
use crate::distribution::Distribution;
use crate::policy::Policy;
use crate::settings::Settings;
use crate::system::cpus;
use crate::units::Nanos;
use crate::warning::{Effect, Warning};

/// How much longer than planned a run may take without a warning: the larger of a time, ns, and one part in this many of the plan.
const LONGER: (u64, u64) = (1_000_000_000, 10);
/// The longest time without a look that needs no warning, ns.
const BLIND: u64 = 5_000_000_000;
/// A delay of this length that all threads have in common, and that none of them spent waiting for its CPU, is not a latency of
/// the kernel's scheduler, ns.
const STALL: u64 = 100_000_000;

/// The warnings that follow from what was seen. `settings` are those of the run, `distributions` its figures.
pub fn findings(w: &Witness, settings: &Settings, distributions: &[Distribution]) -> Vec<Warning> {
    let mut all: Vec<Warning> = w.starved.iter().map(|s| starved(s, w)).collect();
    all.extend(w.threads.iter().filter_map(changed));
    all.extend(w.threads.iter().filter_map(|t| moved(t, settings)));
    all.extend(rivals(w));
    all.extend(other_runs(w));
    all.extend(longer(w));
    all.extend(stalled(w, distributions));
    all.extend(unwitnessed(w));
    all.extend(conditions::findings(w));
    all
}

fn starved(s: &Starved, w: &Witness) -> Warning {
    let by = s.by.as_ref().map_or_else(
        || "by whom could not be seen from here".into(),
        |r| format!("{} kept CPU {} ({} of CPU time seen)", r.in_words(), r.cpu, seconds(r.ran_ns)),
    );
    let what = if s.thread.is_empty() {
        let planned = w.planned_ns.map_or_else(String::new, |p| format!(" of {}", Nanos(p)));
        format!("the run{planned} had not ended after {}", seconds(s.at))
    } else {
        format!("{} made no progress from {} on", s.thread, seconds(s.since))
    };
    Warning::new(
        "starved",
        Effect::Invalid,
        format!("{what}, and the watchdog ended the run at {}: {by}", seconds(s.at)),
        "end that task, give it a lower priority than the measuring threads or another CPU, and measure again",
    )
}

/// A thread whose scheduling changed after its first look.
fn changed(t: &ThreadSeen) -> Option<Warning> {
    let first = t.states.first()?;
    let (from, to) = (
        "its figures are of both",
        "find who changes priorities or CPU sets (chrt, taskset, cpuset, rtkit, tuned), and measure again",
    );
    let later: Vec<&ThreadState> = t.states.iter().skip(1).collect();
    let message = if later.is_empty() {
        if t.was_ordinary != Some(true) || first.kind() == Policy::Other {
            return None;
        }
        format!(
            "{} was {} at each look, but by the kernel's accounts an ordinary task for some time between two of them: {from}",
            t.label,
            first.in_words()
        )
    } else {
        let steps: Vec<String> = later.iter().take(4).map(|s| format!("{} (seen at {})", s.in_words(), seconds(s.at))).collect();
        let more = if later.len() > 4 { format!(" and {} more changes", later.len() - 4) } else { String::new() };
        format!("{} began as {} and became {}{more}: {from}", t.label, first.in_words(), steps.join(", then "))
    };
    Some(Warning::new("thread-changed", Effect::Invalid, message, to))
}

/// A pinned thread that ran elsewhere.
fn moved(t: &ThreadSeen, s: &Settings) -> Option<Warning> {
    let pinned = t.states.first().filter(|first| first.cpus.len() == 1 && !s.migrate)?;
    let elsewhere: Vec<u32> = t.ran_on.iter().copied().filter(|cpu| !pinned.cpus.contains(cpu)).collect();
    let moves = t.migrations.unwrap_or(0);
    if elsewhere.is_empty() && moves == 0 {
        return None;
    }
    let times = if moves > 0 { format!(", the kernel moved it {moves} times") } else { String::new() };
    let seen = if elsewhere.is_empty() { String::new() } else { format!(", and was seen on {}", cpus(&elsewhere)) };
    Some(Warning::new(
        "thread-moved",
        Effect::Invalid,
        format!("{} was pinned to {}{seen}{times}: its figures are not of that CPU alone", t.label, cpus(&pinned.cpus)),
        "find who changes CPU sets or takes CPUs offline (taskset, cpuset, hotplug), and measure again",
    ))
}

/// What changed for a thread, in a few words.
pub(super) fn thread_in_short(t: &ThreadSeen) -> Option<String> {
    let later: Vec<String> = t.states.iter().skip(1).take(3).map(|s| format!("{} at {}", s.in_words(), seconds(s.at))).collect();
    if !later.is_empty() {
        return Some(format!("{} became {}", t.label, later.join(", then ")));
    }
    let first = t.states.first()?;
    if t.was_ordinary == Some(true) && first.kind() != Policy::Other {
        return Some(format!("{} was an ordinary task between looks", t.label));
    }
    let elsewhere = first.cpus.len() == 1 && (t.migrations.unwrap_or(0) > 0 || t.ran_on.iter().any(|c| !first.cpus.contains(c)));
    elsewhere.then(|| format!("{} was moved", t.label))
}

fn rivals(w: &Witness) -> Vec<Warning> {
    let one = |kernel: bool, code: &str, effect, remedy: &str| {
        let mut ran: Vec<&Rival> = w.rivals.iter().filter(|r| r.kernel == kernel).collect();
        ran.sort_by_key(|r| std::cmp::Reverse(r.ran_ns));
        ran.first()?;
        let say = |r: &&Rival| {
            let since = if r.first_at > 0 { format!(", first seen at {}", seconds(r.first_at)) } else { String::new() };
            format!("{} ran for {}{since}", r.in_words(), amount(r.ran_ns))
        };
        let named: Vec<String> = ran.iter().take(5).map(say).collect();
        let more = if ran.len() > 5 { format!("; and {} more", ran.len() - 5) } else { String::new() };
        let whose = if kernel { "threads of the kernel" } else { "real-time tasks of other programs" };
        let message =
            format!("{whose} at or above the measuring priority ran on measured CPUs meanwhile: {}{more}", named.join("; "));
        Some(Warning::new(code, effect, message, remedy))
    };
    let stop = "end them or give them a lower priority or another CPU, and measure again";
    let higher = "measure at a higher priority, where these can wait";
    let mut all = Vec::new();
    all.extend(one(false, "rivals-ran", Effect::Inconclusive, stop));
    all.extend(one(true, "kernel-rivals-ran", Effect::Note, higher));
    all
}

fn other_runs(w: &Witness) -> Vec<Warning> {
    let one = |o: &OtherRun| {
        let since = match (o.before_ns, o.first_at) {
            (0, 0) => "since about the start of this one".into(),
            (0, at) => format!("from {} of this one on", seconds(at)),
            (before, _) => format!("since {} before this one", seconds(before)),
        };
        let until = if o.last_at == 0 { "gone at the first look".into() } else { format!("last seen at {}", seconds(o.last_at)) };
        let message = format!(
            "another run of rtscope measured on this machine at the same time: pid {}, `{}`, {since}, {until} (its threads: {})",
            o.pid,
            o.command,
            o.threads.join(", ")
        );
        Warning::new("another-run", Effect::Inconclusive, message, "measure one after the other")
    };
    w.other_runs.iter().map(one).collect()
}

fn longer(w: &Witness) -> Option<Warning> {
    let planned = w.planned_ns?;
    let more = w.real_ns.saturating_sub(planned);
    if more <= LONGER.0.max(planned / LONGER.1) {
        return None;
    }
    Some(Warning::new(
        "took-longer",
        Effect::Inconclusive,
        format!(
            "the run took {} in place of {}: its threads did not run when they should have",
            seconds(w.real_ns),
            seconds(planned)
        ),
        "see the other warnings for who had the CPUs, or whether the machine stood still",
    ))
}

/// All threads were late at the same time, and none was waiting for its CPU: nothing ran at all.
fn stalled(w: &Witness, distributions: &[Distribution]) -> Option<Warning> {
    use Changed::{Continued, Paused, Suspended};
    if w.changes.iter().any(|c| matches!(c.what, Paused | Continued | Suspended)) || w.starved.is_some() {
        return None;
    }
    let mut common = (0, u64::MAX);
    for d in distributions {
        let worst = d.worst().first()?;
        let thread = w.threads.iter().find(|t| t.label == d.label())?;
        if worst.value < STALL || thread.waited_ns? >= worst.value / 2 {
            return None;
        }
        common = (common.0.max(worst.at.saturating_sub(worst.value)), common.1.min(worst.at));
    }
    let lasted = common.1.checked_sub(common.0).filter(|&lasted| lasted >= STALL && common.1 < u64::MAX)?;
    Some(Warning::new(
        "paused",
        Effect::Inconclusive,
        format!(
            "every thread was late by {} or more at {}, and none of them was waiting for its CPU: the machine or the process stood still, \
             or took no interrupts",
            seconds(lasted),
            seconds(common.1)
        ),
        "see whether the machine is a virtual one that was paused, and what the kernel's log says; measure again",
    ))
}

fn unwitnessed(w: &Witness) -> Option<Warning> {
    let paused = w.changes.iter().any(|c| matches!(c.what, Changed::Paused | Changed::Continued));
    if w.longest_gap_ns <= BLIND.max(w.every_ns.saturating_mul(5)) || paused || w.starved.is_some() {
        return None;
    }
    Some(Warning::new(
        "unwitnessed",
        Effect::Inconclusive,
        format!("for {} nobody looked after the run: what changed for so short a time may be unseen", seconds(w.longest_gap_ns)),
        "leave the probe a CPU that is not measured, or measure with less load",
    ))
}
