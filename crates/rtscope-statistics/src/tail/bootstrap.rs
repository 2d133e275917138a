//! Intervals by resampling: a cross-check of those by the profile likelihood.

use super::fit::refit;
use super::law::Law;
use super::observed::{Cell, Observed, Resolution};
use super::profile::Interval;
use crate::seeded::Seeded;

/// What is resampled.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source<'a> {
    /// Values in their order, in blocks of this length, rounded as said (Kuensch 1989): neighbours stay neighbours.
    Blocks(&'a [f64], usize, Option<Resolution>),
    /// Counted values, one by one.
    Counted(&'a Observed),
}

/// The length of blocks for `n` values: the cube root.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a small number
pub(super) fn block_length(n: usize) -> usize {
    (n as f64).cbrt().round().max(1.0) as usize
}

/// The laws of `replicates` samples that are drawn from the data.
pub(super) fn laws(source: Source<'_>, near: &Law, replicates: u32, random: &mut Seeded) -> Vec<Law> {
    (0..replicates).filter_map(|_| refit(&resampled(source, random)?, near)).collect()
}

fn resampled(source: Source<'_>, random: &mut Seeded) -> Option<Observed> {
    match source {
        Source::Blocks(values, length, rounding) => {
            let mut drawn = Vec::with_capacity(values.len() + length);
            while drawn.len() < values.len() {
                let from = random.below(values.len() - length + 1);
                drawn.extend_from_slice(&values[from..from + length]);
            }
            drawn.truncate(values.len());
            let drawn = Observed::of_values(&drawn).ok()?;
            Some(rounding.map_or(drawn.clone(), |r| drawn.within(r)))
        }
        Source::Counted(observed) => {
            let (mut left, mut rest) = (observed.total(), observed.total());
            let mut cells = Vec::with_capacity(observed.cells().len());
            for c in observed.cells() {
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a count
                let count = random.binomial(left as u64, c.count / rest) as f64;
                cells.push(Cell { count, ..*c });
                left -= count;
                rest -= c.count;
            }
            Some(Observed::of_sorted(cells))
        }
    }
}

/// The interval that holds the share `confidence` of the values, by their percentiles.
pub(super) fn percentiles(mut values: Vec<f64>, confidence: f64) -> Option<Interval> {
    values.retain(|v| v.is_finite());
    if values.len() < 20 {
        return None;
    }
    values.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // an index
        let i = (share * (values.len() - 1) as f64).round() as usize;
        values[i]
    };
    Some(Interval { low: Some(at((1.0 - confidence) / 2.0)), high: Some(at(f64::midpoint(1.0, confidence))) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tail::fit::fit;
    use crate::tail::law::Family;
    use crate::tail::published::PORTPIRIE;

    #[test]
    fn resampling_gives_about_the_standard_error() {
        let o = Observed::of_values(&PORTPIRIE).unwrap();
        let found = fit(&o, Family::Gev, None).unwrap();
        for source in [Source::Blocks(&PORTPIRIE, 4, None), Source::Counted(&o)] {
            let laws = laws(source, &found.law, 200, &mut Seeded::new(4));
            assert!(laws.len() > 190, "{}", laws.len());
            let i = percentiles(laws.iter().map(|l| l.location).collect(), 0.95).unwrap();
            let (low, high) = (i.low.unwrap(), i.high.unwrap());
            // The published standard error is 0.028.
            assert!(low < 3.8747 && 3.8747 < high && (0.07..0.16).contains(&(high - low)), "{i:?}");
        }
        assert!(percentiles(vec![1.0; 19], 0.9).is_none());
    }
}
