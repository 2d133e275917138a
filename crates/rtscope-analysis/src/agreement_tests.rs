//! Two views of one run: differences worked out by hand, and pulses that do or do not find their partners.

use super::*;
use crate::fixtures::Build;
use proptest::prelude::*;
use rtscope_record::Worst;
use rtscope_record::lines::InstrumentFacts;

/// A record of an instrument that saw these pulses (moment of the stimulus, latency) as rising edges, keeping all of them
/// or none.
fn seen(id: &str, what: &str, pulses: &[(u64, u64)], kept: bool) -> Record {
    let values: Vec<u64> = pulses.iter().map(|p| p.1).collect();
    let mut b = Build::lines(id, Test::Response, &[("rising", &values, 0)]);
    let mut d = b.0.distributions.remove(0).into_parts();
    if kept {
        d.worst = pulses.iter().map(|&(at, value)| Worst { value, at: at + value }).collect();
        d.worst.sort_by(|x, y| y.value.cmp(&x.value).then(x.at.cmp(&y.at)));
    }
    b.0.distributions.push(Distribution::new(d).unwrap());
    b.0.instrument = Some(InstrumentFacts { what: what.into(), ..InstrumentFacts::default() });
    b.record()
}

fn rising(a: &Record, b: &Record) -> Offset {
    let found = agreement("none", &[a], &[b], false).unwrap().unwrap();
    found.edges[1].offset.clone().unwrap()
}

#[test]
fn pulses_are_paired_whatever_the_clocks_say() {
    let a = seen("a", "software", &[(1_000_000, 50_000), (2_500_000, 60_000), (3_200_000, 70_000)], true);
    // A different start, a rate 100 ppm higher, and latencies shorter by 3, 1 and 2 us.
    let b = seen("b", "scope", &[(9_000_100, 47_000), (10_500_250, 59_000), (11_200_320, 68_000)], true);
    let o = rising(&a, &b);
    assert_eq!(
        (o.how, o.pairs, o.alone, o.mean, o.median, o.range),
        (How::Pairs, 3, [0, 0], -2_000.0, -2_000.0, [-3_000.0, -1_000.0])
    );
    // Deviations of 1, -1 and 0 us: the root of 2/3.
    assert!((o.stddev.unwrap()[0] - 816.5).abs() < 0.1 && o.stddev.unwrap()[0].to_bits() == o.stddev.unwrap()[1].to_bits());
}

#[test]
fn a_pulse_that_one_did_not_see_has_no_partner() {
    let times: Vec<u64> = (0..40u64).map(|i| i * 10_000_000 + i * i * 791_923 % 9_000_000).collect();
    let all: Vec<(u64, u64)> = times.iter().map(|&t| (t, 50_000 + t % 7_000)).collect();
    let fewer: Vec<(u64, u64)> =
        all.iter().enumerate().filter(|(i, _)| ![0, 1, 20].contains(i)).map(|(_, p)| (p.0 + 77_000, p.1 + 500)).collect();
    let (a, b) = (seen("a", "software", &all, true), seen("b", "scope", &fewer, true));
    let o = rising(&a, &b);
    assert_eq!((o.how, o.pairs, o.alone, o.range), (How::Pairs, 37, [3, 0], [500.0, 500.0]));
    let found = agreement("none", &[&a], &[&b], false).unwrap().unwrap();
    assert_eq!(found.findings[0].code, "counts-differ");
}

#[test]
fn a_fixed_interval_with_a_pulse_absent_can_not_be_paired() {
    let all: Vec<(u64, u64)> = (0..30u64).map(|i| (i * 1_000_000, 50_000 + i)).collect();
    let o = rising(&seen("a", "software", &all, true), &seen("b", "scope", &all[1..], true));
    assert_eq!((o.how, o.pairs), (How::Distributions, 0));
    assert!(o.why.contains("random intervals"), "{}", o.why);
}

#[test]
fn by_distributions_the_spread_is_bounds() {
    let a = seen("a", "software", &[(0, 1_000), (1, 1_200), (2, 1_400)], false);
    let b = seen("b", "scope", &[(0, 1_100), (1, 1_200), (2, 1_600)], false);
    let o = rising(&a, &b);
    assert_eq!((o.how, o.mean.round(), o.median, o.range), (How::Distributions, 100.0, 0.0, [0.0, 200.0]));
    // Deviations 163.3 and 216.02 ns.
    let [low, high] = o.stddev.unwrap();
    assert!((low - 52.72).abs() < 0.01 && (high - 379.32).abs() < 0.01, "{low} {high}");
    assert!(o.why.contains("every pulse"));
}

