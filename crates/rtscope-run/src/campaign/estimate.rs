//! How long the rest of a campaign will take, from the runs that ended. Pure: it is told how long they took.

use super::matrix::Run;
use rtscope_record::Clock;
use std::time::Duration;

/// What is known of a campaign's wall times.
#[derive(Debug)]
pub(super) struct Estimate<'a> {
    runs: &'a [Run],
    /// Wall time of runs that are done, by their place in `runs`.
    walls: Vec<(usize, Duration)>,
}

impl<'a> Estimate<'a> {
    pub(super) fn new(runs: &'a [Run]) -> Self {
        Self { runs, walls: Vec::new() }
    }

    pub(super) fn add(&mut self, index: usize, wall: Duration) {
        self.walls.push((index, wall));
    }

    /// For the runs that are left, each with how long it has been under way, `jobs` at a time where the clock is virtual. `None` while nothing
    /// can be said of one of them.
    pub(super) fn left(&self, rest: &[(usize, Duration)], jobs: usize) -> Option<Duration> {
        let (mut alone, mut together, mut longest) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        for &(index, under_way) in rest {
            let left = self.whole(&self.runs[index])?.saturating_sub(under_way);
            if self.runs[index].is_exclusive() {
                alone += left;
            } else {
                together += left;
                longest = longest.max(left);
            }
        }
        let jobs = u32::try_from(jobs.max(1)).unwrap_or(u32::MAX);
        Some(alone + longest.max(together / jobs))
    }

    /// A run's whole wall time: as long as the likest that are done took for each second measured. How long a second in virtual time takes depends
    /// on kernel and load, so the likest are those of the same target and load, then of the load, then of the clock.
    fn whole(&self, run: &Run) -> Option<Duration> {
        let alike: [&dyn Fn(&Run) -> bool; 4] = [
            &|r| r.target == run.target && r.load == run.load && r.test == run.test,
            &|r| r.target == run.target && r.load == run.load,
            &|r| r.load == run.load,
            &|_| true,
        ];
        let scale = alike.iter().find_map(|alike| {
            let of = |&&(i, _): &&(usize, Duration)| self.runs[i].clock == run.clock && alike(&self.runs[i]);
            let (walls, spans) = self.walls.iter().filter(of).fold((0.0, 0.0), |(walls, spans), (i, wall)| {
                (walls + wall.as_secs_f64(), spans + self.runs[*i].test.span().as_secs_f64())
            });
            (spans > 0.0).then(|| walls / spans)
        });
        // In the machine's own time a run takes as long as it measures, at least.
        let scale = scale.or((run.clock == Clock::Host).then_some(1.0))?;
        Duration::try_from_secs_f64(scale * run.test.span().as_secs_f64()).ok()
    }
}

#[cfg(test)]
#[path = "estimate_tests.rs"]
mod tests;
