//! One distribution of a record: a histogram with exact sums, extremes, worst samples and the counters that explain what is absent.

use crate::hdr::{self, HdrError};
use crate::histogram::{CountOverflow, Histogram, SlotError, slot_of};
use crate::linear::LinearBins;
use crate::quantile::Quantile;
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Wire", try_from = "Wire")]
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
        match contradiction(&p) {
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

    /// The standard percentiles that the count supports.
    pub fn percentiles(&self) -> BTreeMap<String, u64> {
        let supported = Quantile::STANDARD.into_iter().filter(|q| q.supported_by(self.0.count));
        let ranks: Vec<u64> = supported.clone().map(|q| q.rank(self.0.count)).collect();
        let values = self.0.histogram.values_at_ranks(&ranks);
        supported.zip(values).filter_map(|(q, v)| v.map(|v| (q.to_string(), self.at_most_max(v)))).collect()
    }

    /// This and `other` as one distribution under `label`; exact. Keeps the `worst` highest of both. Linear bins of equal width are
    /// merged, others dropped; the thread is dropped.
    pub fn merge(&self, other: &Self, label: &str, worst: usize) -> Result<Self, DistributionError> {
        let (a, b) = (&self.0, &other.0);
        let error =
            |e: CountOverflow| DistributionError::Histogram { label: label.into(), error: HdrError::Slot(SlotError::Overflow(e)) };
        let add = |x: u64, y: u64| x.checked_add(y).ok_or(CountOverflow).map_err(error);
        let mut p = DistributionParts::empty(label);
        p.histogram = a.histogram.clone();
        p.histogram.merge(&b.histogram).map_err(error)?;
        p.count = add(a.count, b.count)?;
        p.missed = add(a.missed, b.missed)?;
        p.spurious = add(a.spurious, b.spurious)?;
        p.overflow = add(a.overflow, b.overflow)?;
        p.dropped = add(a.dropped, b.dropped)?;
        p.expected = match (a.expected, b.expected) {
            (Some(x), Some(y)) => Some(add(x, y)?),
            _ => None,
        };
        p.min = a.min.into_iter().chain(b.min).min();
        p.max = a.max.max(b.max);
        p.moments = match (a.moments, b.moments) {
            (Moments::Exact { sum: s, sum_sq: q }, Moments::Exact { sum, sum_sq }) => {
                Moments::Exact { sum: s.saturating_add(sum), sum_sq: q.saturating_add(sum_sq) }
            }
            _ => {
                let weigh = |d: &Self| d.mean().unwrap_or(0.0) * d.count() as f64;
                Moments::Reported { mean: (weigh(self) + weigh(other)) / (p.count.max(1) as f64) }
            }
        };
        p.worst = a.worst.iter().chain(&b.worst).copied().collect();
        p.worst.sort_by(|x, y| y.value.cmp(&x.value).then(x.at.cmp(&y.at)));
        p.worst.truncate(worst);
        p.resolution = a.resolution.max(b.resolution);
        Self::new(p)
    }
}

