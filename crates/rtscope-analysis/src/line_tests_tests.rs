//! Figures worked out by hand, and which records share a row.

use super::*;
use crate::fixtures::Build;
use crate::share::ShareBelow;
use rtscope_record::lines::InstrumentFacts;
use rtscope_record::system::Preemption;
use rtscope_record::{Distribution, Effect};

fn response(id: &str, release: &str, preemption: Preemption, space: Space, rising: &[u64], falling: &[u64]) -> Build {
    let mut b = Build::lines(id, Test::Response, &[("rising", rising, 0), ("falling", falling, 0)]);
    b.0.space = space;
    (b.0.system.kernel.release, b.0.system.kernel.preemption) = (release.into(), preemption);
    b
}

fn rt(id: &str, samples: &[u64]) -> Record {
    response(id, "6.12.95-rt-arm64", Preemption::Rt, Space::User, samples, &[20_000]).record()
}

#[test]
fn both_edges_and_each() {
    let a = line_tests(&[rt("a", &[10_000, 30_000])], &[], &[Nanos(25_000)]).unwrap();
    let g = &a.groups[0];
    assert_eq!((g.both.samples, g.both.min, g.both.max, g.both.mean), (3, Some(10_000), Some(30_000), Some(20_000.0)));
    // Deviations of -10, 0 and 10 us: a variance of 200/3 us².
    assert!((g.both.variance.unwrap() - 200e6 / 3.0).abs() < 1.0 && (g.both.stddev.unwrap() - 8_164.97).abs() < 0.01);
    assert_eq!(g.both.shares, [ShareBelow { threshold: 25_000, below: 2, undecided: 0, of: 3 }]);
    let edges: Vec<_> = g.edges.iter().map(|e| (e.edge.as_str(), e.samples, e.mean, e.shares[0].below, e.shares[0].of)).collect();
    assert_eq!(edges, [("rising", 2, Some(20_000.0), 1, 2), ("falling", 1, Some(20_000.0), 1, 1)]);
    assert_eq!((g.both.p50, g.both.p90, g.edges[1].p50), (Some(20_015), None, None), "never too low");
}

#[test]
fn jitter_has_a_sign() {
    let parts: [(&str, &[u64], u64); 4] = [
        ("rising late", &[0, 4_000], 0),
        ("rising early", &[2_000], 0),
        ("falling late", &[], 1),
        ("falling early", &[6_000, 1_000], 0),
    ];
    let a = line_tests(&[Build::lines("w", Test::Periodic, &parts).record()], &[], &[Nanos(4_000)]).unwrap();
    let both = &a.groups[0].both;
    assert_eq!((both.samples, both.min, both.max, both.missed), (5, Some(-6_000), Some(4_000), 1));
    // 0 + 4 - 2 - 6 - 1 = -5 us over 5; the squares are 57 us², so the variance is 57/5 - 1 = 10.4 us².
    assert_eq!(both.mean, Some(-1_000.0));
    assert!((both.variance.unwrap() - 10.4e6).abs() < 1e-3);
    assert_eq!(both.shares[0], ShareBelow { threshold: 4_000, below: 3, undecided: 0, of: 6 });
    let falling = &a.groups[0].edges[1];
    assert_eq!((falling.edge.as_str(), falling.min, falling.max), ("falling", Some(-6_000), Some(-1_000)));
    assert_eq!(both.p50, None, "late and early amounts have no common percentile");
}

#[test]
fn runs_of_one_kernel_are_merged_and_rows_are_in_the_papers_order() {
    let stock = response("s", "6.12.95-arm64", Preemption::Voluntary, Space::User, &[50_000], &[360_000]).record();
    let mut kernel = response("k", "6.12.95-rt-arm64", Preemption::Rt, Space::Kernel, &[1_000], &[1_100]);
    kernel.0.instrument =
        Some(InstrumentFacts { dut: "kernel module rtscope_response, handler hardirq".into(), ..InstrumentFacts::default() });
    let bad =
        response("i", "6.12.95-rt-arm64", Preemption::Rt, Space::User, &[999_000], &[]).warn("lost", Effect::Invalid).record();
    let timer = Build::new("full").cpu(0, 1_000_000, &[5]).record();
    let all = vec![kernel.record(), stock, rt("a", &[10_000]), rt("b", &[40_000]), rt("b", &[40_000]), bad, timer];
    let a = line_tests(&all, &[], &[]).unwrap();
    let rows: Vec<_> = a.groups.iter().map(|g| (g.space, g.kernel.role, g.ids.join(" "), g.both.max)).collect();
    assert_eq!(
        rows,
        [
            (Space::User, Role::Rt, "a b".into(), Some(40_000)),
            (Space::User, Role::Stock, "s".into(), Some(360_000)),
            (Space::Kernel, Role::Rt, "k".into(), Some(1_100)),
        ]
    );
    assert_eq!((a.groups[0].left_out.as_slice(), a.thresholds.as_slice()), (["i".to_owned()].as_slice(), [THRESHOLD].as_slice()));
    assert_eq!(a.findings.iter().map(|f| f.code.as_str()).collect::<Vec<_>>(), ["left-out", "other-tests"]);
    assert!(matches!(line_tests(&[Build::new("none").record()], &[], &[]), Err(LineTestsError::Empty)));
}

