//! A figure of several runs on each of two sides: its ratio with an interval, the noise of the first side, and a word.
//!
//! Runs are the replicates: however samples of a run depend on each other, whole runs do not. Two intervals are computed and the outer ends
//! taken: Welch's, which holds for few runs, and that of a bootstrap that draws runs, and blocks within each run, which needs no
//! normal distribution.

use super::power::{FEWEST_RUNS, Level, Spread, runs_for};
use super::two_samples::two_samples;
use crate::seeded::Seeded;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// What is asked of runs that are too few: to show this ratio.
const WANTED: f64 = 1.2;
/// Runs a side to take where nothing tells how much runs vary.
const USUAL: usize = 5;
/// Replicates of the bootstrap; of many runs, for which it gives what Welch's interval does, fewer.
const REPLICATES: [usize; 2] = [4_000, 1_000];
/// So many runs are many.
const MANY: usize = 400;
/// Relative error of a figure as a floating-point number, with what sums add to it.
const FLOATS: f64 = 1e-12;
/// Medians of resampled blocks that are made of each run, for the bootstrap to draw from; of many runs fewer, down to 8.
const MEDIANS: usize = 128;

/// One side: a figure of each of its runs.
#[derive(Debug, Clone, Copy)]
pub struct Runs<'a> {
    /// The figure of each run; finite.
    pub values: &'a [f64],
    /// The values of which each figure is the median, such as block maxima; empty where the figure is something else.
    pub blocks: &'a [Vec<f64>],
    /// Step to which the figures were rounded; 0 where exact. Runs do not average this out: the interval is as much wider.
    pub step: f64,
}

/// What the interval is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// B over A, of the geometric means of the runs.
    Ratio,
    /// B minus A, of their means: where a figure is 0 or below.
    Difference,
}

/// What can be said of B against A; a lower figure is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "word")]
pub enum Word {
    /// B is lower: the interval lies below 1 (a difference: 0) and below the noise.
    Better,
    /// B is higher: the interval lies above both.
    Worse,
    /// The interval does not clear the noise.
    NoDifference,
    /// Fewer than three runs on a side.
    TooFew {
        /// Take so many a side, with which a difference of 20 % is shown in nine of ten cases.
        runs: usize,
    },
}

/// A figure of B against that of A.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// What the following figures are of.
    pub scale: Scale,
    /// The mean of A's runs (geometric, of a ratio).
    pub a: f64,
    /// The mean of B's runs.
    pub b: f64,
    /// B over A, or B minus A.
    pub estimate: f64,
    /// Its interval; `None` where a side has one run.
    pub interval: Option<[f64; 2]>,
    /// The middle half of what A gives against itself, drawn anew as often as there are runs; `None` where A has one run.
    pub noise: Option<[f64; 2]>,
    /// Cliff's delta of B's runs against A's: 1 if each is higher than each of A's.
    pub delta: f64,
    /// The word.
    #[serde(flatten)]
    pub word: Word,
    /// Runs a side with which a ratio of 1.2 is shown in nine of ten cases; `None` where that is not known, or of a difference.
    pub runs_for_20_percent: Option<usize>,
}

/// Compares a figure of A's runs with that of B's. `None` where a side has no runs.
///
/// ```
/// use rtscope_statistics::replicates::{Level, Runs, Word, difference};
/// let runs = |values| Runs { values, blocks: &[], step: 0.0 };
/// let level = Level { confidence: 0.95, rows: 1, seed: 1 };
/// let stock = [36.0, 35.1, 37.2, 35.8, 36.6];
/// let rt = [6.5, 6.6, 6.4, 6.9, 6.5];
/// assert_eq!(difference(runs(&stock), runs(&rt), level).unwrap().word, Word::Better);
/// assert_eq!(difference(runs(&stock), runs(&stock), level).unwrap().word, Word::NoDifference);
/// ```
pub fn difference(a: Runs<'_>, b: Runs<'_>, level: Level) -> Option<Difference> {
    if a.values.is_empty() || b.values.is_empty() {
        return None;
    }
    let positive = [a, b].iter().all(|s| s.values.iter().chain(s.blocks.iter().flatten()).all(|v| *v > 0.0));
    let scale = if positive { Scale::Ratio } else { Scale::Difference };
    let mut random = Seeded::new(level.seed);
    let (of_a, of_b) = (Means::of(a, scale, &mut random), Means::of(b, scale, &mut random));
    let back = |v: f64| if scale == Scale::Ratio { v.exp() } else { v };
    let estimate = of_b.mean - of_a.mean;
    let (bootstrap, noise) = of_a.against(&of_b, level.risk(), &mut random);
    let rounding = of_a.rounding + of_b.rounding;
    let interval = of_a.welch(&of_b, level.risk()).map(|half| {
        let ends = [estimate - half, estimate + half];
        let [low, high] = bootstrap.map_or(ends, |[low, high]| [ends[0].min(low), ends[1].max(high)]);
        [low - rounding, high + rounding]
    });
    let spread = Spread::of(of_a.spread(), of_b.spread()).filter(|_| scale == Scale::Ratio);
    let needed = spread.and_then(|s| runs_for(s, WANTED, level));
    let word = match (interval, noise) {
        _ if a.values.len().min(b.values.len()) < FEWEST_RUNS => Word::TooFew { runs: needed.unwrap_or(USUAL).max(USUAL) },
        (Some([_, high]), Some([below, _])) if high < below.min(0.0) => Word::Better,
        (Some([low, _]), Some([_, above])) if low > above.max(0.0) => Word::Worse,
        _ => Word::NoDifference,
    };
    Some(Difference {
        scale,
        a: back(of_a.mean),
        b: back(of_b.mean),
        estimate: back(estimate),
        interval: interval.map(|ends| ends.map(back)),
        noise: noise.map(|ends| ends.map(back)),
        delta: two_samples(b.values, a.values).map_or(0.0, |found| found.cliff.delta),
        word,
        runs_for_20_percent: needed,
    })
}

