//! One distribution of a record: a histogram with exact sums, extremes, worst samples and the counters that explain what is absent.

mod check;
mod merge;
mod passed;
pub(crate) mod wire;

pub use passed::PassedOver;

use crate::hdr::HdrError;
use crate::histogram::{CountOverflow, Histogram, SlotError};
use crate::linear::LinearBins;
use crate::quantile::{Quantile, named};
use crate::settings::Policy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One of the worst samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Worst {
    /// The sample, ns.
    pub value: u64,
    /// When it was taken, ns since the run's start.
    pub at: u64,
}

/// The thread that took the samples.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadInfo {
    /// Thread id on the target; 0 when unknown.
    pub tid: u32,
    /// The CPU it was pinned to; `None` when it was free to migrate.
    pub cpu: Option<u32>,
    /// The policy it really ran under; `None` when unknown (an imported file).
    pub policy: Option<Policy>,
    /// The priority it really ran at.
    pub priority: u8,
    /// Its own grid, ns.
    pub interval: u64,
    /// Its last sample, ns (cyclictest's `Act`).
    #[serde(default)]
    pub last: Option<u64>,
    /// Its first grid point, ns since the run's start.
    #[serde(default)]
    pub first_at: Option<u64>,
}

/// How the mean is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Moments {
    /// Exact sum and sum of squares of every sample, ns and ns².
    Exact {
        /// Sum, ns.
        sum: u128,
        /// Sum of squares, ns².
        sum_sq: u128,
    },
    /// Only a mean that another tool reported, ns (overflowed samples make the sums unknowable).
    Reported {
        /// Mean, ns.
        mean: f64,
    },
}

/// The parts of a [`Distribution`] before they are checked.
#[derive(Debug, Clone, PartialEq)]
pub struct DistributionParts {
    /// "cpu0", "rising" ...
    pub label: String,
    /// Samples taken, overflowed ones included.
    pub count: u64,
    /// Lowest sample, ns; `None` only when `count` is 0.
    pub min: Option<u64>,
    /// Highest sample, ns; `None` only when `count` is 0.
    pub max: Option<u64>,
    /// Sums.
    pub moments: Moments,
    /// Events that gave no sample because they were passed over or never answered.
    pub missed: u64,
    /// The latencies of all `missed` events, where they are known: points of a grid that were passed over. `None` where nothing was missed,
    /// or where it is not known how late the missed events were.
    pub passed: Option<PassedOver>,
    /// Of `missed`: stimuli whose answer came after the time-out; such answers are in no histogram.
    pub late: u64,
    /// Samples or edges that nobody asked for; never part of `count`.
    pub spurious: u64,
    /// Samples of `count` whose value the histogram does not hold (only in imported data).
    pub overflow: u64,
    /// Samples that were taken and then lost; never part of `count`.
    pub dropped: u64,
    /// Events that should have given a sample: grid points passed, stimuli sent. `None` when a foreign tool does not say.
    pub expected: Option<u64>,
    /// Every sample but the overflowed.
    pub histogram: Histogram,
    /// The worst samples, in descending order of value.
    pub worst: Vec<Worst>,
    /// The thread that took them.
    pub thread: Option<ThreadInfo>,
    /// Exact equal-width bins beside the histogram.
    pub linear: Option<LinearBins>,
    /// Width of the unit that values were rounded down to, ns: 1 here, 1000 in most imported data.
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
            resolution: 1,
        }
    }
}

/// A distribution whose counts add up; it can't be built otherwise.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "wire::Wire")]
pub struct Distribution(DistributionParts);

