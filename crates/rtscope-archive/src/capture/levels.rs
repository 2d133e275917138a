//! The times at which a line changed its level.

/// The levels of a channel. They alternate, so the times and the final level are enough.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Levels {
    /// When the level changed, ps, ascending. The first known level is not a change.
    times: Vec<u64>,
    /// The latest level; after reading, the final one.
    level: Option<bool>,
    /// How often the level became undefined or high-impedance.
    unknown: u64,
}

impl Levels {
    /// The level from `at` on.
    pub(super) fn set(&mut self, at: u64, level: bool) {
        if self.level.is_some_and(|l| l != level) {
            self.times.push(at);
        }
        self.level = Some(level);
    }

    /// The level is unknown from here on; the previous one is assumed to hold.
    pub(super) fn lose(&mut self) {
        self.unknown += u64::from(self.level.is_some());
    }

    /// The latest level.
    pub(super) fn level(&self) -> Option<bool> {
        self.level
    }

    /// The times of the edges, ps, and the level after each.
    pub fn edges(&self) -> impl ExactSizeIterator<Item = (u64, bool)> {
        // The last edge led to the final level.
        let last = self.level.unwrap_or_default();
        let count = self.times.len();
        self.times.iter().enumerate().map(move |(i, at)| (*at, last ^ ((count - 1 - i) % 2 == 1)))
    }

    /// How often the level became undefined or high-impedance.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }
}
