//! A distribution as JSON: derived figures are written for readers, and checked when it is read.

use super::{BlockMaxima, Distribution, DistributionError, DistributionParts, Moments, PassedOver, ThreadInfo, Worst};
use crate::correction::{Basis, Corrected};
use crate::hdr;
use crate::linear::LinearBins;
use crate::quantile::are_named;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A distribution: the samples of one thread or kind of edge. Derived figures are written for readers, and checked when read.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Distribution"))]
pub(crate) struct Wire<'a> {
    /// Its name: `cpu0`, `thread0`, `rising` ...
    label: Cow<'a, str>,
    /// Samples taken, including overflowed ones.
    count: u64,
    /// Lowest sample, ns; null without a sample.
    min: Option<u64>,
    /// Highest sample, ns; null without a sample.
    max: Option<u64>,
    /// Mean, ns; null without a sample.
    mean: Option<f64>,
    /// Standard deviation (population form), ns; null without a sample, or if the sums are unknown.
    stddev: Option<f64>,
    /// Events that gave no sample: grid points passed over, stimuli not answered in time.
    missed: u64,
    /// Stimuli among `missed` that were answered after the time-out; such answers are in no histogram. Absent if 0.
    #[serde(default, skip_serializing_if = "zero")]
    late: u64,
    /// Edges that answer no stimulus, or wake-ups before their grid point; not in `count`.
    spurious: u64,
    /// Samples of `count` that the histogram does not hold (imports only).
    overflow: u64,
    /// Samples that were lost after they were taken, and missed events whose latency was lost with them; not in `count`.
    #[serde(default)]
    dropped: u64,
    /// Events that should have given a sample: `count + missed + dropped`; null if another tool does not state it.
    #[serde(default)]
    expected: Option<u64>,
    /// Percentiles that the count supports, ns: at most 0.1 % too high, never too low.
    percentiles: BTreeMap<String, u64>,
    /// Latencies of the missed events: grid points that were passed over. Absent if none was missed, or if they are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    passed: Option<Cow<'a, PassedOver>>,
    /// Percentiles of all events, `count` and `missed` together, ns, from the latency of each event. Those among unanswered stimuli
    /// are unknown and absent. All are absent in `periodic`, and if samples were dropped or overflowed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    corrected_percentiles: BTreeMap<String, u64>,
    /// In their place, if only the samples are known (imports, and records from before `passed`): an estimate by `HdrHistogram`'s
    /// rule, ns.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    hdrhistogram_rule_percentiles: BTreeMap<String, u64>,
    /// Exact sum of the samples, ns, as decimal text since it may exceed 2^53; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sum: Option<String>,
    /// Exact sum of the squared samples, ns², as decimal text; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sum_sq: Option<String>,
    /// Unit to which values were rounded down, ns.
    #[serde(default = "one")]
    resolution: u64,
    /// The worst samples, highest first.
    worst: Cow<'a, [Worst]>,
    /// The thread that took the samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    thread: Option<Cow<'a, ThreadInfo>>,
    /// Exact equal-width bins beside the histogram.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    linear: Option<Cow<'a, LinearBins>>,
    /// Highest latency of each stretch of the grid, in the order of time; absent if they were not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blocks: Option<Cow<'a, BlockMaxima>>,
    /// Histogram of the samples: `HdrHistogram` V2, compressed, base64; lowest value 1 ns, 3 significant digits.
    histogram: String,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // required by serde
fn zero(n: &u64) -> bool {
    *n == 0
}

fn one() -> u64 {
    1
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Wire::with(self, Corrected::exact(self).as_ref()).serialize(to)
    }
}