/// Why parts are not a distribution.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DistributionError {
    /// count != histogram total + overflow
    #[error("{label}: {count} samples, but the histogram holds {held} and {overflow} overflowed")]
    Count {
        /// Which distribution.
        label: String,
        /// Its stated count.
        count: u64,
        /// The histogram's total.
        held: u64,
        /// Its stated overflow.
        overflow: u64,
    },
    /// expected != count + missed + dropped
    #[error(
        "{label}: {expected} events should have given a sample, but count {count} + missed {missed} + dropped {dropped} differ"
    )]
    Expected {
        /// Which distribution.
        label: String,
        /// Events that should have given a sample.
        expected: u64,
        /// Samples.
        count: u64,
        /// Missed.
        missed: u64,
        /// Dropped.
        dropped: u64,
    },
    /// Minimum, maximum, sums, worst samples, percentiles or bins contradict the histogram.
    #[error("{label}: {what}")]
    Contradiction {
        /// Which distribution.
        label: String,
        /// What contradicts what.
        what: String,
    },
    /// The histogram itself can't be read.
    #[error("{label}: {error}")]
    Histogram {
        /// Which distribution.
        label: String,
        /// Why.
        error: HdrError,
    },
}

impl Distribution {
    /// Checks that everything adds up.
    pub fn new(p: DistributionParts) -> Result<Self, DistributionError> {
        let held = p.histogram.total();
        if held.checked_add(p.overflow) != Some(p.count) {
            return Err(DistributionError::Count { label: p.label, count: p.count, held, overflow: p.overflow });
        }
        if let Some(expected) = p.expected {
            if p.count.checked_add(p.missed).and_then(|n| n.checked_add(p.dropped)) != Some(expected) {
                let DistributionParts { label, count, missed, dropped, .. } = p;
                return Err(DistributionError::Expected { label, expected, count, missed, dropped });
            }
        }
        match check::contradiction(&p) {
            Some(what) => Err(DistributionError::Contradiction { label: p.label, what: what.into() }),
            None => Ok(Self(p)),
        }
    }

    /// From raw samples (ns), in order, keeping the `worst` highest; sample `i` is said to be taken at `i` ns.
    pub fn from_samples(label: &str, samples: &[u64], worst: usize) -> Result<Self, DistributionError> {
        let mut p = DistributionParts::empty(label);
        let (mut sum, mut sum_sq) = (0u128, 0u128);
        let mut order: Vec<Worst> = Vec::with_capacity(samples.len());
        let overflow =
            || DistributionError::Histogram { label: label.into(), error: HdrError::Slot(SlotError::Overflow(CountOverflow)) };
        for (at, &v) in samples.iter().enumerate() {
            p.histogram.record(v, 1).map_err(|_| overflow())?;
            let wide = u128::from(v);
            sum += wide;
            sum_sq = sum_sq.checked_add(wide * wide).ok_or_else(overflow)?;
            order.push(Worst { value: v, at: at as u64 });
        }
        order.sort_by(|a, b| b.value.cmp(&a.value).then(a.at.cmp(&b.at)));
        p.count = samples.len() as u64;
        p.min = samples.iter().min().copied();
        p.max = samples.iter().max().copied();
        p.moments = Moments::Exact { sum, sum_sq };
        order.truncate(worst);
        p.worst = order;
        Self::new(p)
    }

    /// Everything in it, read only.
    pub fn parts(&self) -> &DistributionParts {
        &self.0
    }

    /// Everything in it, to be changed and checked anew.
    pub fn into_parts(self) -> DistributionParts {
        self.0
    }

    /// "cpu0", "rising" ...
    pub fn label(&self) -> &str {
        &self.0.label
    }

    /// Samples taken.
    pub fn count(&self) -> u64 {
        self.0.count
    }

    /// Lowest sample, ns.
    pub fn min(&self) -> Option<u64> {
        self.0.min
    }

    /// Highest sample, ns.
    pub fn max(&self) -> Option<u64> {
        self.0.max
    }

    /// Missed events.
    pub fn missed(&self) -> u64 {
        self.0.missed
    }

    /// Of the missed: those answered after the time-out.
    pub fn late(&self) -> u64 {
        self.0.late
    }

    /// Unasked events.
    pub fn spurious(&self) -> u64 {
        self.0.spurious
    }

