//! Bounds of percentiles: their ranks, the samples they need, and the arithmetic behind them.

use super::*;
use crate::fixtures::Build;
use proptest::prelude::*;
use rtscope_record::Test;

fn q(text: &str) -> Quantile {
    text.parse().unwrap()
}

#[test]
fn a_confidence_is_a_percentage() {
    assert_eq!(Confidence::default().to_string(), "95 %");
    for (text, shown) in [("95", "95 %"), ("99.9%", "99.9 %"), (" 50 ", "50 %"), ("99.9999", "99.9999 %")] {
        assert_eq!(text.parse::<Confidence>().unwrap().to_string(), shown);
    }
    for text in ["", "0", "49.9", "100", "99.99999", "-5", "0.95", "x", "95%%"] {
        assert!(text.parse::<Confidence>().is_err(), "{text}");
    }
    assert!((Confidence::default().risk() - 0.05).abs() < 1e-12);
}

#[test]
fn how_many_samples_a_claim_takes() {
    // All samples below the limit: q^n <= 5 %.
    for (p, n) in [("p50", 5), ("p90", 29), ("p95", 59), ("p99", 299), ("p99.9", 2_995), ("p99.99", 29_956), ("p99.999", 299_572)] {
        let risk = Confidence::default().risk();
        assert_eq!(needed(q(p), 0, 0, false, risk), Some(n), "{p}");
        assert_eq!(Ranks::of(q(p), n, risk).high, Some(n), "{p}");
        assert_eq!(Ranks::of(q(p), n - 1, risk).high, None, "{p}");
    }
    assert_eq!(needed(q("p99.9"), 0, 0, false, 0.01), Some(4_603));
    assert_eq!(needed(q("p99"), 100, 1, false, 0.05), None, "as many as may be: never shown");
    assert_eq!(needed(q("p100"), 100, 0, false, 0.05), None);
}

/// P(Bin(n, p) <= k), term by term in logarithms.
fn plain(n: u64, p: f64, k: u64) -> f64 {
    let ln_choose = |k: u64| (1..=k).map(|i| ((n - k + i) as f64 / i as f64).ln()).sum::<f64>();
    (0..=k).map(|i| (ln_choose(i) + i as f64 * p.ln() + (n - i) as f64 * (-p).ln_1p()).exp()).sum()
}

#[test]
fn values_of_r() {
    // R 4.2.2: qbinom(0.05, n, p) is the smallest k with P(X <= k) >= 0.05. `most` gives the k before that, except where
    // P is exactly 0.05.
    for (n, p, k) in [(1_000u64, 0.01, 4u64), (10_000, 0.001, 4), (1_000_000, 0.001, 947), (100, 0.5, 41)] {
        assert_eq!(most(n, p, 0.05), Some(k), "{n} {p}");
        assert!(plain(n.min(20_000), p, k.min(60)) <= 0.05 || n > 20_000);
    }
}

#[test]
fn risks_far_out_where_no_distribution_is_normal() {
    // Reference values: summed term by term with 40 digits. A normal distribution's quantile is five below the first and
    // six above the last.
    for (n, p, risk, k) in [(1_000_000, 0.001, 1e-9, 815), (10_000, 0.5, 1e-9, 4_699), (10_000, 0.999, 1e-9, 9_965)] {
        assert_eq!(most(n, p, risk), Some(k), "{n} {p}");
    }
}

#[test]
fn ten_to_the_twelve_samples() {
    // Compared with the normal approximation and its first correction (Cornish and Fisher):
    // k + 1/2 = np - z sd + (z^2 - 1)(1 - 2p)/6.
    let z = 1.644_853_626_951_472_2_f64;
    for p in [0.5, 0.1, 1e-3, 1e-5] {
        let n = 1_000_000_000_000u64;
        let (mean, sd) = (n as f64 * p, (n as f64 * p * (1.0 - p)).sqrt());
        let expected = mean - z * sd + (z * z - 1.0) * (1.0 - 2.0 * p) / 6.0 - 0.5;
        let k = most(n, p, 0.05).unwrap() as f64;
        assert!((k - expected).abs() <= 2.0, "{p}: {k} {expected}");
    }
}

proptest! {
    #[test]
    fn it_is_the_largest(n in 1u64..400, parts in 1u64..1000, risk in 0.0005f64..0.5) {
        let p = parts as f64 / 1000.0;
        match most(n, p, risk) {
            Some(k) => {
                prop_assert!(plain(n, p, k) <= risk * (1.0 + 1e-9));
                prop_assert!(k == n || plain(n, p, k + 1) >= risk * (1.0 - 1e-9));
            }
            None => prop_assert!(plain(n, p, 0) > risk * (1.0 - 1e-9)),
        }
    }

    #[test]
    fn as_many_as_needed_are_enough(n in 1u64..100_000, share in 0u64..1000, parts in 500u64..1000) {
        let q: Quantile = format!("p{}.{}", parts / 10, parts % 10).parse().unwrap();
        let beyond = n * share / 1_000_000;
        if let Some(all) = needed(q, n, beyond, false, 0.05) {
            let k = u64::try_from((u128::from(beyond) * u128::from(all)).div_ceil(u128::from(n))).unwrap();
            prop_assert!(Ranks::of(q, all, 0.05).high.is_some_and(|high| high <= all - k));
        }
    }
}

