//! What the reporting thread does while a run is under way: it hears signals and the driver, and says how far the run is.

use crate::protocol::{Event, Live, Plan};
use rtscope_sys::rt::{self, Signals, Woken};

/// The one loop of every test waits, hears and reports by this.
pub(crate) struct Reporter<'a> {
    signals: &'a Signals,
    /// The driver's pipe, whose end of file means stop; negative for none.
    input: i32,
    /// Time between two reports, ns; 0 for none.
    every: u64,
    start: u64,
    next: u64,
    interrupted: bool,
}

impl<'a> Reporter<'a> {
    /// Reports as `plan` wants it.
    pub(crate) fn new(plan: &Plan, signals: &'a Signals, input: i32) -> Self {
        let every = u64::from(plan.progress_ms) * 1_000_000;
        Self { signals, input, every, start: 0, next: 0, interrupted: false }
    }

    /// A run, or a part of one, began at `start` ns; its first report is due `after` ns later.
    pub(crate) fn begin(&mut self, start: u64, after: u64) {
        (self.start, self.next) = (start, start.saturating_add(after));
    }

    /// Time between two reports, ns; 0 for none.
    pub(crate) fn every(&self) -> u64 {
        self.every
    }

    /// Whether the run was told to end.
    pub(crate) fn interrupted(&self) -> bool {
        self.interrupted
    }

    /// Waits for `ms` at most; a signal or the driver's end of file ends the wait, and means that the run is to end.
    pub(crate) fn wait(&mut self, ms: i32) {
        match self.signals.wait(if self.interrupted { -1 } else { self.input }, ms) {
            Woken::Signal => self.interrupted = true,
            Woken::Input => self.interrupted |= rtscope_sys::ended(self.input),
            Woken::Timeout => {}
        }
    }

    /// Says how far the run is, when that is due.
    pub(crate) fn report(&mut self, figures: impl FnOnce() -> Vec<Live>, say: &mut dyn FnMut(Event)) {
        let now = rt::now();
        if self.every > 0 && now >= self.next {
            self.next = now + self.every;
            say(Event::Progress { elapsed_ns: now.saturating_sub(self.start), threads: figures() });
        }
    }
}