#[test]
fn another_instrument_stands_beside_the_runs_it_saw() {
    let scope = |id: &str, space| {
        let mut b = Build::lines(id, Test::Response, &[("rising", &[9_000, 31_000], 0)]);
        b.0.space = space;
        b.0.instrument = Some(InstrumentFacts { what: "an oscilloscope".into(), ..InstrumentFacts::default() });
        b.record()
    };
    let a = line_tests(&[rt("a", &[10_000, 30_000])], &[scope("o", Space::User)], &[]).unwrap();
    let e = a.groups[0].external.as_ref().unwrap();
    assert_eq!(
        (e.instrument.as_str(), e.both.min, e.both.max, e.both.mean),
        ("an oscilloscope", Some(9_000), Some(31_000), Some(20_000.0))
    );
    let a = line_tests(&[rt("a", &[10_000])], &[scope("o", Space::Kernel)], &[]).unwrap();
    assert_eq!((a.groups[0].external.as_ref(), a.findings[0].code.as_str()), (None, "no-partner"));
}

/// Figures of distributions made by hand.
fn of(parts: &[Distribution]) -> EdgeFigures {
    EdgeFigures::of("both", &parts.iter().collect::<Vec<_>>(), Vec::new()).unwrap()
}

#[test]
fn percentiles_are_of_all_parts_together() {
    let part = |label: &str, values: std::ops::RangeInclusive<u64>| {
        Distribution::from_samples(label, &values.collect::<Vec<_>>(), 0).unwrap()
    };
    let f = of(&[part("rising", 1..=10), part("falling", 11..=20)]);
    assert_eq!((f.p50, f.p90, f.p95), (Some(10), Some(18), Some(19)));
}

#[test]
fn a_reported_mean_is_weighed_and_has_no_deviation() {
    let part = |label: &str, samples: &[u64], mean: Option<f64>| {
        let mut p = Distribution::from_samples(label, samples, 0).unwrap().into_parts();
        if let Some(mean) = mean {
            p.moments = rtscope_record::Moments::Reported { mean };
        }
        Distribution::new(p).unwrap()
    };
    // Three samples with mean 10, late, and two with mean 5, early: 20 over 5.
    let f = of(&[part("rising late", &[9, 10, 11], Some(10.0)), part("rising early", &[4, 6], None)]);
    assert_eq!((f.mean, f.variance, f.stddev), (Some(4.0), None, None));
    // Early samples alone are below zero; a distribution without samples has no weight, whatever mean it reports.
    let f = of(&[part("rising early", &[4, 6], None), part("rising late", &[], Some(0.0))]);
    assert_eq!((f.mean, f.variance), (Some(-5.0), Some(1.0)));
    let f = of(&[part("rising", &[], None)]);
    assert_eq!((f.mean, f.variance, f.min, f.max), (None, None, None, None));
}

#[test]
fn deviations_are_exact_as_long_as_integers_hold_them() {
    let part = |samples: &[u64]| of(&[Distribution::from_samples("rising", samples, 0).unwrap()]);
    // Half a nanosecond to each side of a mean of 20 minutes: nothing must cancel.
    let f = part(&[1_200_000_000_000, 1_200_000_000_001]);
    assert_eq!((f.variance, f.stddev), (Some(0.25), Some(0.5)));
    // Above 2^128, computed in floating point: 2^62 to each side of 2^63.
    let f = part(&[1 << 62, 1 << 63, 3 << 62]);
    let expected = (2.0f64).powi(125) / 3.0;
    assert!((f.variance.unwrap() / expected - 1.0).abs() < 1e-9, "{f:?}");
    assert_eq!(f.mean, Some((2.0f64).powi(63)));
}

