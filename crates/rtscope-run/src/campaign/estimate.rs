//! Estimates how long the rest of a campaign takes, from the wall times of the runs that ended. Pure: reads no clock.

use super::matrix::Run;
use rtscope_record::Clock;
use std::time::Duration;

/// The known wall times of a campaign's runs.
#[derive(Debug)]
pub(super) struct Estimate<'a> {
    runs: &'a [Run],
    /// Wall times of the runs that are done, by index into `runs`.
    walls: Vec<(usize, Duration)>,
}

impl<'a> Estimate<'a> {
    pub(super) fn new(runs: &'a [Run]) -> Self {
        Self { runs, walls: Vec::new() }
    }

    pub(super) fn add(&mut self, index: usize, wall: Duration) {
        self.walls.push((index, wall));
    }

    /// Estimated time for `rest`: the remaining runs (indices), each with how long it has been under way. Runs in virtual time go
    /// `jobs` at a time. `None` if one of the runs can't be estimated yet.
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

    /// Whole wall time of a run: its span times the wall time per measured second of the most similar runs that are done. In
    /// virtual time this ratio depends on kernel and load, so runs of the same target, load and test are preferred; then of the
    /// same target and load; then of the same load; then any with the same clock.
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
        // In the machine's own time a run takes at least as long as it measures.
        let scale = scale.or((run.clock == Clock::Host).then_some(1.0))?;
        Duration::try_from_secs_f64(scale * run.test.span().as_secs_f64()).ok()
    }
}

#[cfg(test)]
#[path = "estimate_tests.rs"]
mod tests;
