//! The loops' view of lines and clock, and a simulation of both.

use crate::lines::{Input, LineError, Output, Span};
use rtscope_samples::Edge;
use rtscope_sys::rt;
use std::collections::BTreeSet;

/// Lines and clock of an instrument.
pub trait Wires {
    /// The time now, ns.
    fn now(&mut self) -> u64;
    /// Drives the stimulus line.
    fn drive(&mut self, level: bool) -> Result<Span, LineError>;
    /// The next edge of the answer line; `None` if there is none until `deadline`, ns.
    fn wait(&mut self, deadline: u64) -> Result<Option<Edge>, LineError>;
}

/// Real lines, and `CLOCK_MONOTONIC`.
pub struct Real {
    /// The stimulus line; none for a test that only listens.
    pub stimulus: Option<Box<dyn Output>>,
    /// The answer line.
    pub answer: Box<dyn Input>,
}

impl Wires for Real {
    #[inline]
    fn now(&mut self) -> u64 {
        rt::now()
    }

    #[inline]
    fn drive(&mut self, level: bool) -> Result<Span, LineError> {
        match &mut self.stimulus {
            Some(line) => line.set(level),
            None => Ok(Span::default()),
        }
    }

    #[inline]
    fn wait(&mut self, deadline: u64) -> Result<Option<Edge>, LineError> {
        self.answer.wait(deadline)
    }
}

/// A simulation: time passes only during waits, and the answers are a function of the stimuli.
pub struct Simulated<F> {
    now: u64,
    level: bool,
    dut: F,
    coming: BTreeSet<(u64, bool)>,
}

impl<F: FnMut(u64, bool) -> Vec<(u64, bool)>> Simulated<F> {
    /// `dut` takes the time and level of a stimulus, and returns the times and levels of the resulting edges.
    pub fn new(dut: F) -> Self {
        Self { now: 1_000_000, level: false, dut, coming: BTreeSet::new() }
    }

    /// Adds edges that no stimulus causes.
    #[cfg(test)]
    #[must_use]
    pub fn edges(mut self, edges: impl IntoIterator<Item = (u64, bool)>) -> Self {
        self.coming.extend(edges);
        self
    }
}

impl<F: FnMut(u64, bool) -> Vec<(u64, bool)>> Wires for Simulated<F> {
    fn now(&mut self) -> u64 {
        self.now
    }

    fn drive(&mut self, level: bool) -> Result<Span, LineError> {
        if level != self.level {
            self.level = level;
            self.coming.extend((self.dut)(self.now, level));
        }
        Ok(Span { before: self.now, after: self.now + 7 })
    }

    fn wait(&mut self, deadline: u64) -> Result<Option<Edge>, LineError> {
        match self.coming.first().copied() {
            Some((at, level)) if at <= deadline.max(self.now) => {
                self.coming.pop_first();
                self.now = self.now.max(at);
                Ok(Some(Edge { level, at, lost: 0 }))
            }
            _ => {
                self.now = self.now.max(deadline);
                Ok(None)
            }
        }
    }
}
