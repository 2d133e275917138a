//! The figures of one kernel under one load, and the ratios stock/RT.

use super::tally::UnderLoad;
use crate::seeds::Seeds;
use rtscope_record::{Distribution, DistributionError, Quantile, Verdict};
use serde::Serialize;

/// The figures of one kernel under one load; times in ns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// Ids of the records that were merged.
    pub ids: Vec<String>,
    /// How many records were merged.
    pub runs: usize,
    /// Ids of INVALID records that were left out.
    pub left_out: Vec<String>,
    /// The worst verdict among the merged records.
    pub verdict: Verdict,
    /// One of the merged runs was ended before its planned end.
    pub interrupted: bool,
    /// Samples.
    pub count: u64,
    /// Events that gave no sample.
    pub missed: u64,
    /// Mean; `None` without samples.
    pub mean: Option<f64>,
    /// 99th percentile; `None` where there are too few samples.
    pub p99: Option<u64>,
    /// 99.9th percentile; `None` where there are too few samples.
    #[serde(rename = "p99.9")]
    pub p99_9: Option<u64>,
    /// 99.99th percentile; `None` where there are too few samples.
    #[serde(rename = "p99.99")]
    pub p99_99: Option<u64>,
    /// Highest sample.
    pub max: Option<u64>,
    /// For lab runs: the maxima of their seeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seeds: Option<Seeds>,
    /// All samples, for plots; `None` when no record holds a distribution.
    #[serde(skip)]
    pub all: Option<Distribution>,
}

impl Figures {
    /// The figures of the runs of one kernel under one load.
    pub(super) fn of(runs: &UnderLoad) -> Result<Self, DistributionError> {
        let merged = runs.merged();
        let all = merged.sum.get()?;
        let at = |q: Quantile| all.and_then(|d| d.value_at(q));
        Ok(Self {
            ids: merged.ids.clone(),
            runs: merged.ids.len(),
            left_out: runs.left_out().to_vec(),
            verdict: merged.verdict.unwrap_or(Verdict::Invalid),
            interrupted: merged.interrupted,
            count: all.map_or(0, Distribution::count),
            missed: all.map_or(0, Distribution::missed),
            mean: all.and_then(Distribution::mean),
            p99: at(P99),
            p99_9: at(P99_9),
            p99_99: at(P99_99),
            max: all.and_then(Distribution::max),
            seeds: merged.maxima.seeds(),
            all: all.cloned(),
        })
    }

    /// Whether the figures may enter a ratio: the verdict is not INVALID, and there are samples.
    fn comparable(&self) -> bool {
        self.verdict != Verdict::Invalid && self.count > 0
    }
}

const P99: Quantile = Quantile::STANDARD[3];
const P99_9: Quantile = Quantile::STANDARD[4];
const P99_99: Quantile = Quantile::STANDARD[5];

/// Stock/RT: above 1 where RT is better. `None` where either figure is missing or RT's is 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ratios {
    /// Of the means.
    pub mean: Option<f64>,
    /// Of the 99th percentiles.
    pub p99: Option<f64>,
    /// Of the 99.9th percentiles.
    #[serde(rename = "p99.9")]
    pub p99_9: Option<f64>,
    /// Of the 99.99th percentiles.
    #[serde(rename = "p99.99")]
    pub p99_99: Option<f64>,
    /// Of the maxima.
    pub max: Option<f64>,
}

impl Ratios {
    /// `None` when either side is INVALID or empty.
    pub(super) fn of(stock: &Figures, rt: &Figures) -> Option<Self> {
        if !stock.comparable() || !rt.comparable() {
            return None;
        }
        let whole = |a: Option<u64>, b: Option<u64>| ratio(a.map(|v| v as f64), b.map(|v| v as f64));
        Some(Self {
            mean: ratio(stock.mean, rt.mean),
            p99: whole(stock.p99, rt.p99),
            p99_9: whole(stock.p99_9, rt.p99_9),
            p99_99: whole(stock.p99_99, rt.p99_99),
            max: whole(stock.max, rt.max),
        })
    }
}

fn ratio(stock: Option<f64>, rt: Option<f64>) -> Option<f64> {
    stock.zip(rt).and_then(|(a, b)| (b > 0.0).then_some(a / b))
}

/// The figures of each kernel of a block under one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadFigures {
    /// Name of the load.
    pub load: String,
    /// One entry for each kernel of the block, in their order; `None` where it was not measured under this load.
    pub figures: Vec<Option<Figures>>,
    /// Stock/RT; `None` in a block of one kernel, and where either kernel was not measured or is INVALID.
    pub ratios: Option<Ratios>,
}

/// The highest latency of both kernels of a pair, over the loads that have ratios.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overall {
    /// Highest sample of the stock kernel, ns.
    pub stock_max: u64,
    /// The load under which it occurred.
    pub stock_load: String,
    /// Highest sample of the RT kernel, ns.
    pub rt_max: u64,
    /// The load under which it occurred.
    pub rt_load: String,
    /// Stock/RT; `None` when RT's is 0.
    pub ratio: Option<f64>,
}

impl Overall {
    pub(super) fn of(rows: &[LoadFigures]) -> Option<Self> {
        let highest = |kernel: usize| {
            let of_load = |l: &LoadFigures| Some((l.figures.get(kernel)?.as_ref()?.max?, l.load.clone()));
            let mut top: Option<(u64, String)> = None;
            for (max, load) in rows.iter().filter(|l| l.ratios.is_some()).filter_map(of_load) {
                if top.as_ref().is_none_or(|t| max > t.0) {
                    top = Some((max, load));
                }
            }
            top
        };
        let ((stock_max, stock_load), (rt_max, rt_load)) = highest(0).zip(highest(1))?;
        let ratio = ratio(Some(stock_max as f64), Some(rt_max as f64));
        Some(Self { stock_max, stock_load, rt_max, rt_load, ratio })
    }
}
