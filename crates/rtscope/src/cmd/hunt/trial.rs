//! A trial of a hunt that gave a figure.

use rtscope_record::Verdict;
use rtscope_run::hunt::Length;

/// A trial that gave a figure.
#[derive(Debug, Clone)]
pub(super) struct Trial {
    /// The load.
    pub(super) load: String,
    /// How long it was measured.
    pub(super) length: Length,
    /// Its seed.
    pub(super) seed: u64,
    /// Id of its record.
    pub(super) id: String,
    /// Maximum latency, ns.
    pub(super) max: u64,
    /// That on the other target, if there is one.
    pub(super) other: Option<u64>,
    pub(super) verdict: Verdict,
    /// When it began, ns since 1970.
    pub(super) started: i128,
}

impl Trial {
    /// What the hunt makes high.
    pub(super) fn score(&self) -> u64 {
        self.max.saturating_sub(self.other.unwrap_or(0))
    }

    /// For progress.
    pub(super) fn words(&self) -> String {
        let against = self.other.map_or_else(String::new, |o| format!(" against {:.2} us", o as f64 / 1e3));
        format!("{:.2} us{against}, {}", self.max as f64 / 1e3, self.load)
    }
}
