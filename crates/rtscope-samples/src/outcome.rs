//! What becomes of a stimulus, and where this is booked.

/// What became of a stimulus, or an edge that belongs to none. `level` is the level of the stimulus; for a spurious edge its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StimulusOutcome {
    /// Answered in time.
    Answered {
        /// Rising.
        level: bool,
        /// From the stimulus to its answer, ns.
        latency: u64,
        /// When the answer came, ns.
        at: u64,
    },
    /// Not answered in time.
    Missed {
        /// Rising.
        level: bool,
    },
    /// Answered after its time-out. Follows the `Missed` of the same stimulus.
    Late {
        /// Rising.
        level: bool,
    },
    /// An edge that belongs to no stimulus.
    Spurious {
        /// Rising.
        level: bool,
    },
}

/// Receives outcomes. `number` is that of the stimulus, from 1; for a spurious edge, that of the latest stimulus.
pub trait Sink {
    /// The times of worst samples count from `start`, ns.
    fn start_at(&mut self, _start: u64) {}
    /// Books one outcome. The loop calls this: no allocation.
    fn take(&mut self, number: u64, outcome: StimulusOutcome);
}

/// Keeps all outcomes in order, for tests and simulations. Allocates.
impl Sink for Vec<(u64, StimulusOutcome)> {
    fn take(&mut self, number: u64, outcome: StimulusOutcome) {
        self.push((number, outcome));
    }
}

/// Labels of the distributions, by the level of their edges.
pub const LABELS: [&str; 2] = ["falling", "rising"];
