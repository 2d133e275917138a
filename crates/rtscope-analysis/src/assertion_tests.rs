//! Assertions: grammar (fuzzed) and evaluation.

use super::*;
use crate::fixtures::{Build, canonical};
use proptest::prelude::*;
use rtscope_record::{DistributionParts, Effect, Moments};

fn check(text: &str, r: &Record) -> Evaluation {
    text.parse::<Assertion>().unwrap().evaluate(r)
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
    ] {
        assert_eq!(text.parse::<Assertion>().unwrap().to_string(), shown);
    }
    for (text, says) in [
        ("", "compares nothing"),
        ("max", "compares nothing"),
        ("max=1us", "compares nothing"),
        ("max!=1us", "compares nothing"),
        ("<1us", "no figure"),
        ("p101<1us", "no figure"),
        ("p0<1us", "no figure"),
        ("median<1us", "no figure"),
        ("max<", "not a time"),
        ("max<80", "no known unit"),
        ("max<-80us", "not a time"),
        ("max<<80us", "not a time"),
        ("max<99999999999h", "out of range"),
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
fn a_percentile_that_the_count_cannot_support_is_refused() {
    let r = Build::new("none").cpu(0, 1_000_000, &[5_000; 999]).record();
    let e = check("p99.9<80us", &r);
    assert_eq!(e.outcome, Outcome::Refused);
    assert!(e.text.contains("at least 1000 samples, and there are 999"), "{}", e.text);
    let r = Build::new("none").cpu(0, 1_000_000, &[5_000; 1000]).record();
    assert_eq!(outcome("p99.9<80us", &r), Outcome::Pass);
    // A failure on another distribution outweighs a refusal.
    let r = Build::new("none").cpu(0, 1_000_000, &[5_000; 999]).cpu(1, 1_000_000, &[90_000; 1000]).record();
    assert_eq!(outcome("p99.9<80us", &r), Outcome::Fail);
}

#[test]
fn rounding_never_turns_into_a_pass() {
    // 1,000,001 ns shares a slot of 512 ns with others.
    let r = Build::new("none").cpu(0, 10_000_000, &[999_000, 1_000_001, 2_000_000]).record();
    assert_eq!(outcome("p50<1000001ns", &r), Outcome::Fail);
    assert_eq!(outcome("p50>1000001ns", &r), Outcome::Fail);
    assert_eq!(outcome("p50>=1000001ns", &r), Outcome::Fail);
    assert_eq!(outcome("p50==1000001ns", &r), Outcome::Refused);
    assert_eq!(outcome("p50==5ms", &r), Outcome::Fail);
    assert_eq!(outcome("p50<1.1ms", &r), Outcome::Pass);
    assert_eq!(outcome("p50>0.9ms", &r), Outcome::Pass);
}

#[test]
fn missed_events_are_told_beside_a_percentile_that_passes() {
    let e = check("p99<2ms", &canonical());
    assert_eq!(e.outcome, Outcome::Pass);
    assert!(e.text.contains("10000 events were missed, and with them put back it is 98"), "{}", e.text);
    assert_eq!(outcome("missed<5", &canonical()), Outcome::Fail);
    assert_eq!(outcome("max<1s", &canonical()), Outcome::Fail);
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
    assert_eq!((outcome("max<1s", &silent), outcome("p50<1s", &silent)), (Outcome::Refused, Outcome::Refused));
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
    assert_eq!((outcome("p90<1s", &overflowed), outcome("overflow<10", &overflowed)), (Outcome::Pass, Outcome::Fail));
    let coarse = change(|d| d.resolution = 1000, Test::Timer);
    assert!(check("max<1s", &coarse).text.contains("rounded down to whole 1us"));
}

#[test]
fn an_invalid_record_fails_closed() {
    let r = Build::new("disk").cpu(0, 1_000_000, &[5_000]).warn("load-died", Effect::Invalid).record();
    for text in ["max<1s", "missed==0", "count>=1", "p50<1s"] {
        let e = check(text, &r);
        assert_eq!(e.outcome, Outcome::Fail, "{text}");
        assert!(e.text.contains("INVALID (load-died)"), "{}", e.text);
    }
    let r = Build::new("disk").cpu(0, 1_000_000, &[5_000]).warn("governor", Effect::Inconclusive).record();
    assert_eq!(outcome("max<1s", &r), Outcome::Pass);
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
    fn display_parses_back(q in 1u64..=1000, op in 0usize..5, bound: u64, kind in 0usize..9) {
        let q: Quantile = format!("p{}.{}", q / 10, q % 10).parse().unwrap();
        let metric = [
            Metric::Percentile(q), Metric::Min, Metric::Mean, Metric::Max, Metric::Missed,
            Metric::Spurious, Metric::Overflow, Metric::Dropped, Metric::Count,
        ][kind];
        let op = [Op::Below, Op::AtMost, Op::Above, Op::AtLeast, Op::Equal][op];
        let a = Assertion { metric, op, bound };
        prop_assert_eq!(a.to_string().parse(), Ok(a));
    }

    #[test]
    fn exact_figures_decide_as_plain_comparison_does(samples in prop::collection::vec(0u64..100_000, 1..50), bound in 0u64..100_000) {
        let r = Build::new("none").cpu(0, 1_000_000, &samples).record();
        let max = *samples.iter().max().unwrap();
        for (op, holds) in [(Op::Below, max < bound), (Op::AtMost, max <= bound), (Op::Above, max > bound),
                            (Op::AtLeast, max >= bound), (Op::Equal, max == bound)] {
            let e = Assertion { metric: Metric::Max, op, bound }.evaluate(&r);
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
            let pass = |op| Assertion { metric: Metric::Percentile(q), op, bound }.evaluate(&r).outcome == Outcome::Pass;
            prop_assert!(!pass(Op::Below) || exact < bound);
            prop_assert!(!pass(Op::AtMost) || exact <= bound);
            prop_assert!(!pass(Op::Above) || exact > bound);
            prop_assert!(!pass(Op::AtLeast) || exact >= bound);
            prop_assert!(!pass(Op::Equal) || exact == bound);
        }
    }
}
