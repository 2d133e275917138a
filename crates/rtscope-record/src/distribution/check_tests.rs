//! Each contradiction by itself, and the closest cases that are still consistent.

use super::*;
use crate::linear::LinearBins;

type Change = fn(&mut DistributionParts);

/// The error for the distribution of these samples with this change.
fn wrong(samples: &[u64], change: impl FnOnce(&mut DistributionParts)) -> Option<String> {
    let mut p = Distribution::from_samples("cpu0", samples, 2).unwrap().into_parts();
    change(&mut p);
    match Distribution::new(p) {
        Ok(_) => None,
        Err(DistributionError::Contradiction { what, .. }) => Some(what),
        Err(e) => panic!("{e}"),
    }
}

fn each(samples: &[u64], cases: &[(Change, &str)]) {
    for (number, (change, message)) in cases.iter().enumerate() {
        assert_eq!(wrong(samples, change).unwrap_or_default(), *message, "case {number}");
    }
}

#[test]
fn extremes_lie_in_the_outer_slots() {
    let (fit, low, high) = (
        "minimum and maximum do not fit the count",
        "the minimum is not in the histogram's lowest slot",
        "the maximum is not in the histogram's highest slot",
    );
    // A slot of 2,998,272 to 3,000,319 ns, and one of 4,000,768 to 4,002,815.
    let samples = [3_000_000, 4_001_000];
    let cases: [(Change, &str); 13] = [
        (|_| (), ""),
        (|p| (p.min, p.max, p.worst) = (None, None, vec![]), fit),
        (|p| (p.min, p.max) = (p.max, p.min), fit),
        (|p| p.min = Some(2_998_272), ""),
        (|p| p.min = Some(3_000_319), ""),
        (|p| p.min = Some(2_998_271), low),
        (|p| p.min = Some(3_000_320), low),
        (|p| p.max = None, fit),
        (|p| (p.max, p.worst) = (Some(3_999_744), vec![]), ""),
        (|p| (p.max, p.worst) = (Some(4_001_791), vec![]), ""),
        (|p| (p.max, p.worst) = (Some(3_999_743), vec![]), high),
        (|p| (p.max, p.worst) = (Some(4_001_792), vec![]), high),
        (|p| (p.max, p.worst) = (Some(3_000_000), vec![]), high),
    ];
    each(&samples, &cases);
    each(&[], &[(|_| (), ""), (|p| (p.min, p.max) = (Some(5), Some(5)), fit)]);
    // Overflowed samples may move the extremes beyond the histogram, but not into it.
    let beyond = |min, max| {
        wrong(&samples, |p| {
            (p.count, p.overflow, p.moments, p.worst) = (3, 1, Moments::Reported { mean: 3_500_000.0 }, vec![]);
            (p.min, p.max) = (Some(min), Some(max));
        })
    };
    assert_eq!((beyond(3_000_000, 9_000_000), beyond(7, 4_001_000)), (None, None));
    assert_eq!((beyond(3_000_320, 4_001_000), beyond(3_000_000, 3_900_000)), (Some(low.into()), Some(high.into())));
}

#[test]
fn counters_fit_each_other() {
    let cases: [(Change, &str); 4] = [
        (|p| (p.missed, p.late) = (2, 2), ""),
        (|p| (p.missed, p.late) = (2, 3), "more late answers than missed stimuli"),
        (|p| p.resolution = 0, "the resolution is 0"),
        (|p| (p.count, p.overflow) = (3, 1), "the sums can't be exact where samples overflowed"),
    ];
    each(&[1_000, 2_000], &cases);
}

#[test]
fn points_passed_over_stand_beside_no_other_loss() {
    let both = "points passed over beside late answers or overflowed samples: no test gives both";
    let with = |change: Change| {
        let passed = |p: &mut DistributionParts| {
            (p.missed, p.passed) = (1, crate::PassedOver::of_stalls([(500, 1)], 1_000).unwrap());
            p.moments = Moments::Reported { mean: 1_500.0 };
            change(p);
            p.expected = Some(p.count + p.missed);
        };
        wrong(&[1_000, 2_000], passed).unwrap_or_default()
    };
    assert_eq!([with(|_| ()), with(|p| p.late = 1), with(|p| (p.count, p.overflow) = (3, 1))], ["", both, both]);
}

