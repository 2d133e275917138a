//! Distributions: what adds up is kept exactly, anything else is refused.

use super::*;
use crate::correction::Corrected;
use crate::linear::LinearBins;
use proptest::prelude::*;

fn sample() -> DistributionParts {
    let mut p = Distribution::from_samples("cpu0", &[1_000, 2_000, 3_000_000], 2).unwrap().into_parts();
    p.missed = 2;
    p.expected = Some(5);
    p
}

#[test]
fn what_adds_up_is_kept() {
    let d = Distribution::new(sample()).unwrap();
    let text = serde_json::to_string(&d).unwrap();
    assert_eq!(serde_json::from_str::<Distribution>(&text).unwrap(), d);
    assert_eq!(d.mean(), Some(1_001_000.0));
}

/// A change to the parts, and a part of the message that must result.
type Spoiled = (fn(&mut DistributionParts), &'static str);

#[test]
fn what_does_not_add_up_is_refused() {
    let cases: [Spoiled; 11] = [
        (|p| p.count += 1, "histogram holds"),
        (|p| p.missed += 1, "missed"),
        (|p| p.dropped = 1, "dropped"),
        (|p| p.min = Some(900), "minimum"),
        (|p| p.max = Some(4_000_000), "maximum"),
        (|p| p.min = None, "do not fit"),
        (|p| p.moments = Moments::Exact { sum: 5_000_000, sum_sq: 1 }, "sums"),
        (|p| p.worst.reverse(), "descending"),
        (|p| p.worst = vec![Worst { value: 2_000, at: 0 }], "maximum"),
        (|p| p.resolution = 0, "resolution"),
        (|p| p.linear = Some(LinearBins { unit_ns: 1000, size: 10, counts: vec![(1, 1)], overflow_at: vec![] }), "linear"),
    ];
    for (spoil, what) in cases {
        let mut p = sample();
        spoil(&mut p);
        let error = Distribution::new(p).expect_err(what).to_string();
        assert!(error.contains(what), "{error} / {what}");
    }
}

#[test]
fn tampered_json_is_refused() {
    let json = serde_json::to_value(Distribution::new(sample()).unwrap()).unwrap();
    for (key, value) in [
        ("count", serde_json::json!(4)),
        ("missed", serde_json::json!(0)),
        ("max", serde_json::json!(1)),
        ("mean", serde_json::json!(1.0)),
        ("stddev", serde_json::json!(1.0)),
        ("sum", serde_json::json!("12")),
        ("sum_sq", serde_json::json!("x")),
        ("percentiles", serde_json::json!({"p50": 1})),
        ("histogram", serde_json::json!("")),
        ("expected", serde_json::json!(3)),
    ] {
        let mut changed = json.clone();
        changed[key] = value;
        assert!(serde_json::from_value::<Distribution>(changed).is_err(), "{key}");
    }
}

#[test]
fn percentiles_need_samples() {
    let d = Distribution::from_samples("x", &vec![5; 999], 1).unwrap();
    assert!(!d.percentiles().contains_key("p99.9"));
    let d = Distribution::from_samples("x", &vec![5; 1000], 1).unwrap();
    assert_eq!(d.percentiles()["p99.9"], 5);
}

#[test]
fn overflowed_samples_have_no_percentile() {
    let mut p = Distribution::from_samples("x", &[1_000; 90], 0).unwrap().into_parts();
    p.overflow = 10;
    p.count = 100;
    p.max = Some(9_000_000);
    p.moments = Moments::Reported { mean: 50_000.0 };
    let d = Distribution::new(p).unwrap();
    assert_eq!(d.value_at("p90".parse().unwrap()), Some(1_000));
    assert_eq!(d.value_at("p95".parse().unwrap()), None);
    assert_eq!(d.stddev(), None);
}

/// The parts of a distribution of these samples.
fn of(label: &str, samples: &[u64]) -> DistributionParts {
    Distribution::from_samples(label, samples, 3).unwrap().into_parts()
}

#[test]
fn each_figure_is_read_by_its_name() {
    let mut p = of("rising", &[40, 20, 40, 30]);
    (p.missed, p.late, p.spurious, p.dropped, p.expected) = (7, 5, 6, 8, Some(19));
    let d = Distribution::new(p).unwrap();
    assert_eq!((d.label(), d.count(), d.min(), d.max()), ("rising", 4, Some(20), Some(40)));
    assert_eq!((d.missed(), d.late(), d.spurious(), d.overflow(), d.dropped()), (7, 5, 6, 0, 8));
    assert_eq!(d.histogram().slots().collect::<Vec<_>>(), [(20, 1), (30, 1), (40, 2)]);
    // The highest first; equal ones by time.
    assert_eq!(d.worst(), [Worst { value: 40, at: 0 }, Worst { value: 40, at: 2 }, Worst { value: 30, at: 3 }]);
    assert_eq!((d.passed(), d.all_known(), d.slots()), (None, false, 3));
    let mut p = of("rising", &[40, 20]);
    (p.count, p.overflow, p.moments) = (5, 3, Moments::Reported { mean: 39.5 });
    let d = Distribution::new(p).unwrap();
    assert_eq!((d.count(), d.overflow(), d.mean(), d.stddev()), (5, 3, Some(39.5), None));
}

#[test]
fn of_nothing_there_is_no_figure() {
    let mut p = DistributionParts::empty("cpu0");
    for moments in [p.moments, Moments::Reported { mean: 0.0 }] {
        p.moments = moments;
        let d = Distribution::new(p.clone()).unwrap();
        assert_eq!((d.label(), d.count(), d.min(), d.max(), d.mean(), d.stddev()), ("cpu0", 0, None, None, None, None));
        assert_eq!((d.value_at("p50".parse().unwrap()), d.percentiles().len(), d.slots(), d.all_known()), (None, 0, 0, true));
    }
}

#[test]
fn percentiles_are_at_most_the_maximum() {
    // The slot of 3 ms ends at 3,000,319 ns.
    let d = Distribution::from_samples("x", &[1_000, 1_000, 3_000_000, 3_000_000], 0).unwrap();
    let at = |q: &str| d.value_at(q.parse().unwrap());
    assert_eq!((at("p50"), at("p75"), at("p90")), (Some(1_000), Some(3_000_000), None));
    assert_eq!(d.percentiles(), BTreeMap::from([("p50".to_owned(), 1_000)]));
    let d = Distribution::from_samples("x", &[3_000_000; 10], 0).unwrap();
    assert_eq!(d.percentiles(), BTreeMap::from([("p50".to_owned(), 3_000_000), ("p90".to_owned(), 3_000_000)]));
}

#[test]
fn mean_and_stddev_lose_no_digit() {
    let figures = |samples: &[u64]| {
        let d = Distribution::from_samples("x", samples, 0).unwrap();
        (d.mean(), d.stddev())
    };
    assert_eq!(figures(&[2, 4, 4, 4, 5, 5, 7, 9]), (Some(5.0), Some(2.0)));
    assert_eq!(figures(&[1, 2, 3, 5]).0, Some(2.75));
    // Squares whose difference f64 can't hold.
    assert_eq!(figures(&[1_000_000_000_000, 1_000_000_000_002]), (Some(1_000_000_000_001.0), Some(1.0)));
    // Squares beyond u128, computed in f64 instead.
    assert_eq!(figures(&[0, 0, 1 << 63, 1 << 63]), (Some(2f64.powi(62)), Some(2f64.powi(62))));
    assert!(Distribution::from_samples("x", &[u64::MAX; 2], 0).is_err(), "their sum of squares is beyond u128");
}

/// A distribution of these samples in which `stall` was passed over on a grid of 1 us.
fn passing(label: &str, samples: &[u64], stall: (u64, u64)) -> Distribution {
    let mut p = of(label, samples);
    (p.missed, p.expected) = (stall.1, Some(p.count + stall.1));
    p.passed = PassedOver::of_stalls([stall], 1_000).unwrap();
    Distribution::new(p).unwrap()
}

#[test]
fn points_passed_over_are_known_and_take_slots() {
    let d = passing("cpu0", &[10, 3_500], (2_500, 3));
    assert_eq!((d.passed().map(|p| p.sum), d.all_known(), d.slots()), (Some(4_500), true, 5));
    assert_eq!(d.corrected_percentiles(), BTreeMap::from([("p50".to_owned(), 1_500)]));
    let mut p = d.into_parts();
    p.passed = None;
    assert_eq!(Distribution::new(p).unwrap().corrected_percentiles(), BTreeMap::new());
}

#[test]
fn every_part_of_both_is_in_the_merged() {
    let mut a = of("a", &[10, 20]);
    (a.missed, a.late, a.spurious, a.dropped, a.expected) = (3, 1, 4, 5, Some(10));
    let mut b = of("b", &[5, 30, 40]);
    (b.missed, b.late, b.spurious, b.dropped, b.expected, b.resolution) = (6, 2, 7, 8, Some(17), 1_000);
    b.thread = Some(ThreadInfo::default());
    let [a, b] = [a, b].map(|p| Distribution::new(p).unwrap());
    let expected = DistributionParts {
        count: 5,
        min: Some(5),
        max: Some(40),
        moments: Moments::Exact { sum: 105, sum_sq: 3_025 },
        missed: 9,
        late: 3,
        spurious: 11,
        dropped: 13,
        expected: Some(27),
        histogram: Histogram::from_slots([5, 10, 20, 30, 40].map(|v| (v, 1))).unwrap(),
        worst: [(40, 2), (30, 1), (20, 1)].map(|(value, at)| Worst { value, at }).to_vec(),
        resolution: 1_000,
        ..DistributionParts::empty("all")
    };
    assert_eq!(a.merge(&b, "all", 3).unwrap().parts(), &expected);
    assert_eq!(b.merge(&a, "all", 3).unwrap().parts(), &expected);
    let mut foreign = b.into_parts();
    foreign.expected = None;
    assert_eq!(a.merge(&Distribution::new(foreign).unwrap(), "all", 3).unwrap().parts().expected, None);
}

#[test]
fn reported_means_are_weighed_by_their_counts() {
    let mut a = of("a", &[10, 20]);
    a.moments = Moments::Reported { mean: 10.0 };
    (a.count, a.overflow) = (3, 1);
    let (a, b) = (Distribution::new(a).unwrap(), Distribution::new(of("b", &[40, 50])).unwrap());
    let both = a.merge(&b, "all", 3).unwrap();
    assert_eq!((both.count(), both.overflow(), both.mean(), both.stddev()), (5, 1, Some(24.0), None));
    let empty =
        Distribution::new(DistributionParts { moments: Moments::Reported { mean: 0.0 }, ..DistributionParts::empty("c") }).unwrap();
    assert_eq!(empty.merge(&empty, "all", 3).unwrap().parts().moments, Moments::Reported { mean: 0.0 });
}

#[test]
fn what_was_passed_over_is_merged_where_all_of_it_is_known() {
    let (a, b) = (passing("a", &[10, 3_500], (2_500, 3)), passing("b", &[20, 1_700], (700, 1)));
    let counted = |p| Distribution::new(DistributionParts { expected: Some(1), ..p }).unwrap();
    let none = counted(of("c", &[30]));
    let mut p = of("d", &[30]);
    p.missed = 2;
    let unknown = Distribution::new(p).unwrap();
    let passed = |x: &Distribution, y: &Distribution| x.merge(y, "all", 3).unwrap().passed().map(|p| (p.histogram.total(), p.sum));
    assert_eq!((passed(&a, &b), passed(&b, &a)), (Some((4, 5_200)), Some((4, 5_200))));
    assert_eq!((passed(&a, &none), passed(&none, &a)), (Some((3, 4_500)), Some((3, 4_500))));
    assert_eq!((passed(&a, &unknown), passed(&unknown, &a), passed(&none, &none)), (None, None, None));
}

/// Merged runs may include another tool's.
#[test]
fn beside_what_another_tool_measured_nothing_is_claimed_of_points_passed_over() {
    let own = passing("cpu0", &[10, 3_500], (2_500, 3));
    let uncounted = of("t0", &[30]);
    let moments = Moments::Reported { mean: 30.0 };
    let overflowed = DistributionParts { count: 2, overflow: 1, expected: Some(2), moments, ..of("t0", &[30]) };
    for (foreign, expected) in [(uncounted, None), (overflowed, Some(7))] {
        let foreign = Distribution::new(foreign).unwrap();
        for both in [own.merge(&foreign, "all", 3).unwrap(), foreign.merge(&own, "all", 3).unwrap()] {
            assert_eq!((both.missed(), both.passed(), both.all_known(), both.parts().expected), (3, None, false, expected));
        }
    }
}

#[test]
fn what_can_not_be_counted_is_not_merged() {
    let most = |change: fn(&mut DistributionParts)| {
        let mut p = of("x", &[1]);
        change(&mut p);
        let d = Distribution::new(p).unwrap();
        d.merge(&d, "all", 3).unwrap_err().to_string()
    };
    let cases: [fn(&mut DistributionParts); 2] = [|p| p.spurious = 1 << 63, |p| p.missed = 1 << 63];
    for change in cases {
        assert_eq!(most(change), "all: a histogram can't count more than 2^63-1 samples");
    }
}

#[test]
fn the_worst_of_both_are_those_that_are_known_to_be() {
    let kept = |samples: &[u64], n| Distribution::from_samples("x", samples, n).unwrap();
    let worst = |a: &Distribution, b: &Distribution, n| {
        let both = [a.merge(b, "all", n).unwrap(), b.merge(a, "all", n).unwrap()];
        let values = both.map(|d| d.worst().iter().map(|w| w.value).collect::<Vec<_>>());
        assert_eq!(values[0], values[1]);
        values[0].clone()
    };
    let own = kept(&[50, 40, 30, 20, 10], 3);
    // An import keeps none: one of its samples is as high as its maximum, the others may be.
    assert_eq!(worst(&own, &kept(&[35, 34, 1], 0), 3), [50, 40]);
    assert_eq!(worst(&own, &kept(&[50], 0), 3), [50]);
    assert_eq!(worst(&own, &kept(&[70, 1], 0), 3), [0; 0]);
    // Two kept of three; all kept of two; none.
    assert_eq!(worst(&own, &kept(&[45, 35, 1], 2), 9), [50, 45, 40, 35]);
    assert_eq!(worst(&own, &kept(&[45, 35], 2), 9), [50, 45, 40, 35, 30]);
    assert_eq!(worst(&own, &kept(&[], 2), 9), [50, 40, 30]);
}

proptest! {
    #[test]
    fn json_round_trip(values in prop::collection::vec(0u64..1 << 60, 0..50), missed in 0u64..1000) {
        let mut p = Distribution::from_samples("x", &values, 5).unwrap().into_parts();
        p.missed = missed;
        p.expected = Some(p.count + missed);
        let d = Distribution::new(p).unwrap();
        let text = serde_json::to_string(&d).unwrap();
        prop_assert_eq!(serde_json::from_str::<Distribution>(&text).unwrap(), d);
    }

    #[test]
    fn merging_equals_measuring_together(a in prop::collection::vec(0u64..1 << 40, 0..60), b in prop::collection::vec(0u64..1 << 40, 0..60)) {
        let da = Distribution::from_samples("a", &a, 4).unwrap();
        let db = Distribution::from_samples("b", &b, 4).unwrap();
        let both = Distribution::from_samples("all", &[a, b].concat(), 4).unwrap();
        let merged = da.merge(&db, "all", 4).unwrap();
        prop_assert_eq!(merged.histogram(), both.histogram());
        prop_assert_eq!(merged.mean(), both.mean());
        prop_assert_eq!(merged.stddev(), both.stddev());
        prop_assert_eq!(merged.percentiles(), both.percentiles());
        let worst = |d: &Distribution| d.worst().iter().map(|w| w.value).collect::<Vec<_>>();
        prop_assert_eq!(worst(&merged), worst(&both));
    }

    #[test]
    fn all_standard_percentiles_at_once_are_each_by_itself(
        samples in prop::collection::vec((any::<u64>(), 1u64..60_000), 0..40), overflow in 0u64..100, missed in 0u64..100,
    ) {
        let mut p = DistributionParts { missed, overflow, ..DistributionParts::empty("x") };
        for &(value, n) in &samples {
            p.histogram.record(value >> 20, n).unwrap();
        }
        p.count = p.histogram.total() + overflow;
        let known = p.histogram.iter().map(|(low, high, _)| (low, high)).reduce(|all, one| (all.0, one.1));
        (p.min, p.max) = known.filter(|_| !samples.is_empty()).map_or((Some(0), Some(u64::MAX)), |(low, high)| (Some(low), Some(high)));
        if p.count == 0 {
            (p.min, p.max) = (None, None);
        }
        p.moments = Moments::Reported { mean: p.min.unwrap_or(0) as f64 };
        let d = Distribution::new(p).unwrap();
        prop_assert_eq!(d.standard(), Quantile::STANDARD.map(|q| d.value_at(q)));
        let view = Corrected { unanswered: missed, histogram: d.histogram().clone(), ..Corrected::exact(&Distribution::from_samples("y", &[5], 0).unwrap()).unwrap() };
        prop_assert_eq!(view.standard(), Quantile::STANDARD.map(|q| view.value_at(q)));
    }

    /// A merge does not check sums against the slots again: they must be right for any input, including stalls and figures of other
    /// tools.
    #[test]
    fn what_is_merged_adds_up(
        parts in prop::collection::vec((prop::collection::vec(0u64..5_000, 1..20), 0u64..4, 0u64..3, prop::bool::ANY), 1..8),
        high in 0u64..=u64::MAX - 5_000,
    ) {
        let parts = parts.into_iter().map(|(samples, stalls, overflow, reported)| {
            let samples: Vec<u64> = samples.into_iter().map(|v| if v % 7 == 0 { high + v } else { v }).collect();
            let mut p = Distribution::from_samples("x", &samples, 3).ok()?.into_parts();
            if stalls > 0 {
                p.passed = PassedOver::of_stalls([(10_000, stalls)], 1_000).unwrap();
                p.missed = stalls;
            } else if reported {
                p.moments = Moments::Reported { mean: p.min? as f64 };
                (p.overflow, p.count) = (overflow, p.count + overflow);
            }
            p.expected = Some(p.count + p.missed);
            Distribution::new(p).ok()
        });
        let mut sum: Option<Distribution> = None;
        for d in parts.flatten() {
            sum = match sum {
                None => Some(d),
                Some(sum) => match sum.clone().with(&d, "all", 4) {
                    Ok(both) => Some(both),
                    Err(_) => Some(sum),
                },
            };
            let parts = sum.clone().unwrap().into_parts();
            prop_assert_eq!(Distribution::new(parts).err(), None);
        }
    }

    #[test]
    fn mean_and_stddev_are_exact(values in prop::collection::vec(0u64..1 << 33, 1..80)) {
        let d = Distribution::from_samples("x", &values, 0).unwrap();
        let n = values.len() as f64;
        let mean = values.iter().map(|&v| v as f64).sum::<f64>() / n;
        let sd = (values.iter().map(|&v| (v as f64 - mean).powi(2)).sum::<f64>() / n).sqrt();
        prop_assert!((d.mean().unwrap() - mean).abs() <= 1e-6 * mean.max(1.0));
        prop_assert!((d.stddev().unwrap() - sd).abs() <= 1e-6 * sd.max(1.0));
    }

    #[test]
    fn damaged_json_never_panics(cut in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), by: u8) {
        let mut text = serde_json::to_vec(&Distribution::new(sample()).unwrap()).unwrap();
        let i = at.index(text.len());
        text[i] ^= by;
        let _ = serde_json::from_slice::<Distribution>(&text);
        text.truncate(cut.index(text.len()));
        prop_assert!(serde_json::from_slice::<Distribution>(&text).is_err());
    }
}

