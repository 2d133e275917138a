//! From a series in its order to what laws are fitted to: maxima of blocks, clusters of exceedances.

use super::error::TailError;
use super::observed::check;

/// Maxima of blocks of `size` values each; a last block that is not full is left out.
pub fn block_maxima(series: &[f64], size: usize) -> Result<Vec<f64>, TailError> {
    check(series)?;
    let blocks = series.len() / size.max(1);
    if blocks < 2 || size == 0 {
        return Err(TailError::TooFew { what: "blocks", found: blocks as u64, needed: super::fit::FEWEST });
    }
    Ok(series.chunks_exact(size).map(|b| b.iter().copied().fold(f64::NEG_INFINITY, f64::max)).collect())
}

/// The positions of the values above `threshold`.
pub(super) fn exceeding(series: &[f64], threshold: f64) -> Vec<usize> {
    series.iter().enumerate().filter(|(_, v)| **v > threshold).map(|(at, _)| at).collect()
}

/// The highest value of each cluster: a cluster ends when `run` values in a row do not exceed the threshold (runs declustering,
/// Smith and Weissman 1994).
pub fn cluster_maxima(series: &[f64], threshold: f64, run: usize) -> Vec<f64> {
    let mut maxima: Vec<f64> = Vec::new();
    let mut last: Option<usize> = None;
    for at in exceeding(series, threshold) {
        let v = series[at];
        match maxima.last_mut().filter(|_| last.is_some_and(|l| at - l <= run)) {
            Some(highest) => *highest = highest.max(v),
            None => maxima.push(v),
        }
        last = Some(at);
    }
    maxima
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_clusters() {
        let series = [1.0, 5.0, 2.0, 7.0, 7.5, 0.0, 6.0, 0.0, 0.0, 9.0, 3.0];
        assert_eq!(block_maxima(&series, 3).unwrap(), [5.0, 7.5, 6.0]);
        assert_eq!(block_maxima(&series, 6), Err(TailError::TooFew { what: "blocks", found: 1, needed: 10 }));
        assert!(block_maxima(&series, 0).is_err());
        assert_eq!(cluster_maxima(&series, 4.0, 1), [5.0, 7.5, 6.0, 9.0]);
        assert_eq!(cluster_maxima(&series, 4.0, 2), [7.5, 9.0]);
        assert_eq!(cluster_maxima(&series, 9.0, 2), [0.0; 0]);
    }
}