#[test]
fn bounds_are_samples_of_these_ranks() {
    let ranks = |p, n| Ranks::of(q(p), n, 0.05);
    assert_eq!(ranks("p50", 100), Ranks { low: Some(42), high: Some(59) });
    assert_eq!(ranks("p90", 100), Ranks { low: Some(85), high: Some(96) });
    assert_eq!(ranks("p99", 100), Ranks { low: Some(97), high: None });
    assert_eq!(ranks("p1", 100), Ranks { low: None, high: Some(4) });
    assert_eq!(ranks("p100", 1_000_000), Ranks { low: None, high: None });
    assert_eq!(ranks("p50", 0), Ranks { low: None, high: None });
}

fn slots(values: impl IntoIterator<Item = u64>) -> Histogram {
    let mut h = Histogram::new();
    for v in values {
        h.record(v, 1).unwrap();
    }
    h
}

#[test]
fn what_lies_among_events_without_a_latency_is_bounded_from_below_alone() {
    let of = |p, known| PercentileBounds::of(q(p), &slots(1..=known), 100, (1, known), 1_000, 0.05);
    assert_eq!(of("p50", 60), PercentileBounds { low: Some(42), high: Some(59) });
    assert_eq!(of("p50", 58), PercentileBounds { low: Some(42), high: None });
    assert_eq!(of("p50", 42), PercentileBounds { low: Some(42), high: None });
    assert_eq!(of("p50", 41), PercentileBounds { low: Some(1_000), high: None });
}

#[test]
fn bounds_are_the_ends_of_their_slots_but_not_beyond_what_was_seen() {
    // Slots of 4 ns: 5,000 to 5,003.
    let h = slots([5_001, 5_002].repeat(50));
    assert_eq!(
        PercentileBounds::of(q("p50"), &h, 100, (5_001, 5_002), 0, 0.05),
        PercentileBounds { low: Some(5_001), high: Some(5_002) }
    );
    assert_eq!(
        PercentileBounds::of(q("p50"), &h, 100, (1, 9_000), 0, 0.05),
        PercentileBounds { low: Some(5_000), high: Some(5_003) }
    );
}

#[test]
fn percentiles_that_were_seen_have_their_bounds() {
    let samples: Vec<u64> = (1..=100).collect();
    let timer = Build::new("none").cpu(0, 1_000, &samples).record();
    let jitter = Build::lines("a", Test::Periodic, &[("rising", &samples, 5)]).record();
    for r in [timer, jitter] {
        let all = bounded(&r, &r.distributions()[0], Confidence::default());
        let all: Vec<_> = all.iter().map(|b| (b.percentile.as_str(), b.value, b.interval.low, b.interval.high)).collect();
        let expected = [
            ("p50", Some(50), Some(42), Some(59)),
            ("p90", Some(90), Some(85), Some(96)),
            ("p95", Some(95), Some(91), Some(99)),
            ("p99", Some(99), Some(97), None),
        ];
        assert_eq!(all, expected);
    }
    let empty = Build::new("none").cpu(0, 1_000, &[]).record();
    assert_eq!(bounded(&empty, &empty.distributions()[0], Confidence::default()), []);
}

#[test]
fn so_many_are_needed_and_one_fewer_is_not_enough() {
    // Computed in exact fractions, for n from 1 up.
    for (p, n, beyond, above, all) in [
        ("p90", 100, 2, false, 46),
        ("p90", 200, 8, false, 89),
        ("p75", 30, 3, false, 29),
        ("p50", 7, 1, false, 11),
        ("p50", 1_000, 0, false, 5),
        ("p90", 50, 0, true, 2),
        ("p10", 50, 0, true, 29),
    ] {
        assert_eq!(needed(q(p), n, beyond, above, 0.05), Some(all), "{p} {n} {beyond}");
    }
}

#[test]
fn without_an_exception_a_rare_one_takes_as_many_as_its_power_says() {
    // (1 - share)^n <= 5 %, to one in a million.
    for (p, share) in [("p99.9999", 1e-6f64), ("p99.9999999", 1e-9)] {
        let exact = 0.05f64.ln() / (-share).ln_1p();
        let all = needed(q(p), 0, 0, false, 0.05).unwrap() as f64;
        assert!((-1e-6..2e-6).contains(&(all / exact - 1.0)), "{p}: {all} {exact}");
    }
}

