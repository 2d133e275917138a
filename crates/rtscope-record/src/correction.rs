//! The corrected view: every event that was expected and not lost, not only those that gave a sample.
//!
//! A task that oversleeps by many periods takes one sample where a punctual observer would have taken many. On rtscope's own grid,
//! each point passed over waited until the wake-up that passed it over. So the view is exact: the samples and these points. A
//! stimulus without an answer in time is also an event, of unknown latency, but later than every one that was answered. For data
//! of other tools and for older records only the samples are known. There HdrHistogram's rule estimates the rest, and the view is
//! called by the rule's name.

use crate::distribution::{Distribution, Moments, mean_of};
use crate::histogram::{CountOverflow, Histogram, progression, slot_highest, slot_of};
use crate::quantile::{Quantile, named};
use crate::record::{Record, RecordParts};
use crate::words::Test;
use std::collections::BTreeMap;

/// The basis of a corrected view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Basis {
    /// Each event by itself.
    Events,
    /// `HdrHistogram`'s rule: for every sample above the interval, add value - interval, value - 2 interval ... down to the
    /// interval (Gil Tene's correction for coordinated omission). It ignores grid and misses, and its error is as large as the
    /// samples are late.
    Rule,
}

impl Basis {
    /// The name of a view on this basis where its figures are shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Events => "corrected",
            Self::Rule => "by HdrHistogram's rule",
        }
    }
}

/// The corrected view of one or more distributions.
#[derive(Debug, Clone, PartialEq)]
pub struct Corrected {
    /// How the view was obtained.
    pub basis: Basis,
    /// Samples and other events of known latency.
    pub histogram: Histogram,
    /// Events of unknown latency, higher than all in the histogram: stimuli without an answer in time.
    pub unanswered: u64,
    /// Mean of all events, ns; `None` if any are unanswered.
    pub mean: Option<f64>,
    /// Lowest known latency, ns.
    pub min: u64,
    /// Highest known latency, ns.
    pub max: u64,
}

impl Corrected {
    /// The view of one distribution of a record. `None` where it has no meaning or basis: jitter, an empty distribution,
    /// overflowed or lost samples (of unknown height), or an import without an interval.
    pub fn of(record: &RecordParts, d: &Distribution) -> Option<Self> {
        match record.test {
            Test::Periodic => None,
            Test::Response | Test::Sustained => Self::answers(d),
            Test::Timer if d.passed().is_some() || (record.source.is_none() && d.missed() == 0) => Self::exact(d),
            Test::Timer => {
                let thread = d.parts().thread.as_ref().map(|t| t.interval).filter(|&i| i > 0);
                Self::by_rule(d, thread.unwrap_or(record.settings.interval.0)).ok()?
            }
        }
    }

    /// The view of all distributions of a record together. `None` if any non-empty one has no view, since a view of the others
    /// would mislead.
    pub fn of_record(record: &Record) -> Option<Self> {
        let views: Vec<_> = record.distributions().iter().map(|d| Self::of(record.parts(), d)).collect();
        Self::of_views(record, &views)
    }

    /// [`Corrected::of_record`] for views that are already computed, one for each distribution.
    pub fn of_views(record: &Record, views: &[Option<Self>]) -> Option<Self> {
        let filled = record.distributions().iter().zip(views).filter(|(d, _)| d.count() > 0 || d.missed() > 0);
        Self::merge(filled.map(|(_, view)| view.as_ref()))
    }

