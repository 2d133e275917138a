//! What a comparison keeps of a run: its figures and its block maxima.

use rtscope_record::correction::{Basis, Corrected};
use rtscope_record::{Clock, Distribution, Quantile, Record, Test, Verdict};
use std::sync::Arc;

/// The percentiles that are compared: p50, p99, p99.9.
const PERCENTILES: [Quantile; 3] = [Quantile::STANDARD[0], Quantile::STANDARD[3], Quantile::STANDARD[4]];
/// Part of a value by which a slot of the histogram is wide.
const SLOT: f64 = 1.0 / 1024.0;

/// Most runs of a side that are kept: beyond, intervals hardly narrow, and memory and time would grow with the archive.
const MOST: usize = 1000;

/// Runs of one side under one load: all, or every second, fourth ... of very many.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept {
    pub(crate) runs: Vec<Arc<Run>>,
    /// How many were added.
    pub(crate) seen: usize,
    /// One of 2^`halved` is kept.
    halved: u32,
}

impl Kept {
    /// With one run.
    pub(crate) fn one(run: Option<Run>) -> Self {
        let mut all = Self::default();
        if let Some(run) = run {
            all.push(&Arc::new(run));
        }
        all
    }

    pub(crate) fn push(&mut self, run: &Arc<Run>) {
        if self.seen.trailing_zeros() >= self.halved {
            self.runs.push(Arc::clone(run));
        }
        self.seen += 1;
        if self.runs.len() > MOST {
            let mut even = false;
            self.runs.retain(|_| {
                even = !even;
                even
            });
            self.halved += 1;
        }
    }

    pub(crate) fn extend(&mut self, more: &Self) {
        for run in &more.runs {
            self.push(run);
        }
    }
}

/// A run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Run {
    pub(crate) id: String,
    pub(crate) started: String,
    pub(crate) invalid: bool,
    /// The seed of a run in virtual time: the same seed gives the same run again.
    pub(crate) seed: Option<u64>,
    /// The file that an imported run is from, by its hash.
    pub(crate) file: Option<String>,
    /// Mean, p50, p99, p99.9 of the samples, ns; `None` where the samples do not support it.
    pub(crate) raw: [Option<f64>; 4],
    /// The same of all events that were expected; `None` where not each of them is known.
    pub(crate) corrected: Option<[Option<f64>; 4]>,
    /// Highest latency, ns.
    pub(crate) max: Option<f64>,
    /// Step to which latencies were rounded when they were measured, ns.
    pub(crate) step: f64,
    pub(crate) blocks: Vec<Blocks>,
}

/// Block maxima of one thread.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Blocks {
    /// Interval of its grid, ns.
    pub(crate) interval: u64,
    /// Grid points of a block.
    pub(crate) points: u64,
    pub(crate) maxima: Vec<u64>,
}

impl Run {
    /// [`Run::of`] with what is not known yet.
    #[cfg(test)]
    pub(crate) fn of_record(r: &Record) -> Option<Self> {
        Self::of(r, r.merged().ok().flatten().as_ref(), Corrected::of_record(r).as_ref())
    }

    /// `None` for a test whose figures are signed, and for a record without samples. `all`: its distributions merged; `view`: its corrected view.
    pub(crate) fn of(r: &Record, all: Option<&Distribution>, view: Option<&Corrected>) -> Option<Self> {
        let p = r.parts();
        if p.test == Test::Periodic {
            return None;
        }
        let all = all.filter(|d| d.count() > 0)?;
        let float = |v: Option<u64>| v.map(|v| v as f64);
        let [p50, p99, p99_9] = PERCENTILES.map(|q| float(all.value_at(q)));
        let events = view.filter(|c| c.basis == Basis::Events);
        let corrected = events.map(|c| {
            let [p50, p99, p99_9] = PERCENTILES.map(|q| float(c.value_at(q)));
            [c.mean, p50, p99, p99_9]
        });
        let highest = events.filter(|c| c.unanswered == 0).map(|c| c.max).or(all.max());
        let blocks = |d: &Distribution| {
            let of = d.parts();
            let (blocks, thread) = (of.blocks.as_ref()?, of.thread.as_ref()?);
            Some(Blocks { interval: thread.interval, points: blocks.points, maxima: blocks.maxima.clone() })
        };
        Some(Self {
            id: p.id.clone(),
            started: p.started.clone(),
            invalid: r.verdict() == Verdict::Invalid,
            seed: p.lab.as_ref().filter(|_| p.clock == Clock::Virtual).map(|lab| lab.seed),
            file: p.source.as_ref().map(|s| s.sha256.clone()),
            raw: [all.mean(), p50, p99, p99_9],
            corrected,
            max: float(highest),
            step: if all.parts().resolution > 1 { all.parts().resolution as f64 } else { 0.0 },
            blocks: r.distributions().iter().filter_map(blocks).collect(),
        })
    }

    /// Whether it is the same run again: in virtual time by its seed and figures, an imported one by its file.
    pub(crate) fn again(&self, other: &Self) -> bool {
        (self.seed.is_some() || self.file.is_some())
            && self.file == other.file
            && (self.seed, self.raw, self.max, &self.blocks) == (other.seed, other.raw, other.max, &other.blocks)
    }

    /// By how much a percentile of this height may be rounded, ns.
    pub(crate) fn rounded(&self, value: f64) -> f64 {
        self.step.max(value * SLOT)
    }
}
