//! The absolute grid of wake-ups: the next point, and how many points were passed over. Pure arithmetic in ns.

use rtscope_samples::blocks::FIRST_BLOCK;
use rtscope_samples::passed::Passed;
use rtscope_samples::sampler::Sampler;

/// A thread's position on its grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    next: u64,
    interval: u64,
    /// The first point beyond the grid; `u64::MAX` without an end.
    end: u64,
    /// The first point beyond the block.
    block_end: u64,
    /// The lower one of both: one comparison serves both ends.
    pause: u64,
    missed: u64,
    /// The wake-up that passed over points last.
    woken: u64,
}

impl Grid {
    /// A grid whose first point is `first` and which ends after `points` points.
    pub fn new(first: u64, interval: u64, points: u64) -> Self {
        let end = interval.checked_mul(points).and_then(|l| l.checked_add(first)).unwrap_or(u64::MAX);
        let mut grid = Self { next: first, interval, end, block_end: first, pause: 0, missed: 0, woken: 0 };
        grid.begin_block(FIRST_BLOCK);
        grid
    }

    fn begin_block(&mut self, points: u64) {
        self.block_end = self.block_end.saturating_add(points.saturating_mul(self.interval));
        self.pause = self.block_end.min(self.end);
    }

    /// The point to sleep to.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Whether all points are behind.
    #[inline]
    pub fn done(&self) -> bool {
        self.next >= self.end
    }

    /// Whether all points of the block or of the grid are behind.
    #[inline]
    pub(super) fn pauses(&self) -> bool {
        self.next >= self.pause
    }

    /// Ends the blocks that are behind.
    #[cold]
    pub(super) fn end_blocks(&mut self, sampler: &mut Sampler) {
        while self.next >= self.block_end && self.block_end < u64::MAX {
            let begin = self.block_end;
            let points = sampler.end_block();
            self.begin_block(points);
            if self.next > begin {
                sampler.passed_in_block(self.woken.saturating_sub(begin));
            }
        }
    }

    /// Points passed over so far.
    #[inline]
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Advances from the point [`Self::next`], which was sampled at `now`, to the first point after `now`. Counts
    /// and books the points passed over, and returns whether there were any.
    #[inline]
    pub fn advance(&mut self, now: u64, passed: &mut Passed) -> bool {
        self.next += self.interval;
        now >= self.next && self.pass_over(now, passed)
    }

    /// Counts and books the points up to `now` as passed over without a sample. `next` becomes the first point after `now`.
    #[cold]
    pub fn pass_over(&mut self, now: u64, passed: &mut Passed) -> bool {
        if now < self.next || self.done() {
            return false;
        }
        let left = (self.end - self.next).div_ceil(self.interval);
        let behind = ((now - self.next) / self.interval + 1).min(left);
        passed.stall(now - self.next, behind);
        self.woken = now;
        self.missed += behind;
        self.next += behind * self.interval;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rtscope_record::PassedOver;

    #[test]
    fn a_stall_is_counted() {
        let (mut g, mut p) = (Grid::new(1_000, 1_000, 10), Passed::new(1_000));
        assert!(!g.advance(1_010, &mut p));
        assert!(g.advance(2_000 + 3_500, &mut p)); // sampled point 2000 at 5500: 3000, 4000 and 5000 were passed over
        assert_eq!((g.missed(), g.next()), (3, 6_000));
        assert_eq!(p.finish(), PassedOver::of_stalls([(2_500, 3)], 1_000));
    }

    #[test]
    fn a_point_reached_exactly_is_passed_over() {
        let (mut g, mut p) = (Grid::new(1_000, 1_000, 10), Passed::new(1_000));
        assert!(g.advance(2_000, &mut p));
        assert_eq!((g.missed(), g.next()), (1, 3_000));
    }

    #[test]
    fn nothing_is_missed_beyond_the_end() {
        let (mut g, mut p) = (Grid::new(1_000, 1_000, 5), Passed::new(1_000));
        assert!(g.advance(99_000, &mut p));
        assert_eq!((g.missed(), g.done()), (4, true));
        assert!(!g.pass_over(200_000, &mut p));
        assert_eq!(p.finish(), PassedOver::of_stalls([(97_000, 4)], 1_000));
    }

    proptest! {
        #[test]
        fn samples_and_missed_make_all_points(interval in 1u64..5_000, points in 1u64..500, late in prop::collection::vec(0u64..20_000, 500)) {
            let (mut g, mut p) = (Grid::new(interval, interval, points), Passed::none());
            let mut samples = 0;
            for l in late {
                if g.done() { break; }
                let due = g.next();
                g.advance(due + l, &mut p);
                samples += 1;
                prop_assert!(g.done() || (g.next() > due + l && g.next() - (due + l) <= interval));
                prop_assert_eq!((g.next() - interval) / interval, samples + g.missed());
            }
            prop_assert!(!g.done() || samples + g.missed() == points);
        }
    }

    #[test]
    fn before_its_time_no_point_is_passed_over() {
        let (mut g, mut p) = (Grid::new(1_000, 1_000, 5), Passed::new(1_000));
        assert!(!g.pass_over(999, &mut p));
        assert_eq!((g.next(), g.missed()), (1_000, 0));
        assert!(g.pass_over(1_000, &mut p));
        assert_eq!((g.next(), g.missed()), (2_000, 1));
        assert_eq!(p.finish(), PassedOver::of_stalls([(0, 1)], 1_000));
    }

    #[test]
    fn a_grid_beyond_all_time_has_no_end() {
        for points in [u64::MAX, u64::MAX / 1_000] {
            assert_eq!(Grid::new(1_000, 1_000, points).end, u64::MAX);
        }
        let g = Grid::new(1_000, 1_000, 0);
        assert!(g.done(), "without a point it ends before it begins");
    }
}
