//! Figures worked out by hand, and which records meet in a row.

use super::*;
use crate::fixtures::Build;
use rtscope_record::Effect;
use rtscope_record::lines::Instrument;
use rtscope_record::system::Preemption;

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
    let a = adam(&[rt("a", &[10_000, 30_000])], &[], &[Nanos(25_000)]).unwrap();
    let g = &a.groups[0];
    assert_eq!((g.both.samples, g.both.min, g.both.max, g.both.mean), (3, Some(10_000), Some(30_000), Some(20_000.0)));
    // Deviations of -10, 0 and 10 us: a variance of 200/3 us².
    assert!((g.both.variance.unwrap() - 200e6 / 3.0).abs() < 1.0 && (g.both.stddev.unwrap() - 8_164.97).abs() < 0.01);
    assert_eq!(g.both.shares, [Share { threshold: 25_000, below: 2, undecided: 0, of: 3 }]);
    let edges: Vec<_> = g.edges.iter().map(|e| (e.edge.as_str(), e.samples, e.mean)).collect();
    assert_eq!(edges, [("rising", 2, Some(20_000.0)), ("falling", 1, Some(20_000.0))]);
}

#[test]
fn jitter_has_a_sign() {
    let parts: [(&str, &[u64], u64); 4] = [
        ("rising late", &[0, 4_000], 0),
        ("rising early", &[2_000], 0),
        ("falling late", &[], 1),
        ("falling early", &[6_000, 1_000], 0),
    ];
    let a = adam(&[Build::lines("w", Test::Periodic, &parts).record()], &[], &[Nanos(4_000)]).unwrap();
    let both = &a.groups[0].both;
    assert_eq!((both.samples, both.min, both.max, both.missed), (5, Some(-6_000), Some(4_000), 1));
    // 0 + 4 - 2 - 6 - 1 = -5 us over 5; the squares are 57 us², so the variance is 57/5 - 1 = 10.4 us².
    assert_eq!(both.mean, Some(-1_000.0));
    assert!((both.variance.unwrap() - 10.4e6).abs() < 1e-3);
    assert_eq!(both.shares[0], Share { threshold: 4_000, below: 3, undecided: 0, of: 6 });
    let falling = &a.groups[0].edges[1];
    assert_eq!((falling.edge.as_str(), falling.min, falling.max), ("falling", Some(-6_000), Some(-1_000)));
    assert_eq!(both.p50, None, "late and early amounts have no common percentile");
}

#[test]
fn runs_of_one_kernel_are_merged_and_rows_are_in_the_papers_order() {
    let stock = response("s", "6.12.95-arm64", Preemption::Voluntary, Space::User, &[50_000], &[360_000]).record();
    let mut kernel = response("k", "6.12.95-rt-arm64", Preemption::Rt, Space::Kernel, &[1_000], &[1_100]);
    kernel.0.instrument =
        Some(Instrument { dut: "kernel module rtscope_response, handler hardirq".into(), ..Instrument::default() });
    let bad =
        response("i", "6.12.95-rt-arm64", Preemption::Rt, Space::User, &[999_000], &[]).warn("lost", Effect::Invalid).record();
    let timer = Build::new("full").cpu(0, 1_000_000, &[5]).record();
    let all = vec![kernel.record(), stock, rt("a", &[10_000]), rt("b", &[40_000]), rt("b", &[40_000]), bad, timer];
    let a = adam(&all, &[], &[]).unwrap();
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
    assert!(matches!(adam(&[Build::new("none").record()], &[], &[]), Err(AdamError::Empty)));
}

#[test]
fn another_instrument_stands_beside_the_runs_it_saw() {
    let scope = |id: &str, space| {
        let mut b = Build::lines(id, Test::Response, &[("rising", &[9_000, 31_000], 0)]);
        b.0.space = space;
        b.0.instrument = Some(Instrument { what: "an oscilloscope".into(), ..Instrument::default() });
        b.record()
    };
    let a = adam(&[rt("a", &[10_000, 30_000])], &[scope("o", Space::User)], &[]).unwrap();
    let e = a.groups[0].external.as_ref().unwrap();
    assert_eq!(
        (e.instrument.as_str(), e.both.min, e.both.max, e.both.mean),
        ("an oscilloscope", Some(9_000), Some(31_000), Some(20_000.0))
    );
    let a = adam(&[rt("a", &[10_000])], &[scope("o", Space::Kernel)], &[]).unwrap();
    assert_eq!((a.groups[0].external.as_ref(), a.findings[0].code.as_str()), (None, "no-partner"));
}
