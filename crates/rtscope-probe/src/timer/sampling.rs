//! The sampling loop, generic over its clock: the kernel's, or a fake one that takes no time.

use super::grid::Grid;
use rtscope_samples::sampler::Sampler;
use rtscope_sys::rt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The loop's view of a clock.
pub trait Clock {
    /// Sleeps until `at` (ns). Returns `false` when a signal ended the sleep.
    fn sleep_until(&mut self, at: u64) -> bool;
    /// The time now, ns.
    fn now(&mut self) -> u64;
}

/// The kernel's `CLOCK_MONOTONIC`.
#[derive(Debug, Default)]
pub struct MonotonicClock;

impl Clock for MonotonicClock {
    #[inline]
    fn sleep_until(&mut self, at: u64) -> bool {
        rt::sleep_until(rt::Instant::from_ns(at)) == 0
    }

    #[inline]
    fn now(&mut self) -> u64 {
        rt::now()
    }
}

/// When the loop ends before its grid does.
#[derive(Debug)]
pub struct LoopLimits<'a> {
    /// After this many samples; `u64::MAX` for never. To stop the loop, the driver sets it to 0 and wakes the
    /// thread with a signal, so that one check serves both.
    pub samples: &'a AtomicU64,
    /// At the first latency above this, ns; `u64::MAX` for never.
    pub break_above: u64,
}

/// How the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopEnd {
    /// The grid or the number of samples is complete.
    Complete,
    /// It was told to stop.
    Stopped,
    /// A latency was above the limit.
    Broken {
        /// Its grid point, ns.
        due: u64,
        /// The latency, ns.
        latency: u64,
    },
}

/// Samples the grid until it ends. The times of the worst samples count from `start`, ns, the start of the run.
///
/// Per point: one sleep, one clock read, no allocation, no lock, no other call. Always inlined: with the grid in registers it takes a tenth
/// fewer instructions.
#[inline(always)]
#[allow(clippy::inline_always)]
pub fn sample(clock: &mut impl Clock, grid: &mut Grid, sampler: &mut Sampler, start: u64, until: &LoopLimits<'_>) -> LoopEnd {
    loop {
        let ended = sample_block(clock, grid, sampler, start, until);
        grid.end_blocks(sampler);
        if let Some(ended) = ended.or(grid.done().then_some(LoopEnd::Complete)) {
            return ended;
        }
    }
}

/// Samples the grid until its block ends, or it does. `None` at the end of the block.
#[inline(always)]
#[allow(clippy::inline_always)]
fn sample_block(
    clock: &mut impl Clock,
    grid: &mut Grid,
    sampler: &mut Sampler,
    start: u64,
    until: &LoopLimits<'_>,
) -> Option<LoopEnd> {
    while !grid.pauses() {
        let due = grid.next();
        let slept = clock.sleep_until(due);
        let now = clock.now();
        if !slept {
            if until.samples.load(Relaxed) == 0 {
                // Points that passed during the sleep of a stopped thread have no sample.
                grid.pass_over(now, &mut sampler.passed);
                sampler.show_missed(grid.missed());
                return Some(LoopEnd::Stopped);
            }
            continue;
        }
        if now < due {
            sampler.early();
            continue;
        }
        let latency = now - due;
        let highest = sampler.record(latency, now, start);
        if grid.advance(now, &mut sampler.passed) {
            sampler.show_missed(grid.missed());
        }
        // The first latency above the limit is the highest so far, so other samples need no check.
        if highest && latency > until.break_above {
            return Some(LoopEnd::Broken { due, latency });
        }
        let samples = until.samples.load(Relaxed);
        if sampler.count() >= samples {
            return Some(if samples == 0 { LoopEnd::Stopped } else { LoopEnd::Complete });
        }
    }
    None
}

/// A clock that wakes the loop with exactly the given latencies, repeated from the first.
#[derive(Debug, Clone)]
pub struct Fake {
    now: u64,
    latencies: std::sync::Arc<[u64]>,
    at: usize,
}

