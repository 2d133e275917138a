//! Two views of one run: differences worked out by hand, and pulses that find their partners or do not.

use super::*;
use crate::fixtures::Build;
use proptest::prelude::*;
use rtscope_record::Worst;
use rtscope_record::lines::Instrument;

/// A record of an instrument that saw these pulses (moment of the stimulus, latency) as rising edges; all kept, or none.
fn seen(id: &str, what: &str, pulses: &[(u64, u64)], kept: bool) -> Record {
    let values: Vec<u64> = pulses.iter().map(|p| p.1).collect();
    let mut b = Build::lines(id, Test::Response, &[("rising", &values, 0)]);
    let mut d = b.0.distributions.remove(0).into_parts();
    if kept {
        d.worst = pulses.iter().map(|&(at, value)| Worst { value, at: at + value }).collect();
        d.worst.sort_by(|x, y| y.value.cmp(&x.value).then(x.at.cmp(&y.at)));
    }
    b.0.distributions.push(Distribution::new(d).unwrap());
    b.0.instrument = Some(Instrument { what: what.into(), ..Instrument::default() });
    b.record()
}

fn rising(a: &Record, b: &Record) -> Offset {
    let found = agreement("none", &[a], &[b], false).unwrap().unwrap();
    found.edges[1].offset.clone().unwrap()
}

#[test]
fn pulses_are_paired_whatever_the_clocks_say() {
    let a = seen("a", "software", &[(1_000_000, 50_000), (2_500_000, 60_000), (3_200_000, 70_000)], true);
    // Another start, a rate that is 100 ppm higher, and latencies that are 3, 1 and 2 us shorter.
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
        b.0.instrument = Some(Instrument { what: what.into(), ..Instrument::default() });
        b.record()
    };
    let o = rising(&wave("a", "software", &[100], &[100]), &wave("b", "scope", &[160], &[40]));
    assert_eq!((o.mean, o.range), (60.0, [60.0, 60.0]));
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
