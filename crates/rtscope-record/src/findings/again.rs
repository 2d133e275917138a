//! Warnings that follow from a record's own content, whatever warnings it states, so that removing warnings gains nothing.
//!
//! The probe applies these rules to each of its records, and so does every import. What was known only during the run (that memory
//! could not be locked, that a stressor's data was in memory ...) can't be derived again.

use super::machines::{is_autonomous, of_machines};
use crate::distribution::Distribution;
use crate::lines::Stamp;
use crate::policy::Policy;
use crate::record::RecordParts;
use crate::warning::{Effect, Warning};
use crate::words::{Space, Test};

/// A run that lasted for less than this share of the requested time, in percent, was cut short.
const WHOLE: u128 = 90;

/// Every warning that follows from the record's content, including those that the record already has.
pub fn of_record(of: &RecordParts) -> Vec<Warning> {
    let mut all = Vec::new();
    // A foreign file has no machine snapshot; what it does say was judged when it was read.
    if of.source.is_none() && of.target != "import" {
        if of.target.starts_with("fake:") {
            all.push(fake());
        } else {
            all.extend(of_machines(of));
            all.extend(of_threads(of));
        }
        all.extend(of_request(of));
        all.extend(of_load(of));
        all.extend(of.witness.iter().flat_map(|w| crate::witness::findings(w, &of.settings, &of.distributions)));
    }
    all.extend(of_distributions(of));
    all.extend(of_lines(of));
    if of.interrupted {
        all.push(interrupted());
    }
    all.sort_by_key(|w| std::cmp::Reverse(w.effect));
    let mut codes = std::collections::BTreeSet::new();
    all.retain(|w| codes.insert(w.code.clone()));
    all
}

/// The warnings of [`of_record`] that the record lacks, or has with a milder effect.
pub fn missing(of: &RecordParts) -> Vec<Warning> {
    let has = |w: &Warning| of.warnings.iter().any(|own| own.code == w.code && own.effect >= w.effect);
    of_record(of).into_iter().filter(|w| !has(w)).collect()
}

/// The warning that the latencies were given to the probe.
pub fn fake() -> Warning {
    Warning::new(
        "fake",
        Effect::Invalid,
        "the latencies were injected (--target fake:FILE): nothing was measured",
        "measure with --target local",
    )
}

/// The warning that the run was ended early.
pub fn interrupted() -> Warning {
    Warning::new(
        "interrupted",
        Effect::Inconclusive,
        "the run was ended before its time; the figures are of the part that ran",
        "let it run to its end",
    )
}

/// The code of [`traced`].
pub const TRACED: &str = "traced";

/// The warning that the kernel's tracer was on.
pub fn traced() -> Warning {
    Warning::new(
        TRACED,
        Effect::Inconclusive,
        "the kernel's tracer was on, and its own time is in every latency",
        "measure without --trace for the machine's own latencies",
    )
}

/// Settings that call for a warning by themselves.
fn of_request(of: &RecordParts) -> Vec<Warning> {
    let s = &of.settings;
    let mut all = Vec::new();
    let lines = s.lines.as_ref();
    let ordinary = match lines {
        None => of.space == Space::User && s.policy == Policy::Other,
        Some(l) => {
            let device = s.handler.is_none() && l.dut.as_ref().is_some_and(|d| d.priority == 0);
            s.policy == Policy::Other && !is_autonomous(&l.answer) || device
        }
    };
    if ordinary {
        all.push(Warning::new(
            "policy-other",
            Effect::Inconclusive,
            "measured as an ordinary task (SCHED_OTHER), as asked: a real-time task would be woken sooner",
            "--policy fifo --priority 95",
        ));
    }
    if s.trace_above.is_some() {
        all.push(traced());
    }
    let fake = of.target.starts_with("fake:");
    if !s.mlockall && (of.space == Space::User || lines.is_some()) && !fake {
        all.push(Warning::new(
            "memory-not-locked-by-request",
            Effect::Inconclusive,
            "memory was not locked, as asked: page faults may be part of the latencies",
            "lock it: leave out --no-mlockall (cyclictest: add -m)",
        ));
    }
    all
}

/// Threads that did not have the requested policy or priority, or did not run for as long as requested.
fn of_threads(of: &RecordParts) -> Vec<Warning> {
    let s = &of.settings;
    let mut all = Vec::new();
    // An instrument that stamps by itself needs no priority: the thread that reads from it has none.
    let reads = s.lines.as_ref().is_some_and(|l| is_autonomous(&l.answer));
    let refused = of.distributions.iter().filter(|_| !reads).find(|d| {
        let thread = d.parts().thread.as_ref();
        let (policy, priority) = (thread.and_then(|t| t.policy), thread.map_or(0, |t| t.priority));
        let lower = s.policy.has_priority() && !s.priority_descends && priority < s.priority;
        policy.is_some_and(|p| p != s.policy || lower)
    });
    if let Some(d) = refused.filter(|_| s.policy != Policy::Other) {
        all.push(Warning::new(
            "priority-refused",
            Effect::Invalid,
            format!("{} did not have the policy and priority that were asked for: the latencies are those of another task", d.label()),
            "run as root, or allow it: `setcap cap_sys_nice,cap_ipc_lock+ep` on rtscope-probe, or rtprio in /etc/security/limits.conf",
        ));
    }
    let asked = s.duration.map_or(0, |d| u128::from(d.0));
    let may_end =
        of.interrupted || s.break_above.is_some() || s.loops.is_some() || of.test != Test::Timer || of.space != Space::User;
    let ran = |d: &Distribution| {
        d.parts().thread.as_ref().zip(d.parts().expected).map(|(t, n)| u128::from(t.interval) * (u128::from(n) + 1))
    };
    let short = |ran: u128| ran * 100 < asked * WHOLE;
    if !may_end && (short(u128::from(of.elapsed_ns)) || of.distributions.iter().filter_map(ran).any(short)) {
        all.push(Warning::new(
            "cut-short",
            Effect::Inconclusive,
            "less was measured than was asked for, and nothing says why: the figures are of a part of the run",
            "let it run to its end",
        ));
    }
    all
}

