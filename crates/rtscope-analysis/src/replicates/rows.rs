//! The rows of a comparison of runs: each figure of both sides, its ratio with an interval, and a word.

use super::run::{Blocks, Kept, Run};
use crate::finding::{Finding, finding};
use rtscope_statistics::replicates::{Difference, Level, Runs, Scale, Spread, Word, difference};
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The figures that are compared, by their names.
pub const METRICS: [&str; 5] = ["mean", "p50", "p99", "p99.9", "block-max"];
/// Confidence that all intervals of a comparison hold together.
const CONFIDENCE: f64 = 0.95;
/// Of the bootstrap.
const SEED: u64 = 1;
/// Fewest blocks of a run whose median is compared.
const FEWEST_BLOCKS: usize = 8;

/// Two sets of runs under one load.
pub(crate) struct Question<'a> {
    pub(crate) load: String,
    pub(crate) model: Option<u32>,
    pub(crate) sides: [&'a Kept; 2],
}

/// The runs of two sides under one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadRuns {
    /// Name of the load.
    pub load: String,
    /// The time model, in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<u32>,
    /// Runs of A and of B that count.
    pub runs: [usize; 2],
    /// All runs of A and of B: of more than 1000 those that count are every second, fourth ...
    pub of: [usize; 2],
    /// INVALID runs of A and of B, which do not count.
    pub invalid: [usize; 2],
    /// Runs of A and of B that are another run again, of the same seed or file and bit by bit: they do not count.
    pub again: [usize; 2],
    /// Figures are of all events that were expected; otherwise of the samples, because not each run knows its other events.
    pub corrected: bool,
    /// Both sides are the same runs bit by bit, seed by seed.
    pub identical: bool,
    /// Length of a block, ns; `None` where there are no block maxima.
    pub block_ns: Option<u64>,
    /// Confidence that all intervals of the comparison hold together.
    pub confidence: f64,
    /// Confidence of each of them.
    pub each: f64,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// The figures.
    pub rows: Vec<RunRow>,
    /// The maximum of each run of A and of B, ns.
    pub maxima: [Vec<f64>; 2],
}

/// A figure of both sides; times in ns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunRow {
    /// One of [`METRICS`].
    pub metric: &'static str,
    /// The difference.
    #[serde(flatten)]
    pub difference: Difference,
}

/// A figure of each run of both sides, and their blocks.
struct Figures<'a> {
    metric: &'static str,
    values: [Vec<f64>; 2],
    blocks: [&'a [Vec<f64>]; 2],
    step: [f64; 2],
}

/// What is known of a question before it is known how many rows there are.
struct Counted<'a> {
    question: &'a Question<'a>,
    kept: [Vec<&'a Run>; 2],
    invalid: [usize; 2],
    again: [usize; 2],
    corrected: bool,
    blocks: Option<(u64, [Vec<Vec<f64>>; 2])>,
}

