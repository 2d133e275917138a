//! Waves with known edges: every interval, sign and grid error must be exact.

use super::*;
use proptest::prelude::*;
use std::sync::atomic::Ordering::Relaxed;

const SEMI: u64 = 1_000_000;

/// Edges at these times, the first one rising.
fn run(times: &[u64], warmups: u64) -> (Vec<Distribution>, Option<Phase>, Option<GridError>) {
    let mut wave = WaveSampler::new(SEMI, 4, warmups);
    for (i, &at) in times.iter().enumerate() {
        assert!(!wave.take(Edge { level: i % 2 == 0, at, lost: 0 }));
    }
    assert_eq!(wave.intervals() + 1, times.len() as u64);
    let (d, warmup, grid) = wave.finish(|_| ()).unwrap();
    assert_eq!(
        d.iter().map(Distribution::label).collect::<Vec<_>>(),
        ["rising late", "rising early", "falling late", "falling early"]
    );
    (d, warmup, grid)
}

fn times(n: u64, error: impl Fn(u64) -> i64) -> Vec<u64> {
    (0..n).map(|k| (2_000_000 + k * SEMI).checked_add_signed(error(k)).unwrap()).collect()
}

#[test]
fn a_perfect_wave_has_no_jitter() {
    let (d, _, grid) = run(&times(1001, |_| 0), 0);
    assert_eq!(d.iter().map(Distribution::count).collect::<Vec<_>>(), [500, 0, 500, 0]);
    assert_eq!((d[0].max(), d[2].max()), (Some(0), Some(0)));
    let grid = grid.unwrap();
    assert_eq!((grid.points, grid.min, grid.max, grid.last, grid.drift_ppb, grid.mean_jitter), (1000, 0, 0, 0, 0, 0));
}

#[test]
fn jitter_keeps_its_sign_and_a_late_edge_is_not_two() {
    // Every tenth edge, a rising one, is late by 0.7 semi-periods.
    let (d, _, grid) = run(&times(1001, |k| if k % 10 == 4 { 700_000 } else { 0 }), 0);
    assert_eq!(d.iter().map(Distribution::count).collect::<Vec<_>>(), [500, 0, 400, 100]);
    assert_eq!((d[0].max(), d[3].max(), d[3].min()), (Some(700_000), Some(700_000), Some(700_000)));
    assert!(d.iter().all(|d| d.missed() == 0));
    let grid = grid.unwrap();
    assert_eq!((grid.min, grid.max, grid.last, grid.points), (0, 700_000, 0, 1000));
    assert!(grid.drift_ppb.abs() < 100_000, "{grid:?}");
}

#[test]
fn a_grid_point_without_an_edge_is_missed_and_its_interval_is_not_folded() {
    let mut t = times(1000, |_| 0);
    // Overslept: the edge for point 500 comes 1.05 semi-periods late, and that for point 501 never.
    t[500] += SEMI + 50_000;
    t.remove(501);
    let (d, _, grid) = run(&t, 0);
    assert_eq!(d.iter().map(Distribution::missed).sum::<u64>(), 1);
    assert_eq!(d.iter().filter_map(Distribution::max).max(), Some(1_050_000));
    assert_eq!(grid.unwrap().points, 999);
    assert!(d.iter().all(|d| d.parts().expected == Some(d.count() + d.missed())));
}

#[test]
fn a_skew_is_a_drift() {
    for ppm in [100, -250, 3, 150_000] {
        let (d, _, grid) = run(&times(20_001, |k| i64::try_from(k).unwrap() * ppm), 0);
        let grid = grid.unwrap();
        assert_eq!((grid.drift_ppb, grid.mean_jitter, grid.last, grid.points), (ppm * 1000, ppm, 20_000 * ppm, 20_000));
        assert!(d.iter().all(|d| d.missed() == 0));
        let late = d[0].count() + d[2].count();
        assert_eq!(late, if ppm > 0 { 20_000 } else { 0 });
    }
}

#[test]
fn the_warm_up_is_apart() {
    let (d, warmup, grid) = run(&times(101, |k| if k == 3 { 90_000 } else { 0 }), 10);
    let w = warmup.unwrap();
    assert_eq!((w.stimuli, w.count, w.max), (10, 10, Some(90_000)));
    assert_eq!((d.iter().map(Distribution::count).sum::<u64>(), d[0].max(), grid.unwrap().points), (90, Some(0), 90));
}

#[test]
fn a_lost_edge_spoils_its_interval_only() {
    let mut wave = WaveSampler::new(SEMI, 4, 0);
    let told = (0..10)
        .filter(|&k| k != 5)
        .map(|k| wave.take(Edge { level: k % 2 == 0, at: 2_000_000 + k * SEMI, lost: 0 }))
        .filter(|&told| told)
        .count();
    let (d, _, grid) = wave.finish(|_| ()).unwrap();
    let sum = |f: fn(&Distribution) -> u64| d.iter().map(f).sum::<u64>();
    assert_eq!((sum(Distribution::count), sum(Distribution::dropped), sum(Distribution::missed), told), (7, 1, 0, 1));
    assert_eq!((grid.unwrap().points, grid.unwrap().last), (9, 0));
}

