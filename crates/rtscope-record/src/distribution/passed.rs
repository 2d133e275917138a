//! Grid points that were passed over: each waited from its time to the wake-up that passed it over, so its latency is known.

use crate::hdr;
use crate::histogram::{CountOverflow, Histogram, SlotError, progression};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The latencies of all missed events of a distribution, if all are known.
///
/// ```
/// use rtscope_record::PassedOver;
///
/// // On a grid of 1 ms a task woke up 3.2 ms late: it passed over the three points after its own, which waited 2.2, 1.2 and 0.2 ms.
/// let passed = PassedOver::of_stalls([(2_200_000, 3)], 1_000_000)?.unwrap();
/// assert_eq!((passed.min, passed.max, passed.sum), (200_000, 2_200_000, 3_600_000));
/// assert_eq!(passed.histogram.total(), 3);
/// # Ok::<(), rtscope_record::histogram::SlotError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Wire", try_from = "Wire")]
pub struct PassedOver {
    /// One count for each missed event.
    pub histogram: Histogram,
    /// Their sum, ns.
    pub sum: u128,
    /// Lowest, ns.
    pub min: u64,
    /// Highest, ns.
    pub max: u64,
}

impl PassedOver {
    /// Builds this from stalls, each (latency of the first point passed over, number of points), on a grid with this interval, ns:
    /// each further point of a stall waited one interval less. `None` without a point.
    pub fn of_stalls(stalls: impl IntoIterator<Item = (u64, u64)>, interval: u64) -> Result<Option<Self>, SlotError> {
        let mut slots = BTreeMap::new();
        let (mut sum, mut min, mut max) = (0u128, u64::MAX, 0);
        for (first, points) in stalls {
            let Some(steps) = points.checked_sub(1) else { continue };
            let last = steps.checked_mul(interval).and_then(|down| first.checked_sub(down)).ok_or(CountOverflow)?;
            // The sum of an arithmetic progression.
            let ends = u128::from(first) + u128::from(last);
            sum = ends.checked_mul(points.into()).and_then(|twice| sum.checked_add(twice / 2)).ok_or(CountOverflow)?;
            (min, max) = (last.min(min), first.max(max));
            progression(first, interval, points, |slot, n| *slots.entry(slot as u64).or_insert(0u64) += n);
        }
        let histogram = Histogram::from_slots(slots)?;
        Ok((histogram.total() > 0).then_some(Self { histogram, sum, min, max }))
    }

    /// Adds `other`, exactly.
    pub fn with(mut self, other: &Self) -> Result<Self, CountOverflow> {
        self.histogram.merge(&other.histogram)?;
        self.sum = self.sum.checked_add(other.sum).ok_or(CountOverflow)?;
        (self.min, self.max) = (self.min.min(other.min), self.max.max(other.max));
        Ok(self)
    }

    /// The first contradiction among the figures, if any.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        let within = |slot: Option<(u64, u64, u64)>, value: u64| slot.is_some_and(|(low, high, _)| (low..=high).contains(&value));
        if self.min > self.max || !within(self.histogram.iter().next(), self.min) {
            return Some("the minimum of the points passed over is not in the lowest slot of their histogram");
        }
        if !within(self.histogram.iter().next_back(), self.max) {
            return Some("the maximum of the points passed over is not in the highest slot of their histogram");
        }
        let (mut low, mut high) = (0u128, 0u128);
        for (lo, hi, n) in self.histogram.iter() {
            low += u128::from(lo) * u128::from(n);
            high += u128::from(hi) * u128::from(n);
        }
        let fits = (low..=high).contains(&self.sum);
        (!fits).then_some("the sum of the points passed over lies outside what their histogram allows")
    }
}

/// Latencies of the missed events of a grid.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "PassedOver"))]
struct Wire {
    /// Lowest latency, ns.
    min: u64,
    /// Highest latency, ns.
    max: u64,
    /// Exact sum of the latencies, ns, as decimal text.
    sum: String,
    /// Histogram of the latencies, as many as `missed`: `HdrHistogram` V2, as the `histogram` of the distribution.
    histogram: String,
}

impl From<PassedOver> for Wire {
    fn from(p: PassedOver) -> Self {
        Self { min: p.min, max: p.max, sum: p.sum.to_string(), histogram: hdr::encode(&p.histogram) }
    }
}

impl TryFrom<Wire> for PassedOver {
    type Error = String;

