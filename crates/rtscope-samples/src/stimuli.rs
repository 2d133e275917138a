//! Which edges of the FPGA instrument's stimulus ask: each one in turn, or the one or both of a pulse.
//!
//! In turn, every edge waits for the answer to it before the next one asks. A pulse may be shorter than the answer takes: the edges to each
//! level have a pairing of their own then, and an answer is one by its level. Answers come in the order of their stimuli all the same.

use crate::edge::Edge;
use crate::outcome::{Outcome, Sink};
use crate::pairing::{Closed, Pairing};
use rtscope_record::Shape;

/// The stimuli to one level, or to both in turn, and their answers.
#[derive(Debug)]
pub struct Stimuli {
    /// `None`: both.
    level: Option<bool>,
    pairing: Pairing,
    /// Stimuli; 0: no end.
    count: u64,
    /// Its n-th stimulus is the run's `every` * n - `before`.
    every: u64,
    before: u64,
    /// Something is missing since its latest stimulus: what answers it, or does not, can't be told.
    blind: bool,
    complete: bool,
}

/// Numbers stimuli as the run does.
struct Numbered<'a, S: ?Sized> {
    sink: &'a mut S,
    every: u64,
    before: u64,
}

impl<S: Sink + ?Sized> Sink for Numbered<'_, S> {
    fn take(&mut self, number: u64, outcome: Outcome) {
        self.sink.take(number * self.every - self.before, outcome);
    }
}

impl Stimuli {
    /// What asks in `count` stimuli of this shape (0: without end), answered in time until `timeout` ns after each.
    pub fn of(shape: &Shape, count: u64, timeout: u64) -> Vec<Self> {
        let new = |level, count, every, before| {
            let pairing = Pairing::new(timeout);
            Self { level, pairing, count, every, before, blind: false, complete: false }
        };
        let Shape { pulse, both_edges, active_low, .. } = *shape;
        match (pulse, both_edges) {
            (None, _) => vec![new(None, count, 1, 0)],
            (Some(_), false) => vec![new(Some(!active_low), count, 1, 0)],
            // An odd number ends with a pulse whose edge back asks nothing. At least one: 0 would mean without end.
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

    /// All were given and judged: nothing more is taken.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Takes an edge of the stimulus; what became of the one before. `None`: it is not of this kind, or beyond the number.
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

    /// When its latest stimulus was given, ns, if that was answered in time.
    pub fn answered_of(&self) -> Option<u64> {
        self.pairing.answered_of()
    }

    /// A stimulus of another kind, given at `at` ns, is answered: one from before it gets no answer any more.
    pub fn overtaken(&mut self, at: u64) {
        self.pairing.overtaken(at);
    }

    /// Something is missing here: an answer that is there stays; else nobody knows what became of the stimulus.
    pub fn gap<S: Sink + ?Sized>(&mut self, sink: &mut S) {
        self.close(0, sink);
        self.blind = true;
    }

    /// Ends the stimulus in hand at `at` ns: one whose time-out is still to come is taken back.
    pub fn close<S: Sink + ?Sized>(&mut self, at: u64, sink: &mut S) {
        self.pairing.close(at, &mut Numbered { sink, every: self.every, before: self.before });
    }
}

#[cfg(test)]
#[path = "stimuli_tests.rs"]
mod tests;
