//! What is compared with a limit, and the messages about it.

use super::*;
use crate::fixtures::Build;
use rtscope_record::Moments;

fn check(text: &str, r: &Record) -> Evaluation {
    text.parse::<Assertion>().unwrap().evaluate(r, Confidence::default())
}

#[track_caller]
fn says(text: &str, r: &Record, sentence: &str) {
    assert_eq!(check(text, r).text, format!("{text}: {sentence}"));
}

fn cpu(samples: &[u64]) -> Record {
    Build::new("none").cpu(0, 1_000_000_000, samples).record()
}

/// A response record whose stimuli have a time-out of a millisecond.
fn answers(samples: &[u64], missed: u64) -> Record {
    Build::lines("a", Test::Response, &[("rising", samples, missed)]).timeout(1_000_000).record()
}

#[test]
fn only_what_lies_wholly_on_one_side_of_a_limit_is_shown() {
    // The bounds of p50 are the samples 42 and 59 of 100.
    let r = cpu(&[[5_000; 50], [9_000; 50]].concat());
    for (shown, texts) in [
        (Outcome::Pass, ["p50<9001ns", "p50<=9us", "p50>4999ns", "p50>=5us"].as_slice()),
        (Outcome::Fail, &["p50<5us", "p50<=4999ns", "p50>9us", "p50>=9001ns", "p50==4999ns", "p50==9001ns"]),
        (Outcome::NotShown, &["p50<9us", "p50<=5us", "p50<=8999ns", "p50>5us", "p50>=9us", "p50>=5001ns"]),
        (Outcome::NotShown, &["p50==5us", "p50==7us", "p50==9us", "p50<5001ns", "p50>8999ns"]),
    ] {
        for text in texts {
            assert_eq!(check(text, &r).outcome, shown, "{text}");
        }
    }
}

#[test]
fn the_bound_that_decides_is_named() {
    let r = cpu(&[5_000; 100]);
    let (least, most) = ("at least 5.000 us", "at most 5.000 us");
    let both = "at least 5.000 us, at most 5.000 us";
    for (text, outcome, bound) in [
        ("p50<6us", Outcome::Pass, most),
        ("p50<=5us", Outcome::Pass, most),
        ("p50>4us", Outcome::Pass, least),
        ("p50>=5us", Outcome::Pass, least),
        ("p50==5us", Outcome::Pass, both),
        ("p50<5us", Outcome::Fail, least),
        ("p50<=4us", Outcome::Fail, least),
        ("p50>5us", Outcome::Fail, most),
        ("p50>=6us", Outcome::Fail, most),
        ("p50==4us", Outcome::Fail, least),
        ("p50==6us", Outcome::Fail, most),
    ] {
        assert_eq!(check(text, &r).outcome, outcome, "{text}");
        says(text, &r, &format!("cpu0: p50 is 5.000 us, {bound} with 95 % confidence"));
    }
}

#[test]
fn the_distribution_farthest_on_the_wrong_side_decides_wherever_it_stands() {
    for (text, far, near) in [
        ("max<50us", 70_000, 60_000),
        ("max<=50us", 70_000, 60_000),
        ("max<80us", 70_000, 60_000),
        ("min>3us", 1_000, 2_000),
        ("min>=3us", 1_000, 2_000),
        ("max==10us", 1_000, 12_000),
        ("max==10us", 90_000, 9_000),
    ] {
        for (first, second, label) in [(far, near, "cpu0"), (near, far, "cpu1")] {
            let r = Build::new("none").cpu(0, 1_000_000, &[first]).cpu(1, 1_000_000, &[second]).record();
            let e = check(text, &r);
            assert_eq!((e.label.as_deref(), e.value), (Some(label), Some(far as f64)), "{text}");
        }
    }
}

#[test]
fn each_count_is_its_own() {
    let mut b = Build::new("none").cpu(0, 1_000_000, &[5_000; 100]);
    let mut d = b.0.distributions.remove(0).into_parts();
    (d.missed, d.spurious, d.overflow, d.dropped, d.count, d.expected) = (1, 2, 3, 4, 103, None);
    d.moments = Moments::Reported { mean: 5_000.0 };
    b.0.distributions.push(Distribution::new(d).unwrap());
    let r = b.record();
    for (name, n) in [("missed", 1), ("spurious", 2), ("overflow", 3), ("dropped", 4), ("count", 103)] {
        let e = check(&format!("{name}=={n}"), &r);
        assert_eq!((e.outcome, e.value, e.confidence, e.more), (Outcome::Pass, Some(f64::from(n)), None, None), "{name}");
        says(&format!("{name}<{n}"), &r, &format!("cpu0: {name} is {n}"));
    }
}

#[test]
fn facts_say_of_which_events_they_are() {
    says("max<1s", &cpu(&[5_000]), "cpu0: max is 5.000 us");
    says("raw max<1s", &cpu(&[5_000]), "cpu0: raw max is 5.000 us");
    let stalled = Build::new("none").cpu(0, 1_000, &[1_500]).record();
    says("min<1s", &stalled, "cpu0: corrected min is 0.500 us");
    says("raw min<1s", &stalled, "cpu0: raw min is 1.500 us");
    says("mean<1s", &stalled, "cpu0: corrected mean is 1.000 us");
    let jitter = Build::lines("a", Test::Periodic, &[("rising", &[5_000, 7_000], 3)]).record();
    says("max<1s", &jitter, "rising: max is 7.000 us");
    says("mean<1s", &jitter, "rising: mean is 6.000 us");
}