#[test]
fn the_nearer_to_the_limit_the_more_are_needed_and_that_is_told_at_once() {
    // A search over so many samples would take minutes.
    let z = 1.644_853_626_951_472_2_f64;
    for beyond in 49_999_980..=49_999_997u32 {
        let near = 0.5 - f64::from(beyond) / 1e8;
        let exact = z * z * 0.25 / (near * near);
        let all = needed(q("p50"), 100_000_000, beyond.into(), false, 0.05).unwrap() as f64;
        assert!((all / exact - 1.0).abs() < 0.005, "{beyond}: {all} {exact}");
    }
    assert_eq!(needed(q("p50"), 100_000_000, 49_999_998, false, 0.05), None, "more than 10^15");
    for beyond in 50..=100 {
        assert_eq!(needed(q("p50"), 100, beyond, false, 0.05), None, "never");
    }
}

#[test]
fn a_chance_that_is_just_the_risk_is_allowed() {
    assert_eq!((most(1, 0.5, 0.5), most(1, 0.5, 0.499)), (Some(0), None));
    assert_eq!((most(0, 0.5, 0.5), most(9, 0.0, 0.5)), (None, None));
}

/// Coin throws, counted: 436 of 2^29 sequences have at most two heads, 6,018 of 2^33 at most three, 66,712 of 2^36 at
/// most four.
#[test]
fn a_bound_above_where_the_search_begins_is_found() {
    assert_eq!([29, 33, 36].map(|n| most(n, 0.5, 1e-6)), [Some(2), Some(3), Some(4)]);
}

#[test]
fn standard_deviations_of_a_normal_distribution() {
    for (risk, z) in [(0.25, 0.674_490), (0.05, 1.644_854), (0.01, 2.326_348), (1e-4, 3.719_016), (1e-9, 5.997_807)] {
        assert!((normal(risk) - z).abs() < 0.003, "{risk}: {}", normal(risk));
    }
}

/// `is` equals `should` to within the fraction `part`.
#[track_caller]
fn near(is: f64, should: f64, part: f64) {
    assert!((is - should).abs() <= should.abs() * part, "{is:e} {should:e}");
}

// The reference values below are computed with 60 digits.

#[test]
fn the_error_of_stirlings_formula() {
    for (n, error) in [(1.0, 0.081_061_466_795_327_26), (2.0, 0.041_340_695_955_409_29), (15.0, 0.005_554_733_551_962_801)] {
        assert!((stirling_error(n) - error).abs() < 2e-14, "{n}: {:e}", stirling_error(n));
    }
    for (n, error) in [(16.0, 0.005_207_655_919_609_64), (17.0, 0.004_901_395_948_434_738), (1e6, 8.333_333_333_333_056e-8)] {
        assert!((stirling_error(n) - error).abs() < 5e-16, "{n}: {:e}", stirling_error(n));
    }
}

#[test]
fn deviances_near_and_far() {
    for (x, m, deviance_of) in [
        (1.0, 100.0, 94.394_829_814_011_91),
        (1.0, 1e6, 999_985.184_489_442_1),
        (1e3, 1e9, 999_985_184.489_442_1),
        (50.0, 5.0, 70.129_254_649_702_28),
        (81.0, 100.0, 1.931_596_463_432_139_2),
        (82.0, 100.0, 1.727_023_024_645_263),
        (100.0, 110.0, 0.468_982_019_567_514),
        (1_000_001_000_000.0, 1e12, 0.499_999_833_333_416_7),
        (1e12, 1_000_001_000_000.0, 0.499_999_666_666_916_67),
    ] {
        near(deviance(x, m), deviance_of, 1e-14);
    }
    assert_eq!(deviance(3.0, 3.0).to_bits(), 0.0f64.to_bits());
}

#[test]
fn binomial_probabilities() {
    for (n, k, p, probability_of) in [
        (3, 0, 0.25, 0.421_875),
        (3, 3, 0.25, 0.015_625),
        (10, 3, 0.3, 0.266_827_932),
        (20, 10, 0.5, 0.176_197_052_001_953_12),
        (100, 1, 0.01, 0.369_729_637_649_726_8),
        (100, 99, 0.5, 7.888_609_052_210_118e-29),
        (1_000, 20, 0.01, 0.001_791_878_240_018_223_4),
        (1_000_000, 947, 0.001, 0.003_099_234_030_709_381_4),
        (1_000_000_000_000, 1_000_000_000, 0.001, 1.262_197_517_517_334_4e-5),
        (1_000_000_000_000, 500_000_000_000, 0.5, 7.978_845_608_026_659e-7),
    ] {
        near(probability(n, k, p), probability_of, 1e-12);
    }
}
