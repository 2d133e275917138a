//! The samples of a wave: its jitter and how it keeps to its grid.
//!
//! Jitter is the interval between two edges minus the semi-period. It has a sign, but a record's histograms are unsigned and have
//! their finest buckets near zero, where jitter is. So each edge has two distributions of the jitter's amount: `late` (zero and
//! above) and `early` (below zero). Both merge exactly and keep their resolution, and no table or percentile can lose the sign. A
//! shifted histogram would have its resolution at the semi-period: 10 us at 10 ms.

use crate::edge::Edge;
use crate::outcome::{LABELS, Sink, StimulusOutcome};
use crate::phase::PhaseSampler;
use crate::sampler::{LiveCell, Sampler};
use rtscope_record::lines::{GridError, Phase};
use rtscope_record::{Distribution, DistributionError, DistributionParts};
use std::sync::Arc;

/// Samples and counters of one edge.
#[derive(Debug)]
struct Side {
    late: Sampler,
    early: Sampler,
    missed: u64,
    dropped: u64,
}

/// The samples of a wave's edges, and how the wave keeps to its grid.
#[derive(Debug)]
pub struct WaveSampler {
    /// Falling, rising.
    sides: [Side; 2],
    warmup: PhaseSampler,
    warmups: u64,
    semi_period: u64,
    start: u64,
    intervals: u64,
    last: Option<Edge>,
    /// The latest point of the wave's own grid, ns.
    phase: u64,
    /// How late each of the last four edges was against that grid, ns. The grid follows the least of them: an early edge at once,
    /// a drift (up to a fifth of the semi-period) after some edges, a single late edge not at all.
    late: [i64; 4],
    /// Set after an edge that came shortly before a grid point, with points missed before it: it may belong to that point, or be
    /// very late for the one before. The edge's level; the next edge decides.
    doubtful: Option<bool>,
    grid: Option<Fit>,
}

/// The wave against the grid that begins at its first edge. `x` is the number of a grid point, `y` the error there in ns.
#[derive(Debug, Clone, Copy, Default)]
struct Fit {
    first: u64,
    /// Grid points since `first`.
    at: u64,
    min: i64,
    max: i64,
    last: i64,
    n: i128,
    x: i128,
    xx: i128,
    y: i128,
    xy: i128,
    jitter: i128,
    jitters: i128,
}

impl WaveSampler {
    /// A sampler for a wave with this semi-period in ns. It keeps the `worst` highest samples and reports the first `warmups`
    /// intervals separately.
    pub fn new(semi_period: u64, worst: u32, warmups: u64) -> Self {
        let sampler = || Sampler::new(worst, None, false);
        let side = || Side { late: sampler(), early: sampler(), missed: 0, dropped: 0 };
        let sides = [side(), side()];
        let warmup = PhaseSampler::new(warmups);
        Self {
            sides,
            warmup,
            warmups,
            semi_period,
            start: 0,
            intervals: 0,
            last: None,
            phase: 0,
            late: [0; 4],
            doubtful: None,
            grid: None,
        }
    }

    /// Intervals so far, including the warm-up.
    pub fn intervals(&self) -> u64 {
        self.intervals
    }

    /// The nominal semi-period of the wave, ns.
    pub fn semi_period(&self) -> u64 {
        self.semi_period
    }

    /// The times of worst samples count from `start`, ns.
    pub fn start_at(&mut self, start: u64) {
        self.start = start;
    }

    /// What the times of worst samples count from, ns.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Live figures with their labels.
    pub fn live(&self) -> Vec<(&'static str, Arc<LiveCell>)> {
        let [falling, rising] = &self.sides;
        vec![
            ("rising late", rising.late.live()),
            ("rising early", rising.early.live()),
            ("falling late", falling.late.live()),
            ("falling early", falling.early.live()),
        ]
    }

