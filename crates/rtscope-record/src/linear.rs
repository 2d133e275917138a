//! Equal-width bins as cyclictest keeps them, beside the log-linear histogram where a foreign format needs exact bins.

use crate::histogram::slot_of;
use serde::{Deserialize, Serialize};

/// Equal-width bins: bin `i` counts the samples with `i * unit_ns <= value < (i + 1) * unit_ns`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinearBins {
    /// Width of a bin, ns: 1000 for cyclictest, 1 with its `-N`.
    pub unit_ns: u64,
    /// Number of bins (cyclictest's `-h`); samples of `size * unit_ns` and above overflow.
    pub size: u64,
    /// Pairs of bin and count, ascending, without zero counts.
    pub counts: Vec<(u64, u64)>,
    /// Cycle numbers (from 0) of overflowed samples, as far as they were logged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overflow_at: Vec<u64>,
}

impl LinearBins {
    /// Samples in the bins.
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, &(_, n)| sum.saturating_add(n))
    }

    /// What is wrong with the bins: unit 0, out of order, empty or beyond `size`, too many samples. `None` if nothing is.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let mut total = 0u64;
        let mut next = 0;
        if self.unit_ns == 0 {
            return Some("linear bins have width 0");
        }
        for &(bin, n) in &self.counts {
            if n == 0 || bin < next || bin >= self.size {
                return Some("linear bins are not ascending, hold a zero count, or lie beyond their size");
            }
            if bin.checked_mul(self.unit_ns).is_none() {
                return Some("a linear bin lies beyond u64 nanoseconds");
            }
            next = bin + 1;
            match total.checked_add(n) {
                Some(t) => total = t,
                None => return Some("linear bins count more than u64 samples"),
            }
        }
        None
    }

    /// The slots of the log-linear histogram that hold the bins' lowest values, with counts: (slot, count).
    pub fn as_slots(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts.iter().map(|&(bin, n)| (slot_of(bin.saturating_mul(self.unit_ns)) as u64, n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_that_can_not_be_are_named() {
        let bins =
            |unit_ns, counts: &[(u64, u64)]| LinearBins { unit_ns, size: 10, counts: counts.into(), overflow_at: Vec::new() };
        let good = bins(1000, &[(0, 1), (1, 4), (9, 5)]);
        assert_eq!((good.fault(), good.total()), (None, 10));
        assert_eq!(good.as_slots().collect::<Vec<_>>(), [(0, 1), (1000, 4), (4197, 5)]);
        assert_eq!(bins(1, &[]).fault(), None);

        assert_eq!(bins(0, &[]).fault(), Some("linear bins have width 0"));
        let disorder = Some("linear bins are not ascending, hold a zero count, or lie beyond their size");
        for counts in [[(1, 1), (1, 1)], [(2, 1), (1, 1)], [(0, 0), (1, 1)], [(0, 1), (10, 1)]] {
            assert_eq!(bins(1000, &counts).fault(), disorder, "{counts:?}");
        }
        assert_eq!(bins(1 << 62, &[(3, 1)]).fault(), None);
        assert_eq!(bins(1 << 62, &[(4, 1)]).fault(), Some("a linear bin lies beyond u64 nanoseconds"));
        assert_eq!(bins(1, &[(0, u64::MAX), (1, 1)]).fault(), Some("linear bins count more than u64 samples"));
        assert_eq!(bins(1, &[(0, u64::MAX), (1, 1)]).total(), u64::MAX);
    }
}
