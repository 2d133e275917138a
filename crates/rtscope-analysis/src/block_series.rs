//! The latencies of runs of one kind for studies of the tail: block maxima one after the other in the order of time, and all latencies, counted.

use crate::summary::machine_name;
use rtscope_record::correction::{Basis, Corrected};
use rtscope_record::{Histogram, Record, Verdict};
use std::collections::BTreeMap;

/// Block maxima of one CPU under one load on one target, over all runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockSeries {
    /// Target, machine, kernel, load, CPU and priority.
    pub name: String,
    /// Grid points of a block.
    pub points: u64,
    /// Interval of the grid, ns.
    pub interval: u64,
    /// Runs that they are of.
    pub runs: usize,
    /// How many of these are INVALID.
    pub invalid: usize,
    /// Highest latency of each block, ns, in the order of time; empty where the runs have no block maxima.
    pub maxima: Vec<u64>,
    /// All latencies: least and greatest value of each slot, ns, and how many; of all events where each is known, else of the samples.
    pub counted: Vec<(u64, u64, u64)>,
}

/// What makes runs alike: name, interval, and what is left of the points of a block when they are halved as often as possible. Blocks are
/// doubled as a run goes on, so that only those with the same rest can be made equally long.
type Kind = (String, u64, u64);

/// Block maxima as they are collected, record by record.
#[derive(Debug, Default)]
pub struct BlockTally {
    kinds: BTreeMap<Kind, Vec<Run>>,
    without: usize,
}

/// What a record has of block maxima.
#[derive(Debug)]
pub struct RecordBlocks(Vec<(Kind, Run)>);

impl RecordBlocks {
    /// Those of this record.
    pub fn of(record: &Record) -> Self {
        let (p, machine, invalid) = (record.parts(), machine_name(record), record.verdict() == Verdict::Invalid);
        let one = |d: &rtscope_record::Distribution| {
            let of = d.parts();
            let (blocks, thread) = (of.blocks.as_ref(), of.thread.clone().unwrap_or_default());
            let priority = thread.policy.map_or_else(String::new, |policy| format!("{policy} {}", thread.priority));
            let tuning = p.settings.tuning.to_string();
            let words = [&p.target, &machine, &p.system.kernel.release, &tuning, &p.load, &of.label, &priority];
            let name = words.into_iter().filter(|w| !w.is_empty()).cloned().collect::<Vec<_>>().join(", ");
            let points = blocks.map_or(0, |b| b.points);
            let rest = points.checked_shr(points.trailing_zeros()).unwrap_or(0);
            let maxima = blocks.map_or_else(Vec::new, |b| b.maxima.clone());
            let view = Corrected::of(p, d).filter(|c| c.basis == Basis::Events).map(|c| c.histogram);
            let histogram = view.unwrap_or_else(|| d.histogram().clone());
            let run = Run { started: p.started.clone(), invalid, points, maxima, histogram, resolution: of.resolution };
            ((name, thread.interval, rest), run)
        };
        Self(p.distributions.iter().filter(|d| d.count() > 0).map(one).collect())
    }
}

/// The blocks of a run.
#[derive(Debug)]
struct Run {
    started: String,
    invalid: bool,
    points: u64,
    maxima: Vec<u64>,
    histogram: Histogram,
    resolution: u64,
}

impl BlockTally {
    /// Takes a record's latencies.
    pub fn add(&mut self, blocks: RecordBlocks) {
        self.without += usize::from(blocks.0.iter().all(|(_, run)| run.maxima.is_empty()));
        for (kind, run) in blocks.0 {
            self.kinds.entry(kind).or_default().push(run);
        }
    }

    /// Records that had no block maxima.
    pub fn without(&self) -> usize {
        self.without
    }

    /// The series of all latencies, whatever their blocks: these are left out.
    pub fn latencies(mut self) -> Vec<BlockSeries> {
        for ((name, interval, _), mut runs) in std::mem::take(&mut self.kinds) {
            for r in &mut runs {
                (r.points, r.maxima) = (0, Vec::new());
            }
            self.kinds.entry((name, interval, 0)).or_default().extend(runs);
        }
        self.series()
    }

