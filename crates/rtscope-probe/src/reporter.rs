//! The reporting thread during a run: it receives signals and the driver's end of file, and reports progress.

use crate::protocol::{Event, Live, ProbePlan};
use rtscope_sys::rt::{self, Signals, Woken};

/// Waits, listens and reports in the loop of every test.
pub(crate) struct Reporter<'a> {
    signals: &'a Signals,
    /// The driver's pipe, whose end of file means stop; negative without one.
    input: i32,
    /// Time between two reports, ns; 0 for no reports.
    every: u64,
    start: u64,
    next: u64,
    interrupted: bool,
}

impl<'a> Reporter<'a> {
    /// Reports as often as `plan` asks for.
    pub(crate) fn new(plan: &ProbePlan, signals: &'a Signals, input: i32) -> Self {
        let every = u64::from(plan.progress_ms) * 1_000_000;
        Self { signals, input, every, start: 0, next: 0, interrupted: false }
    }

    /// A run, or part of one, began at `start` ns. The first report is due `after` ns later.
    pub(crate) fn begin(&mut self, start: u64, after: u64) {
        (self.start, self.next) = (start, start.saturating_add(after));
    }

    /// Time between two reports, ns; 0 for no reports.
    pub(crate) fn every(&self) -> u64 {
        self.every
    }

    /// Whether the run was told to end.
    pub(crate) fn interrupted(&self) -> bool {
        self.interrupted
    }

    /// Waits for at most `ms`. A signal or the driver's end of file ends the wait, and asks the run to end.
    pub(crate) fn wait(&mut self, ms: i32) {
        match self.signals.wait(if self.interrupted { -1 } else { self.input }, ms) {
            Woken::Signal => self.interrupted = true,
            Woken::Input => self.interrupted |= rtscope_sys::ended(self.input),
            Woken::Timeout => {}
        }
    }

    /// Reports progress, if a report is due.
    pub(crate) fn report(&mut self, figures: impl FnOnce() -> Vec<Live>, say: &mut dyn FnMut(Event)) {
        let now = rt::now();
        if self.every > 0 && now >= self.next {
            self.next = now + self.every;
            say(Event::Progress { elapsed_ns: now.saturating_sub(self.start), threads: figures() });
        }
    }
}
