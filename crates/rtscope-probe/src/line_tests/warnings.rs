//! The warnings of tests over lines.

use super::checked::LineTest;
use super::instrument::{Ended, RunCounts};
use crate::lines::LineSpec;
use crate::measured::Failure;
use rtscope_record::lines::{LineFacts, Stamp};
use rtscope_record::{Distribution, Effect, InstrumentFacts, Nanos, Policy, Settings, Test, Warning};
use rtscope_sys::rt;

/// The kernel refused the instrument its CPU or priority.
fn refused(what: &str) -> Warning {
    Warning::new(
        "priority-refused",
        Effect::Invalid,
        format!("the instrument: {what}: it ran as an ordinary task, and stimuli and stamps of its own may be late"),
        "run as root, or allow it: `setcap cap_sys_nice,cap_ipc_lock+ep` on rtscope-probe, or rtprio in /etc/security/limits.conf",
    )
}

/// All warnings about what the figures alone do not show.
pub(super) fn of(
    test: &LineTest<'_>,
    facts: &InstrumentFacts,
    distributions: &[Distribution],
    own: RunCounts,
    ended: Ended,
) -> Vec<Warning> {
    let mut all = Vec::new();
    let mut put = |code: &str, effect, message: String, remedy: &str| all.push(Warning::new(code, effect, message, remedy));
    let (s, l) = (test.settings, test.lines);
    let (test, answer) = (if test.stimulus.is_some() { Test::Response } else { Test::Periodic }, &test.answer);
    if ended == Ended::Silent {
        let message = format!("nothing came back on {answer} at the end: the DUT died, and the run was ended");
        put("dut-silent", Effect::Invalid, message, "look after the DUT, and measure again");
    }
    if ended == Ended::Gone {
        let message = format!("the instrument behind {answer} went away in the middle: the figures end there");
        put("instrument-gone", Effect::Invalid, message, "look after its cable and power; `rtscope fpga selftest PORT`");
    }
    if facts.lost > 0 {
        let message = format!("{answer} reported {} lost edges: answers may be among the missed", facts.lost);
        put("edges-lost", Effect::Invalid, message, "a longer interval, or a less loaded instrument");
    }
    if let Some(dut) = l.dut.as_ref().filter(|d| !d.inject.is_none()) {
        let message = format!("the DUT did wrong on purpose ({}): the figures validate the instrument, not a machine", dut.inject);
        put("injected", Effect::Invalid, message, "measure without --inject");
    }
    let in_kernel = answer.is_autonomous();
    if facts.calibration.is_some() && answer.fpga_port().is_some() {
        let message =
            "the null wire was the loop inside the instrument: stamps, store, line and pairing are in its figures, pins, input \
                       cells and wires are not"
                .into();
        put("null-wire-inside", Effect::Note, message, "with them: a jumper from stimulus to answer, measured as a DUT");
    }
    if let Some(i) = &l.self_answer {
        let message = format!("the instrument answered itself ({i}): the figures validate it, not a machine");
        put("injected", Effect::Invalid, message, "measure with a DUT");
    }
    if answer.is_soft() {
        put(
            "software-line",
            Effect::Inconclusive,
            "the lines are memory between two tasks: the latencies are those of waking a task, without pin and interrupt".into(),
            "measure over GPIO or serial lines, or in the lab",
        );
    }
    let shared = match l.dut.as_ref().map(|d| d.cpu) {
        Some(Some(cpu)) => !s.migrate && s.cpus.first() == Some(&cpu),
        Some(None) | None => false,
    };
    if !in_kernel && l.dut.is_some() && (shared || rt::allowed_cpus().is_ok_and(|cpus| cpus.len() == 1)) {
        put(
            "instrument-on-the-duts-cpu",
            Effect::Inconclusive,
            "instrument and DUT share a CPU: a stimulus is only given when nothing keeps that CPU busy, so that load does not show"
                .into(),
            "another CPU for the DUT (--dut-cpu), or an instrument of its own",
        );
    }
    if facts.answer.as_ref().is_some_and(|a| a.stamp == Stamp::Listener) {
        put(
            "edges-stamped-after-wake-up",
            Effect::Note,
            format!("{answer} has no stamps of its own: the instrument's own wake-up is in every time"),
            "measure its share: --calibrate=LINE with a line wired straight to the stimulus",
        );
    }
    if s.policy == Policy::Other && !in_kernel || s.handler.is_none() && l.dut.as_ref().is_some_and(|d| d.priority == 0) {
        put(
            "policy-other",
            Effect::Inconclusive,
            "instrument or DUT ran as an ordinary task (SCHED_OTHER), as asked: a real-time task would be woken sooner".into(),
            "--policy fifo --priority 95 --dut-priority 95",
        );
    }
    if !s.mlockall {
        put(
            "memory-not-locked-by-request",
            Effect::Inconclusive,
            "memory was not locked, as asked: page faults may be part of the latencies".into(),
            "lock it: leave out --no-mlockall",
        );
    }
    if facts.narrow > 0 {
        let width = l.shape.min_width.unwrap_or_default();
        let message = format!("{} pulses shorter than {width} were taken out, as asked; they are in no other count", facts.narrow);
        put(
            "narrow-pulses",
            Effect::Note,
            message,
            "look at the signal: slow edges, bouncing or crosstalk? A line driver or shorter wires",
        );
    }
    if facts.behind > 0 {
        let message =
            format!("{} of {} stimuli were more than an interval late, or left out", facts.behind, own.stimuli + facts.behind);
        put("instrument-behind", Effect::Note, message, "a longer interval; the latencies themselves are right");
    }
    if let Some(w) = facts.warmup.as_ref().filter(|w| w.stimuli > 0) {
        let time = |ns: Option<u64>| ns.map_or_else(|| "-".into(), |ns| Nanos(ns).to_string());
        let message = format!(
            "the first {} are not in the figures: min {}, median {}, max {}, missed {}, spurious {}",
            w.stimuli,
            time(w.min),
            time(w.median),
            time(w.max),
            w.missed,
            w.spurious
        );
        put("warm-up", Effect::Note, message, "--warmup 0 takes them in");
    }
    if test == Test::Response {
        all.extend(rtscope_samples::warnings::of_answers(distributions, &answer.to_string(), l.timeout));
    }
    all
}

/// The failure when no edge came back at all.
pub(super) fn nothing_came(stimulus: Option<&LineFacts>, answer: &LineSpec, stimuli: u64) -> Failure {
    let stimulus = stimulus.map(|l| l.name.clone()).unwrap_or_default();
    Failure::machine(
        format!("no edge came back on {answer} for {stimuli} stimuli on {stimulus}"),
        "is the DUT running, does it listen to the stimulus line, and are the two lines or their wires swapped?",
    )
}

/// Gives the instrument its CPU and priority. Returns a warning if they were refused.
pub(super) fn take_place(s: &Settings, cpu: Option<u32>) -> Option<Warning> {
    let pinned = cpu.map_or(Ok(()), rt::pin).map_err(|e| format!("sched_setaffinity to CPU {}: {e}", cpu.unwrap_or(0)));
    let scheduled = if s.policy == Policy::Other { Ok(()) } else { rt::set_policy(s.policy, s.priority, 0) };
    let scheduled = scheduled.map_err(|e| format!("sched_setattr {} priority {}: {e}", s.policy, s.priority));
    pinned.and(scheduled).err().map(|what| refused(&what))
}
