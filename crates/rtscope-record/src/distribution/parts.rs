//! The parts of a distribution, before they are checked.

use super::blocks::BlockMaxima;
use super::passed::PassedOver;
use crate::histogram::Histogram;
use crate::linear::LinearBins;
use crate::policy::Policy;
use serde::{Deserialize, Serialize};

/// One of the worst samples.
// In memory as it is written here: a live picture reads it while a loop writes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Worst {
    /// The sample, ns.
    pub value: u64,
    /// When it was taken, ns since the start of the run.
    pub at: u64,
}

/// The thread that took the samples.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadInfo {
    /// Thread id on the target; 0 if unknown, and for a timer in kernel space.
    pub tid: u32,
    /// CPU to which it was pinned; null if it was free to migrate, or if unknown.
    pub cpu: Option<u32>,
    /// Actual scheduling policy; null if unknown (imports), and for a timer in kernel space.
    pub policy: Option<Policy>,
    /// Actual priority, 1 to 99; 0 for policies without priority.
    pub priority: u8,
    /// Interval of its grid, or of the stimuli, ns.
    pub interval: u64,
    /// Its last sample, ns (cyclictest's `Act`).
    #[serde(default)]
    pub last: Option<u64>,
    /// Its first grid point, ns since the start of the run.
    #[serde(default)]
    pub first_at: Option<u64>,
}

/// What is known about the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Moments {
    /// Exact sum and sum of squares of every sample, ns and ns².
    Exact {
        /// Sum, ns.
        sum: u128,
        /// Sum of squares, ns².
        sum_sq: u128,
    },
    /// Only a mean as reported by another tool (with overflowed samples, the sums are unknown).
    Reported {
        /// Mean, ns.
        mean: f64,
    },
}

/// The parts of a [`Distribution`](crate::Distribution) before they are checked.
#[derive(Debug, Clone, PartialEq)]
pub struct DistributionParts {
    /// The label: "cpu0", "rising" ...
    pub label: String,
    /// Samples taken, including overflowed ones.
    pub count: u64,
    /// Lowest sample, ns; `None` only when `count` is 0.
    pub min: Option<u64>,
    /// Highest sample, ns; `None` only when `count` is 0.
    pub max: Option<u64>,
    /// Sums or mean.
    pub moments: Moments,
    /// Events that gave no sample because they were passed over or not answered in time.
    pub missed: u64,
    /// The latencies of all `missed` events, if known: grid points that were passed over. `None` if nothing was missed, or if it
    /// is unknown how late the missed events were.
    pub passed: Option<PassedOver>,
    /// Stimuli among `missed` that were answered after the time-out; such answers are in no histogram.
    pub late: u64,
    /// Spurious samples or edges; not part of `count`.
    pub spurious: u64,
    /// Samples of `count` that the histogram does not hold (only in imported data).
    pub overflow: u64,
    /// Samples that were taken and then lost; not part of `count`.
    pub dropped: u64,
    /// Events that should have given a sample: grid points, stimuli. `None` if a foreign tool does not say.
    pub expected: Option<u64>,
    /// All samples except overflowed ones.
    pub histogram: Histogram,
    /// The worst samples, in descending order of value.
    pub worst: Vec<Worst>,
    /// The thread that took the samples.
    pub thread: Option<ThreadInfo>,
    /// Exact equal-width bins beside the histogram.
    pub linear: Option<LinearBins>,
    /// The highest latency of each stretch of its grid, if they were kept.
    pub blocks: Option<BlockMaxima>,
    /// The unit to which values were rounded down, ns: 1 for rtscope, 1000 in most imported data.
    pub resolution: u64,
}

impl DistributionParts {
    /// Parts of an empty distribution with this label.
    pub fn empty(label: &str) -> Self {
        Self {
            label: label.into(),
            count: 0,
            min: None,
            max: None,
            moments: Moments::Exact { sum: 0, sum_sq: 0 },
            missed: 0,
            passed: None,
            late: 0,
            spurious: 0,
            overflow: 0,
            dropped: 0,
            expected: None,
            histogram: Histogram::new(),
            worst: Vec::new(),
            thread: None,
            linear: None,
            blocks: None,
            resolution: 1,
        }
    }
}