fn mean_of(sum: u128, count: u64) -> f64 {
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

/// What contradicts what, if anything does.
fn contradiction(p: &DistributionParts) -> Option<&'static str> {
    let first = p.histogram.iter().next();
    let last = p.histogram.iter().next_back();
    match (p.min, p.max) {
        (None, None) if p.count == 0 => {}
        (Some(min), Some(max)) if p.count > 0 && min <= max => {
            let low = first.is_some_and(|(low, high, _)| !(low..=high).contains(&min));
            if low && (p.overflow == 0 || first.is_some_and(|(low, ..)| min > low)) {
                return Some("the minimum is not in the histogram's lowest slot");
            }
            let high = last.is_some_and(|(low, high, _)| !(low..=high).contains(&max));
            if high && (p.overflow == 0 || last.is_some_and(|(_, high, _)| max < high)) {
                return Some("the maximum is not in the histogram's highest slot");
            }
        }
        _ => return Some("minimum and maximum do not fit the count"),
    }
    if p.resolution == 0 {
        return Some("the resolution is 0");
    }
    match p.moments {
        Moments::Exact { sum, sum_sq } => {
            if p.overflow > 0 {
                return Some("the sums can't be exact where samples overflowed");
            }
            let mut low = (0u128, 0u128);
            let mut high = (0u128, 0u128);
            for (lo, hi, n) in p.histogram.iter() {
                let (lo, hi, n) = (u128::from(lo), u128::from(hi), u128::from(n));
                low = (low.0 + lo * n, low.1.saturating_add((lo * lo).saturating_mul(n)));
                high = (high.0 + hi * n, high.1.saturating_add((hi * hi).saturating_mul(n)));
            }
            if !(low.0..=high.0).contains(&sum) || !(low.1..=high.1).contains(&sum_sq) {
                return Some("the sums lie outside what the histogram allows");
            }
        }
        Moments::Reported { mean } => {
            let (min, max) = (p.min.unwrap_or(0) as f64, p.max.unwrap_or(0) as f64);
            // A foreign tool rounds the mean to its own unit.
            let unit = p.resolution as f64;
            if !mean.is_finite() || mean < min - unit || mean > max + unit {
                return Some("the reported mean lies outside minimum and maximum");
            }
        }
    }
    if p.worst.windows(2).any(|w| w[0].value < w[1].value) || p.worst.len() as u64 > p.count {
        return Some("the worst samples are not in descending order, or more than there are samples");
    }
    if p.worst.first().is_some_and(|w| Some(w.value) != p.max) {
        return Some("the first of the worst samples is not the maximum");
    }
    if let Some(l) = &p.linear {
        if let Some(fault) = l.fault() {
            return Some(fault);
        }
        let fits = if p.resolution > 1 {
            // Imported data: the bins are the samples, and the histogram is made from them.
            l.total() == p.histogram.total() && Histogram::from_slots(l.as_slots()).as_ref() == Ok(&p.histogram)
        } else {
            l.total()
                == p.histogram.iter().take_while(|&(low, ..)| low < l.size.saturating_mul(l.unit_ns)).map(|t| t.2).sum::<u64>()
                || l.total() <= p.histogram.total() && straddles(p, l)
        };
        if !fits {
            return Some("the linear bins do not agree with the histogram");
        }
    }
    None
}

/// Whether a slot lies across the end of the linear bins, so that only bounds of their total are known, and the total keeps them.
fn straddles(p: &DistributionParts, l: &LinearBins) -> bool {
    let end = l.size.saturating_mul(l.unit_ns);
    let below: u64 = p.histogram.iter().take_while(|&(_, high, _)| high < end).map(|t| t.2).sum();
    let (_, within) = p.histogram.above(end.saturating_sub(1));
    slot_of(end.saturating_sub(1)) == slot_of(end) && (below..=below + within).contains(&l.total())
}

/// A distribution as JSON: derived figures are written for readers and checked when read.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Distribution"))]
pub(crate) struct Wire {
    /// What was measured: "cpu0", "rising" ...
    label: String,
    /// Samples taken, overflowed ones included.
    count: u64,
    /// Lowest sample, ns; null when there is none.
    min: Option<u64>,
    /// Highest sample, ns; null when there is none.
    max: Option<u64>,
    /// Mean, ns.
    mean: Option<f64>,
    /// Standard deviation (population form), ns; null when unknown.
    stddev: Option<f64>,
    /// Events that gave no sample: grid points passed over, stimuli never answered.
    missed: u64,
    /// Samples or edges that nobody asked for; not in `count`.
    spurious: u64,
    /// Samples of `count` that the histogram does not hold (imported data only).
    overflow: u64,
    /// Samples taken and lost; not in `count`.
    #[serde(default)]
    dropped: u64,
    /// Events that should have given a sample; equals count + missed + dropped.
    #[serde(default)]
    expected: Option<u64>,
    /// Percentiles that the count supports, ns: at most 0.1 % too high, never too low.
    percentiles: BTreeMap<String, u64>,
    /// The same with the omitted samples put back (correction for coordinated omission at the thread's interval).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    corrected_percentiles: BTreeMap<String, u64>,
    /// Exact sum of the samples, ns, as decimal text (it may exceed 2^53); absent when unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sum: Option<String>,
    /// Exact sum of the squared samples, ns², as decimal text; absent when unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sum_sq: Option<String>,
    /// Unit that values were rounded down to, ns.
    #[serde(default = "one")]
    resolution: u64,
    /// Worst samples, highest first.
    worst: Vec<Worst>,
    /// The thread that took the samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    thread: Option<ThreadInfo>,
    /// Exact equal-width bins beside the histogram.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    linear: Option<LinearBins>,
    /// `HdrHistogram` V2, compressed, base64; lowest value 1 ns, 3 significant digits.
    histogram: String,
}

