//! The gates before a bound: whether the values come from one law, and each by itself.
//!
//! Each is a test with its statistic; a bound is given only if none fails. Together, they fail at most at the level that is asked
//! for where all is well: each is held to that level divided by their number (Bonferroni).

use super::blocks::{cluster_maxima, exceeding};
use serde::Serialize;
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

/// What became of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateOutcome {
    /// Nothing against it.
    Passed,
    /// It failed: no bound is given.
    Failed,
    /// These data do not tell: no bound is given.
    NotAvailable,
}

/// A gate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gate {
    /// Its name: `stationarity`, `correlation`, `runs`, `rate`, `clusters`, `fit`, `interval`, `verdict`.
    pub name: &'static str,
    /// The test.
    pub test: String,
    /// Its statistic.
    pub statistic: Option<f64>,
    /// The probability of such a statistic, or one that is farther off, where all is well.
    pub p: Option<f64>,
    /// The level below which `p` fails.
    pub level: f64,
    /// What became of it.
    pub outcome: GateOutcome,
    /// That in a sentence.
    pub sentence: String,
}

impl Gate {
    /// The gate that failed if `p` is below `level`.
    pub(super) fn judged(name: &'static str, test: String, found: Option<(f64, f64)>, level: f64, bad: &str) -> Self {
        let Some((statistic, p)) = found else {
            return Self::not_available(name, test, level, "these values are too few or too alike to tell");
        };
        let (outcome, sentence) = if p < level {
            (GateOutcome::Failed, bad.to_owned())
        } else {
            (GateOutcome::Passed, format!("nothing against it (p = {p:.3})"))
        };
        Self { name, test, statistic: Some(statistic), p: Some(p), level, outcome, sentence }
    }

    /// The gate that has no p-value: failed if there is something against it.
    pub fn told(name: &'static str, test: &str, against: Option<String>, good: &str) -> Self {
        let outcome = if against.is_some() { GateOutcome::Failed } else { GateOutcome::Passed };
        let sentence = against.unwrap_or_else(|| good.into());
        Self { name, test: test.into(), statistic: None, p: None, level: 0.0, outcome, sentence }
    }

    /// The gate that these data do not tell of.
    pub(super) fn not_available(name: &'static str, test: String, level: f64, why: &str) -> Self {
        let sentence = format!("not available: {why}");
        Self { name, test, statistic: None, p: None, level, outcome: GateOutcome::NotAvailable, sentence }
    }
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

/// Differences from the mean and their sum of squares; `None` where all are alike.
fn centred(x: &[f64]) -> Option<(Vec<f64>, f64)> {
    let m = mean(x);
    let e: Vec<f64> = x.iter().map(|v| v - m).collect();
    let squares: f64 = e.iter().map(|v| v * v).sum();
    (squares > 0.0 && squares.is_finite()).then_some((e, squares))
}

/// Lags of the test of stationarity: 4 (n/100)^(1/4), rounded down (Schwert 1989).
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a small number
pub fn kpss_lags(n: usize) -> usize {
    (4.0 * (n as f64 / 100.0).powf(0.25)).floor() as usize
}

/// The statistic of Kwiatkowski, Phillips, Schmidt and Shin 1992 for stationarity around a level, with Bartlett's weights, and its
/// asymptotic p-value.
pub fn kpss(x: &[f64], lags: usize) -> Option<(f64, f64)> {
    let n = x.len();
    if n < 4 || lags >= n {
        return None;
    }
    let (e, squares) = centred(x)?;
    let mut variance = squares / n as f64;
    for lag in 1..=lags {
        let product: f64 = e.iter().zip(&e[lag..]).map(|(a, b)| a * b).sum();
        variance += 2.0 * (1.0 - lag as f64 / (lags + 1) as f64) * product / n as f64;
    }
    let mut sum = 0.0;
    let total: f64 = e
        .iter()
        .map(|v| {
            sum += v;
            sum * sum
        })
        .sum();
    let statistic = total / (n as f64 * n as f64) / variance;
    (variance > 0.0).then(|| (statistic, brownian_bridge(statistic)))
}

/// The probability that the integral of a squared Brownian bridge exceeds `x`: the limit of KPSS's statistic.
///
/// Source: Anderson and Darling 1952, equation 4.35, with K_(1/4)(z) = integral over t > 0 of exp(-z cosh t) cosh(t/4).
fn brownian_bridge(x: f64) -> f64 {
    if x <= 0.02 {
        return 1.0;
    }
    let bessel_scaled = |z: f64| {
        // exp(z) K_(1/4)(z) by the trapezoidal rule, which converges exponentially here.
        let step = 1.0 / 32.0;
        let term = |i: u32| {
            let t = f64::from(i) * step;
            (-z * (t.cosh() - 1.0)).exp() * (t / 4.0).cosh()
        };
        step * (0.5 + (1..=320u32).map(term).sum::<f64>())
    };
    let mut below = 0.0;
    let mut weight = 1.0;
    for j in 0..40u32 {
        let a = f64::from(4 * j + 1);
        let z = a * a / (16.0 * x);
        // (-1)^j binomial(-1/2, j), by its recurrence.
        if j > 0 {
            weight *= (f64::from(j) - 0.5) / f64::from(j);
        }
        below += weight * a.sqrt() * (-2.0 * z).exp() * bessel_scaled(z);
    }
    (1.0 - below / (std::f64::consts::PI * x.sqrt())).clamp(0.0, 1.0)
}

/// Lags of the test for correlation: 10, but at most a fifth of the values.
pub fn ljung_box_lags(n: usize) -> usize {
    (n / 5).clamp(1, 10)
}

/// The statistic of Ljung and Box 1978 over the first lags, and its p-value by chi-squared.
pub fn ljung_box(x: &[f64], lags: usize) -> Option<(f64, f64)> {
    let n = x.len();
    if lags == 0 || n <= lags + 1 {
        return None;
    }
    let (e, squares) = centred(x)?;
    let nf = n as f64;
    let part = |lag: usize| {
        let r = e.iter().zip(&e[lag..]).map(|(a, b)| a * b).sum::<f64>() / squares;
        r * r / (nf - lag as f64)
    };
    let statistic = nf * (nf + 2.0) * (1..=lags).map(part).sum::<f64>();
    Some((statistic, ChiSquared::new(lags as f64).ok()?.sf(statistic)))
}

/// The two-sided probability of a standard normal value as far from 0 as `z`.
fn two_sided(z: f64) -> f64 {
    2.0 * Normal::standard().sf(z.abs())
}

/// The statistic of Wald and Wolfowitz 1940 for runs above and not above the median, and its p-value.
pub fn runs(x: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = x.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    if n < 4 {
        return None;
    }
    let median = f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]);
    let above: Vec<bool> = x.iter().map(|v| *v > median).collect();
    let high = above.iter().filter(|a| **a).count() as f64;
    let low = n as f64 - high;
    let found = 1.0 + above.windows(2).filter(|w| w[0] != w[1]).count() as f64;
    let product = 2.0 * high * low;
    let (n, expected) = (n as f64, product / (high + low) + 1.0);
    let variance = product * (product - n) / (n * n * (n - 1.0));
    (variance > 0.0).then(|| {
        let z = (found - expected) / variance.sqrt();
        (z, two_sided(z))
    })
}