#[test]
fn sums_are_what_the_slots_allow() {
    let outside = "the sums lie outside what the histogram allows";
    // 1,000 and three times 2,998,272 to 3,000,319.
    let with = |sum: u128, sum_sq: u128| {
        wrong(&[1_000, 3_000_000, 3_000_000, 3_000_000], |p| p.moments = Moments::Exact { sum, sum_sq }).unwrap_or_default()
    };
    let (sums, squares) = ([8_995_816, 9_001_957], [1_000_000 + 3 * 2_998_272 * 2_998_272, 1_000_000 + 3 * 3_000_319 * 3_000_319]);
    for (sum, sum_sq) in [(sums[0], squares[0]), (sums[0], squares[1]), (sums[1], squares[0])] {
        assert_eq!(with(sum, sum_sq), "");
    }
    for (sum, sum_sq) in
        [(sums[0] - 1, squares[0]), (sums[1] + 1, squares[0]), (sums[0], squares[0] - 1), (sums[0], squares[1] + 1)]
    {
        assert_eq!(with(sum, sum_sq), outside);
    }
}

#[test]
fn a_reported_mean_may_be_off_by_its_unit() {
    let outside = "the reported mean lies outside minimum and maximum";
    let with = |resolution, mean| {
        let change = |p: &mut DistributionParts| (p.resolution, p.moments) = (resolution, Moments::Reported { mean });
        wrong(&[1_000, 2_000, 9_000], change).unwrap_or_default()
    };
    for (resolution, mean) in [(1, 999.0), (1, 9_001.0), (1_000, 0.0), (1_000, 0.5), (1_000, 1_500.0), (1_000, 10_000.0)] {
        assert_eq!(with(resolution, mean), "", "{mean}");
    }
    for (resolution, mean) in [(1, 998.5), (1, 9_001.5), (1_000, -0.5), (1_000, 10_000.5), (1, f64::NAN), (1, f64::INFINITY)] {
        assert_eq!(with(resolution, mean), outside, "{mean}");
    }
}

#[test]
fn the_worst_are_the_highest_in_order() {
    let order = "the worst samples are not in descending order, or more than there are samples";
    let worst = |values: &[u64]| {
        let of = |p: &mut DistributionParts| p.worst = values.iter().map(|&value| Worst { value, at: 0 }).collect();
        wrong(&[5, 7, 7], of).unwrap_or_default()
    };
    assert_eq!([worst(&[]), worst(&[7]), worst(&[7, 7]), worst(&[7, 7, 5])], ["", "", "", ""]);
    assert_eq!([worst(&[5, 7]), worst(&[7, 7, 5, 5])], [order, order]);
    assert_eq!(worst(&[5]), "the first of the worst samples is not the maximum");
}

#[test]
fn linear_bins_hold_what_the_histogram_holds() {
    let disagree = "the linear bins do not agree with the histogram";
    let with = |samples: &[u64], (resolution, unit_ns, size): (u64, u64, u64), counts: &[(u64, u64)]| {
        let bins = LinearBins { unit_ns, size, counts: counts.into(), overflow_at: vec![] };
        wrong(samples, |p| (p.resolution, p.linear) = (resolution, Some(bins))).unwrap_or_default()
    };
    // Measured: the samples below 10 us, where no slot crosses the end.
    let (below, ten) = ([1_500, 2_000, 50_000], (1, 1_000, 10));
    assert_eq!(with(&below, ten, &[(1, 1), (2, 1)]), "");
    assert_eq!([with(&below, ten, &[(1, 1)]), with(&below, ten, &[(1, 1), (2, 2)])], [disagree, disagree]);
    assert_eq!(with(&[1_500, 10_000], ten, &[(1, 1)]), "", "10 us itself is beyond");
    assert_eq!(with(&[1_500, 9_995, 50_000], ten, &[(1, 1), (9, 2)]), disagree);
    // The slot of 3,002 and 3,003 ns crosses an end at 3,003.
    let across = (1, 1_001, 3);
    assert_eq!(with(&[1_500, 3_002, 3_003], across, &[(1, 1), (2, 1)]), "");
    assert_eq!(with(&[3_002, 3_003], across, &[(2, 1)]), "");
    assert_eq!([with(&[1_500, 3_002, 3_003], across, &[]), with(&[3_002], across, &[(2, 2)])], [disagree, disagree]);
    // Imported: the histogram is made from the bins.
    let imported = (1_000, 1_000, 10);
    assert_eq!(with(&[1_000, 2_000], imported, &[(1, 1), (2, 1)]), "");
    assert_eq!(
        [with(&[1_000, 2_000], imported, &[(1, 1)]), with(&[1_000, 2_000], imported, &[(1, 1), (3, 1)])],
        [disagree, disagree]
    );
    assert_eq!(with(&[1_000], (1, 0, 10), &[]), "linear bins have width 0");
}