impl Fake {
    /// A fake clock at time 0. `latencies` in ns; if empty, it is never late.
    pub fn new(latencies: std::sync::Arc<[u64]>) -> Self {
        Self { now: 0, latencies, at: 0 }
    }
}

impl Clock for Fake {
    fn sleep_until(&mut self, at: u64) -> bool {
        let late = self.latencies.get(self.at).copied().unwrap_or(0);
        self.at = (self.at + 1) % self.latencies.len().max(1);
        self.now = at.saturating_add(late);
        true
    }

    fn now(&mut self) -> u64 {
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rtscope_record::correction::Corrected;
    use rtscope_record::{Distribution, Histogram, Moments, Quantile};
    use std::sync::Arc;

    static FOREVER: AtomicU64 = AtomicU64::new(u64::MAX);

    fn run(latencies: &[u64], interval: u64, points: u64) -> Distribution {
        let mut grid = Grid::new(interval, interval, points);
        let mut sampler = Sampler::new(8, None, false).on_grid(interval).in_blocks();
        let until = LoopLimits { samples: &FOREVER, break_above: u64::MAX };
        let ended = sample(&mut Fake::new(Arc::from(latencies)), &mut grid, &mut sampler, 0, &until);
        assert_eq!(ended, LoopEnd::Complete);
        sampler
            .finish(|p| {
                p.missed = grid.missed();
                p.expected = Some(points);
            })
            .unwrap()
    }

    /// How long each point of the grid waited: a late task is woken for every point that has come by then.
    fn truth(latencies: &[u64], interval: u64, points: u64) -> Vec<u64> {
        let (mut point, mut wakes, mut all) = (1, latencies.iter().cycle(), Vec::new());
        while point <= points {
            let woken = point * interval + wakes.next().unwrap();
            while point <= points && point * interval <= woken {
                all.push(woken - point * interval);
                point += 1;
            }
        }
        all
    }

    #[track_caller]
    fn is_the_truth(d: &Distribution, mut all: Vec<u64>) {
        let highest = |points: usize| all.chunks_exact(points).map(|block| *block.iter().max().unwrap()).collect::<Vec<_>>();
        match &d.parts().blocks {
            Some(blocks) => assert_eq!(blocks.maxima, highest(usize::try_from(blocks.points).unwrap())),
            None => assert!(all.len() < 64),
        }
        all.sort_unstable();
        let mut plain = Histogram::new();
        for &v in &all {
            plain.record(v, 1).unwrap();
        }
        let c = Corrected::exact(d).unwrap();
        assert_eq!(Some(c.count()), d.parts().expected.map(|n| n - d.dropped()));
        assert_eq!(c.histogram, plain);
        assert_eq!((c.min, c.max), (all[0], all[all.len() - 1]));
        let Moments::Exact { sum, .. } = d.parts().moments else { panic!("{d:?}") };
        let passed = d.passed().map_or(0, |p| p.sum);
        assert_eq!(sum + passed, all.iter().map(|&v| u128::from(v)).sum::<u128>());
    }

    #[test]
    fn what_a_stall_hides_comes_back() {
        // Nine of ten points 10 us late, then one 1.5 ms: of 10,000 points a millisecond apart, 909 are passed over,
        // each 500 us late.
        let mut latencies = [10_000; 10];
        latencies[9] = 1_500_000;
        let d = run(&latencies, 1_000_000, 10_000);
        assert_eq!((d.count(), d.missed()), (9_091, 909));
        assert_eq!(d.passed().map(|p| (p.min, p.max)), Some((500_000, 500_000)));
        is_the_truth(&d, truth(&latencies, 1_000_000, 10_000));
        let c = d.corrected_percentiles();
        assert_eq!((d.percentiles()["p90"], c["p90"]), (10_007, 500_223), "10 us and 500 us to within their slots");
        let rule = Corrected::by_rule(&d, 1_000_000).unwrap().unwrap();
        assert_eq!(rule.value_at("p90".parse().unwrap()), Some(10_007), "the rule puts none back");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_500))]

        /// Brute force: the corrected view contains exactly the time that each point waited.
        #[test]
        fn the_corrected_view_is_what_each_point_waited(
            interval in 1_000u64..2_000_000, points in 1u64..600,
            wakes in prop::collection::vec((0u64..1_000, 0u64..20, 0u64..3_000), 1..30),
        ) {
            // Mostly in time, some late by a few intervals or by thousands.
            let latency = |&(in_time, kind, far): &(u64, u64, u64)| match kind {
                0 => interval * far + in_time * interval / 1_000,
                1 | 2 => interval * (far % 5) + in_time,
                _ => in_time * interval / 1_000,
            };
            let latencies: Vec<u64> = wakes.iter().map(latency).collect();
            is_the_truth(&run(&latencies, interval, points), truth(&latencies, interval, points));
        }
    }

    #[test]
    fn however_long_a_run_is_it_has_64_to_128_blocks() {
        for (points, blocks) in
            [(63, None), (64, Some((64, 1))), (8_191, Some((64, 127))), (8_192, Some((128, 64))), (1_000_000, Some((8_192, 122)))]
        {
            // Some pass over a few points, one in 5,000 passes over many.
            let latencies: Vec<u64> = (0..5_000u64).map(|i| if i == 4_999 { 300_000_000 } else { i * 7_919 % 3_000_000 }).collect();
            let d = run(&latencies, 1_000_000, points);
            assert_eq!(d.parts().blocks.as_ref().map(|b| (b.points, b.maxima.len())), blocks, "{points}");
            is_the_truth(&d, truth(&latencies, 1_000_000, points));
        }
    }

    proptest! {
        #[test]
        fn an_injected_distribution_comes_back(mut latencies in prop::collection::vec(0u64..90_000_000, 1..400)) {
            let d = run(&latencies, 100_000_000, latencies.len() as u64);
            prop_assert_eq!((d.count(), d.missed()), (latencies.len() as u64, 0));
            latencies.sort_unstable();
            for p in ["p1", "p25", "p50", "p75", "p90", "p99", "p99.9", "p100"] {
                let q: Quantile = p.parse().unwrap();
                if let Some(got) = d.value_at(q) {
                    let want = latencies[usize::try_from(q.rank(d.count())).unwrap() - 1];
                    prop_assert!(got >= want && got - want <= want / 1000, "{}: {} for {}", p, got, want);
                }
            }
        }

        #[test]
        fn a_late_task_misses_and_the_counts_add_up(latencies in prop::collection::vec(0u64..5_000_000, 1..50), points in 1u64..3_000) {
            let d = run(&latencies, 1_000_000, points);
            prop_assert_eq!(d.count() + d.missed(), points);
        }
    }

    #[test]
    fn a_latency_above_the_limit_breaks_the_run() {
        let mut grid = Grid::new(1_000, 1_000, 100);
        let mut sampler = Sampler::new(1, None, false);
        let until = LoopLimits { samples: &FOREVER, break_above: 50 };
        let ended = sample(&mut Fake::new(Arc::from([10, 20, 60, 5])), &mut grid, &mut sampler, 0, &until);
        assert!(matches!(ended, LoopEnd::Broken { latency: 60, .. }) && sampler.count() == 3, "{ended:?}");
    }

    #[test]
    fn loops_count_samples() {
        let mut grid = Grid::new(1_000, 1_000, u64::MAX);
        let mut sampler = Sampler::new(1, None, false);
        let until = LoopLimits { samples: &AtomicU64::new(5), break_above: u64::MAX };
        assert_eq!(sample(&mut Fake::new(Arc::from([2_500])), &mut grid, &mut sampler, 0, &until), LoopEnd::Complete);
        assert_eq!((sampler.count(), grid.missed()), (5, 10));
    }

    #[test]
    fn only_a_latency_above_the_limit_breaks_the_run() {
        let (mut grid, mut sampler) = (Grid::new(1_000, 1_000, 4), Sampler::new(1, None, false));
        let until = LoopLimits { samples: &FOREVER, break_above: 50 };
        let ended = sample(&mut Fake::new(Arc::from([20, 50])), &mut grid, &mut sampler, 0, &until);
        assert_eq!((ended, sampler.count()), (LoopEnd::Complete, 4));
    }

    /// Successive wake-ups: whether the sleep was complete, and the time then.
    struct Wakes(std::vec::IntoIter<(bool, u64)>, u64);

    impl Clock for Wakes {
        fn sleep_until(&mut self, _: u64) -> bool {
            let (slept, now) = self.0.next().unwrap();
            self.1 = now;
            slept
        }

        fn now(&mut self) -> u64 {
            self.1
        }
    }

    fn woken(wakes: Vec<(bool, u64)>, samples: u64, points: u64) -> (LoopEnd, Grid, Sampler) {
        let (mut grid, mut sampler) = (Grid::new(1_000, 1_000, points), Sampler::new(8, None, false).on_grid(1_000));
        let until = LoopLimits { samples: &AtomicU64::new(samples), break_above: u64::MAX };
        let ended = sample(&mut Wakes(wakes.into_iter(), 0), &mut grid, &mut sampler, 0, &until);
        (ended, grid, sampler)
    }

    #[test]
    fn a_signal_that_stops_nothing_is_slept_over() {
        let (ended, grid, sampler) = woken(vec![(false, 400), (true, 1_007), (false, 1_500), (true, 2_003)], 9, 2);
        assert_eq!((ended, grid.missed(), sampler.count()), (LoopEnd::Complete, 0, 2));
        assert_eq!(sampler.finish(|_| ()).unwrap().max(), Some(7));
    }

    #[test]
    fn a_thread_that_is_stopped_in_its_sleep_has_missed_what_passed_meanwhile() {
        let (ended, grid, sampler) = woken(vec![(false, 3_200)], 0, 10);
        assert_eq!((ended, grid.missed(), grid.next(), sampler.count()), (LoopEnd::Stopped, 3, 4_000, 0));
        assert_eq!(sampler.live().missed.load(Relaxed), 3);
    }

    #[test]
    fn a_thread_that_is_told_to_stop_ends_with_its_next_sample() {
        let (ended, grid, sampler) = woken(vec![(true, 1_007)], 0, 10);
        assert_eq!((ended, grid.next(), sampler.count()), (LoopEnd::Stopped, 2_000, 1));
    }

    #[test]
    fn a_wake_up_before_its_time_is_no_sample() {
        let (ended, grid, sampler) = woken(vec![(true, 999), (true, 1_000), (true, 2_500)], 9, 2);
        assert_eq!((ended, grid.missed(), sampler.count()), (LoopEnd::Complete, 0, 2));
        let d = sampler.finish(|_| ()).unwrap();
        assert_eq!((d.parts().spurious, d.min(), d.max()), (1, Some(0), Some(500)));
    }

    #[test]
    fn missed_points_are_shown_while_the_run_goes_on() {
        let (ended, grid, sampler) = woken(vec![(true, 3_500), (true, 4_001)], 2, 10);
        assert_eq!((ended, grid.missed(), sampler.live().missed.load(Relaxed)), (LoopEnd::Complete, 2, 2));
    }

    #[test]
    fn the_kernel_sleeps_until_the_time_that_it_tells() {
        let before = rt::now();
        let at = MonotonicClock.now() + 1_000_000;
        assert!((before + 1_000_000..=rt::now() + 1_000_000).contains(&at));
        assert!(MonotonicClock.sleep_until(at));
        assert!(MonotonicClock.now() >= at);
    }

    #[test]
    fn a_signal_ends_the_kernels_sleep() {
        rt::install_wake().unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let sleeper = std::thread::spawn(move || {
            tell.send(rt::tid()).unwrap();
            MonotonicClock.sleep_until(rt::now() + 600_000_000_000)
        });
        let tid = told.recv().unwrap();
        while !sleeper.is_finished() {
            rt::wake_thread(tid); // again, for it may not sleep yet
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert!(!sleeper.join().unwrap(), "it slept to the end");
    }
}