#[test]
fn a_late_answer_is_above_a_threshold_that_its_time_out_reaches() {
    let of = |test: Test, label: &str, timeout: u64| {
        let mut b = Build::lines("x", test, &[(label, &[5_000], 2)]);
        let mut p = b.0.distributions.remove(0).into_parts();
        p.late = 1;
        b.0.distributions.push(Distribution::new(p).unwrap());
        let lines = format!(r#"{{"answer":"in","timeout":{timeout}}}"#);
        b.0.settings.lines = Some(serde_json::from_str(&lines).unwrap());
        line_tests(&[b.record()], &[], &[Nanos(10_000)]).unwrap().groups[0].both.shares[0].undecided
    };
    assert_eq!((of(Test::Response, "rising", 10_000), of(Test::Response, "rising", 9_999)), (0, 1));
    assert_eq!(of(Test::Periodic, "rising late", 10_000), 1, "a wave has no time-out");
}

#[test]
fn a_row_says_what_it_is_of() {
    let mut user = response("a", "6.12.95", Preemption::Unknown, Space::User, &[1], &[2]);
    user.0.instrument = Some(InstrumentFacts { dut: "a thread".into(), what: "a clock".into(), ..InstrumentFacts::default() });
    user.0.system.hostname = "host".into();
    let mut kernel = response("b", "6.12.95", Preemption::Unknown, Space::Kernel, &[1], &[2]);
    kernel.0.instrument = Some(InstrumentFacts { dut: "a handler".into(), ..InstrumentFacts::default() });
    (kernel.0.system.board, kernel.0.system.cpu.model) = (Some(String::new()), Some("a processor".into()));
    let mut board = response("c", "6.12.95", Preemption::Unknown, Space::User, &[1], &[2]);
    (board.0.system.board, board.0.clock) = (Some("a board".into()), Clock::Virtual);
    let mut lost = board.0.distributions.remove(0).into_parts();
    (lost.missed, lost.expected) = (1, Some(2));
    board.0.distributions.push(Distribution::new(lost).unwrap());
    let a = line_tests(&[user.record(), kernel.record(), board.record()], &[], &[]).unwrap();
    let mut rows: Vec<_> =
        a.groups.iter().map(|g| (g.ids[0].as_str(), g.machine.as_str(), g.device.as_str(), g.instrument.as_str())).collect();
    rows.sort_unstable();
    assert_eq!(rows, [("a", "host", "", "a clock"), ("b", "a processor", "a handler", ""), ("c", "a board", "", "")]);
    let codes: Vec<&str> = a.findings.iter().map(|f| f.code.as_str()).collect();
    assert_eq!(codes, ["missed", "preemption-unknown", "clock-differs"]);
}

#[test]
fn another_instruments_records_need_one_row_to_be_of() {
    let scope = |id: &str, change: &dyn Fn(&mut Build)| {
        let mut b = Build::lines(id, Test::Response, &[("rising", &[9_000], 0)]);
        b.0.instrument = Some(InstrumentFacts { what: id.into(), ..InstrumentFacts::default() });
        change(&mut b);
        b.record()
    };
    let beside = |external: &[Record]| {
        let a = line_tests(&[rt("a", &[10_000])], external, &[]).unwrap();
        let codes = a.findings.iter().map(|f| f.code.clone()).collect::<Vec<_>>();
        (a.groups[0].external.as_ref().map(|e| e.instrument.clone()), codes)
    };
    let (one, no) = (|id: &str| (Some(id.to_owned()), Vec::<String>::new()), (None, vec!["no-partner".to_owned()]));
    assert_eq!(beside(&[scope("o", &|_| ())]), one("o"));
    assert_eq!(beside(&[scope("o", &|b| b.0.system.kernel.release = "6.12.95-rt-arm64".into())]), one("o"));
    assert_eq!(beside(&[scope("o", &|b| b.0.system.kernel.release = "6.1.0".into())]), no);
    assert_eq!(beside(&[scope("o", &|b| b.0.test = Test::Periodic)]), no);
    assert_eq!(beside(&[scope("o", &|b| b.0.space = Space::Kernel)]), no);
    assert_eq!(beside(&[scope("o", &|b| b.0.load = "full".into())]), no);
    assert_eq!(beside(&[Build::new("none").cpu(0, 1_000, &[1]).record()]), (None, Vec::new()), "a timer is of no row");
    // Two runs for one row: the second finds no row left.
    assert_eq!(beside(&[scope("o", &|_| ()), scope("p", &|_| ())]), (Some("o".into()), vec!["no-partner".into()]));
}