fn one() -> u64 {
    1
}

impl From<Distribution> for Wire {
    fn from(d: Distribution) -> Self {
        let (mean, stddev, percentiles) = (d.mean(), d.stddev(), d.percentiles());
        let corrected_percentiles = d.corrected_percentiles();
        let p = d.0;
        let (sum, sum_sq) = match p.moments {
            Moments::Exact { sum, sum_sq } => (Some(sum.to_string()), Some(sum_sq.to_string())),
            Moments::Reported { .. } => (None, None),
        };
        Self {
            histogram: hdr::encode(&p.histogram),
            label: p.label,
            count: p.count,
            min: p.min,
            max: p.max,
            mean,
            stddev,
            missed: p.missed,
            spurious: p.spurious,
            overflow: p.overflow,
            dropped: p.dropped,
            expected: p.expected,
            percentiles,
            corrected_percentiles,
            sum,
            sum_sq,
            resolution: p.resolution,
            worst: p.worst,
            thread: p.thread,
            linear: p.linear,
        }
    }
}

impl TryFrom<Wire> for Distribution {
    type Error = DistributionError;

    fn try_from(w: Wire) -> Result<Self, DistributionError> {
        let label = w.label.clone();
        let wrong = |what: &str| DistributionError::Contradiction { label: label.clone(), what: what.into() };
        let number = |text: &String| text.parse::<u128>().map_err(|_| wrong("a sum is not a decimal number"));
        let moments = match (&w.sum, &w.sum_sq) {
            (Some(sum), Some(sum_sq)) => Moments::Exact { sum: number(sum)?, sum_sq: number(sum_sq)? },
            (None, None) => Moments::Reported { mean: w.mean.unwrap_or(0.0) },
            _ => return Err(wrong("only one of the two sums is there")),
        };
        let histogram = hdr::decode(&w.histogram).map_err(|error| DistributionError::Histogram { label: label.clone(), error })?;
        let d = Self::new(DistributionParts {
            label: w.label,
            count: w.count,
            min: w.min,
            max: w.max,
            moments,
            missed: w.missed,
            spurious: w.spurious,
            overflow: w.overflow,
            dropped: w.dropped,
            expected: w.expected,
            histogram,
            worst: w.worst,
            thread: w.thread,
            linear: w.linear,
            resolution: w.resolution,
        })?;
        let close = |stated: Option<f64>, own: Option<f64>| match (stated, own) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * b.abs().max(1.0),
            (a, b) => a.is_none() == b.is_none(),
        };
        if !close(w.mean, d.mean()) || !close(w.stddev, d.stddev()) {
            return Err(wrong("mean or standard deviation differ from what the sums give"));
        }
        if w.percentiles != d.percentiles() {
            return Err(wrong("percentiles differ from what the histogram gives"));
        }
        Ok(d)
    }
}

impl Distribution {
    /// The standard percentiles of the omission-corrected view; empty where the thread's interval is unknown.
    pub fn corrected_percentiles(&self) -> BTreeMap<String, u64> {
        let Some(interval) = self.0.thread.as_ref().map(|t| t.interval).filter(|&i| i > 0) else { return BTreeMap::new() };
        if self.0.overflow > 0 {
            return BTreeMap::new();
        }
        if self.0.max.is_none_or(|max| max <= interval) {
            return self.percentiles(); // nothing was omitted
        }
        let Ok(Some(c)) = crate::correction::Corrected::of(self, interval) else { return BTreeMap::new() };
        let supported = Quantile::STANDARD.into_iter().filter(|q| q.supported_by(c.count()));
        let ranks: Vec<u64> = supported.clone().map(|q| q.rank(c.count())).collect();
        let values = c.histogram.values_at_ranks(&ranks);
        supported.zip(values).filter_map(|(q, v)| v.map(|v| (q.to_string(), self.at_most_max(v)))).collect()
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Distribution {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Wire::schema_name()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Wire::json_schema(generator)
    }
}

#[cfg(test)]
#[path = "distribution_tests.rs"]
mod tests;
