//! The figures of an edge, of latencies or of signed jitter, and of both edges of several records together.

use crate::share::ShareBelow;
use rtscope_record::{Distribution, DistributionError, Moments, Nanos, Quantile, Record, Test};
use serde::Serialize;

/// The figures of an edge; times in ns. Jitter is signed: early is below zero.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EdgeFigures {
    /// "rising", "falling", or "both".
    pub edge: String,
    /// Samples.
    pub samples: u64,
    /// Stimuli or intervals that should have given a sample; `None` where a record does not say.
    pub expected: Option<u64>,
    /// How many of the expected gave no sample.
    pub missed: u64,
    /// How many of the missed were answered after the time-out.
    pub late: u64,
    /// Edges that answer no stimulus.
    pub spurious: u64,
    /// Lowest.
    pub min: Option<i64>,
    /// Highest: the worst case.
    pub max: Option<i64>,
    /// Mean.
    pub mean: Option<f64>,
    /// Standard deviation (population form); `None` where only a mean was reported.
    pub stddev: Option<f64>,
    /// Variance (population form), ns².
    pub variance: Option<f64>,
    /// Median; `None` for a jitter, and where the count does not support it.
    pub p50: Option<u64>,
    /// 90th percentile; `None` as for the median.
    pub p90: Option<u64>,
    /// 95th percentile; `None` as for the median.
    pub p95: Option<u64>,
    /// 99.99th percentile; `None` as for the median.
    #[serde(rename = "p99.99")]
    pub p99_99: Option<u64>,
    /// The share of stimuli below each threshold; for jitter, its absolute amount is compared.
    pub shares: Vec<ShareBelow>,
}

/// The edge of a distribution, and whether its samples are amounts below zero ("early").
pub(crate) fn edge_of(label: &str) -> (&str, bool) {
    match label.rsplit_once(' ') {
        Some((edge, "early")) => (edge, true),
        Some((edge, "late")) => (edge, false),
        _ => (label, false),
    }
}

fn signed(v: u64) -> i64 {
    i64::try_from(v).unwrap_or(i64::MAX)
}

impl EdgeFigures {
    /// Figures of the distributions of one edge, or of both.
    pub(crate) fn of(edge: &str, parts: &[&Distribution], shares: Vec<ShareBelow>) -> Result<Self, DistributionError> {
        let sum = |f: fn(&Distribution) -> u64| parts.iter().map(|d| f(d)).fold(0, u64::saturating_add);
        let samples = sum(Distribution::count);
        let ends = |pick: fn(&Distribution) -> [Option<u64>; 2]| {
            let of = |d: &&Distribution| {
                let [plain, mirrored] = pick(d);
                if edge_of(d.label()).1 { mirrored.map(|v| -signed(v)) } else { plain.map(signed) }
            };
            parts.iter().filter_map(of).collect::<Vec<_>>()
        };
        let moments = Sums::of(parts, samples);
        let has_sign = parts.iter().any(|d| d.label().contains(' '));
        let mut merged: Option<Distribution> = None;
        for d in parts.iter().filter(|_| !has_sign) {
            merged = Some(match merged {
                None => (*d).clone(),
                Some(m) => m.merge(d, edge, 0)?,
            });
        }
        let at = |name: &str| {
            let q = Quantile::STANDARD.into_iter().find(|q| q.to_string() == name)?;
            merged.as_ref()?.value_at(q)
        };
        Ok(Self {
            edge: edge.into(),
            samples,
            expected: parts.iter().map(|d| d.parts().expected).try_fold(0u64, |sum, e| Some(sum.saturating_add(e?))),
            missed: sum(Distribution::missed),
            late: sum(Distribution::late),
            spurious: sum(Distribution::spurious),
            min: ends(|d| [d.min(), d.max()]).into_iter().min(),
            max: ends(|d| [d.max(), d.min()]).into_iter().max(),
            mean: moments.mean,
            stddev: moments.variance.map(f64::sqrt),
            variance: moments.variance,
            p50: at("p50"),
            p90: at("p90"),
            p95: at("p95"),
            p99_99: at("p99.99"),
            shares,
        })
    }
}