    /// Books an edge; returns whether edges were lost before it. The loop calls this: no allocation.
    pub fn take(&mut self, edge: Edge) -> bool {
        let Some(last) = self.last.replace(edge) else {
            self.phase = edge.at;
            return edge.lost > 0;
        };
        self.intervals += 1;
        let interval = edge.at.saturating_sub(last.at);
        // A line that can't report losses shows them as two edges to the same level.
        let lost = edge.lost > 0 || edge.level == last.level;
        let (points, phase) = (self.points_to(edge.at), self.phase);
        let jitter = signed(interval) - signed(self.semi_period);
        if self.intervals <= self.warmups {
            let outcome = StimulusOutcome::Answered { level: edge.level, latency: jitter.unsigned_abs(), at: edge.at };
            self.warmup.take(self.intervals, if lost { StimulusOutcome::Missed { level: edge.level } } else { outcome });
            return lost;
        }
        let fit = self.grid.get_or_insert(Fit { first: last.at, ..Fit::default() });
        fit.take(points, edge.at, self.semi_period);
        let side = &mut self.sides[usize::from(edge.level)];
        if lost {
            side.dropped += 1;
            return lost;
        }
        fit.jitter += i128::from(jitter);
        fit.jitters += 1;
        let sampler = if jitter < 0 { &mut side.early } else { &mut side.late };
        // A wave that ran before the measurement may have left edges on the line that are older than `start`.
        sampler.record(jitter.unsigned_abs(), edge.at.max(self.start), self.start);
        if points > 1 {
            side.missed += points - 1;
            side.late.show_missed(side.missed);
            // No later than the edges before: it may be early for its point, or late for the one before by most of a semi-period.
            self.doubtful = (phase == edge.at).then_some(edge.level);
        }
        lost
    }

    /// How many grid points lie between the previous edge and this one at `at`, counting this one's own. An edge that is late by
    /// less than nine tenths of a semi-period counts as one point. Returns 0 if the previous edge had taken this edge's point.
    fn points_to(&mut self, at: u64) -> u64 {
        let since = at.saturating_sub(self.phase);
        if let Some(level) = self.doubtful.take().filter(|_| since < self.semi_period / 2) {
            self.sides[usize::from(level)].missed -= 1;
            (self.phase, self.late) = (at, [0; 4]);
            return 0;
        }
        let points = ((since + self.semi_period / 10) / self.semi_period).max(1);
        let due = self.phase + points * self.semi_period;
        self.late.rotate_left(1);
        self.late[3] = signed(at) - signed(due);
        let least = self.late.into_iter().min().unwrap_or(0);
        self.late.iter_mut().for_each(|l| *l -= least);
        self.phase = due.saturating_add_signed(least);
        points
    }

    /// The distributions, the figures of the warm-up, and the wave against its grid.
    #[allow(clippy::type_complexity)] // three results of one operation
    pub fn finish(
        self,
        complete: impl Fn(&mut DistributionParts),
    ) -> Result<(Vec<Distribution>, Option<Phase>, Option<GridError>), DistributionError> {
        let [falling, rising] = self.sides;
        let mut all = Vec::new();
        for (side, label) in [(rising, LABELS[1]), (falling, LABELS[0])] {
            let (missed, dropped) = (side.missed, side.dropped);
            all.push(side.late.finish(|p| {
                p.label = format!("{label} late");
                (p.missed, p.dropped) = (missed, dropped);
                p.expected = Some(p.count + missed + dropped);
                complete(p);
            })?);
            all.push(side.early.finish(|p| {
                p.label = format!("{label} early");
                p.expected = Some(p.count);
                complete(p);
            })?);
        }
        let semi_period = self.semi_period;
        Ok((all, (self.warmups > 0).then(|| self.warmup.finish()), self.grid.map(|g| g.finish(semi_period))))
    }
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

impl Fit {
    fn take(&mut self, points: u64, at: u64, semi_period: u64) {
        self.at += points;
        let due = i128::from(self.first) + i128::from(self.at) * i128::from(semi_period);
        let error = i64::try_from(i128::from(at) - due).unwrap_or(i64::MAX);
        self.min = self.min.min(error);
        self.max = self.max.max(error);
        self.last = error;
        let (x, y) = (i128::from(self.at), i128::from(error));
        self.n += 1;
        self.x += x;
        self.xx += x * x;
        self.y += y;
        self.xy += x * y;
    }

    fn finish(self, semi_period: u64) -> GridError {
        // Least squares: slope = (n Sxy - Sx Sy) / (n Sxx - Sx Sx), ns per semi-period.
        let (above, below) = (self.n * self.xy - self.x * self.y, self.n * self.xx - self.x * self.x);
        let slope = if below == 0 { 0.0 } else { above as f64 / below as f64 };
        #[allow(clippy::cast_possible_truncation)] // a drift beyond i64 does not occur
        let drift_ppb = (slope / semi_period as f64 * 1e9).round() as i64;
        let half = self.jitters.max(1) / 2;
        let mean = (self.jitter + if self.jitter < 0 { -half } else { half }) / self.jitters.max(1);
        let (min, max, last) = (self.min, self.max, self.last);
        GridError { points: self.at, min, max, last, drift_ppb, mean_jitter: i64::try_from(mean).unwrap_or(i64::MAX) }
    }
}

#[cfg(test)]
#[path = "wave_tests.rs"]
mod tests;
