//! Which edges of the FPGA instrument's stimulus count as stimuli: every edge in turn, or one or both edges of a pulse.
//!
//! In turn, every edge waits for its answer before the next is given. A pulse may be shorter than the time to its answer. So the
//! edges to each level have a pairing of their own, and answers are assigned by their level. Answers still come in the order of
//! their stimuli.

use crate::edge::Edge;
use crate::outcome::{Sink, StimulusOutcome};
use crate::pairing::{Closed, Pairing};
use rtscope_record::Shape;

/// The stimuli to one level, or to both in turn, and their answers.
#[derive(Debug)]
pub struct Stimuli {
    /// The level of the stimuli; `None`: both in turn.
    level: Option<bool>,
    pairing: Pairing,
    /// Number of stimuli; 0: without end.
    count: u64,
    /// The n-th stimulus here is number `every` * n - `before` of the run.
    every: u64,
    before: u64,
    /// Edges were lost since the latest stimulus: whether it was answered is unknown.
    blind: bool,
    complete: bool,
}

/// Renumbers stimuli as the run does.
struct Numbered<'a, S: ?Sized> {
    sink: &'a mut S,
    every: u64,
    before: u64,
}

impl<S: Sink + ?Sized> Sink for Numbered<'_, S> {
    fn take(&mut self, number: u64, outcome: StimulusOutcome) {
        self.sink.take(number * self.every - self.before, outcome);
    }
}

impl Stimuli {
    /// The pairings for `count` stimuli of this shape (0: without end), with a time-out of `timeout` ns.
    pub fn of(shape: &Shape, count: u64, timeout: u64) -> Vec<Self> {
        let new = |level, count, every, before| {
            let pairing = Pairing::new(timeout);
            Self { level, pairing, count, every, before, blind: false, complete: false }
        };
        let Shape { pulse, both_edges, active_low, .. } = *shape;
        match (pulse, both_edges) {
            (None, _) => vec![new(None, count, 1, 0)],
            (Some(_), false) => vec![new(Some(!active_low), count, 1, 0)],
            // With an odd number, the last pulse's edge back is not a stimulus. At least 1, because 0 would mean without end.
            (Some(_), true) => vec![
                new(Some(!active_low), count.div_ceil(2), 2, 1),
                new(Some(active_low), if count == 0 { 0 } else { (count / 2).max(1) }, 2, 0),
            ],
        }
    }

    fn is_of(&self, level: bool) -> bool {
        self.level.is_none_or(|own| own == level)
    }

    /// Stimuli so far.
    pub fn stimuli(&self) -> u64 {
        self.pairing.stimuli()
    }

    /// All stimuli were given and judged: further edges are ignored.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Takes an edge of the stimulus and returns what became of the previous one. `None` if the edge has another level, or
    /// if all stimuli are judged already.
    pub fn stimulus<S: Sink + ?Sized>(&mut self, at: u64, level: bool, sink: &mut S) -> Option<Closed> {
        if self.complete || !self.is_of(level) {
            return None;
        }
        let sink = &mut Numbered { sink, every: self.every, before: self.before };
        self.blind = false;
        Some(if self.count > 0 && self.pairing.stimuli() >= self.count {
            self.complete = true;
            self.pairing.close(at, sink)
        } else {
            self.pairing.stimulus(at, level, sink)
        })
    }

    /// Takes an edge of the answer.
    pub fn answer<S: Sink + ?Sized>(&mut self, edge: Edge, sink: &mut S) {
        if !self.complete && !self.blind && self.is_of(edge.level) {
            self.pairing.answer(edge, &mut Numbered { sink, every: self.every, before: self.before });
        }
    }

    /// When the latest stimulus was given, ns, if it was answered in time.
    pub fn answered_of(&self) -> Option<u64> {
        self.pairing.answered_of()
    }

    /// Tells that a stimulus to the other level, given at `at` ns, was answered: one from before it gets no answer.
    pub fn overtaken(&mut self, at: u64) {
        self.pairing.overtaken(at);
    }

    /// Edges were lost here. A stimulus that was answered stays; the fate of another is unknown, so it is withdrawn.
    pub fn gap<S: Sink + ?Sized>(&mut self, sink: &mut S) {
        self.close(0, sink);
        self.blind = true;
    }

    /// Ends the current stimulus at `at` ns. If its time-out has not passed yet, it is withdrawn.
    pub fn close<S: Sink + ?Sized>(&mut self, at: u64, sink: &mut S) {
        self.pairing.close(at, &mut Numbered { sink, every: self.every, before: self.before });
    }
}

#[cfg(test)]
#[path = "stimuli_tests.rs"]
mod tests;