#[test]
fn edges_that_the_line_reports_as_lost_are_told_and_drop_their_interval() {
    let mut wave = WaveSampler::new(SEMI, 4, 0);
    assert_eq!(wave.semi_period(), SEMI);
    let told: Vec<bool> = [(0, 1), (1, 0), (4, 2), (5, 0)]
        .map(|(k, lost)| wave.take(Edge { level: k % 2 == 0, at: 2_000_000 + k * SEMI, lost }))
        .to_vec();
    assert_eq!(told, [true, false, true, false]);
    let (d, ..) = wave.finish(|_| ()).unwrap();
    let sum = |f: fn(&Distribution) -> u64| d.iter().map(f).sum::<u64>();
    assert_eq!((sum(Distribution::count), sum(Distribution::dropped)), (2, 1));
}

#[test]
fn an_edge_half_a_semi_period_after_a_doubtful_one_has_a_point_of_its_own() {
    // No edge for the third point; the fourth comes on time, so it could be the third, late by all of a semi-period.
    for (after, missed) in [(SEMI / 2 - 1, 0), (SEMI / 2, 1), (SEMI * 4 / 5, 1)] {
        let (d, ..) = run(&[2_000_000, 3_000_000, 5_000_000, 5_000_000 + after], 0);
        assert_eq!(d.iter().map(Distribution::missed).sum::<u64>(), missed, "{after} ns after");
    }
}

#[test]
fn an_edge_late_by_nine_tenths_has_passed_over_a_point() {
    for (late, missed) in [(SEMI * 9 / 10 - 1, 0), (SEMI * 9 / 10, 1)] {
        let (d, ..) = run(&[2_000_000, 3_000_000, 4_000_000 + late], 0);
        assert_eq!(d.iter().map(Distribution::missed).sum::<u64>(), missed, "late by {late} ns");
    }
}

#[test]
fn the_mean_jitter_is_rounded_and_without_a_warm_up_there_is_none() {
    for (last, mean) in [(2, 1), (1, 0), (-2, -1), (-1, 0)] {
        let (_, warmup, grid) = run(&times(5, |k| if k == 4 { last } else { 0 }), 0);
        assert_eq!((grid.unwrap().mean_jitter, warmup), (mean, None), "{last} ns over four intervals");
    }
}

#[test]
fn live_figures_have_their_labels() {
    let mut wave = WaveSampler::new(SEMI, 4, 0);
    let live = wave.live();
    for (i, at) in [2_000_000, 3_000_040, 4_000_030, 5_000_000].into_iter().enumerate() {
        wave.take(Edge { level: i % 2 == 0, at, lost: 0 });
    }
    let seen = live.iter().map(|(label, cell)| (*label, cell.count.load(Relaxed), cell.max.load(Relaxed)));
    let expected = [("rising late", 0, 0), ("rising early", 1, 10), ("falling late", 1, 40), ("falling early", 1, 30)];
    assert_eq!(seen.collect::<Vec<_>>(), expected);
}

/// The edges of a task with a grid of `semi` ns that oversleeps by `by` before each point, and the number of points it passed
/// over.
fn overslept(semi: u64, by: &[u64]) -> (Vec<u64>, u64) {
    let (mut next, mut passed, mut times) = (2_000_000, 0, Vec::new());
    for late in by {
        times.push(next + late);
        passed += late / semi;
        next += (1 + late / semi) * semi;
    }
    (times, passed)
}

proptest! {
    #[test]
    fn what_a_task_overslept_is_missed_and_no_drift(
        by in prop::collection::vec(prop_oneof![6 => Just(0u64), 2 => 0..SEMI / 60, 1 => 0..4 * SEMI], 30..120),
        ppm in prop_oneof![3 => Just(0i64), 1 => -10_000i64..10_000],
    ) {
        // At most one in three oversleeps, the first and last few keep their points, and with a drift no lateness is close to half
        // a semi-period.
        let mut by = by;
        let semi = SEMI.checked_add_signed(ppm).unwrap();
        if ppm != 0 {
            for late in &mut by {
                *late = *late / SEMI * semi + *late % (SEMI / 2);
            }
        }
        let n = by.len();
        by.iter_mut().enumerate().filter(|(i, _)| *i < 5 || i + 5 > n || i % 3 > 0).for_each(|(_, late)| *late %= SEMI / 60);
        let (times, passed) = overslept(semi, &by);
        let (d, _, grid) = run(&times, 0);
        prop_assert_eq!(d.iter().map(Distribution::missed).sum::<u64>(), passed);
        prop_assert_eq!(grid.unwrap().points, n as u64 - 1 + passed);
    }

    #[test]
    fn counts_add_up(gaps in prop::collection::vec(1u64..5 * SEMI, 2..60)) {
        let times: Vec<u64> = gaps.iter().scan(2_000_000, |at, gap| { *at += gap; Some(*at) }).collect();
        let (d, ..) = run(&times, 0);
        prop_assert_eq!(d.iter().map(Distribution::count).sum::<u64>(), gaps.len() as u64 - 1);
    }
}

/// A wave that ran before its instrument leaves edges on the line that are older than the loop.
#[test]
fn edges_from_before_the_start_are_taken() {
    let mut wave = WaveSampler::new(1_000_000, 4, 0);
    wave.start_at(10_000_000);
    for n in 0..8 {
        wave.take(Edge { level: n % 2 == 0, at: n * 1_000_000 + 100 * n, lost: 0 });
    }
    let (all, ..) = wave.finish(|_| {}).unwrap();
    assert_eq!(all.iter().map(Distribution::count).sum::<u64>(), 7);
    assert!(all.iter().flat_map(|d| &d.parts().worst).all(|w| w.at == 0), "{all:?}");
}
