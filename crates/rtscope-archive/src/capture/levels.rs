//! What a line did: when its level changed.

/// Levels of a channel. They alternate, so that times and the first of them say all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Levels {
    /// When the level changed, ps, rising. The first known level is no edge.
    times: Vec<u64>,
    /// The latest level, and at the end the last one.
    level: Option<bool>,
    /// How often it was undefined or of high impedance.
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

    /// Nobody knows the level from here on: the one before is taken.
    pub(super) fn lose(&mut self) {
        self.unknown += u64::from(self.level.is_some());
    }

    /// The latest level.
    pub(super) fn level(&self) -> Option<bool> {
        self.level
    }

    /// When it became high or low, ps.
    pub fn edges(&self) -> impl ExactSizeIterator<Item = (u64, bool)> {
        // The last one led to the level at the end.
        let last = self.level.unwrap_or_default();
        let count = self.times.len();
        self.times.iter().enumerate().map(move |(i, at)| (*at, last ^ ((count - 1 - i) % 2 == 1)))
    }

    /// How often it was undefined or of high impedance.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }
}
