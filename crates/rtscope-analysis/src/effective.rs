//! How many independent samples dependent ones are worth: the extremal index, from block maxima.
//!
//! High latencies come in bursts. If each burst counts once, the highest of b samples stays below u with the probability that theta b
//! independent ones do, theta being the extremal index (Leadbetter 1983). Here, of k blocks of b points K exceed u, and N of all n
//! points do: theta = ln(1 - K/k) / (b ln(1 - N/n)), at the u that half of the blocks exceed (the blocks estimator: Beirlant and others,
//! Statistics of Extremes, 2004, 10.3.4).

use rtscope_record::correction::{Basis, Corrected};
use rtscope_record::{Distribution, Record};
use serde::Serialize;

/// Fewest blocks that tell of bursts.
const FEWEST: usize = 16;

/// What block maxima say of bursts.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Bursts {
    /// Blocks that were looked at.
    pub blocks: u64,
    /// Of these, blocks above the threshold of their thread.
    exceeding: f64,
    /// Points of a block times the logarithm of the share that is not above the threshold, summed over threads with their blocks as weight.
    weight: f64,
}

impl Bursts {
    /// Of a distribution of `record`; `None` where it has no blocks, or not each of its events is known.
    pub fn of(record: &Record, d: &Distribution) -> Option<Self> {
        let blocks = d.parts().blocks.as_ref().filter(|b| b.maxima.len() >= FEWEST)?;
        let view = Corrected::of(record.parts(), d).filter(|c| c.basis == Basis::Events && c.unanswered == 0)?;
        let mut maxima = blocks.maxima.clone();
        maxima.sort_unstable();
        let threshold = maxima[maxima.len() / 2];
        // Values in the threshold's own slot of the histogram count half.
        let (above, within) = view.histogram.above(threshold);
        let share = (above as f64 + within as f64 / 2.0) / view.count() as f64;
        let higher = maxima.iter().filter(|m| **m > threshold).count() as f64;
        let equal = maxima.iter().filter(|m| **m == threshold).count() as f64;
        let exceeding = higher + equal / 2.0;
        (share > 0.0 && share < 1.0).then(|| Self {
            blocks: maxima.len() as u64,
            exceeding,
            weight: maxima.len() as f64 * blocks.points as f64 * (-share).ln_1p(),
        })
    }

    /// Of all distributions of a record together; `None` unless each has it.
    pub fn of_record(record: &Record) -> Option<Self> {
        let each = record.distributions().iter().map(|d| Self::of(record, d));
        each.reduce(|a, b| Some(a?.with(b?)))?
    }

    /// Together with others.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self { blocks: self.blocks + other.blocks, exceeding: self.exceeding + other.exceeding, weight: self.weight + other.weight }
    }

    /// The extremal index: 1 for independent samples, 1/m for bursts of m.
    pub fn index(&self) -> f64 {
        let (k, exceeding) = (self.blocks as f64, self.exceeding);
        // ln(1 - K/k) as of so many blocks, over the mean of b ln(1 - N/n).
        let index = k * (-(exceeding / k).min(1.0 - 0.5 / k)).ln_1p() / self.weight;
        index.clamp(f64::MIN_POSITIVE, 1.0)
    }

    /// What `n` samples are worth.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // not more than n
    pub fn effective(&self, n: u64) -> u64 {
        (n as f64 * self.index()).floor() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Build;
    use rtscope_record::BlockMaxima;

    /// A record of one thread whose latencies come in bursts of `m`, with 64 blocks.
    fn bursts(m: usize, n: usize) -> Record {
        let mut state = 1u64;
        let mut next = || {
            state = state * 48_271 % 2_147_483_647;
            -(state as f64 / 2_147_483_647.0).ln() * 10_000.0
        };
        let mut samples = Vec::with_capacity(n);
        while samples.len() < n {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let height = next() as u64 + 1_000;
            samples.extend(std::iter::repeat_n(height, m));
        }
        samples.truncate(n);
        let mut parts = Build::new("none").cpu(0, 1_000_000, &samples).record().into_parts();
        let mut d = parts.distributions[0].clone().into_parts();
        let points = n / 64;
        let maxima = samples.chunks_exact(points).map(|c| *c.iter().max().unwrap()).collect();
        d.blocks = Some(BlockMaxima { points: points as u64, maxima });
        parts.distributions = vec![Distribution::new(d).unwrap()];
        Record::new(parts).unwrap()
    }

    #[test]
    fn a_burst_counts_once() {
        for m in [1, 4, 16] {
            let found = Bursts::of_record(&bursts(m, 64 * 1_024)).unwrap();
            let wanted = 1.0 / m as f64;
            assert!(found.index() / wanted > 0.65 && found.index() / wanted < 1.5, "{m}: {}", found.index());
            assert_eq!(found.blocks, 64);
            assert!(found.effective(1_000) <= 1_000);
        }
        // Four records together are more certain than one.
        let all = (0..4).filter_map(|_| Bursts::of_record(&bursts(4, 64 * 512))).reduce(Bursts::with).unwrap();
        assert_eq!(all.blocks, 256);
    }

    #[test]
    fn without_blocks_nothing_is_known() {
        assert_eq!(Bursts::of_record(&Build::new("none").cpu(0, 1_000_000, &[5_000; 100]).record()), None);
        assert_eq!(Bursts::of_record(&Build::new("none").record()), None);
    }
}