/// One side on the scale of the comparison: logarithms for a ratio.
struct Means {
    /// The figure of each run.
    of_runs: Vec<f64>,
    /// Of each run: what its figure is when its blocks are drawn anew; the figure itself where there are none.
    drawn: Vec<Vec<f64>>,
    mean: f64,
    /// Variance of the runs.
    variance: f64,
    /// By how much rounding may have moved the mean.
    rounding: f64,
}

impl Means {
    fn of(side: Runs<'_>, scale: Scale, random: &mut Seeded) -> Self {
        let on = |v: f64| if scale == Scale::Ratio { v.ln() } else { v };
        let of_runs: Vec<f64> = side.values.iter().map(|v| on(*v)).collect();
        let n = of_runs.len() as f64;
        let mean = of_runs.iter().sum::<f64>() / n;
        let half = side.step / 2.0;
        let rounded = |v: &f64| if scale == Scale::Ratio { -(-(half / v).min(0.999)).ln_1p() } else { half };
        // The floating-point numbers themselves are rounded too.
        let rounding =
            side.values.iter().map(|v| rounded(v) + FLOATS * if scale == Scale::Ratio { 1.0 } else { v.abs() }).sum::<f64>() / n;
        let variance = of_runs.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        let medians = (64 * MEDIANS / of_runs.len()).clamp(8, MEDIANS);
        let again = |run: &Vec<f64>| (0..medians).map(|_| on(median_of_drawn(run, random))).collect();
        let drawn = if side.blocks.len() == of_runs.len() && side.blocks.iter().all(|b| !b.is_empty()) {
            side.blocks.iter().map(again).collect()
        } else {
            of_runs.iter().map(|v| vec![*v]).collect()
        };
        Self { of_runs, drawn, mean, variance, rounding }
    }

    fn count(&self) -> usize {
        self.of_runs.len()
    }

    /// Variance between runs and its degrees of freedom.
    fn spread(&self) -> (f64, usize) {
        (self.variance, self.count() - 1)
    }

    /// Half the width of the interval of Welch 1947 for the difference of the means. `None` where a side has one run.
    fn welch(&self, other: &Self, risk: f64) -> Option<f64> {
        if self.count().min(other.count()) < 2 {
            return None;
        }
        let parts = [self, other].map(|m| m.variance / m.count() as f64);
        let sum = parts[0] + parts[1];
        if sum <= 0.0 {
            return Some(0.0);
        }
        let freedom =
            sum * sum / (parts[0].powi(2) / (self.count() as f64 - 1.0) + parts[1].powi(2) / (other.count() as f64 - 1.0));
        let t = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(1.0 - risk / 2.0);
        Some(t * sum.sqrt())
    }

    /// The mean of `n` runs, drawn with replacement, each with its blocks drawn anew.
    fn draw(&self, n: usize, random: &mut Seeded) -> f64 {
        let one = |_| {
            let run = &self.drawn[random.below(self.drawn.len())];
            run[random.below(run.len())]
        };
        (0..n).map(one).sum::<f64>() / n as f64
    }

    /// The bootstrap's interval for the difference of the means, and the middle half of this side against itself.
    fn against(&self, other: &Self, risk: f64, random: &mut Seeded) -> (Option<[f64; 2]>, Option<[f64; 2]>) {
        let (n, m) = (self.count(), other.count());
        let replicates = REPLICATES[usize::from(n + m > MANY)];
        let mut ends = |of: &mut dyn FnMut(&mut Seeded) -> f64, outside: f64| {
            let mut all: Vec<f64> = (0..replicates).map(|_| of(random)).collect();
            all.sort_by(f64::total_cmp);
            [all[at(outside / 2.0, replicates)], all[at(1.0 - outside / 2.0, replicates)]]
        };
        let interval = (n.min(m) > 1).then(|| ends(&mut |r| other.draw(m, r) - self.draw(n, r), risk));
        let noise = (n > 1).then(|| ends(&mut |r| self.draw(m, r) - self.draw(n, r), 0.5));
        (interval, noise)
    }
}

/// The place of a quantile among the replicates.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // from 0 to the number of replicates
fn at(quantile: f64, replicates: usize) -> usize {
    ((quantile * replicates as f64) as usize).min(replicates - 1)
}

fn median_of_drawn(values: &[f64], random: &mut Seeded) -> f64 {
    let mut drawn: Vec<f64> = (0..values.len()).map(|_| values[random.below(values.len())]).collect();
    let middle = drawn.len() / 2;
    let (below, upper, _) = drawn.select_nth_unstable_by(middle, f64::total_cmp);
    if values.len() % 2 == 1 { *upper } else { f64::midpoint(*upper, below.iter().copied().fold(f64::NEG_INFINITY, f64::max)) }
}

#[cfg(test)]
#[path = "difference_tests.rs"]
mod tests;
