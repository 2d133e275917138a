//! Which threshold: how the fit and the mean excess change with it.
//!
//! Source: Coles 2001, section 4.3; the coefficient of variation of excesses: del Castillo and others 2014.

use super::error::TailError;
use super::fit::{FEWEST, fit};
use super::law::Family;
use super::observed::Observed;
use serde::Serialize;

/// A threshold, and what comes of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThresholdRow {
    /// The threshold; where the values are intervals, the next end of one.
    pub threshold: f64,
    /// How many values exceed it.
    pub exceedances: f64,
    /// Their share of all.
    pub share: f64,
    /// Scale of the law that fits above it.
    pub scale: f64,
    /// Its standard error.
    pub scale_error: Option<f64>,
    /// Shape of that law.
    pub shape: f64,
    /// Its standard error.
    pub shape_error: Option<f64>,
    /// The scale without the part that grows with the threshold, `scale - shape * threshold`: above a threshold from which the law
    /// holds, it stays (Coles 2001, section 4.3.4).
    pub modified_scale: f64,
    /// Mean excess over the threshold.
    pub mean_excess: f64,
    /// Standard deviation of the excesses over their mean: 1 for an exponential tail, more for a heavier one.
    pub coefficient_of_variation: f64,
    /// The levels that are asked for, from this threshold.
    pub levels: Vec<f64>,
}

/// A point of the mean residual life: the mean excess over a threshold, with its interval by the normal approximation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MeanExcess {
    /// The threshold.
    pub threshold: f64,
    /// Mean excess over it.
    pub mean: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// How many values exceed it.
    pub exceedances: f64,
}

/// Mean and standard deviation of the excesses over `threshold`.
fn excesses(above: &Observed, threshold: f64) -> (f64, f64) {
    let n = above.total();
    let mean = above.cells().iter().map(|c| (c.middle() - threshold) * c.count).sum::<f64>() / n;
    let squares: f64 = above.cells().iter().map(|c| (c.middle() - threshold - mean).powi(2) * c.count).sum();
    (mean, (squares / (n - 1.0).max(1.0)).sqrt())
}

/// The fit above each threshold; those with too few or equal values are left out. `probabilities` are of the levels, per value.
pub fn thresholds(observed: &Observed, at: &[f64], probabilities: &[f64]) -> Vec<ThresholdRow> {
    at.iter().filter_map(|threshold| row(observed, *threshold, probabilities).ok()).collect()
}

fn row(observed: &Observed, threshold: f64, probabilities: &[f64]) -> Result<ThresholdRow, TailError> {
    let threshold = observed.between_cells(threshold);
    let above = observed.above(threshold);
    let found = fit(&above, Family::Gpd, Some(threshold))?;
    let (mean_excess, deviation) = excesses(&above, threshold);
    let share = above.total() / observed.total();
    let error = |i: usize| found.errors.as_ref().map(|e| e[i]);
    Ok(ThresholdRow {
        threshold,
        exceedances: above.total(),
        share,
        scale: found.law.scale,
        scale_error: error(0),
        shape: found.law.shape,
        shape_error: error(1),
        modified_scale: found.law.scale - found.law.shape * threshold,
        mean_excess,
        coefficient_of_variation: deviation / mean_excess,
        levels: probabilities.iter().map(|p| level(&found.law, *p, share)).collect(),
    })
}

/// The level that a value exceeds with probability `p`, where the share `share` exceeds the law's threshold; the threshold, if that
/// is exceeded less often.
pub(super) fn level(law: &super::law::Law, p: f64, share: f64) -> f64 {
    law.exceeded_with((p / share).min(1.0))
}

/// The mean residual life at up to `points` thresholds from the median on, up to the one that `FEWEST` values exceed.
pub fn mean_residual_life(observed: &Observed, points: u32) -> Vec<MeanExcess> {
    let Some((low, _)) = observed.range() else { return Vec::new() };
    let high = observed.quantile(1.0 - FEWEST as f64 / observed.total()).unwrap_or(low);
    let from = observed.quantile(0.5).unwrap_or(low);
    let at = |i: u32| observed.between_cells(from + (high - from) * f64::from(i) / f64::from(points.max(1)));
    let mut wanted: Vec<f64> = (0..=points).map(at).collect();
    wanted.dedup();
    let mut cells = observed.cells().iter().rev().peekable();
    // Sums over all cells above the threshold, from the highest on; distances from `high` lose few digits.
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    let mut all = Vec::new();
    for threshold in wanted.into_iter().rev() {
        while let Some(c) = cells.next_if(|c| if c.low < c.high { c.low >= threshold } else { c.low > threshold }) {
            let x = c.middle() - high;
            n += c.count;
            sum += c.count * x;
            squares += c.count * x * x;
        }
        if n < 2.0 {
            continue;
        }
        let mean = sum / n - (threshold - high);
        let variance = (squares - sum * sum / n).max(0.0) / (n - 1.0);
        let half = 1.96 * (variance / n).sqrt();
        all.push(MeanExcess { threshold, mean, low: mean - half, high: mean + half, exceedances: n });
    }
    all.reverse();
    all
}

/// Usual thresholds: those that these shares of the values exceed, as far as at least 30 do.
pub fn usual_thresholds(observed: &Observed) -> Vec<f64> {
    let shares = [0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.000_5, 0.000_2, 0.000_1, 1e-5, 1e-6];
    let wanted = shares.into_iter().filter(|s| s * observed.total() >= 30.0);
    let mut all: Vec<f64> = wanted.filter_map(|s| observed.quantile(1.0 - s)).map(|t| observed.between_cells(t)).collect();
    all.dedup();
    all.retain(|t| observed.count_above(*t) >= FEWEST as f64);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tail::fit::drawn;
    use crate::tail::law::Law;

    #[test]
    fn above_each_threshold_the_law_is_the_same() {
        let law = Law { family: Family::Gpd, location: 10.0, scale: 2.0, shape: 0.2 };
        let o = Observed::of_values(&drawn(&law, 50_000, 9)).unwrap();
        let usual = usual_thresholds(&o);
        assert!(usual.len() >= 8 && usual.is_sorted(), "{usual:?}");
        let rows = thresholds(&o, &usual, &[1e-6]);
        assert_eq!(rows.len(), usual.len());
        for r in &rows {
            assert!((r.shape - 0.2).abs() < 4.0 * r.shape_error.unwrap(), "{r:?}");
            // 2 - 0.2 * 10 = 0 at each threshold.
            assert!(r.modified_scale.abs() < 4.0 * (r.scale_error.unwrap() + r.threshold * r.shape_error.unwrap()), "{r:?}");
        }
        assert!((rows[0].share - 0.2).abs() < 1e-3 && (rows[0].levels[0] / law.exceeded_with(1e-6) - 1.0).abs() < 0.3);
        // The mean excess of this law over u is (2 + 0.2 (u - 10)) / 0.8.
        let life = mean_residual_life(&o, 40);
        assert!(life.len() > 30);
        let known = |u: f64| (2.0 + 0.2 * (u - 10.0)) / 0.8;
        let inside = life.iter().filter(|p| (p.mean - known(p.threshold)).abs() < 2.0 * (p.high - p.low)).count();
        assert!(inside * 10 > life.len() * 9, "{inside} of {}", life.len());
    }

    #[test]
    fn too_few_exceedances_have_no_row() {
        let o = Observed::of_values(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert!(thresholds(&o, &[2.0, 9.0], &[]).is_empty());
        assert!(usual_thresholds(&o).is_empty());
    }
}