#[test]
fn the_highest_of_events_without_a_latency_is_not_known_but_the_lowest_is() {
    let r = answers(&[5_000; 100], 2);
    let unknown = "rising: 2 of 102 events have no latency (no answer in time, or beyond an imported histogram): nobody knows the";
    says("max<1s", &r, &format!("{unknown} max"));
    says("mean<1s", &r, &format!("{unknown} mean"));
    says("min<1s", &r, "rising: corrected min is 5.000 us");
    assert_eq!((check("max<1s", &r).outcome, check("min<1s", &r).outcome), (Outcome::Refused, Outcome::Pass));
}

#[test]
fn a_percentile_among_events_without_a_latency_is_above_the_time_out() {
    let e = check("p99<100us", &answers(&[50_000; 2_000], 50));
    let text = "p99<100us: rising: corrected p99 lies among 50 events without a latency, at least 1.000 ms with 95 % confidence";
    assert_eq!((e.outcome, e.value, e.text.as_str()), (Outcome::Fail, Some(1e6), text));
}

#[test]
fn why_a_figure_is_refused() {
    let cause = |text: &str, r: &Record, why: &str| {
        assert_eq!(check(text, r).outcome, Outcome::Refused);
        says(text, r, why);
    };
    cause("max<1s", &Build::new("none").record(), "the record holds no figures");
    cause("max<1s", &answers(&[], 0), "rising: it holds no sample");
    cause("max<1s", &answers(&[], 5), "rising: none of 5 events had an answer");
    let change = |f: fn(&mut rtscope_record::DistributionParts)| {
        let mut b = Build::new("none").cpu(0, 1_000_000, &[5_000; 100]).import();
        b.0.settings.interval = Nanos(0);
        let mut d = b.0.distributions.remove(0).into_parts();
        d.thread = None;
        f(&mut d);
        b.0.distributions.push(Distribution::new(d).unwrap());
        b.record()
    };
    let lost = change(|d| d.dropped = 3);
    cause("raw max<1s", &lost, "cpu0: 3 samples were lost, and nobody knows how high they were");
    let what = "what was omitted nobody knows; `raw max<1s` is of the samples alone";
    let alone = change(|_| ());
    cause("max<1s", &alone, &format!("cpu0: it does not say its interval, so {what}"));
    let overflowed = change(|d| {
        (d.count, d.overflow, d.moments) = (110, 10, Moments::Reported { mean: 5_000.0 });
    });
    let what = "what was omitted after them nobody knows; `raw max<1s` is of the samples alone";
    cause("max<1s", &overflowed, &format!("cpu0: 10 of 110 samples overflowed the imported histogram, and {what}"));
    assert_eq!(check("raw p80<1s", &overflowed).outcome, Outcome::Pass);
}

#[test]
fn what_is_lacking_follows_from_what_was_on_the_wrong_side() {
    let mut one_below = vec![5_000; 19];
    one_below.push(1_000);
    let lacks = |text: &str, r: &Record, count, all: u64| {
        let e = check(text, r);
        assert_eq!((e.outcome, e.more), (Outcome::NotShown, Some(all - count)), "{text}");
    };
    for text in ["p90<=5us", "p10>4us", "p10>=5us"] {
        lacks(text, &cpu(&[5_000; 10]), 10, 29);
    }
    // One sample on the wrong side.
    lacks("p10>4us", &cpu(&one_below), 20, 116);
    // An unanswered stimulus is on the wrong side of an upper limit, and on the right side of a lower limit below the
    // time-out.
    lacks("p50<100us", &answers(&[50_000; 6], 1), 7, 11);
    lacks("p50>900us", &answers(&[50_000; 2], 5), 7, 21);
    for (text, r) in
        [("p50>1ms", answers(&[50_000; 2], 5)), ("p50==5us", cpu(&[5_000; 3])), ("p50<5us", cpu(&[1_000, 2_000, 5_000, 6_000]))]
    {
        let e = check(text, &r);
        assert_eq!((e.outcome, e.more), (Outcome::NotShown, None), "{text}");
    }
}

#[test]
fn p100_is_a_fact_and_every_other_percentile_a_claim() {
    let r = cpu(&[5_000]);
    for (text, outcome, confidence) in [
        ("p100<80us", Outcome::Pass, None),
        ("p99.9999999<80us", Outcome::NotShown, Some("95 %")),
        ("p0.0000001<80us", Outcome::Pass, Some("95 %")),
    ] {
        let e = check(text, &r);
        assert_eq!((e.outcome, e.confidence.as_deref()), (outcome, confidence), "{text}");
    }
}

#[test]
fn figures_are_shown_in_the_unit_that_fits_them() {
    let shown = |text: &str, value| text.parse::<Assertion>().unwrap().show(value);
    assert_eq!([999.0, 999_999.0, 1e6, 2.5e9].map(|v| shown("max<1s", v)), ["0.999 us", "999.999 us", "1.000 ms", "2500.000 ms"]);
    assert_eq!(shown("count<1", 1_234_567.0), "1234567");
}

#[test]
fn thousands_stand_apart() {
    for (n, shown) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345, "12,345"), (1_234_567, "1,234,567")] {
        assert_eq!(grouped(n), shown);
    }
}