#[test]
fn it_takes_two_instruments_of_one_test() {
    let (a, b) = (seen("a", "software", &[(0, 1)], true), seen("b", "software", &[(0, 2)], true));
    assert!(agreement("none", &[&a], &[&b], false).unwrap().is_none());
    assert!(agreement("none", &[&a], &[&b], true).unwrap().is_some());
    let timer = Build::new("none").cpu(0, 1_000, &[1]).record();
    assert!(agreement("none", &[&timer], &[&timer], true).unwrap().is_none());
    let mut later = seen("b", "scope", &[(0, 2)], true).into_parts();
    later.started = "2026-11-21T09:00:00Z".into();
    let later = Record::new(later).unwrap();
    assert!(agreement("none", &[&a], &[&later], false).unwrap().is_none(), "two runs by two instruments");
    let found = agreement("none", &[&a], &[&later], true).unwrap().unwrap();
    assert_eq!(found.findings[0].code, "runs-apart");
}

#[test]
fn jitter_has_a_sign_here_too() {
    let wave = |id: &str, what: &str, late: &[u64], early: &[u64]| {
        let mut b = Build::lines(id, Test::Periodic, &[("rising late", late, 0), ("rising early", early, 0)]);
        b.0.instrument = Some(InstrumentFacts { what: what.into(), ..InstrumentFacts::default() });
        b.record()
    };
    let o = rising(&wave("a", "software", &[100], &[100]), &wave("b", "scope", &[160], &[40]));
    assert_eq!((o.mean, o.range), (60.0, [60.0, 60.0]));
}

/// A record of an instrument called `what` with these distributions, (label, (moment, value)); every sample is kept among
/// the worst.
fn kept(test: Test, what: &str, parts: &[(&str, &[(u64, u64)])]) -> Record {
    let values: Vec<Vec<u64>> = parts.iter().map(|(_, pulses)| pulses.iter().map(|p| p.1).collect()).collect();
    let lines: Vec<_> = parts.iter().zip(&values).map(|((label, _), v)| (*label, v.as_slice(), 0)).collect();
    let mut b = Build::lines(what, test, &lines);
    for (d, (_, pulses)) in b.0.distributions.iter_mut().zip(parts) {
        let mut p = d.clone().into_parts();
        p.worst = pulses.iter().map(|&(at, value)| Worst { value, at }).collect();
        p.worst.sort_by_key(|w| std::cmp::Reverse(w.value));
        *d = Distribution::new(p).unwrap();
    }
    b.0.instrument = Some(InstrumentFacts { what: what.into(), ..InstrumentFacts::default() });
    b.record()
}

#[test]
fn answers_are_paired_by_the_moments_of_their_stimuli() {
    // The latencies differ by more than the pairing tolerance: the stimuli were at 1, 2 and 3 ms.
    let a = kept(Test::Response, "software", &[("rising", &[(1_050_000, 50_000), (2_450_000, 450_000), (3_050_000, 50_000)])]);
    let b = kept(Test::Response, "scope", &[("rising", &[(1_450_000, 450_000), (2_050_000, 50_000), (3_060_000, 60_000)])]);
    let o = rising(&a, &b);
    assert_eq!((o.pairs, o.median, o.range), (3, 10_000.0, [-400_000.0, 400_000.0]));
}

#[test]
fn jitter_is_paired_with_its_sign_and_edge() {
    let wave = |what: &str, shift: u64| {
        let late = [(1_000_000, 40 + shift), (3_500_000, 30 + shift)];
        kept(
            Test::Periodic,
            what,
            &[("rising late", &late), ("rising early", &[(5_000_000, 70)]), ("falling late", &[(2_300_000, 500_000 + shift)])],
        )
    };
    let found = agreement("none", &[&wave("software", 0)], &[&wave("scope", 10)], false).unwrap().unwrap();
    let seen: Vec<_> =
        found.edges.iter().map(|e| (e.edge.as_str(), e.offset.as_ref().map(|o| (o.pairs, o.median, o.range, o.mean)))).collect();
    assert_eq!(
        seen,
        [
            ("both", Some((4, 10.0, [0.0, 10.0], 7.5))),
            ("rising", Some((3, 10.0, [0.0, 10.0], 20.0 / 3.0))),
            ("falling", Some((1, 10.0, [10.0, 10.0], 10.0))),
        ]
    );
    assert_eq!((found.findings.len(), &found.load, found.test), (0, &"none".to_owned(), Test::Periodic));
}