    fn try_from(w: Wire) -> Result<Self, String> {
        let sum = w.sum.parse().map_err(|_| "the sum of the points passed over is not a decimal number".to_owned())?;
        Ok(Self { histogram: hdr::decode(&w.histogram).map_err(|e| e.to_string())?, sum, min: w.min, max: w.max })
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for PassedOver {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Wire::schema_name()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Wire::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn stalls_are_what_their_points_are(
            stalls in prop::collection::vec((0u64..1 << 40, 0u64..3_000), 0..6), interval in 1u64..1 << 20,
        ) {
            let stalls: Vec<(u64, u64)> = stalls.into_iter().map(|(first, n)| (first, n.min(first / interval + 1))).collect();
            let mut points: Vec<u64> = stalls.iter().flat_map(|&(first, n)| (0..n).map(move |k| first - k * interval)).collect();
            points.sort_unstable();
            let own = PassedOver::of_stalls(stalls.iter().copied(), interval).unwrap();
            prop_assert_eq!(own.is_none(), points.is_empty());
            if let Some(own) = own {
                let mut plain = Histogram::new();
                for &p in &points { plain.record(p, 1).unwrap(); }
                prop_assert_eq!(&own.histogram, &plain);
                prop_assert_eq!(own.sum, points.iter().map(|&p| u128::from(p)).sum::<u128>());
                prop_assert_eq!((own.min, own.max), (points[0], points[points.len() - 1]));
                prop_assert_eq!(own.contradiction(), None);
                let text = serde_json::to_string(&own).unwrap();
                prop_assert_eq!(serde_json::from_str::<PassedOver>(&text).unwrap(), own);
            }
        }
    }

    #[test]
    fn a_stall_of_more_points_than_it_is_long_is_refused() {
        assert!(PassedOver::of_stalls([(1_000, 3)], 600).is_err());
        assert_eq!(PassedOver::of_stalls([(5, 0)], 600), Ok(None));
    }

    /// Three points in the slot of 2,998,272 to 3,000,319 ns, and one of 1,000 ns.
    fn four() -> PassedOver {
        PassedOver::of_stalls([(3_000_000, 3), (1_000, 1)], 1).unwrap().unwrap()
    }

    #[test]
    fn both_together_have_the_points_of_each() {
        let other = PassedOver::of_stalls([(2_500, 3)], 1_000).unwrap().unwrap();
        assert_eq!((other.sum, other.min, other.max), (4_500, 500, 2_500));
        let all = PassedOver::of_stalls([(3_000_000, 1), (2_999_999, 1), (2_999_998, 1), (2_500, 3), (1_000, 1)], 1_000);
        assert_eq!((four().with(&other).ok(), other.clone().with(&four()).ok()), (all.clone().unwrap(), all.unwrap()));
        let beyond = PassedOver { sum: u128::MAX, ..four() };
        assert_eq!(beyond.with(&other), Err(CountOverflow));
    }

    #[test]
    fn figures_lie_where_the_histogram_allows() {
        let (low, high) = (
            Some("the minimum of the points passed over is not in the lowest slot of their histogram"),
            Some("the maximum of the points passed over is not in the highest slot of their histogram"),
        );
        let extremes = |min, max| PassedOver { min, max, ..four() }.contradiction();
        for max in [2_998_272, 3_000_000, 3_000_319] {
            assert_eq!(extremes(1_000, max), None);
        }
        assert_eq!((extremes(999, 3_000_000), extremes(1_001, 3_000_000)), (low, low));
        assert_eq!((extremes(1_000, 2_998_271), extremes(1_000, 3_000_320)), (high, high));
        let one = PassedOver::of_stalls([(3_000_000, 1)], 1).unwrap().unwrap();
        assert_eq!(one.contradiction(), None);
        assert_eq!(PassedOver { min: 3_000_001, ..one.clone() }.contradiction(), low, "above the maximum, though in its slot");
        assert_eq!(PassedOver { histogram: Histogram::new(), ..one }.contradiction(), low);

        let outside = Some("the sum of the points passed over lies outside what their histogram allows");
        let sum = |sum| PassedOver { sum, ..four() }.contradiction();
        // 1,000 and three times 2,998,272 to 3,000,319.
        assert_eq!((sum(8_995_816), sum(9_001_957)), (None, None));
        assert_eq!((sum(8_995_815), sum(9_001_958)), (outside, outside));
    }

    #[test]
    fn it_is_written_in_exact_figures_and_no_others_are_read() {
        let json = serde_json::to_value(four()).unwrap();
        let histogram = hdr::encode(&four().histogram);
        assert_eq!(json, serde_json::json!({"min": 1_000, "max": 3_000_000, "sum": "9000997", "histogram": histogram}));
        for (key, value, message) in [
            ("sum", "1.5", "the sum of the points passed over is not a decimal number"),
            ("histogram", "?", "the histogram is not base64"),
        ] {
            let mut changed = json.clone();
            changed[key] = value.into();
            assert_eq!(serde_json::from_value::<PassedOver>(changed).unwrap_err().to_string(), message);
        }
    }
}