#[test]
fn block_maxima_are_latencies_of_the_grid() {
    let of = |points, maxima: &[u64]| {
        let blocks = Some(BlockMaxima { points, maxima: maxima.to_vec() });
        Distribution::new(DistributionParts { blocks, ..passing("cpu0", &[10, 20, 3_500], (2_500, 3)).into_parts() })
    };
    // Three samples, and three points passed over that waited 2.5, 1.5 and 0.5 us.
    let whole = of(2, &[20, 3_500, 1_500]).unwrap();
    let text = serde_json::to_string(&whole).unwrap();
    assert_eq!(serde_json::from_str::<Distribution>(&text).unwrap(), whole);
    assert!(whole.merge(&whole, "all", 1).unwrap().parts().blocks.is_none());
    for (points, maxima, wrong) in [
        (0, &[20][..], "blocks without points"),
        (1, &[20; MOST_BLOCKS + 1], "too many blocks"),
        (3, &[20; 3], "more points than the grid"),
        (u64::MAX, &[20; 2], "more points than the grid"),
        (2, &[20, 2_400], "no latency of the distribution"),
        (2, &[3_501], "no latency of the distribution"),
    ] {
        let error = of(points, maxima).unwrap_err().to_string();
        assert!(error.contains(wrong), "{error}");
    }
}