/// A load without a proof.
fn of_load(of: &RecordParts) -> Option<Warning> {
    (of.load != "none" && of.load_proof.is_none() && !of.target.starts_with("fake:")).then(|| {
        Warning::new(
            "load-unproven",
            Effect::Invalid,
            format!("the record holds no proof of what the load `{}` did, so nothing shows that it was there", of.load),
            "run again",
        )
    })
}

/// The edge of a jitter's distribution: `rising` of `rising early`.
fn edge(label: &str) -> &str {
    label.strip_suffix(" early").or_else(|| label.strip_suffix(" late")).unwrap_or(label)
}

fn of_distributions(of: &RecordParts) -> Vec<Warning> {
    let mut all = Vec::new();
    let mut put = |code: &str, effect, message: String, remedy: &str| all.push(Warning::new(code, effect, message, remedy));
    if of.distributions.is_empty() {
        put("no-samples", Effect::Invalid, "there is no figure in it at all".into(), "measure for longer");
    }
    for d in &of.distributions {
        let (label, missed) = (d.label(), d.missed());
        // Jitter has two distributions for each edge, by sign: the wave may be late every time.
        let other_sign = |o: &Distribution| o.count() > 0 && edge(o.label()) == edge(label);
        let signed = of.test == Test::Periodic && of.distributions.iter().any(other_sign);
        if d.count() == 0 && !signed {
            put("no-samples", Effect::Invalid, format!("{label} took no sample at all"), "measure for longer than the interval");
        }
        if d.dropped() > 0 {
            let message = format!("{label}: {} samples were taken and lost", d.dropped());
            // Imports use another code.
            put(
                if of.source.is_none() { "samples-lost" } else { "dropped" },
                Effect::Invalid,
                message,
                "a longer interval, fewer CPUs, or a less loaded machine",
            );
        }
        if missed > 0 && of.test == Test::Timer {
            let message = format!("{label} passed over {missed} grid points: see the corrected percentiles");
            let remedy = "a longer interval, or a less loaded or better prepared machine (rtscope check)";
            put("missed-periods", Effect::Note, message, remedy);
        } else if missed > 0 && matches!(of.test, Test::Response | Test::Sustained) {
            let message = format!("{label}: {missed} stimuli were not answered in time");
            put("missed-answers", Effect::Note, message, "they are in no percentile: hold the run to it with --assert 'missed==0'");
        }
        if d.spurious() > 0 && of.test == Test::Response {
            let message = format!("{label}: {} edges that nobody asked for", d.spurious());
            put("spurious-edges", Effect::Note, message, "bouncing or unconnected lines? A pull-up, or shorter wires");
        }
    }
    all
}

fn of_lines(of: &RecordParts) -> Vec<Warning> {
    let mut all = Vec::new();
    let mut put = |code: &str, effect, message: &str, remedy: &str| all.push(Warning::new(code, effect, message, remedy));
    let (s, instrument) = (&of.settings, of.instrument.as_ref());
    if let Some(i) = instrument {
        if i.lost > 0 {
            let message = format!("{} edges were reported as lost: answers may be among the missed", i.lost);
            put("edges-lost", Effect::Invalid, &message, "a longer interval, or a less loaded instrument");
        }
        if i.answer.as_ref().is_some_and(|a| a.stamp == Stamp::Listener) {
            let message = "the answer has no stamps of its own: the instrument's own wake-up is in every time";
            put("edges-stamped-after-wake-up", Effect::Note, message, "measure its share: --calibrate=LINE");
        }
        let limited = ["search-limited", "instrument-limited"];
        let said = of.warnings.iter().any(|w| limited.contains(&w.code.as_str()));
        if !said && !i.search.is_empty() && i.search.iter().all(|t| t.sustained) {
            let message = "every interval of the search held: the DUT keeps up with the shortest or with more";
            put(
                "search-limited",
                Effect::Inconclusive,
                message,
                "a shorter --shortest, if the instrument can send stimuli that fast",
            );
        }
    }
    let Some(l) = &s.lines else { return all };
    if l.self_answer.is_some() || l.dut.as_ref().is_some_and(|d| !d.inject.is_none()) {
        let message = "the DUT, or the instrument itself, did wrong on purpose: the figures validate the instrument, not a machine";
        put("injected", Effect::Invalid, message, "measure with a DUT, without --inject");
    }
    if l.answer.starts_with("soft:") {
        let message = "the lines are memory between two tasks: the latencies are those of waking a task, without pin and interrupt";
        put("software-line", Effect::Inconclusive, message, "measure over GPIO or serial lines, or in the lab");
    }
    all
}

#[cfg(test)]
#[path = "again_tests.rs"]
mod tests;
