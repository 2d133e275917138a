//! One distribution of a record: a histogram with exact sums, extremes, worst samples, and counters that explain missing samples.

mod blocks;
mod check;
pub(crate) mod json;
mod merge;
mod parts;
mod passed;

pub use blocks::{BlockMaxima, MOST_BLOCKS};
pub use parts::{DistributionParts, Moments, ThreadInfo, Worst};
pub use passed::PassedOver;

use crate::hdr::HdrError;
use crate::histogram::{ANEW, CountOverflow, Histogram, SlotError};
use crate::quantile::{Quantile, named};
use rtscope_failure::Problem;
use std::collections::BTreeMap;

/// A distribution whose counts add up; any other can't be built.
///
/// ```
/// use rtscope_record::{Distribution, DistributionError};
///
/// let d = Distribution::from_samples("cpu0", &[11_000, 12_000, 90_000, 13_000], 2)?;
/// assert_eq!((d.count(), d.min(), d.max()), (4, Some(11_000), Some(90_000)));
/// assert_eq!(d.mean(), Some(31_500.0));
/// assert_eq!(d.worst()[0].value, 90_000);
/// // Four samples do not support a p99.9.
/// assert!(!d.percentiles().contains_key("p99.9"));
///
/// // Five grid points went by and one was passed over: 4 + 1 = 5. With no missed point the same parts are refused.
/// let mut parts = d.into_parts();
/// (parts.expected, parts.missed) = (Some(5), 1);
/// assert!(Distribution::new(parts.clone()).is_ok());
/// parts.missed = 0;
/// assert!(matches!(Distribution::new(parts), Err(DistributionError::Expected { expected: 5, count: 4, .. })));
/// # Ok::<(), DistributionError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution(DistributionParts);

/// Why parts don't make a distribution.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DistributionError {
    /// count != histogram total + overflow
    #[error("{label}: {count} samples, but the histogram holds {held} and {overflow} overflowed")]
    Count {
        /// The distribution's label.
        label: String,
        /// The stated count.
        count: u64,
        /// The histogram's total.
        held: u64,
        /// The stated overflow.
        overflow: u64,
    },
    /// expected != count + missed + dropped
    #[error(
        "{label}: {expected} events should have given a sample, but count {count} + missed {missed} + dropped {dropped} differ"
    )]
    Expected {
        /// The distribution's label.
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
        /// The distribution's label.
        label: String,
        /// What contradicts what.
        what: String,
    },
    /// The histogram itself can't be read.
    #[error("{label}: {error}")]
    Histogram {
        /// The distribution's label.
        label: String,
        /// Why.
        error: HdrError,
    },
}

impl Problem for DistributionError {
    fn remedy(&self) -> String {
        match self {
            Self::Count { .. } | Self::Expected { .. } | Self::Contradiction { .. } => ANEW.into(),
            Self::Histogram { error, .. } => error.remedy(),
        }
    }
}

impl Distribution {
    /// Builds a distribution from its parts if everything adds up.
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

    /// Builds a distribution from raw samples (ns), in order, keeping the `worst` highest. Sample `i` gets the time `i` ns.
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

    /// All parts, read-only.
    pub fn parts(&self) -> &DistributionParts {
        &self.0
    }

    /// All parts, to be changed and checked again.
    pub fn into_parts(self) -> DistributionParts {
        self.0
    }

    /// The label: "cpu0", "rising" ...
    pub fn label(&self) -> &str {
        &self.0.label
    }

    /// Whether its samples are the amounts of a jitter by which edges came too early ("rising early"): below zero where jitter has a sign.
    pub fn is_early(&self) -> bool {
        self.0.label.ends_with(" early")
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

    /// Missed events that were answered after the time-out.
    pub fn late(&self) -> u64 {
        self.0.late
    }

    /// Spurious events.
    pub fn spurious(&self) -> u64 {
        self.0.spurious
    }

    /// Samples above the range of an imported histogram.
    pub fn overflow(&self) -> u64 {
        self.0.overflow
    }

    /// Dropped samples.
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

    /// Mean, ns, from the exact sum if that is known. `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        match self.0.moments {
            _ if self.0.count == 0 => None,
            Moments::Exact { sum, .. } => Some(mean_of(sum, self.0.count)),
            Moments::Reported { mean } => Some(mean),
        }
    }

    /// Standard deviation of the samples (population form), ns; `None` when empty or if the sums are unknown.
    pub fn stddev(&self) -> Option<f64> {
        match self.0.moments {
            Moments::Exact { sum, sum_sq } if self.0.count > 0 => Some(stddev_of(sum, sum_sq, self.0.count)),
            _ => None,
        }
    }

    /// The value at `q`, ns: never too low, at most 0.1 % too high, at most the maximum. `None` if the count does not support `q`
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

    /// The values at [`Quantile::STANDARD`], each as from [`Distribution::value_at`].
    pub fn standard(&self) -> [Option<u64>; Quantile::STANDARD.len()] {
        self.0.histogram.standard(self.0.count).map(|value| value.map(|v| self.at_most_max(v)))
    }

    /// The standard percentiles that the count supports, by name.
    pub fn percentiles(&self) -> BTreeMap<String, u64> {
        named(self.standard())
    }

    /// The latencies of all missed events, if known.
    pub fn passed(&self) -> Option<&PassedOver> {
        self.0.passed.as_ref()
    }

    /// Number of occupied slots in the histograms.
    pub fn slots(&self) -> usize {
        self.0.histogram.occupied() + self.passed().map_or(0, |p| p.histogram.occupied())
    }

    /// Whether the latency of every event that was not lost is known: nothing was missed, or the latencies of the missed events
    /// are known too.
    pub fn all_known(&self) -> bool {
        self.0.missed == 0 || self.0.passed.is_some()
    }
}

pub(crate) fn mean_of(sum: u128, count: u64) -> f64 {
    let n = u128::from(count);
    // Quotient and remainder separately, so that a large sum does not lose the fraction's precision.
    (sum / n) as f64 + (sum % n) as f64 / count as f64
}

fn stddev_of(sum: u128, sum_sq: u128, count: u64) -> f64 {
    let n = u128::from(count);
    // n * sum_sq - sum² in integers where it fits, to avoid cancellation.
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
