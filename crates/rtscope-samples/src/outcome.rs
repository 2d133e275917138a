//! What becomes of a stimulus, and what takes it.

/// What became of a stimulus, or an edge that belongs to none. Levels are those of the stimulus; of a spurious edge its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Answered in time, after so many ns.
    Answered {
        /// Rising.
        level: bool,
        /// From the stimulus to its answer, ns.
        latency: u64,
        /// When, ns.
        at: u64,
    },
    /// Not answered in time.
    Missed {
        /// Rising.
        level: bool,
    },
    /// Answered after its time-out; follows the `Missed` of the same stimulus.
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

/// What takes outcomes: `number` is that of the stimulus, from 1, or for a spurious edge that of the latest.
pub trait Sink {
    /// The times of worst samples count from `start`, ns.
    fn start_at(&mut self, _start: u64) {}
    /// Books one outcome. Called from the loop: allocates nothing.
    fn take(&mut self, number: u64, outcome: Outcome);
}

/// All of them as they come, for tests and simulations: allocates.
impl Sink for Vec<(u64, Outcome)> {
    fn take(&mut self, number: u64, outcome: Outcome) {
        self.push((number, outcome));
    }
}

/// Labels of the distributions, by the level of their edges.
pub const LABELS: [&str; 2] = ["falling", "rising"];