    /// Merges `views`; `None` if one is missing or there are none.
    pub fn merge<'a>(views: impl IntoIterator<Item = Option<&'a Self>>) -> Option<Self> {
        let mut all: Option<Self> = None;
        for view in views {
            let view = view?;
            all = Some(match all {
                None => view.clone(),
                Some(sum) => sum.with(view)?,
            });
        }
        all
    }

    /// Merges this view and `view`; `None` on an overflow of the counts.
    pub fn with(mut self, view: &Self) -> Option<Self> {
        let (n, m) = (self.count() as f64, view.count() as f64);
        self.basis = self.basis.max(view.basis);
        self.histogram.merge(&view.histogram).ok()?;
        self.unanswered = self.unanswered.checked_add(view.unanswered)?;
        self.mean = self.mean.zip(view.mean).map(|(a, b)| (a * n + b * m) / (n + m).max(1.0));
        (self.min, self.max) = (self.min.min(view.min), self.max.max(view.max));
        Some(self)
    }

    /// The exact view: samples and points passed over. `None` if a latency is unknown, or if the distribution is empty.
    pub fn exact(d: &Distribution) -> Option<Self> {
        if !d.all_known() || d.overflow() > 0 || d.dropped() > 0 {
            return None;
        }
        let passed = d.passed();
        let min = d.min().into_iter().chain(passed.map(|p| p.min)).min()?;
        let max = d.max().into_iter().chain(passed.map(|p| p.max)).max()?;
        let mut histogram = d.histogram().clone();
        if let Some(p) = passed {
            histogram.merge(&p.histogram).ok()?;
        }
        let sum = match d.parts().moments {
            Moments::Exact { sum, .. } => Some(sum.saturating_add(passed.map_or(0, |p| p.sum))),
            // Another tool's mean; nothing can be added to it.
            Moments::Reported { .. } => None,
        };
        Some(Self {
            basis: Basis::Events,
            unanswered: 0,
            mean: sum.map(|s| mean_of(s, histogram.total())).or(d.mean()),
            histogram,
            min,
            max,
        })
    }

    /// The view of a test's answers to stimuli.
    fn answers(d: &Distribution) -> Option<Self> {
        if d.overflow() > 0 || d.dropped() > 0 {
            return None;
        }
        Some(Self {
            basis: Basis::Events,
            histogram: d.histogram().clone(),
            unanswered: d.missed(),
            mean: d.mean().filter(|_| d.missed() == 0),
            min: d.min()?,
            max: d.max()?,
        })
    }

    /// The view by `HdrHistogram`'s rule at the given interval (ns); `None` without a mean, with interval 0, with overflowed or
    /// lost samples, or if empty. An error if the counts overflow.
    ///
    /// Samples above the interval count with the highest value of their slot, at most the maximum; those among the worst samples,
    /// with their exact value.
    pub fn by_rule(d: &Distribution, interval: u64) -> Result<Option<Self>, CountOverflow> {
        let (Some(min), Some(max), Some(mean)) = (d.min(), d.max(), d.mean()) else { return Ok(None) };
        if interval == 0 || d.overflow() > 0 || d.dropped() > 0 {
            return Ok(None);
        }
        // Slots of the added samples, unordered; sorted once at the end.
        let mut extra: Vec<(u64, u64)> = Vec::new();
        let mut added = 0u128;
        let mut added_sum = 0u128;
        let mut stall = |value: u64, n: u64, extra: &mut Vec<(u64, u64)>| -> Result<(), CountOverflow> {
            let steps = value / interval;
            if value <= interval {
                return Ok(());
            }
            // Down to the interval itself: value - k * interval >= interval for k = 1 ..= steps - 1.
            added += u128::from(steps - 1) * u128::from(n);
            let last = value - (steps - 1) * interval;
            added_sum += u128::from(n) * u128::from(steps - 1) * (u128::from(value - interval) + u128::from(last)) / 2;
            let mut fits = true;
            progression(value - interval, interval, steps - 1, |slot, same| match n.checked_mul(same) {
                Some(n) => extra.push((slot as u64, n)),
                None => fits = false,
            });
            if fits { Ok(()) } else { Err(CountOverflow) }
        };
        let mut known = std::collections::BTreeMap::<usize, u64>::new();
        for w in d.worst() {
            stall(w.value, 1, &mut extra)?;
            *known.entry(slot_of(w.value)).or_default() += 1;
        }
        for (slot, n) in d.histogram().slots() {
            let rest = n - known.get(&slot).copied().unwrap_or(0).min(n);
            if rest > 0 {
                stall(slot_highest(slot).min(max), rest, &mut extra)?;
            }
        }
        extra.sort_unstable();
        let mut histogram = d.histogram().clone();
        histogram.merge(&Histogram::from_slots(extra).map_err(|_| CountOverflow)?)?;
        let count = u128::from(d.count());
        let total = mean * count as f64 + added_sum as f64;
        let mean = Some(total / (count + added) as f64);
        Ok(Some(Self { basis: Basis::Rule, histogram, unanswered: 0, mean, min, max }))
    }

    /// Number of events in the view.
    pub fn count(&self) -> u64 {
        self.histogram.total().saturating_add(self.unanswered)
    }

    /// The value at `q`, ns: never too low, at most the highest known. `None` if the count does not support `q`, or if the value
    /// lies among the unanswered events.
    pub fn value_at(&self, q: Quantile) -> Option<u64> {
        let count = self.count();
        if !q.supported_by(count) {
            return None;
        }
        let value = self.histogram.values_at_ranks(&[q.rank(count)]).first().copied().flatten();
        value.map(|v| v.min(self.max))
    }

    /// The values at [`Quantile::STANDARD`], each as from [`Corrected::value_at`].
    pub fn standard(&self) -> [Option<u64>; Quantile::STANDARD.len()] {
        self.histogram.standard(self.count()).map(|value| value.map(|v| v.min(self.max)))
    }

    /// The standard percentiles that have a value, by name.
    pub fn percentiles(&self) -> BTreeMap<String, u64> {
        named(self.standard())
    }
}