#[test]
fn earlier_than_early_is_less() {
    // 70 ns early for one instrument and 50 ns early for the other, which is 20 ns later.
    let wave = |what: &str, early| kept(Test::Periodic, what, &[("rising early", &[(5_000_000, early)])]);
    let o = rising(&wave("software", 70), &wave("scope", 50));
    assert_eq!((o.pairs, o.range), (1, [20.0, 20.0]));
}

#[test]
fn the_median_of_an_even_number_is_between_the_middle_ones() {
    let o = by_pairs(&[(0, 10), (5, 5), (100, 200), (-30, 0)], [5, 6]);
    assert_eq!((o.pairs, o.alone, o.mean, o.median, o.range), (4, [1, 2], 35.0, 20.0, [0.0, 100.0]));
    // The differences are 25, 35, 65 and 5 away from the mean: 6,100 over 4.
    assert_eq!(o.stddev, Some([1525f64.sqrt(); 2]));
}

#[test]
fn edges_that_only_one_saw_are_not_compared() {
    let of = |what: &str, edges: &[&str]| {
        let parts: Vec<(&str, &[(u64, u64)])> = edges.iter().map(|&e| (e, &[(1_000_000, 5_000)][..])).collect();
        kept(Test::Response, what, &parts)
    };
    let found = |a: &[&str], b: &[&str]| {
        let f = agreement("none", &[&of("software", a)], &[&of("scope", b)], false).unwrap().unwrap();
        (f.edges.into_iter().map(|e| e.edge).collect::<Vec<_>>(), f.findings.into_iter().map(|f| f.code).collect::<Vec<_>>())
    };
    let none: [&str; 0] = [];
    assert_eq!(
        found(&["rising", "falling"], &["rising", "falling"]),
        (vec!["both".into(), "rising".into(), "falling".into()], vec![])
    );
    let one = (vec!["rising".to_owned()], vec!["edges-differ".to_owned()]);
    assert_eq!([found(&["rising"], &["rising", "falling"]), found(&["rising", "falling"], &["rising"])], [one.clone(), one]);
    let (edges, codes) = found(&["rising"], &["falling"]);
    assert_eq!((edges, codes), (none.map(str::to_owned).to_vec(), vec!["edges-differ".to_owned()]));
    // No sample on one side: no offset.
    let (a, b) = (kept(Test::Response, "software", &[("rising", &[])]), of("scope", &["rising"]));
    let f = agreement("none", &[&a], &[&b], false).unwrap().unwrap();
    assert!(f.edges.iter().all(|e| e.offset.is_none()) && f.findings[0].code == "counts-differ");
    assert!(f.findings[0].message.contains("(both 0 and 1, rising 0 and 1)"), "{}", f.findings[0].message);
    // Several runs on a side: compared by distributions.
    let (one, other) = (of("software", &["rising"]), of("scope", &["rising"]));
    let mut again = of("scope", &["rising"]).into_parts();
    again.id = "again".into();
    let f = agreement("none", &[&one], &[&other, &Record::new(again).unwrap()], false).unwrap().unwrap();
    assert_eq!(f.edges[0].offset.as_ref().unwrap().why, "several runs a side");
}

/// A capture that a record was imported from.
fn source() -> rtscope_record::Source {
    rtscope_record::Source { format: "VCD".into(), file: "a.vcd".into(), sha256: "0".repeat(64), kept: Vec::new() }
}

#[test]
fn what_a_witness_says_of_itself() {
    let facts = |what: &str, uncertainty, stimulus: bool| {
        let line = rtscope_record::lines::LineFacts {
            name: "out".into(),
            what: "a line".into(),
            stamp: rtscope_record::lines::Stamp::Driver,
        };
        let calibration = rtscope_record::lines::Phase { median: Some(uncertainty / 2), ..Default::default() };
        let mut b = Build::lines("x", Test::Response, &[("rising", &[1], 0)]);
        b.0.instrument = Some(InstrumentFacts {
            what: what.into(),
            uncertainty,
            stimulus: stimulus.then_some(line),
            calibration: Some(calibration),
            ..InstrumentFacts::default()
        });
        b
    };
    let of = |builds: Vec<Build>| {
        let records: Vec<Record> = builds.into_iter().map(Build::record).collect();
        witness(&records.iter().collect::<Vec<_>>())
    };
    let expected =
        |what: &str, uncertainty, null_wire| InstrumentView { what: what.into(), uncertainty, null_wire: Some(null_wire) };
    assert_eq!(of(vec![facts("a clock", 40, true), facts("a clock", 60, true)]), expected("a clock", Some(60), 20));
    assert_eq!(of(vec![facts("", 40, false)]), expected("not known", None, 20));
    let mut imported = facts("", 40, false);
    imported.0.source = Some(source());
    assert_eq!(of(vec![imported]), expected("a.vcd (VCD)", None, 20));
}

