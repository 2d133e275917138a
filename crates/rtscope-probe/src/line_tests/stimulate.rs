//! The instrument's loop: a stimulus when it is due, its answer until the time-out, and everything else for what it is (`pairing.rs`).

use super::schedule::Schedule;
use super::wires::Wires;
use crate::lines::LineError;
use rtscope_samples::Edge;
use rtscope_samples::outcome::Sink;
use rtscope_samples::pairing::{Closed, Pairing};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The longest that the loop waits without looking whether it is to stop, ns.
const GLANCE: u64 = 100_000_000;
/// A device that answered nothing for so many stimuli and so long is taken for dead.
const SILENT: (u64, u64) = (20, 2_000_000_000);

/// When the loop ends.
#[derive(Debug)]
pub struct Until<'a> {
    /// After so many stimuli.
    pub stimuli: u64,
    /// At this time, ns.
    pub end: u64,
    /// When told to.
    pub stop: &'a AtomicBool,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All stimuli given, or the time is over.
    Complete,
    /// Told to stop.
    Stopped,
    /// Nothing came back for long: the device is dead, or the wires are not where they should be.
    Silent,
    /// The instrument itself went away.
    Gone,
}

/// What the loop saw of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunCounts {
    /// Stimuli given.
    pub stimuli: u64,
    /// Highest time between the clock reads around a stimulus, ns.
    pub span_max: u64,
    /// Sum of the same, ns.
    pub span_sum: u64,
    /// Stimuli later than planned by more than their interval.
    pub behind: u64,
    /// Edges that the answer line reported as lost.
    pub lost: u64,
    /// Events among them that the instrument itself had no room for.
    pub overflowed: u64,
    /// Edges of the answer line.
    pub edges: u64,
    /// Pulses that were too narrow, and taken out.
    pub narrow: u64,
    /// From the first stimulus to the end of the last one's interval, ns.
    pub elapsed: u64,
}

/// Gives stimuli until `until`, and books what comes of them. The stimulus line is low at the start, and is left low.
pub fn stimulate(
    wires: &mut impl Wires,
    schedule: &mut Schedule,
    timeout: u64,
    until: &Until<'_>,
    sink: &mut impl Sink,
) -> Result<(Ended, RunCounts), LineError> {
    let mut own = RunCounts::default();
    let mut level = false;
    let mut pairing = Pairing::new(timeout);
    let start = wires.now();
    let mut due = start + schedule.interval();
    let mut quiet_since = start;
    let mut unanswered = 0;
    listen(wires, due, until, &mut |edge| {
        own.lost += edge.lost;
        own.edges += 1;
        pairing.answer(edge, sink);
        false
    })?;
    let ended = loop {
        let now = wires.now();
        if until.stop.load(Relaxed) {
            break Ended::Stopped;
        }
        if own.stimuli >= until.stimuli || now >= until.end {
            break Ended::Complete;
        }
        if unanswered >= SILENT.0 && now.saturating_sub(quiet_since) >= SILENT.1 {
            break Ended::Silent;
        }
        let interval = schedule.interval();
        level = !level;
        let span = wires.drive(level)?;
        own.stimuli += 1;
        own.span_max = own.span_max.max(span.after - span.before);
        own.span_sum += span.after - span.before;
        own.behind += u64::from(span.before > due + interval);
        let deadline = span.before + timeout;
        pairing.stimulus(span.before, level, sink);
        // On the grid as long as the answer's time is not cut short by it.
        due = (due + interval).max(deadline);
        let mut judge = |edge: Edge| {
            own.lost += edge.lost;
            own.edges += 1;
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
            // Told to stop while there was still time for an answer: nobody knows what would have become of it.
            Closed::Undecided | Closed::None => {
                own.stimuli -= 1;
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
    own.elapsed = wires.now() - start;
    wires.drive(false)?;
    Ok((ended, own))
}

/// Hands every edge until `deadline` to `take`, until it says that it is content, or the loop is to stop.
fn listen(wires: &mut impl Wires, deadline: u64, until: &Until<'_>, take: &mut impl FnMut(Edge) -> bool) -> Result<(), LineError> {
    loop {
        let now = wires.now();
        match wires.wait(deadline.min(now + GLANCE))? {
            Some(edge) if take(edge) => return Ok(()),
            None if wires.now() >= deadline || until.stop.load(Relaxed) => return Ok(()),
            Some(_) | None => {}
        }
    }
}

#[cfg(test)]
#[path = "stimulate_tests.rs"]
mod tests;
