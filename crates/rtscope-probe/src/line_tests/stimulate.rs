//! The instrument's loop: gives each stimulus when it is due, takes its answer until the time-out, and books
//! every other edge (`pairing.rs`).

use super::instrument::{Ended, RunCounts};
use super::schedule::Schedule;
use super::wires::Wires;
use crate::lines::LineError;
use rtscope_samples::Edge;
use rtscope_samples::outcome::Sink;
use rtscope_samples::pairing::{Closed, Pairing};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Longest wait before the loop checks whether to stop, ns.
const POLL_INTERVAL: u64 = 100_000_000;
/// A device that answers nothing for this many stimuli and this long, ns, counts as dead.
const SILENT: (u64, u64) = (20, 2_000_000_000);

/// When the loop ends.
#[derive(Debug)]
pub struct Until<'a> {
    /// After this many stimuli.
    pub stimuli: u64,
    /// At this time, ns.
    pub end: u64,
    /// When this is set.
    pub stop: &'a AtomicBool,
}

/// Gives stimuli until `until`, and books the outcomes. The stimulus line is low at the start and is left low.
pub fn stimulate(
    wires: &mut impl Wires,
    schedule: &mut Schedule,
    timeout: u64,
    until: &Until<'_>,
    sink: &mut (impl Sink + ?Sized),
) -> Result<(Ended, RunCounts), LineError> {
    let mut counts = RunCounts::default();
    let mut level = false;
    let mut pairing = Pairing::new(timeout);
    let start = wires.now();
    let mut due = start + schedule.interval();
    let mut quiet_since = start;
    let mut unanswered = 0;
    listen(wires, due, until, &mut |edge| {
        counts.lost += edge.lost;
        counts.edges += 1;
        pairing.answer(edge, sink);
        false
    })?;
    let ended = loop {
        let now = wires.now();
        if until.stop.load(Relaxed) {
            break Ended::Stopped;
        }
        if counts.stimuli >= until.stimuli || now >= until.end {
            break Ended::Complete;
        }
        if unanswered >= SILENT.0 && now.saturating_sub(quiet_since) >= SILENT.1 {
            break Ended::Silent;
        }
        let interval = schedule.interval();
        level = !level;
        let span = wires.drive(level)?;
        counts.stimuli += 1;
        counts.span_max = counts.span_max.max(span.after - span.before);
        counts.span_sum += span.after - span.before;
        counts.behind += u64::from(span.before > due + interval);
        let deadline = span.before + timeout;
        pairing.stimulus(span.before, level, sink);
        // Stays on the grid unless that would cut the time for the answer short.
        due = (due + interval).max(deadline);
        let mut judge = |edge: Edge| {
            counts.lost += edge.lost;
            counts.edges += 1;
            pairing.answer(edge, sink);
            pairing.answered()
        };
        listen(wires, deadline, until, &mut judge)?;
        let mut judge = |edge: Edge| {
            judge(edge);
            false
        };
        listen(wires, due, until, &mut judge)?;
        match pairing.close(wires.now(), sink) {
            Closed::Answered => unanswered = 0,
            // Stopped while there was still time for an answer, so the outcome of this stimulus is unknown.
            Closed::Undecided | Closed::None => {
                counts.stimuli -= 1;
                break Ended::Stopped;
            }
            Closed::Missed => {
                unanswered += 1;
                continue;
            }
            Closed::Late => unanswered += 1,
        }
        quiet_since = wires.now();
    };
    counts.elapsed = wires.now() - start;
    wires.drive(false)?;
    Ok((ended, counts))
}

/// Passes every edge until `deadline` to `take`. Ends early when `take` returns `true`, or when the loop is to stop.
fn listen(wires: &mut impl Wires, deadline: u64, until: &Until<'_>, take: &mut impl FnMut(Edge) -> bool) -> Result<(), LineError> {
    loop {
        let now = wires.now();
        match wires.wait(deadline.min(now + POLL_INTERVAL))? {
            Some(edge) if take(edge) => return Ok(()),
            None if wires.now() >= deadline || until.stop.load(Relaxed) => return Ok(()),
            Some(_) | None => {}
        }
    }
}

#[cfg(test)]
#[path = "stimulate_tests.rs"]
mod tests;