impl Distribution {
    /// The standard percentiles of the corrected view if that is exact; see [`Corrected::exact`].
    pub fn corrected_percentiles(&self) -> BTreeMap<String, u64> {
        Corrected::exact(self).map_or_else(BTreeMap::new, |c| c.percentiles())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::{Distribution, Worst};
    use crate::record::tests::parts;
    use proptest::prelude::*;

    /// The standard example of coordinated omission: 10,000 samples of 1 ms, then one of 100 s, at an interval of 10 ms.
    #[test]
    fn the_canonical_example() {
        let mut values = vec![1_000_000u64; 10_000];
        values.push(100_000_000_000);
        let d = Distribution::from_samples("canonical", &values, 8).unwrap();
        assert_eq!(d.count(), 10_001);
        assert!((d.mean().unwrap() / 1e3 - 10_998.90).abs() < 0.01);
        let within = |got: u64, want: u64| got >= want && got - want <= want / 1000;
        assert!(within(d.value_at("p99.99".parse().unwrap()).unwrap(), 1_000_000));
        let c = Corrected::by_rule(&d, 10_000_000).unwrap().unwrap();
        assert_eq!(c.count(), 20_000);
        assert!((c.mean.unwrap() / 1e3 - 25_003_000.0).abs() < 1.0, "{:?}", c.mean);
        for (p, want) in [("p50", 1_000_000u64), ("p75", 50_000_000_000), ("p90", 80_000_000_000), ("p99", 98_000_000_000)] {
            assert!(within(c.value_at(p.parse().unwrap()).unwrap(), want), "{p}");
        }
    }

    proptest! {
        #[test]
        fn it_is_what_adding_one_by_one_gives(values in prop::collection::vec(0u64..3_000_000, 1..40), interval in 200u64..100_000) {
            let d = Distribution::from_samples("x", &values, 64).unwrap();
            let mut plain = Histogram::new();
            let (mut sum, mut count) = (0u128, 0u128);
            for &v in &values {
                let mut x = v;
                loop {
                    plain.record(x, 1).unwrap();
                    sum += u128::from(x);
                    count += 1;
                    if x < 2 * interval || v <= interval { break; }
                    x -= interval;
                }
            }
            let c = Corrected::by_rule(&d, interval).unwrap().unwrap();
            prop_assert_eq!(&c.histogram, &plain);
            prop_assert!((c.mean.unwrap() - sum as f64 / count as f64).abs() < 1.0);
        }
    }

    #[test]
    fn unknown_worst_samples_are_never_taken_too_low() {
        let d = Distribution::from_samples("x", &[5_000_001; 10], 1).unwrap();
        let c = Corrected::by_rule(&d, 1_000_000).unwrap().unwrap();
        assert_eq!(c.count(), 50);
        assert_eq!(d.worst(), [Worst { value: 5_000_001, at: 0 }]);
    }

    fn missed(samples: &[u64], stalls: &[(u64, u64)], interval: u64) -> Distribution {
        let mut p = Distribution::from_samples("x", samples, 4).unwrap().into_parts();
        p.passed = crate::PassedOver::of_stalls(stalls.iter().copied(), interval).unwrap();
        p.missed = stalls.iter().map(|s| s.1).sum();
        p.expected = Some(p.count + p.missed);
        Distribution::new(p).unwrap()
    }

    #[test]
    fn what_is_known_of_each_event_is_all_there_is() {
        let d = missed(&[10, 3_500], &[(2_500, 3)], 1_000);
        let c = Corrected::exact(&d).unwrap();
        assert_eq!((c.basis, c.count(), c.unanswered, c.min, c.max), (Basis::Events, 5, 0, 10, 3_500));
        assert_eq!(c.mean, Some((10.0 + 3_500.0 + 2_500.0 + 1_500.0 + 500.0) / 5.0));
        // Two with known latencies together, and one without.
        let both = d.merge(&missed(&[20], &[], 1_000), "all", 4).unwrap();
        assert_eq!(Corrected::exact(&both).map(|c| c.count()), Some(6));
        let mut old = d.clone().into_parts();
        old.passed = None;
        let old = Distribution::new(old).unwrap();
        assert_eq!(Corrected::exact(&old), None);
        assert_eq!(Corrected::exact(&d.merge(&old, "all", 4).unwrap()), None);
    }

    type Spoil = fn(&mut crate::DistributionParts);

    #[test]
    fn what_does_not_add_up_is_refused() {
        let good = missed(&[10, 3_500], &[(2_500, 3)], 1_000).into_parts();
        let cases: [Spoil; 7] = [
            |p| (p.missed, p.expected) = (4, Some(6)),
            |p| p.expected = None,
            |p| p.late = 1,
            |p| p.passed.as_mut().unwrap().min = 1_500,
            |p| p.passed.as_mut().unwrap().max = 3_500,
            |p| p.passed.as_mut().unwrap().sum = 1_000,
            |p| p.passed.as_mut().unwrap().histogram = Histogram::new(),
        ];
        for (i, spoil) in cases.iter().enumerate() {
            let mut p = good.clone();
            spoil(&mut p);
            assert!(Distribution::new(p).is_err(), "case {i}");
        }
        let json = serde_json::to_value(Distribution::new(good).unwrap()).unwrap();
        for (key, value) in [("corrected_percentiles", serde_json::json!({})), ("passed", serde_json::Value::Null)] {
            let mut changed = json.clone();
            changed[key] = value;
            let own: Result<Distribution, _> = serde_json::from_value(changed);
            // Without `passed` it is like an older record, about which nothing is claimed.
            assert_eq!(own.is_err(), key != "passed", "{key}");
        }
    }

    #[test]
    fn unanswered_stimuli_lie_above_all_answers() {
        let mut p = Distribution::from_samples("rising", &[100; 90], 4).unwrap().into_parts();
        (p.missed, p.expected) = (10, Some(100));
        let c = Corrected::answers(&Distribution::new(p).unwrap()).unwrap();
        let at = |q: &str| c.value_at(q.parse().unwrap());
        assert_eq!((c.count(), at("p50"), at("p90"), at("p91"), c.mean), (100, Some(100), Some(100), None, None));
    }

    /// A distribution of these samples with this change.
    fn of(samples: &[u64], change: impl FnOnce(&mut crate::DistributionParts)) -> Distribution {
        let mut p = Distribution::from_samples("x", samples, 1).unwrap().into_parts();
        change(&mut p);
        Distribution::new(p).unwrap()
    }

    /// The same samples and one more, which overflowed.
    fn overflowed(samples: &[u64]) -> Distribution {
        of(samples, |p| (p.count, p.overflow, p.moments) = (p.count + 1, 1, crate::Moments::Reported { mean: samples[0] as f64 }))
    }

    fn percentiles(stated: &[(&str, u64)]) -> BTreeMap<String, u64> {
        stated.iter().map(|&(q, v)| (q.to_owned(), v)).collect()
    }

    #[test]
    fn each_basis_has_its_name() {
        assert_eq!((Basis::Events.as_str(), Basis::Rule.as_str()), ("corrected", "by HdrHistogram's rule"));
    }

    #[test]
    fn each_test_has_the_view_that_fits_it() {
        let source = crate::Source { format: "f".into(), file: "f".into(), sha256: String::new(), kept: Vec::new() };
        let own = RecordParts { settings: crate::Settings { interval: crate::Nanos(500), ..Default::default() }, ..parts() };
        let import = RecordParts { source: Some(source), ..own.clone() };
        let test = |test| RecordParts { test, ..own.clone() };
        let view = |r: &RecordParts, d: &Distribution| Corrected::of(r, d).map(|c| (c.basis, c.count(), c.unanswered));
        let passed = missed(&[10, 3_500], &[(2_500, 3)], 1_000);
        let (clean, late) = (of(&[10, 3_500], |_| ()), of(&[10, 3_500], |p| p.missed = 3));
        // On rtscope's own grid each event is known, ...
        assert_eq!((view(&own, &passed), view(&own, &clean)), (Some((Basis::Events, 5, 0)), Some((Basis::Events, 2, 0))));
        assert_eq!(view(&import, &passed), Some((Basis::Events, 5, 0)));
        // ... but not in older records with missed points, nor in imports: they use the thread's interval, or the one in the
        // settings.
        assert_eq!((view(&own, &late), view(&import, &clean)), (Some((Basis::Rule, 8, 0)), Some((Basis::Rule, 8, 0))));
        let on = |interval| of(&[10, 3_500], |p| p.thread = Some(crate::ThreadInfo { interval, ..Default::default() }));
        assert_eq!((view(&import, &on(1_000)), view(&import, &on(0))), (Some((Basis::Rule, 4, 0)), Some((Basis::Rule, 8, 0))));
        for answered in [Test::Response, Test::Sustained] {
            assert_eq!(view(&test(answered), &late), Some((Basis::Events, 5, 3)));
        }
        assert_eq!(view(&test(Test::Periodic), &clean), None);
    }

    #[test]
    fn a_record_has_a_view_when_each_of_its_parts_has() {
        let view = |test, all: &[Distribution]| {
            let labelled = all.iter().enumerate().map(|(i, d)| {
                Distribution::new(crate::DistributionParts { label: i.to_string(), ..d.clone().into_parts() }).unwrap()
            });
            let record = Record::new(RecordParts { test, distributions: labelled.collect(), ..parts() }).unwrap();
            Corrected::of_record(&record).map(|c| (c.count(), c.unanswered))
        };
        let (clean, late, empty) = (of(&[10, 20], |_| ()), of(&[30], |p| p.missed = 3), of(&[], |_| ()));
        let silent = of(&[], |p| p.missed = 5);
        assert_eq!(view(Test::Response, &[clean.clone(), late]), Some((6, 3)));
        assert_eq!(view(Test::Response, &[clean.clone(), empty.clone()]), Some((2, 0)), "nothing is nothing to leave out");
        assert_eq!(view(Test::Response, &[clean.clone(), silent]), None, "all were missed, and nobody knows how late");
        assert_eq!((view(Test::Response, &[empty]), view(Test::Response, &[]), view(Test::Periodic, &[clean])), (None, None, None));
    }

    #[test]
    fn views_are_merged_event_by_event() {
        let by_rule = Corrected::by_rule(&of(&[10, 20, 90], |_| ()), 1_000).unwrap().unwrap();
        let events = Corrected::exact(&of(&[5, 15], |_| ())).unwrap();
        for both in [[Some(&by_rule), Some(&events)], [Some(&events), Some(&by_rule)]] {
            let c = Corrected::merge(both).unwrap();
            assert_eq!((c.basis, c.count(), c.unanswered, c.min, c.max), (Basis::Rule, 5, 0, 5, 90));
            assert_eq!((c.mean, c.histogram.occupied()), (Some(28.0), 5));
        }
        let unanswered = Corrected::answers(&of(&[40], |p| p.missed = 2)).unwrap();
        let c = Corrected::merge([Some(&unanswered), Some(&events), Some(&unanswered)]).unwrap();
        assert_eq!((c.basis, c.count(), c.unanswered, c.min, c.max, c.mean), (Basis::Events, 8, 4, 5, 40, None));
        assert_eq!(Corrected::merge([Some(&events)]), Some(events.clone()));
        assert_eq!((Corrected::merge([Some(&events), None]), Corrected::merge([])), (None, None));
    }

    #[test]
    fn where_a_height_is_not_known_there_is_no_view() {
        let dropped = of(&[10, 20], |p| p.dropped = 1);
        for d in [overflowed(&[10, 20]), dropped, of(&[], |_| ())] {
            assert_eq!((Corrected::exact(&d), Corrected::answers(&d), Corrected::by_rule(&d, 5)), (None, None, Ok(None)));
        }
        assert_eq!(Corrected::by_rule(&of(&[10, 20], |_| ()), 0), Ok(None));
        assert_eq!(Corrected::answers(&of(&[10, 20], |_| ())).and_then(|c| c.mean), Some(15.0));
        let reported = of(&[10, 20], |p| p.moments = crate::Moments::Reported { mean: 14.5 });
        assert_eq!(Corrected::exact(&reported).and_then(|c| c.mean), Some(14.5));
    }

    #[test]
    fn the_rule_goes_down_to_the_interval() {
        let view = |samples: &[u64]| {
            let c = Corrected::by_rule(&of(samples, |_| ()), 1_000).unwrap().unwrap();
            (c.histogram.slots().collect::<Vec<_>>(), c.mean.unwrap())
        };
        let slots = |values: &[u64], n: u64| values.iter().map(|&v| (slot_of(v), n)).collect::<Vec<_>>();
        assert_eq!(view(&[1_000]), (slots(&[1_000], 1), 1_000.0));
        assert_eq!(view(&[1_999]), (slots(&[1_999], 1), 1_999.0));
        assert_eq!(view(&[2_000]), (slots(&[1_000, 2_000], 1), 1_500.0));
        assert_eq!(view(&[1, 3_500]), (slots(&[1, 1_500, 2_500, 3_500], 1), 1_875.25));
        // Of ten samples only the worst is known exactly; the others count as the highest of their slot, here the maximum.
        assert_eq!(view(&[3_500; 10]), (slots(&[1_500, 2_500, 3_500], 10), 2_500.0));
        // The slot ends at 3,501: samples that may be as high are not taken as lower.
        assert_eq!(view(&[[3_500; 9].as_slice(), &[3_501]].concat()).0, slots(&[1_501, 2_501, 3_501], 10));
    }

    #[test]
    fn more_than_can_be_counted_is_an_error() {
        let many = |n: u64| {
            let mut p = crate::DistributionParts::empty("x");
            p.histogram.record(5_000_000, n).unwrap();
            (p.count, p.min, p.max) = (n, Some(5_000_000), Some(5_000_000));
            p.moments = crate::Moments::Reported { mean: 5e6 };
            Distribution::new(p).unwrap()
        };
        assert_eq!(Corrected::by_rule(&many(1 << 62), 1), Err(CountOverflow));
        assert_eq!(Corrected::by_rule(&many(1 << 62), 1_000_000), Err(CountOverflow));
        assert_eq!(Corrected::by_rule(&many(1 << 60), 1_000_000).map(|c| c.map(|c| c.count())), Ok(Some(5 << 60)));
    }

    #[test]
    fn only_what_the_events_support_is_a_percentile() {
        // The slot of 3 ms ends at 3,000,319 ns.
        let c = Corrected::answers(&of(&[1_000, 3_000_000, 3_000_000], |p| p.missed = 1)).unwrap();
        let at = |q: &str| c.value_at(q.parse().unwrap());
        assert_eq!((at("p25"), at("p50"), at("p75"), at("p80")), (Some(1_000), Some(3_000_000), Some(3_000_000), None));
        assert_eq!(c.percentiles(), percentiles(&[("p50", 3_000_000)]));
        let c = Corrected::answers(&of(&[7; 9], |p| p.missed = 1)).unwrap();
        assert_eq!(c.percentiles(), percentiles(&[("p50", 7), ("p90", 7)]));
        let c = Corrected::answers(&of(&[7; 8], |p| p.missed = 2)).unwrap();
        assert_eq!(c.percentiles(), percentiles(&[("p50", 7)]), "the ninth of ten was not answered");
    }
}
