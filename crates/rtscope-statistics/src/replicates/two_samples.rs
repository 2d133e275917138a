//! Two lists of independent values: rank-sum test, Cliff's delta, distance of the distributions.
//!
//! All follows from one pass over both lists in the order of their values, so that ties are treated alike everywhere.

use rtscope_failure::Problem;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};

/// Why two lists are not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TwoSampleError {
    /// One holds nothing.
    #[error("a list without values can't be compared")]
    Empty,
    /// One holds something that is not a finite number.
    #[error("not every value is a finite number")]
    NotFinite,
}

impl Problem for TwoSampleError {
    fn remedy(&self) -> String {
        "give two lists of numbers, each with one value at least".into()
    }
}

/// The rank-sum test of Wilcoxon, Mann and Whitney.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RankSum {
    /// Pairs in which the first list's value is higher, and half of those in which both are equal: R's `W`.
    pub w: f64,
    /// Two-sided, by the normal approximation with corrections for continuity and ties (Hollander and Wolfe 1973, 4.1). `None` if all
    /// values are equal: then nothing can be said.
    pub p: Option<f64>,
}

/// How often the first list's values are above the second's, less how often they are below (Cliff 1993): -1 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cliff {
    /// The estimate.
    pub delta: f64,
    /// Interval at 95 %, by the variance of Cliff 1993, eq. 10, in the asymmetric form of Feng and Cliff 2004. `None` where a list has
    /// fewer than two values.
    pub interval: Option<[f64; 2]>,
}

/// Two lists compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TwoSamples {
    /// How many values each has.
    pub values: [usize; 2],
    /// Their medians.
    pub medians: [f64; 2],
    /// The rank-sum test.
    pub rank_sum: RankSum,
    /// Cliff's delta of the first against the second.
    pub cliff: Cliff,
    /// Greatest distance between the empirical distributions (Kolmogorov and Smirnov's D): a description; with many values any
    /// difference is significant.
    pub distance: f64,
}

/// Compares two lists of independent values.
///
/// ```
/// let found = rtscope_statistics::replicates::two_samples(&[1.0, 2.0, 3.0], &[2.0, 4.0, 5.0, 6.0])?;
/// assert_eq!((found.rank_sum.w, found.cliff.delta), (1.5, -0.75));
/// # Ok::<(), rtscope_statistics::replicates::TwoSampleError>(())
/// ```
pub fn two_samples(a: &[f64], b: &[f64]) -> Result<TwoSamples, TwoSampleError> {
    if a.is_empty() || b.is_empty() {
        return Err(TwoSampleError::Empty);
    }
    if !a.iter().chain(b).all(|v| v.is_finite()) {
        return Err(TwoSampleError::NotFinite);
    }
    let (a, b) = (sorted(a), sorted(b));
    // Of each value of one list: how many of the other are below it, less how many are above.
    let ((of_a, equal), (of_b, _)) = (dominances(&a, &b), dominances(&b, &a));
    let (n, m) = (a.len() as f64, b.len() as f64);
    let sum: f64 = of_a.iter().sum();
    let delta = sum / (n * m);
    Ok(TwoSamples {
        values: [a.len(), b.len()],
        medians: [median(&a), median(&b)],
        rank_sum: rank_sum(&a, &b, f64::midpoint(sum, n * m)),
        cliff: Cliff { delta, interval: interval(delta, &of_a, &of_b, equal) },
        distance: distance(&a, &b),
    })
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut all = values.to_vec();
    all.sort_by(f64::total_cmp);
    all
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) }
}

/// Of each of `own`: how many of `other` are below it, less how many are above it; and how many pairs are equal. Both are sorted.
fn dominances(own: &[f64], other: &[f64]) -> (Vec<f64>, f64) {
    let (mut below, mut up_to, mut equal) = (0, 0, 0.0);
    let one = |value: &f64| {
        while other.get(below).is_some_and(|o| o < value) {
            below += 1;
        }
        while other.get(up_to).is_some_and(|o| o <= value) {
            up_to += 1;
        }
        equal += (up_to - below) as f64;
        below as f64 - (other.len() - up_to) as f64
    };
    let all = own.iter().map(one).collect();
    (all, equal)
}

fn rank_sum(a: &[f64], b: &[f64], w: f64) -> RankSum {
    let (n, m) = (a.len() as f64, b.len() as f64);
    let mut all = [a, b].concat();
    all.sort_by(f64::total_cmp);
    #[allow(clippy::float_cmp)] // ties are equal values
    let ties: f64 = all.chunk_by(|x, y| x == y).map(|t| (t.len() as f64).powi(3) - t.len() as f64).sum();
    let variance = n * m / 12.0 * (n + m + 1.0 - ties / ((n + m) * (n + m - 1.0)));
    let off = w - n * m / 2.0;
    let z = (off.abs() - 0.5).max(0.0) / variance.sqrt();
    RankSum { w, p: (variance > 0.0).then(|| (2.0 * Normal::standard().sf(z)).min(1.0)) }
}

fn interval(delta: f64, of_a: &[f64], of_b: &[f64], equal: f64) -> Option<[f64; 2]> {
    let (n, m) = (of_a.len() as f64, of_b.len() as f64);
    if of_a.len() < 2 || of_b.len() < 2 {
        return None;
    }
    // Mean squares of the rows and columns of the matrix of dominances about delta, and of its elements.
    let spread = |of: &[f64], others: f64, sign: f64| of.iter().map(|d| (d / others - sign * delta).powi(2)).sum::<f64>();
    let (rows, columns) = (spread(of_a, m, 1.0), spread(of_b, n, -1.0));
    let elements = n * m - equal - n * m * delta * delta;
    let unbiased = (m * m * rows + n * n * columns - elements) / (n * m * (n - 1.0) * (m - 1.0));
    // Cliff 1993: not below what delta itself allows.
    let variance = unbiased.max((1.0 - delta * delta) / (n * m - 1.0));
    let z = Normal::standard().inverse_cdf(0.975);
    if variance <= 0.0 {
        // All of one list above all of the other: the bound of no tie in the smaller list.
        let least = n.min(m);
        let bound = (least - z * z) / (least + z * z);
        return Some(if delta > 0.0 { [bound, 1.0] } else { [-1.0, -bound] });
    }
    let root = z * variance.sqrt() * ((1.0 - delta * delta).powi(2) + z * z * variance).sqrt();
    let scale = 1.0 - delta * delta + z * z * variance;
    let centre = delta - delta.powi(3);
    Some([((centre - root) / scale).max(-1.0), ((centre + root) / scale).min(1.0)])
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let (mut i, mut j, mut most) = (0, 0, 0f64);
    while i < a.len() && j < b.len() {
        let at = a[i].min(b[j]);
        while a.get(i).is_some_and(|v| *v <= at) {
            i += 1;
        }
        while b.get(j).is_some_and(|v| *v <= at) {
            j += 1;
        }
        most = most.max((i as f64 / a.len() as f64 - j as f64 / b.len() as f64).abs());
    }
    most
}

#[cfg(test)]
#[path = "two_samples_tests.rs"]
mod tests;