    /// Samples beyond an imported histogram.
    pub fn overflow(&self) -> u64 {
        self.0.overflow
    }

    /// Lost samples.
    pub fn dropped(&self) -> u64 {
        self.0.dropped
    }

    /// The histogram.
    pub fn histogram(&self) -> &Histogram {
        &self.0.histogram
    }

    /// The worst samples, highest first.
    pub fn worst(&self) -> &[Worst] {
        &self.0.worst
    }

    /// Mean, ns; from the exact sum where there is one. `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        match self.0.moments {
            _ if self.0.count == 0 => None,
            Moments::Exact { sum, .. } => Some(mean_of(sum, self.0.count)),
            Moments::Reported { mean } => Some(mean),
        }
    }

    /// Standard deviation of the samples taken (population form), ns; `None` when empty or when the sums are unknown.
    pub fn stddev(&self) -> Option<f64> {
        match self.0.moments {
            Moments::Exact { sum, sum_sq } if self.0.count > 0 => Some(stddev_of(sum, sum_sq, self.0.count)),
            _ => None,
        }
    }

    /// The value at `q`, ns: never too low, at most 0.1 % too high, at most the maximum. `None` when the count does not support `q`
    /// or the value lies among overflowed samples.
    pub fn value_at(&self, q: Quantile) -> Option<u64> {
        if !q.supported_by(self.0.count) {
            return None;
        }
        let value = self.0.histogram.values_at_ranks(&[q.rank(self.0.count)]).first().copied().flatten();
        value.map(|v| self.at_most_max(v))
    }

    fn at_most_max(&self, value: u64) -> u64 {
        self.0.max.map_or(value, |max| value.min(max))
    }

    /// The values at [`Quantile::STANDARD`], as [`Distribution::value_at`].
    pub fn standard(&self) -> [Option<u64>; Quantile::STANDARD.len()] {
        self.0.histogram.standard(self.0.count).map(|value| value.map(|v| self.at_most_max(v)))
    }

    /// The standard percentiles that the count supports.
    pub fn percentiles(&self) -> BTreeMap<String, u64> {
        named(self.standard())
    }

    /// The latencies of all missed events, where they are known.
    pub fn passed(&self) -> Option<&PassedOver> {
        self.0.passed.as_ref()
    }

    /// Slots that its histograms take.
    pub fn slots(&self) -> usize {
        self.0.histogram.occupied() + self.passed().map_or(0, |p| p.histogram.occupied())
    }

    /// Whether the latency of every event that was not lost is known: nothing was missed, or each missed one's own is there.
    pub fn all_known(&self) -> bool {
        self.0.missed == 0 || self.0.passed.is_some()
    }

    /// The standard percentiles of the corrected view, where it is exact; see [`crate::correction::Corrected::exact`].
    pub fn corrected_percentiles(&self) -> BTreeMap<String, u64> {
        crate::correction::Corrected::exact(self).map_or_else(BTreeMap::new, |c| c.percentiles())
    }
}

pub(crate) fn mean_of(sum: u128, count: u64) -> f64 {
    let n = u128::from(count);
    // Whole and remainder apart, so that a large sum loses no precision of the fraction.
    (sum / n) as f64 + (sum % n) as f64 / count as f64
}

fn stddev_of(sum: u128, sum_sq: u128, count: u64) -> f64 {
    let n = u128::from(count);
    // n * sum_sq - sum² in integers where it fits, so that nothing cancels.
    let variance = match (n.checked_mul(sum_sq), sum.checked_mul(sum)) {
        (Some(a), Some(b)) => a.saturating_sub(b) as f64 / (count as f64).powi(2),
        _ => {
            let mean = mean_of(sum, count);
            (sum_sq as f64 / count as f64 - mean * mean).max(0.0)
        }
    };
    variance.sqrt()
}

#[cfg(test)]
mod check_tests;
#[cfg(test)]
mod tests;