/// The figures of both edges together, and of each, for records of one test.
pub(crate) fn figures(records: &[&Record], thresholds: &[Nanos]) -> Result<(EdgeFigures, Vec<EdgeFigures>), DistributionError> {
    let mut labels: Vec<Distribution> = Vec::new();
    // Shares are computed for each run before merging: a run's worst samples decide more precisely than the merged
    // histogram.
    let mut shares: Vec<(String, Vec<ShareBelow>)> = Vec::new();
    for r in records {
        let timeout = r.parts().settings.lines.as_ref().filter(|_| r.parts().test == Test::Response).map(|l| l.timeout.0);
        for d in r.distributions() {
            match labels.iter_mut().find(|l| l.label() == d.label()) {
                Some(l) => *l = l.merge(d, d.label(), 0)?,
                None => labels.push(d.clone()),
            }
            let own: Vec<ShareBelow> = thresholds.iter().map(|t| ShareBelow::of(d, t.0, timeout)).collect();
            match shares.iter_mut().find(|s| s.0 == d.label()) {
                Some(s) => s.1 = s.1.iter().zip(own).map(|(a, b)| a.plus(b)).collect(),
                None => shares.push((d.label().into(), own)),
            }
        }
    }
    let share_of = |parts: &[&Distribution]| -> Vec<ShareBelow> {
        let own = |t: &Nanos, i: usize| {
            let all = shares.iter().filter(|s| parts.iter().any(|d| d.label() == s.0));
            all.fold(ShareBelow::none(t.0), |sum, s| sum.plus(s.1[i]))
        };
        thresholds.iter().enumerate().map(|(i, t)| own(t, i)).collect()
    };
    let make = |name: &str, parts: &[&Distribution]| EdgeFigures::of(name, parts, share_of(parts));
    let all: Vec<&Distribution> = labels.iter().collect();
    let mut names: Vec<&str> = Vec::new();
    for d in &all {
        let name = edge_of(d.label()).0;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let of_edge = |name: &str| -> Vec<&Distribution> { all.iter().copied().filter(|d| edge_of(d.label()).0 == name).collect() };
    let edges = names.iter().map(|n| make(n, &of_edge(n))).collect::<Result<Vec<_>, _>>()?;
    Ok((make("both", &all)?, edges))
}

/// The figures of both edges of one record together, and of each, signed where they are jitter; without shares.
pub fn edge_figures(record: &Record) -> Result<(EdgeFigures, Vec<EdgeFigures>), DistributionError> {
    figures(&[record], &[])
}

/// [`edge_figures`] of records of one test, merged.
pub(crate) fn merged_figures(records: &[&Record]) -> Result<(EdgeFigures, Vec<EdgeFigures>), DistributionError> {
    figures(records, &[])
}

/// Mean and variance over signed distributions.
struct Sums {
    mean: Option<f64>,
    variance: Option<f64>,
}

impl Sums {
    fn of(parts: &[&Distribution], samples: u64) -> Self {
        if samples == 0 {
            return Self { mean: None, variance: None };
        }
        let n = samples as f64;
        let (mut sum, mut sum_sq, mut exact, mut weighed) = (0i128, 0u128, true, 0.0);
        for d in parts.iter().filter(|d| d.count() > 0) {
            let sign = if edge_of(d.label()).1 { -1 } else { 1 };
            weighed += f64::from(sign) * d.mean().unwrap_or(0.0) * d.count() as f64;
            match d.parts().moments {
                Moments::Exact { sum: s, sum_sq: q } => {
                    sum = sum.saturating_add(i128::try_from(s).unwrap_or(i128::MAX).saturating_mul(i128::from(sign)));
                    sum_sq = sum_sq.saturating_add(q);
                }
                Moments::Reported { .. } => exact = false,
            }
        }
        if !exact {
            return Self { mean: Some(weighed / n), variance: None };
        }
        let mean = sum as f64 / n;
        // n * sum_sq - sum² in integers where it fits, to avoid cancellation.
        let square = sum.unsigned_abs().checked_mul(sum.unsigned_abs());
        let variance = match (u128::from(samples).checked_mul(sum_sq), square) {
            (Some(a), Some(b)) => a.saturating_sub(b) as f64 / (n * n),
            _ => (sum_sq as f64 / n - mean * mean).max(0.0),
        };
        Self { mean: Some(mean), variance: Some(variance) }
    }
}
