//! The columns of a histogram: eighths of an octave, several columns each where there is room, several to a column where there is not.

use rtscope_probe::protocol::Live;
use rtscope_record::histogram::{eighth_lowest, eighth_of};

/// The axis that all histograms of a picture share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Axis {
    /// The first eighth.
    first: u64,
    /// How many eighths there are.
    eighths: u64,
    /// Columns to an eighth, or eighths to a column.
    by: u64,
    wide: bool,
}

impl Axis {
    /// The axis on which `width` columns show everything that any of the threads has; `None` without samples.
    pub(super) fn of(threads: &[Live], width: u16) -> Option<Self> {
        let all = || threads.iter().flat_map(|t| t.histogram.iter().map(|&(lowest, _)| eighth_of(lowest)));
        let (first, last, width) = (all().min()?, all().max()?, u64::from(width.max(1)));
        let eighths = last - first + 1;
        let wide = eighths <= width;
        Some(Self { first, eighths, by: if wide { width / eighths } else { eighths.div_ceil(width) }, wide })
    }

    /// How many columns it has.
    pub(super) fn columns(self) -> u64 {
        if self.wide { self.eighths * self.by } else { self.eighths.div_ceil(self.by) }
    }

    /// The samples of each column.
    pub(super) fn counts(self, histogram: &[(u64, u64)]) -> Vec<u64> {
        let mut columns = vec![0; usize::try_from(self.columns()).unwrap_or(0)];
        for &(lowest, count) in histogram {
            let Some(at) = eighth_of(lowest).checked_sub(self.first) else { continue };
            let (from, to) = if self.wide { (at * self.by, (at + 1) * self.by) } else { (at / self.by, at / self.by + 1) };
            for column in columns.iter_mut().take(usize::try_from(to).unwrap_or(0)).skip(usize::try_from(from).unwrap_or(0)) {
                *column += count;
            }
        }
        columns
    }

    /// The lowest value of a column, ns.
    pub(super) fn value(self, column: u64) -> u64 {
        eighth_lowest(self.first + if self.wide { column / self.by } else { column * self.by })
    }
}

/// Heights of bars of `most` at most, by the logarithm of the counts unless `linear`. What is not zero is at least an eighth of a line.
pub(super) fn heights(counts: &[u64], linear: bool, most: u64) -> Vec<u64> {
    let highest = counts.iter().copied().max().unwrap_or(0).max(1);
    let share = |n: u64| if linear { n as f64 / highest as f64 } else { ((n + 1) as f64).ln() / ((highest + 1) as f64).ln() };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and `most`
    counts.iter().map(|&n| if n == 0 { 0 } else { ((share(n) * most as f64).round() as u64).clamp(1, most) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_bar_is_seen_however_low() {
        assert_eq!(heights(&[0, 1, 1_000_000], true, 16), [0, 1, 16]);
        assert_eq!(heights(&[0, 1, 1_000, 1_000_000], false, 100), [0, 5, 50, 100]);
        assert_eq!(heights(&[0, 0], false, 8), [0, 0]);
    }

    proptest! {
        #[test]
        fn every_sample_has_a_column(values in prop::collection::vec((0u64..40_000_000_000, 1u64..1_000), 1..40), width in 1u16..200) {
            let mut histogram: Vec<(u64, u64)> = values.into_iter().map(|(v, n)| (eighth_lowest(eighth_of(v)), n)).collect();
            histogram.sort_unstable();
            let threads = [Live { histogram: histogram.clone(), ..Live::default() }];
            let axis = Axis::of(&threads, width).unwrap();
            let counts = axis.counts(&histogram);
            prop_assert!(counts.len() <= usize::from(width));
            let times = if axis.wide { axis.by } else { 1 };
            prop_assert_eq!(counts.iter().sum::<u64>(), times * histogram.iter().map(|b| b.1).sum::<u64>());
            prop_assert!((1..axis.columns()).all(|c| axis.value(c - 1) <= axis.value(c)));
        }
    }
}
