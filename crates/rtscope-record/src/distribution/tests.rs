//! Distributions: what adds up is kept exactly, what does not is refused.

use super::*;
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

/// A change to the parts, and a piece of the message it must lead to.
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

    /// A sum is not looked at slot by slot again: it holds whatever is summed up, stalls and figures of other tools too.
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
