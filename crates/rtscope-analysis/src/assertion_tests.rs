//! Assertions: grammar (fuzzed) and evaluation.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // samples from uniform numbers

use super::*;
use crate::confidence::Confidence;
use crate::fixtures::{Build, canonical};
use proptest::prelude::*;
use rtscope_record::{Distribution, DistributionParts, Effect, Moments, Record, Test};

fn check(text: &str, r: &Record) -> Evaluation {
    text.parse::<Assertion>().unwrap().evaluate(r, Confidence::default())
}

fn outcome(text: &str, r: &Record) -> Outcome {
    check(text, r).outcome
}

#[test]
fn the_grammar() {
    for (text, shown) in [
        ("p99.9<80us", "p99.9<80us"),
        (" max <= 1ms ", "max<=1ms"),
        ("mean<20us", "mean<20us"),
        ("min>1us", "min>1us"),
        ("missed==0", "missed==0"),
        ("missed<5", "missed<5"),
        ("p50 >= 1.5us", "p50>=1.5us"),
        ("spurious==0", "spurious==0"),
        ("overflow==0", "overflow==0"),
        ("dropped==0", "dropped==0"),
        ("count>=1000", "count>=1000"),
        ("p100<1s", "p100<1s"),
        ("max<0.5us", "max<500ns"),
        ("raw p99.9<25us", "raw p99.9<25us"),
        (" raw  max<1ms", "raw max<1ms"),
    ] {
        assert_eq!(text.parse::<Assertion>().unwrap().to_string(), shown);
    }
    for (text, says) in [
        ("", "compares nothing"),
        ("max", "compares nothing"),
        ("max=1us", "compares nothing"),
        ("max!=1us", "compares nothing"),
        ("<1us", "not a figure"),
        ("p101<1us", "not a figure"),
        ("p0<1us", "not a figure"),
        ("median<1us", "not a figure"),
        ("max<", "not a time"),
        ("max<80", "no known unit"),
        ("max<-80us", "not a time"),
        ("max<<80us", "not a time"),
        ("max<99999999999h", "out of range"),
        ("raw missed==0", "is for times"),
        ("raw<1us", "not a figure"),
        ("rawp99<1us", "not a figure"),
        ("missed<5us", "whole number"),
        ("missed<-1", "whole number"),
        ("missed<+1", "whole number"),
        ("missed==", "whole number"),
        ("missed===0", "whole number"),
        ("count>18446744073709551616", "whole number"),
    ] {
        let error = text.parse::<Assertion>().unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn the_worst_distribution_decides_and_is_named() {
    let r = Build::new("none").cpu(0, 1_000_000, &[5_000, 9_000]).cpu(1, 1_000_000, &[2_000, 70_000]).record();
    let e = check("max<50us", &r);
    assert_eq!((e.outcome, e.label.as_deref(), e.value), (Outcome::Fail, Some("cpu1"), Some(70_000.0)));
    assert_eq!(e.text, "max<50us: cpu1: max is 70.000 us");
    let e = check("max<80us", &r);
    assert_eq!((e.outcome, e.label.as_deref()), (Outcome::Pass, Some("cpu1")));
    let e = check("min>3us", &r);
    assert_eq!((e.outcome, e.label.as_deref()), (Outcome::Fail, Some("cpu1")));
    assert_eq!(outcome("max<=70us", &r), Outcome::Pass);
    assert_eq!(outcome("max<70us", &r), Outcome::Fail);
    assert_eq!(outcome("max>=9us", &r), Outcome::Pass);
    assert_eq!(outcome("max>9us", &r), Outcome::Fail);
    assert_eq!(outcome("count==2", &r), Outcome::Pass);
    assert_eq!(outcome("count>=3", &r), Outcome::Fail);
    assert_eq!(outcome("missed==0", &r), Outcome::Pass);
    assert_eq!(outcome("mean<=36us", &r), Outcome::Pass);
}

#[test]
fn a_percentile_takes_as_many_samples_as_its_claim() {
    let of = |n: usize| Build::new("none").cpu(0, 1_000_000, &vec![5_000; n]).record();
    let e = check("p99.9<80us", &of(1_000));
    assert_eq!((e.outcome, e.more, e.confidence.as_deref()), (Outcome::NotShown, Some(1_995), Some("95 %")));
    let text =
        "p99.9<80us: cpu0: p99.9 is 5.000 us; 1,995 more samples would show it with 95 % confidence, if what was seen goes on";
    assert_eq!(e.text, text);
    assert_eq!(outcome("p99.9<80us", &of(2_994)), Outcome::NotShown);
    let e = check("p99.9<80us", &of(2_995));
    assert_eq!(e.outcome, Outcome::Pass);
    assert!(e.text.ends_with("p99.9 is 5.000 us, at most 5.000 us with 95 % confidence"), "{}", e.text);
    let sure = "p99.9<80us".parse::<Assertion>().unwrap().evaluate(&of(2_995), "99".parse().unwrap());
    assert_eq!((sure.outcome, sure.more), (Outcome::NotShown, Some(4_603 - 2_995)));
    // p100 is the maximum, a fact about the run.
    let e = check("p100<80us", &of(1));
    assert_eq!((e.outcome, e.confidence), (Outcome::Pass, None));
    // A failure of another distribution outweighs one that is not shown.
    let r = Build::new("none").cpu(0, 1_000_000, &[5_000; 999]).cpu(1, 1_000_000, &[90_000; 1000]).record();
    let e = check("p99.9<80us", &r);
    assert_eq!((e.outcome, e.label.as_deref()), (Outcome::Fail, Some("cpu1")));
    assert!(e.text.contains("at least 90.0"), "{}", e.text);
}

#[test]
fn neither_pass_nor_fail_is_said_by_chance() {
    // 12 of 10,000 are above the limit, where p99.9 allows 10: neither pass nor FAIL is shown.
    let mut samples = vec![5_000; 9_988];
    samples.extend([90_000; 12]);
    let e = check("p99.9<80us", &Build::new("none").cpu(0, 1_000_000, &samples).record());
    assert_eq!((e.outcome, e.more, e.value), (Outcome::NotShown, None, Some(90_000.0)));
    assert!(e.text.contains("no number of samples shows it"), "{}", e.text);
    // With 4 it passes, 8 are not enough to tell, 30 fail; `>` is the mirror image.
    for (beyond, below, above) in
        [(4, Outcome::Pass, Outcome::Fail), (8, Outcome::NotShown, Outcome::NotShown), (30, Outcome::Fail, Outcome::Pass)]
    {
        let mut samples = vec![5_000; 10_000 - beyond];
        samples.extend(vec![90_000; beyond]);
        let r = Build::new("none").cpu(0, 1_000_000, &samples).record();
        assert_eq!((outcome("p99.9<80us", &r), outcome("p99.9>80us", &r)), (below, above), "{beyond}");
    }
}

#[test]
fn rounding_never_turns_into_a_pass() {
    // 1,000,001 ns shares a slot of 512 ns with others.
    let mut samples = vec![999_000; 20];
    samples.extend([1_000_001; 60]);
    samples.extend([2_000_000; 20]);
    let r = Build::new("none").cpu(0, 10_000_000, &samples).record();
    assert_eq!(outcome("p50<1000001ns", &r), Outcome::NotShown);
    assert_eq!(outcome("p50>1000001ns", &r), Outcome::NotShown);
    assert_eq!(outcome("p50>=1000001ns", &r), Outcome::NotShown);
    assert_eq!(outcome("p50==1000001ns", &r), Outcome::NotShown);
    assert_eq!(outcome("p50==5ms", &r), Outcome::Fail);
    assert_eq!(outcome("p50<1.1ms", &r), Outcome::Pass);
    assert_eq!(outcome("p50>0.9ms", &r), Outcome::Pass);
    assert_eq!(outcome("p50<0.9ms", &r), Outcome::Fail);
    assert_eq!(outcome("p50>1.1ms", &r), Outcome::Fail);
}

#[test]
fn limits_hold_for_events_that_gave_no_sample() {
    let e = check("p99<2ms", &canonical());
    assert_eq!(e.outcome, Outcome::Fail);
    assert!(e.text.contains("corrected p99 is 98046.050 ms, at least 97"), "{}", e.text);
    let e = check("raw p99<2ms", &canonical());
    assert_eq!(e.outcome, Outcome::Pass);
    assert!(e.text.contains("raw p99 is 1.000 ms"), "{}", e.text);
    assert_eq!((outcome("mean<20ms", &canonical()), outcome("raw mean<20ms", &canonical())), (Outcome::Fail, Outcome::Pass));
    // The last grid point that was passed over was reached with almost no delay.
    assert_eq!((outcome("min>1us", &canonical()), outcome("raw min>1us", &canonical())), (Outcome::Fail, Outcome::Pass));
    assert_eq!(outcome("missed<5", &canonical()), Outcome::Fail);
    assert_eq!(outcome("max<1s", &canonical()), Outcome::Fail);
    // A stall of 300 ms in every 1000 ms, otherwise on time.
    let second: Vec<u64> = std::iter::repeat_n(10_000, 700).chain([300_010_000]).collect();
    let r = Build::new("none").cpu(0, 1_000_000, &second.repeat(100)).record();
    assert_eq!((outcome("p99.9<25us", &r), outcome("p90<25us", &r)), (Outcome::Fail, Outcome::Fail));
    // One sample in 701 is high: the samples alone would pass even p99.
    assert_eq!(outcome("raw p99<25us", &r), Outcome::Pass);
    // A record from another tool does not say what it omitted; HdrHistogram's rule guesses, and the text names the rule.
    let e = check("p99.9<25us", &Build::new("none").cpu(0, 1_000_000, &second.repeat(100)).import().record());
    assert!(e.outcome == Outcome::Fail && e.text.contains("by HdrHistogram's rule"), "{}", e.text);
}

#[test]
fn what_lies_among_unanswered_stimuli_is_not_known() {
    let of = |answered: usize, missed| {
        Build::lines("a", Test::Response, &[("rising", &vec![50_000; answered], missed)]).timeout(1_000_000).record()
    };
    assert_eq!(outcome("p99.9<100us", &of(5_000, 0)), Outcome::Pass);
    // p99.9 allows one in 5,000, but so few samples do not show it.
    assert_eq!((outcome("p99.9<100us", &of(4_999, 1)), outcome("p99<100us", &of(4_999, 1))), (Outcome::Pass, Outcome::Pass));
    assert_eq!(outcome("p99.9<100us", &of(4_992, 8)), Outcome::NotShown);
    let r = of(4_900, 100);
    assert_eq!(
        (outcome("p99.9<100us", &r), outcome("p99.9<1ms", &r), outcome("p99.9>1ms", &r)),
        (Outcome::Fail, Outcome::Fail, Outcome::NotShown)
    );
    // Latencies above the time-out are unknown.
    assert_eq!(
        (outcome("p99.9<2ms", &r), outcome("max<2ms", &r), outcome("raw max<2ms", &r)),
        (Outcome::NotShown, Outcome::Refused, Outcome::Pass)
    );
}

#[test]
fn what_the_record_cannot_show_is_refused() {
    assert_eq!(outcome("max<1s", &Build::new("none").record()), Outcome::Refused);
    let empty = Build::new("none").cpu(0, 1_000_000, &[]).record();
    assert_eq!(outcome("max<1s", &empty), Outcome::Refused);
    assert_eq!(outcome("missed==0", &empty), Outcome::Pass);

    let change = |f: fn(&mut DistributionParts), test: Test| {
        let mut b = Build::new("none").cpu(0, 1_000_000, &[5_000; 100]);
        b.0.test = test;
        let mut d = b.0.distributions.remove(0).into_parts();
        d.expected = None;
        f(&mut d);
        b.0.distributions.push(Distribution::new(d).unwrap());
        b.record()
    };
    let lost = change(|d| d.dropped = 1, Test::Timer);
    assert_eq!((outcome("max<1s", &lost), outcome("dropped==0", &lost)), (Outcome::Refused, Outcome::Fail));
    let silent = change(|d| d.missed = 1, Test::Response);
    assert_eq!((outcome("max<1s", &silent), outcome("p50<1s", &silent)), (Outcome::Refused, Outcome::Pass));
    assert_eq!((outcome("min>1us", &silent), outcome("missed==0", &silent)), (Outcome::Pass, Outcome::Fail));
    let overflowed = change(
        |d| {
            d.count = 110;
            d.overflow = 10;
            d.max = Some(9_000_000);
            d.worst.clear();
            d.moments = Moments::Reported { mean: 800_000.0 };
        },
        Test::Timer,
    );
    for text in ["max<1s", "mean<1s", "p95<1s"] {
        let e = check(text, &overflowed);
        assert_eq!(e.outcome, Outcome::Refused, "{text}");
        assert!(e.text.contains("overflowed"), "{}", e.text);
    }
    assert_eq!((outcome("raw p80<1s", &overflowed), outcome("overflow<10", &overflowed)), (Outcome::Pass, Outcome::Fail));
    assert_eq!((outcome("raw p99<1s", &overflowed), outcome("raw max<1s", &overflowed)), (Outcome::NotShown, Outcome::Refused));
    let coarse = change(|d| d.resolution = 1000, Test::Timer);
    assert!(check("max<1s", &coarse).text.contains("rounded down to whole 1us"));
}

#[test]
fn an_invalid_record_fails_closed() {
    let r = Build::new("disk").cpu(0, 1_000_000, &[5_000]).warn("load-died", Effect::Invalid).record();
    for text in ["max<1s", "missed==0", "count>=1", "p50<1s", "raw p50<1s"] {
        let e = check(text, &r);
        assert_eq!(e.outcome, Outcome::Fail, "{text}");
        assert!(e.text.contains("INVALID (load-died)"), "{}", e.text);
    }
    let r = Build::new("disk").cpu(0, 1_000_000, &[5_000]).warn("governor", Effect::Inconclusive).record();
    assert_eq!(outcome("max<1s", &r), Outcome::Pass);
}

#[test]
fn outcomes_as_people_write_them() {
    let all = [Outcome::Pass, Outcome::NotShown, Outcome::Refused, Outcome::Fail];
    assert_eq!(all.map(Outcome::as_str), ["pass", "not shown", "refused", "FAIL"]);
}

proptest! {
    #[test]
    fn any_text_parses_or_errs(text in "\\PC{0,30}") {
        let _ = text.parse::<Assertion>();
    }

    #[test]
    fn any_bytes_parse_or_err(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = String::from_utf8_lossy(&bytes).parse::<Assertion>();
    }

    #[test]
    fn a_mutated_assertion_parses_or_errs(
        valid in prop::sample::select(vec!["p99.9<80us", "max<=1ms", "mean<20us", "min>1us", "missed==0", "count>=1000"]),
        at in 0usize..12, byte in any::<u8>(), cut in 0usize..12, huge in any::<u128>(),
    ) {
        let mut flipped = valid.as_bytes().to_vec();
        let at = at % flipped.len();
        flipped[at] = byte;
        let _ = String::from_utf8_lossy(&flipped).parse::<Assertion>();
        let _ = valid[..cut.min(valid.len())].parse::<Assertion>();
        let _ = format!("{valid}{valid}").parse::<Assertion>();
        let _ = format!("max<{huge}ms").parse::<Assertion>();
        let _ = format!("missed<{huge}").parse::<Assertion>();
        let _ = format!("p{huge}<1us").parse::<Assertion>();
    }

    #[test]
    fn display_parses_back(raw: bool, q in 1u64..=1000, op in 0usize..5, bound: u64, kind in 0usize..9) {
        let q: Quantile = format!("p{}.{}", q / 10, q % 10).parse().unwrap();
        let metric = [
            Metric::Percentile(q), Metric::Min, Metric::Mean, Metric::Max, Metric::Missed,
            Metric::Spurious, Metric::Overflow, Metric::Dropped, Metric::Count,
        ][kind];
        let op = [Op::Below, Op::AtMost, Op::Above, Op::AtLeast, Op::Equal][op];
        let a = Assertion { raw: raw && metric.is_time(), metric, op, bound };
        prop_assert_eq!(a.to_string().parse(), Ok(a));
    }

    #[test]
    fn exact_figures_decide_as_plain_comparison_does(samples in prop::collection::vec(0u64..100_000, 1..50), bound in 0u64..100_000) {
        let r = Build::new("none").cpu(0, 1_000_000, &samples).record();
        let max = *samples.iter().max().unwrap();
        for (op, holds) in [(Op::Below, max < bound), (Op::AtMost, max <= bound), (Op::Above, max > bound),
                            (Op::AtLeast, max >= bound), (Op::Equal, max == bound)] {
            let e = Assertion { raw: false, metric: Metric::Max, op, bound }.evaluate(&r, Confidence::default());
            prop_assert_eq!(e.outcome == Outcome::Pass, holds);
            prop_assert_eq!(e.value, Some(max as f64));
        }
    }

    /// A percentile never passes where the exact one would not.
    #[test]
    fn a_percentile_never_passes_wrongly(mut samples in prop::collection::vec(0u64..1 << 34, 10..80), slack in 0u64..4000) {
        let r = Build::new("none").cpu(0, u64::MAX, &samples).record();
        samples.sort_unstable();
        let q: Quantile = "p90".parse().unwrap();
        let exact = samples[usize::try_from(q.rank(samples.len() as u64)).unwrap() - 1];
        for bound in [exact.saturating_sub(slack), exact + slack] {
            let pass = |op| Assertion { raw: false, metric: Metric::Percentile(q), op, bound }.evaluate(&r, Confidence::default()).outcome == Outcome::Pass;
            prop_assert!(!pass(Op::Below) || exact < bound);
            prop_assert!(!pass(Op::AtMost) || exact <= bound);
            prop_assert!(!pass(Op::Above) || exact > bound);
            prop_assert!(!pass(Op::AtLeast) || exact >= bound);
            prop_assert!(!pass(Op::Equal) || exact == bound);
        }
    }
}

/// splitmix64: the seed determines the sequence.
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

/// Of 10,000 runs of `n` samples each, how many pass `pQ < limit` and how many fail it, where each sample is at or above
/// the limit with probability `above`.
fn runs(q: &str, n: usize, above: f64, draw: impl Fn(f64) -> u64, limit: u64) -> (u32, u32) {
    let assertion: Assertion = format!("{q}<{limit}ns").parse().unwrap();
    let record = Build::new("none").record();
    let (mut state, mut pass, mut fail) = (n as u64 ^ above.to_bits(), 0, 0);
    for _ in 0..10_000 {
        let samples: Vec<u64> = (0..n).map(|_| draw(uniform(&mut state))).collect();
        let d = Distribution::from_samples("cpu0", &samples, 0).unwrap();
        match assertion.of_distribution(&record, &d, Confidence::default()).outcome {
            Outcome::Pass => pass += 1,
            Outcome::Fail => fail += 1,
            _ => {}
        }
    }
    (pass, fail)
}

/// A false pass and a false FAIL each happen in at most 5 % of 10,000 runs (plus 66, three standard deviations of that
/// number).
#[test]
fn a_false_pass_in_at_most_one_run_of_twenty() {
    const MOST: u32 = 500 + 66;
    // Continuous values, values with ties, and values in wide slots; the true percentile is at the limit or just above
    // it.
    type Draw = fn(f64) -> u64;
    let exponential: Draw = |u| (-(1.0 - u).ln() * 10_000.0) as u64;
    let tied: Draw = |u| if u < 0.9 { 5_000 } else { 9_000 };
    let coarse: Draw = |u| 1_000_000 + (u * 4.0) as u64 * 400_000;
    for (q, n, draw, limit, above) in [
        ("p90", 30, exponential, (10.0f64.ln() * 10_000.0) as u64, 0.1),
        ("p90", 200, exponential, (10.0f64.ln() * 10_000.0) as u64, 0.1),
        ("p99", 400, exponential, (100.0f64.ln() * 10_000.0) as u64, 0.01),
        ("p90", 100, tied, 9_000, 0.1),
        ("p50", 60, coarse, 1_800_000, 0.5),
        ("p75", 60, coarse, 2_200_000, 0.25),
    ] {
        let (pass, fail) = runs(q, n, above, draw, limit);
        assert!(pass <= MOST, "{q} of {n}: {pass} passed");
        assert!(fail <= MOST, "{q} of {n}: {fail} failed");
    }
    // A distribution well within its limit passes nearly always; one well beyond it fails.
    let (pass, fail) = runs("p90", 200, 0.02, |u| if u < 0.98 { 5_000 } else { 9_000 }, 9_000);
    assert!(pass > 9_900 && fail == 0, "{pass} {fail}");
    let (pass, fail) = runs("p90", 200, 0.3, |u| if u < 0.7 { 5_000 } else { 9_000 }, 9_000);
    assert!(pass == 0 && fail > 9_900, "{pass} {fail}");
}