/// The extremal index: one over the mean size of clusters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ExtremalIndex {
    /// By runs declustering: clusters per exceedance.
    pub index: f64,
    /// That of independent values with as many exceedances.
    pub independent: f64,
    /// By the times between exceedances, which needs no run length (Ferro and Segers 2003); at most 1.
    pub intervals: f64,
    /// Values in a row below the threshold that end a cluster.
    pub run: usize,
    /// Exceedances.
    pub exceedances: usize,
    /// Clusters.
    pub clusters: usize,
    /// The probability of as few clusters among independent values.
    pub p: f64,
}

/// The run that ends a cluster: 10 values, but fewer where exceedances are so frequent that independent ones would meet.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a small number
pub fn usual_run(series: usize, exceedances: usize) -> usize {
    (0.5 * series as f64 / exceedances.max(1) as f64).clamp(1.0, 10.0) as usize
}

/// The extremal index of the exceedances of `threshold`; `None` with fewer than two.
pub fn extremal_index(series: &[f64], threshold: f64, run: usize) -> Option<ExtremalIndex> {
    let at = exceeding(series, threshold);
    let n = at.len();
    if n < 2 || run == 0 {
        return None;
    }
    let clusters = cluster_maxima(series, threshold, run).len();
    let gaps: Vec<f64> = at.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
    let share = n as f64 / series.len() as f64;
    // Of independent values, a gap is longer than the run with this probability: all of the run's values lie below.
    let longer = (1.0 - share).powf(run as f64);
    let expected = (n - 1) as f64 * longer;
    let spread = (expected * (1.0 - longer)).sqrt();
    let p = if spread > 0.0 { Normal::standard().cdf(((clusters - 1) as f64 + 0.5 - expected) / spread) } else { 1.0 };
    let index = clusters as f64 / n as f64;
    let independent = (1.0 + expected) / n as f64;
    Some(ExtremalIndex { index, independent, intervals: by_intervals(&gaps), run, exceedances: n, clusters, p })
}

/// The greatest distance of the times of exceedances from even ones, times the square root of their number, and its p-value by
/// Kolmogorov's distribution.
pub fn rate(series: &[f64], threshold: f64) -> Option<(f64, f64)> {
    let at = exceeding(series, threshold);
    let n = at.len() as f64;
    if n < 4.0 {
        return None;
    }
    let off = |(i, at): (usize, &usize)| {
        let time = (*at as f64 + 0.5) / series.len() as f64;
        ((i + 1) as f64 / n - time).max(time - i as f64 / n)
    };
    // Times are whole: where most values exceed, half a step is no distance.
    let d = (at.iter().enumerate().map(off).fold(0.0, f64::max) - 0.5 / n).max(0.0) * n.sqrt();
    let term = |k: i32| (if k % 2 == 1 { 2.0 } else { -2.0 }) * (-2.0 * f64::from(k * k) * d * d).exp();
    let p = if d < 0.3 { 1.0 } else { (1..60).map(term).sum::<f64>().clamp(0.0, 1.0) };
    Some((d, p))
}

/// The intervals estimator: Ferro and Segers 2003, equation 5 and what follows it.
fn by_intervals(gaps: &[f64]) -> f64 {
    let n = gaps.len() as f64;
    let sum = |f: &dyn Fn(f64) -> f64| gaps.iter().map(|g| f(*g)).sum::<f64>();
    let index = if gaps.iter().any(|g| *g > 2.0) {
        2.0 * sum(&|g| g - 1.0).powi(2) / (n * sum(&|g| (g - 1.0) * (g - 2.0)))
    } else {
        2.0 * sum(&|g| g).powi(2) / (n * sum(&|g| g * g))
    };
    index.min(1.0)
}

#[cfg(test)]
#[path = "gates_tests.rs"]
mod tests;