    /// The series. Blocks of shorter runs are put together until all of a series are equally long.
    pub fn series(self) -> Vec<BlockSeries> {
        let one = |((name, interval, _), mut runs): (Kind, Vec<Run>)| {
            runs.sort_by(|a, b| a.started.cmp(&b.started));
            let points = runs.iter().map(|r| r.points).max().unwrap_or(0);
            let longer = |r: &Run| usize::try_from(points / r.points.max(1)).unwrap_or(usize::MAX).max(1);
            let maxima = runs
                .iter()
                .flat_map(|r| r.maxima.chunks_exact(longer(r)).filter_map(|b| b.iter().max().copied()).collect::<Vec<_>>());
            let (maxima, counted) = (maxima.collect(), counted(&runs));
            let invalid = runs.iter().filter(|r| r.invalid).count();
            BlockSeries { maxima, counted, name, points, interval, runs: runs.len(), invalid }
        };
        self.kinds.into_iter().map(one).collect()
    }
}

/// All latencies of the runs, by slots that do not overlap.
fn counted(runs: &[Run]) -> Vec<(u64, u64, u64)> {
    let mut slots: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for run in runs {
        for (low, high, n) in run.histogram.iter() {
            // What was rounded down when it was measured may lie anywhere up to the next step.
            let high = high.saturating_add(1).max(low.saturating_add(run.resolution));
            let own = slots.entry((low, high)).or_insert(0);
            *own = own.saturating_add(n);
        }
    }
    let mut all: Vec<(u64, u64, u64)> = slots.into_iter().map(|((low, high), n)| (low, high, n)).collect();
    for i in 1..all.len() {
        all[i - 1].1 = all[i - 1].1.min(all[i].0.max(all[i - 1].0 + 1));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_record::{BlockMaxima, Distribution, Policy, RecordParts, ThreadInfo, fixtures};

    fn run(started: &str, points: u64, maxima: &[u64]) -> Record {
        let mut d = Distribution::from_samples("cpu0", maxima, 1).unwrap().into_parts();
        let expected = points * maxima.len() as u64;
        (d.expected, d.dropped) = (Some(expected), expected - d.count);
        d.blocks = Some(BlockMaxima { points, maxima: maxima.to_vec() });
        d.thread = Some(ThreadInfo { interval: 1_000, ..ThreadInfo::default() });
        let distributions = vec![Distribution::new(d).unwrap()];
        Record::new(RecordParts { started: started.into(), distributions, ..fixtures::parts() }).unwrap()
    }

    #[test]
    fn runs_follow_each_other_in_blocks_of_one_length() {
        let mut all = BlockTally::default();
        all.add(RecordBlocks::of(&run("2026-01-02T00:00:00Z", 128, &[7, 8])));
        all.add(RecordBlocks::of(&run("2026-01-01T00:00:00Z", 64, &[1, 5, 3, 2, 9])));
        all.add(RecordBlocks::of(&Record::new(fixtures::parts()).unwrap()));
        assert_eq!(all.without(), 1);
        let series = all.series();
        assert_eq!(series.len(), 1);
        assert_eq!((series[0].points, series[0].interval, series[0].runs), (128, 1_000, 2));
        assert_eq!(series[0].maxima, [5, 3, 7, 8], "the last of five fills no block");
        assert_eq!((series[0].name.as_str(), series[0].invalid), ("local, none, cpu0", 0));
        assert_eq!(series[0].counted.iter().map(|c| c.2).sum::<u64>(), 7);
        assert_eq!(series[0].counted[0], (1, 2, 1), "1, 5, 3, 2, 9 and 7, 8");
    }

    #[test]
    fn what_was_measured_differently_is_another_series() {
        let alike = || run("2026-01-01T00:00:00Z", 64, &[1, 2]).into_parts();
        let changed = |change: &dyn Fn(&mut RecordParts)| {
            let mut all = BlockTally::default();
            let mut other = alike();
            change(&mut other);
            for parts in [alike(), other] {
                all.add(RecordBlocks::of(&Record::new(parts).unwrap()));
            }
            all.series().len()
        };
        let distribution = |p: &mut RecordParts, change: &dyn Fn(&mut rtscope_record::DistributionParts)| {
            let mut d = p.distributions[0].clone().into_parts();
            change(&mut d);
            p.distributions = vec![Distribution::new(d).unwrap()];
        };
        assert_eq!(changed(&|_| ()), 1);
        assert_eq!(changed(&|p| p.load = "full".into()), 2);
        assert_eq!(changed(&|p| p.system.hostname = "board".into()), 2);
        assert_eq!(changed(&|p| distribution(p, &|d| d.thread.as_mut().unwrap().policy = Some(Policy::Fifo))), 2);
        assert_eq!(changed(&|p| distribution(p, &|d| d.blocks.as_mut().unwrap().points = 32)), 1);
        assert_eq!(changed(&|p| distribution(p, &|d| d.blocks.as_mut().unwrap().points = 48)), 2, "no doubled 64");
    }
}