#[test]
fn two_tests_are_not_one_run() {
    let (response, wave) = (
        kept(Test::Response, "software", &[("rising", &[(1_000, 5)])]),
        kept(Test::Periodic, "scope", &[("rising", &[(1_000, 5)])]),
    );
    for (a, b) in [(&response, &wave), (&wave, &response)] {
        assert_eq!(agreement("none", &[a], &[b], true), Ok(None));
    }
    let mut timer = Build::new("none").cpu(0, 1_000, &[1]);
    timer.0.instrument = Some(InstrumentFacts { what: "scope".into(), ..InstrumentFacts::default() });
    let bare = Build::new("none").cpu(0, 1_000, &[1]).record();
    assert_eq!(agreement("none", &[&bare], &[&timer.record()], true), Ok(None));
    assert_eq!((agreement("none", &[], &[&wave], true), agreement("none", &[&wave], &[], true)), (Ok(None), Ok(None)));
}

#[test]
fn runs_are_one_within_half_a_minute_at_each_end() {
    // 3 s long, from 08:00:00 on.
    let from = |what: &str, started: &str| {
        let mut p = kept(Test::Response, what, &[("rising", &[(1_000, 5)])]).into_parts();
        p.started = started.into();
        Record::new(p).unwrap()
    };
    let a = from("software", "2026-11-21T08:00:00Z");
    for (started, together) in [
        ("2026-11-21T08:00:00Z", true),
        ("2026-11-21T08:01:03Z", true),
        ("2026-11-21T08:01:04Z", false),
        ("2026-11-21T07:58:57Z", true),
        ("2026-11-21T07:58:56Z", false),
    ] {
        let b = from("scope", started);
        assert_eq!((overlap(&a, &b), overlap(&b, &a)), (together, together), "{started}");
        assert_eq!(agreement("none", &[&a], &[&b], false).unwrap().is_some(), together, "{started}");
        let asked = agreement("none", &[&a], &[&b], true).unwrap().unwrap();
        assert_eq!(asked.findings.iter().map(|f| f.code.as_str()).eq(["runs-apart"]), !together, "{started}");
        // An imported file has no time of its own.
        let mut imported = b.into_parts();
        imported.source = Some(source());
        let imported = Record::new(imported).unwrap();
        for (x, y) in [(&a, &imported), (&imported, &a)] {
            let found = agreement("none", &[x], &[y], false).unwrap().unwrap();
            assert_eq!(found.findings, [], "{started}");
        }
    }
}

#[test]
fn what_lies_beyond_an_imported_histogram_is_between_its_ends() {
    let mut p = rtscope_record::DistributionParts::empty("rising");
    (p.count, p.overflow, p.resolution) = (4, 3, 1_000);
    p.histogram.record(5_000, 1).unwrap();
    (p.min, p.max, p.moments) = (Some(5_000), Some(9_000), rtscope_record::Moments::Reported { mean: 7_000.0 });
    let d = Distribution::new(p).unwrap();
    let all = points(&[&d]);
    assert_eq!(all, [(5_001.5, 1), (7_000.0, 3)]);
    let at = [0.01, 0.25, 0.26, 0.5, 1.0].map(|share| value_at(&all, share));
    assert_eq!(at[..], [5_001.5, 5_001.5, 7_000.0, 7_000.0, 7_000.0]);
}

proptest! {
    #[test]
    fn a_shift_of_every_pulse_is_found(
        gaps in prop::collection::vec(1_000_000u64..10_000_000, 1..200),
        shift in 0u64..90_000,
        start in 0u64..1_000_000_000,
    ) {
        let mut t = 0;
        let all: Vec<(u64, u64)> = gaps.iter().map(|g| { t += g; (t, 20_000 + g % 30_000) }).collect();
        let moved: Vec<(u64, u64)> = all.iter().map(|p| (p.0 + start, p.1 + shift)).collect();
        let o = rising(&seen("a", "x", &all, true), &seen("b", "y", &moved, true));
        prop_assert_eq!((o.how, o.pairs), (How::Pairs, gaps.len() as u64));
        prop_assert!(o.range.iter().all(|r| (r - shift as f64).abs() < 0.5));
    }
}