/// Answers to all questions, whose intervals hold together.
pub(crate) fn answers(questions: &[Question<'_>]) -> Vec<LoadRuns> {
    let counted: Vec<Counted<'_>> = questions.iter().map(Counted::of).collect();
    let figures: Vec<Vec<Figures<'_>>> = counted.iter().map(Counted::figures).collect();
    let rows = figures.iter().map(Vec::len).sum::<usize>();
    let level = Level { confidence: CONFIDENCE, rows, seed: SEED };
    counted.iter().zip(figures).map(|(c, figures)| c.answer(&figures, level)).collect()
}

/// How much the figures of runs under one load vary, for those that every run has. `None`: fewer than two runs.
pub(crate) fn spreads(runs: &Kept) -> Vec<(&'static str, Option<Spread>)> {
    let question = Question { load: String::new(), model: None, sides: [runs, runs] };
    let counted = Counted::of(&question);
    let of = |f: &Figures<'_>| {
        let logs: Vec<f64> = f.values[0].iter().filter(|v| **v > 0.0).map(|v| v.ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let variance = logs.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (logs.len() as f64 - 1.0);
        (f.metric, if logs.len() < 2 { None } else { Spread::of((variance, logs.len() - 1), (0.0, 0)) })
    };
    counted.figures().iter().map(of).collect()
}

impl<'a> Counted<'a> {
    fn of(question: &'a Question<'a>) -> Self {
        let (mut invalid, mut again) = ([0; 2], [0; 2]);
        let mut kept: [Vec<&Run>; 2] = [Vec::new(), Vec::new()];
        for (i, side) in question.sides.iter().enumerate() {
            for run in side.runs.iter().map(Arc::as_ref) {
                if run.invalid {
                    invalid[i] += 1;
                } else if kept[i].iter().any(|other| run.again(other)) {
                    again[i] += 1;
                } else {
                    kept[i].push(run);
                }
            }
        }
        let corrected = kept.iter().flatten().all(|r| r.corrected.is_some());
        let blocks = common_blocks(&kept);
        Self { question, kept, invalid, again, corrected, blocks }
    }

    /// The figures that every run of both sides has.
    fn figures(&self) -> Vec<Figures<'_>> {
        let mut all = Vec::new();
        for (i, metric) in METRICS.into_iter().take(4).enumerate() {
            let of = |r: &&Run| r.corrected.filter(|_| self.corrected).unwrap_or(r.raw)[i];
            let side = |runs: &[&Run]| runs.iter().map(of).collect::<Option<Vec<f64>>>();
            let (Some(a), Some(b)) = (side(&self.kept[0]), side(&self.kept[1])) else { continue };
            let step = [0, 1].map(|s: usize| {
                let values = if s == 0 { &a } else { &b };
                let each = self.kept[s].iter().zip(values).map(|(r, v)| if metric == "mean" { r.step } else { r.rounded(*v) });
                each.fold(0.0, f64::max)
            });
            all.push(Figures { metric, values: [a, b], blocks: [&[], &[]], step });
        }
        if let Some((_, [a, b])) = &self.blocks {
            let values = [a, b].map(|side| side.iter().map(|run| median(run)).collect());
            let step = [0, 1].map(|s: usize| self.kept[s].iter().map(|r| r.step).fold(0.0, f64::max));
            all.push(Figures { metric: METRICS[4], values, blocks: [a, b], step });
        }
        all.retain(|f| f.values.iter().all(|side| !side.is_empty()));
        all
    }

    fn answer(&self, figures: &[Figures<'_>], level: Level) -> LoadRuns {
        let row = |f: &Figures<'_>| {
            let side = |i: usize| Runs { values: &f.values[i], blocks: f.blocks[i], step: f.step[i] };
            Some(RunRow { metric: f.metric, difference: difference(side(0), side(1), level)? })
        };
        let [a, b] = &self.kept;
        LoadRuns {
            load: self.question.load.clone(),
            model: self.question.model,
            runs: [a.len(), b.len()],
            of: self.question.sides.map(|s| s.seen),
            invalid: self.invalid,
            again: self.again,
            corrected: self.corrected,
            identical: !a.is_empty() && a.len() == b.len() && a.iter().all(|r| b.iter().any(|o| o.again(r))),
            block_ns: self.blocks.as_ref().map(|b| b.0),
            confidence: level.confidence,
            each: 1.0 - (1.0 - level.confidence) / level.rows.max(1) as f64,
            seed: level.seed,
            rows: figures.iter().filter_map(row).collect(),
            maxima: [a, b].map(|side| side.iter().filter_map(|r| r.max).collect()),
        }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut all = values.to_vec();
    all.sort_by(f64::total_cmp);
    let middle = all.len() / 2;
    if all.len() % 2 == 1 { all[middle] } else { f64::midpoint(all[middle - 1], all[middle]) }
}

/// Block maxima of every run, of equally long blocks, and their length in ns. `None` unless each run has enough of them on grids alike.
fn common_blocks(kept: &[Vec<&Run>; 2]) -> Option<(u64, [Vec<Vec<f64>>; 2])> {
    let all: Vec<&Blocks> = kept.iter().flatten().flat_map(|r| &r.blocks).collect();
    let odd = |b: &Blocks| b.points >> b.points.trailing_zeros();
    // Blocks are doubled as a run goes on: only those that differ by doubling can be made equally long.
    let kinds: BTreeSet<(u64, u64)> = all.iter().map(|b| (b.interval, odd(b))).collect();
    let (points, interval) = (all.iter().map(|b| b.points).max()?, all.first()?.interval);
    if kinds.len() != 1 {
        return None;
    }
    let of_thread = |b: &Blocks| {
        let longer = usize::try_from(points / b.points.max(1)).unwrap_or(usize::MAX).max(1);
        b.maxima.chunks_exact(longer).filter_map(|c| c.iter().max().map(|m| *m as f64)).collect::<Vec<f64>>()
    };
    let of_run = |r: &&Run| r.blocks.iter().flat_map(of_thread).collect::<Vec<f64>>();
    let sides = [0, 1].map(|i: usize| kept[i].iter().map(of_run).collect::<Vec<Vec<f64>>>());
    let enough = sides.iter().flatten().all(|run| run.len() >= FEWEST_BLOCKS);
    enough.then(|| (points.saturating_mul(interval), sides))
}

/// What the reader of these answers must beware of. `names`: of the sides.
pub(crate) fn findings(all: &[LoadRuns], questions: &[Question<'_>], names: [&str; 2]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (i, name) in names.into_iter().enumerate() {
        let again = all.iter().map(|l| l.again[i]).sum::<usize>();
        if again > 0 {
            found.push(finding(
                "same-seed",
                format!("{again} runs of {name} are others again, of the same seed or file and bit by bit: they do not count"),
                "take another seed for each run: rtscope campaign does",
            ));
        }
    }
    // In host time, what drifts would look like a difference.
    let apart = questions.iter().filter(|q| {
        let host = q.sides.iter().all(|s| s.runs.len() > 1 && s.runs.iter().all(|r| r.seed.is_none()));
        let ends = q.sides.map(|s| (s.runs.iter().map(|r| &r.started).min(), s.runs.iter().map(|r| &r.started).max()));
        host && (ends[0].1 < ends[1].0 || ends[1].1 < ends[0].0)
    });
    let apart: Vec<&str> = apart.map(|q| q.load.as_str()).collect();
    if !apart.is_empty() {
        found.push(finding(
            "not-interleaved",
            format!(
                "under {} all runs of {} were taken before those of the other side, or after: what drifts in time looks like a difference",
                apart.join(", "),
                names[0]
            ),
            "take the runs of both sides in turn: rtscope campaign does",
        ));
    }
    found
}

impl LoadRuns {
    /// Whether a row fails `worse`: B is worse by more than `percent` in this metric (`None`: in any), or the runs can't tell.
    pub fn against(&self, metric: Option<&str>, percent: f64) -> Option<String> {
        if self.identical {
            return None;
        }
        let asked = self.rows.iter().filter(|r| metric.is_none_or(|m| m == r.metric));
        let one = |r: &RunRow| {
            let d = &r.difference;
            match d.word {
                Word::Worse if d.scale == Scale::Difference || d.estimate > 1.0 + percent / 100.0 => {
                    Some(format!("{} is worse", r.metric))
                }
                Word::TooFew { runs } => Some(format!("{}: too few runs, take {runs} a side", r.metric)),
                _ => None,
            }
        };
        let all: Vec<String> = asked.clone().filter_map(one).collect();
        if asked.count() == 0 {
            return Some(format!("load {}: not every run of both sides has {}", self.load, metric.unwrap_or("a figure")));
        }
        (!all.is_empty()).then(|| format!("load {}: {}", self.load, all.join(", ")))
    }
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