impl<'a> Wire<'a> {
    /// The JSON form, with the corrected view that the distribution has in its record.
    pub(crate) fn with(d: &'a Distribution, view: Option<&Corrected>) -> Self {
        let (mean, stddev, percentiles) = (d.mean(), d.stddev(), d.percentiles());
        let of = |basis| view.filter(|v| v.basis == basis).map_or_else(BTreeMap::new, Corrected::percentiles);
        let (corrected_percentiles, hdrhistogram_rule_percentiles) = (of(Basis::Events), of(Basis::Rule));
        let p = d.parts();
        let (sum, sum_sq) = match p.moments {
            Moments::Exact { sum, sum_sq } => (Some(sum.to_string()), Some(sum_sq.to_string())),
            Moments::Reported { .. } => (None, None),
        };
        Self {
            histogram: hdr::encode(&p.histogram),
            label: Cow::Borrowed(&p.label),
            count: p.count,
            min: p.min,
            max: p.max,
            mean,
            stddev,
            missed: p.missed,
            passed: p.passed.as_ref().map(Cow::Borrowed),
            late: p.late,
            spurious: p.spurious,
            overflow: p.overflow,
            dropped: p.dropped,
            expected: p.expected,
            percentiles,
            corrected_percentiles,
            hdrhistogram_rule_percentiles,
            sum,
            sum_sq,
            resolution: p.resolution,
            worst: Cow::Borrowed(&p.worst),
            thread: p.thread.as_ref().map(Cow::Borrowed),
            linear: p.linear.as_ref().map(Cow::Borrowed),
            blocks: p.blocks.as_ref().map(Cow::Borrowed),
        }
    }
}

// Written by hand, so that `Distribution` itself does not depend on its JSON form.
impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Wire::deserialize(from)?.try_into().map_err(D::Error::custom)
    }
}

impl TryFrom<Wire<'_>> for Distribution {
    type Error = DistributionError;

    fn try_from(w: Wire<'_>) -> Result<Self, DistributionError> {
        let label = w.label.clone().into_owned();
        let wrong = |what: &str| DistributionError::Contradiction { label: label.clone(), what: what.into() };
        let number = |text: &String| text.parse::<u128>().map_err(|_| wrong("a sum is not a decimal number"));
        let moments = match (&w.sum, &w.sum_sq) {
            (Some(sum), Some(sum_sq)) => Moments::Exact { sum: number(sum)?, sum_sq: number(sum_sq)? },
            (None, None) => Moments::Reported { mean: w.mean.unwrap_or(0.0) },
            _ => return Err(wrong("only one of the two sums is there")),
        };
        let histogram = hdr::decode(&w.histogram).map_err(|error| DistributionError::Histogram { label: label.clone(), error })?;
        let d = Self::new(DistributionParts {
            label: w.label.into_owned(),
            count: w.count,
            min: w.min,
            max: w.max,
            moments,
            missed: w.missed,
            passed: w.passed.map(Cow::into_owned),
            late: w.late,
            spurious: w.spurious,
            overflow: w.overflow,
            dropped: w.dropped,
            expected: w.expected,
            histogram,
            worst: w.worst.into_owned(),
            thread: w.thread.map(Cow::into_owned),
            linear: w.linear.map(Cow::into_owned),
            blocks: w.blocks.map(Cow::into_owned),
            resolution: w.resolution,
        })?;
        let close = |stated: Option<f64>, own: Option<f64>| match (stated, own) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * b.abs().max(1.0),
            (a, b) => a.is_none() == b.is_none(),
        };
        if !close(w.mean, d.mean()) || !close(w.stddev, d.stddev()) {
            return Err(wrong("mean or standard deviation differ from what the sums give"));
        }
        if !are_named(&w.percentiles, d.standard()) {
            return Err(wrong("percentiles differ from what the histogram gives"));
        }
        // Older records have the result of HdrHistogram's rule under this name.
        if d.passed().is_some() && w.corrected_percentiles != d.corrected_percentiles() {
            return Err(wrong("corrected percentiles differ from what samples and points passed over give"));
        }
        Ok(d)
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
#[path = "json_tests.rs"]
mod tests;
