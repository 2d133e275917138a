//! The log-linear histogram: HdrHistogram's bucket scheme with 3 significant digits over the whole range of u64 nanoseconds.
//!
//! One global scheme, so that any two histograms merge exactly. Slots below 2048 ns are 1 ns wide; above, a slot's width is at
//! most 1/1024 of its value. Source of the scheme: HdrHistogram (Gil Tene), lowest discernible value 1, 3 digits.

use crate::quantile::Quantile;
use std::cmp::Ordering;

/// Number of slots: 2048 linear ones, then 1024 for each further power of two up to 2^64.
pub const SLOTS: usize = 2048 + 53 * 1024;

/// The slot that counts `value`. Branch-free; the sampling loop calls it.
#[inline]
#[allow(clippy::cast_possible_truncation)] // at most SLOTS - 1
pub const fn slot_of(value: u64) -> usize {
    let bucket = 53 - (value | 2047).leading_zeros();
    ((bucket as usize) << 10) + (value >> bucket) as usize
}

/// The lowest value that `slot` counts.
pub const fn slot_lowest(slot: usize) -> u64 {
    if slot < 2048 {
        return slot as u64;
    }
    let bucket = (slot >> 10) - 1;
    ((slot - (bucket << 10)) as u64) << bucket
}

/// The highest value that `slot` counts.
pub const fn slot_highest(slot: usize) -> u64 {
    if slot < 2048 {
        return slot as u64;
    }
    let bucket = (slot >> 10) - 1;
    slot_lowest(slot) + ((1u64 << bucket) - 1)
}

/// A sparse histogram: slots in ascending order with their counts, no zero counts kept. Counts are lossless: adding past 2^63-1 is refused.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Histogram {
    counts: Vec<(u32, u64)>,
    total: u64,
}

/// More samples than one histogram counts: 2^63-1, the most that HdrHistogram's format holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a histogram can't count more than 2^63-1 samples")]
pub struct CountOverflow;

fn add_counts(a: u64, b: u64) -> Result<u64, CountOverflow> {
    a.checked_add(b).filter(|&sum| i64::try_from(sum).is_ok()).ok_or(CountOverflow)
}

/// No slot has this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SlotError {
    /// The slot is not below [`SLOTS`].
    #[error("slot {0} is beyond the histogram's last slot")]
    Beyond(u64),
    /// The counts add up to more than u64.
    #[error(transparent)]
    Overflow(#[from] CountOverflow),
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Self::default()
    }

    /// From a dense array of counts as the sampling loop keeps it (index = slot).
    pub fn from_dense(counts: &[u64]) -> Result<Self, SlotError> {
        Self::from_slots(counts.iter().enumerate().filter(|&(_, &n)| n > 0).map(|(slot, &n)| (slot as u64, n)))
    }

    /// From pairs of slot and count; zero counts are skipped, repeated slots add up.
    pub fn from_slots(pairs: impl IntoIterator<Item = (u64, u64)>) -> Result<Self, SlotError> {
        let mut h = Self::new();
        for (slot, n) in pairs {
            let index = usize::try_from(slot).ok().filter(|&s| s < SLOTS).ok_or(SlotError::Beyond(slot))?;
            h.add_slot(index, n)?;
        }
        Ok(h)
    }

    fn add_slot(&mut self, slot: usize, n: u64) -> Result<(), CountOverflow> {
        if n == 0 {
            return Ok(());
        }
        self.total = add_counts(self.total, n)?;
        let slot = u32::try_from(slot).map_err(|_| CountOverflow)?;
        // The total is at least every count, so no count can overflow. Ascending slots, the usual case, are appended.
        match self.counts.last_mut() {
            Some(last) if last.0 == slot => last.1 += n,
            Some(last) if last.0 > slot => match self.counts.binary_search_by_key(&slot, |c| c.0) {
                Ok(at) => self.counts[at].1 += n,
                Err(at) => self.counts.insert(at, (slot, n)),
            },
            _ => self.counts.push((slot, n)),
        }
        Ok(())
    }

    /// Counts `value` `n` times.
    pub fn record(&mut self, value: u64, n: u64) -> Result<(), CountOverflow> {
        self.add_slot(slot_of(value), n)
    }

    /// Adds every count of `other`; exact.
    pub fn merge(&mut self, other: &Self) -> Result<(), CountOverflow> {
        let total = add_counts(self.total, other.total)?;
        let mut counts = Vec::with_capacity(self.counts.len().max(other.counts.len()));
        let (mut ours, mut theirs) = (self.counts.iter().copied().peekable(), other.counts.iter().copied().peekable());
        while let (Some(a), Some(b)) = (ours.peek().copied(), theirs.peek().copied()) {
            counts.push(match a.0.cmp(&b.0) {
                Ordering::Less => a,
                Ordering::Greater => b,
                Ordering::Equal => (a.0, a.1 + b.1),
            });
            if a.0 <= b.0 {
                ours.next();
            }
            if b.0 <= a.0 {
                theirs.next();
            }
        }
        counts.extend(ours);
        counts.extend(theirs);
        *self = Self { counts, total };
        Ok(())
    }

    /// Number of samples.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Non-empty slots in ascending order: (slot, count).
    pub fn slots(&self) -> impl DoubleEndedIterator<Item = (usize, u64)> + '_ {
        self.counts.iter().map(|&(s, n)| (s as usize, n))
    }

    /// Non-empty slots in ascending order: (lowest value, highest value, count), ns.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64, u64)> + '_ {
        self.slots().map(|(s, n)| (slot_lowest(s), slot_highest(s), n))
    }

    /// The value at `q`: the highest one its slot may hold, so that it is never too low; `None` when empty.
    ///
    /// The count decides nothing here: whether it supports `q` is [`Quantile::supported_by`].
    pub fn value_at(&self, q: Quantile) -> Option<u64> {
        self.values_at_ranks(&[q.rank(self.total)]).first().copied().flatten()
    }

    /// The highest values that the slots of the samples of these ascending ranks (from 1) may hold; `None` beyond the last sample.
    pub fn values_at_ranks(&self, ranks: &[u64]) -> Vec<Option<u64>> {
        let mut values = Vec::with_capacity(ranks.len());
        let mut slots = self.counts.iter();
        let (mut seen, mut highest) = (0u64, None);
        for &rank in ranks {
            while seen < rank {
                let Some(&(slot, n)) = slots.next() else { break };
                seen += n;
                highest = Some(slot);
            }
            values.push(highest.filter(|_| seen >= rank).map(|slot| slot_highest(slot as usize)));
        }
        values
    }

    /// Samples whose slot lies wholly above `value`, and samples in the slot that holds it: the exact number above `value` lies
    /// between the first and the sum of both.
    pub fn above(&self, value: u64) -> (u64, u64) {
        let slot = slot_of(value);
        let mut above = 0;
        let mut within = 0;
        for (s, n) in self.slots() {
            if s > slot {
                above += n;
            } else if s == slot {
                within = n;
            }
        }
        (above, within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_slots_tile_the_whole_range() {
        assert_eq!(slot_of(0), 0);
        assert_eq!(slot_of(u64::MAX), SLOTS - 1);
        assert_eq!(slot_highest(SLOTS - 1), u64::MAX);
        for slot in 1..SLOTS {
            assert_eq!(slot_lowest(slot), slot_highest(slot - 1) + 1, "slot {slot}");
            assert_eq!(slot_of(slot_lowest(slot)), slot);
            assert_eq!(slot_of(slot_highest(slot)), slot);
        }
    }

    proptest! {
        #[test]
        fn a_slot_is_within_a_thousandth(value: u64) {
            let s = slot_of(value);
            prop_assert!(slot_lowest(s) <= value && value <= slot_highest(s));
            prop_assert!(slot_highest(s) - slot_lowest(s) <= value / 1024);
        }

        #[test]
        fn merging_is_exact_and_commutes(a in prop::collection::vec(any::<u64>(), 0..200), b in prop::collection::vec(0u64..5_000_000, 0..200)) {
            let fill = |v: &[u64]| { let mut h = Histogram::new(); for &x in v { h.record(x, 1).unwrap(); } h };
            let (ha, hb) = (fill(&a), fill(&b));
            let mut ab = ha.clone();
            ab.merge(&hb).unwrap();
            let mut ba = hb;
            ba.merge(&ha).unwrap();
            let both = fill(&[a, b].concat());
            prop_assert_eq!(&ab, &ba);
            prop_assert_eq!(&ab, &both);
            prop_assert_eq!(ab.iter().map(|(_, _, n)| n).sum::<u64>(), ab.total());
        }

        #[test]
        fn a_percentile_is_never_too_low_nor_0_1_percent_too_high(mut v in prop::collection::vec(0u64..1 << 40, 1..300), q in 1u64..=1000) {
            let mut h = Histogram::new();
            for &x in &v { h.record(x, 1).unwrap(); }
            v.sort_unstable();
            let q: Quantile = format!("p{}.{}", q / 10, q % 10).parse().unwrap();
            let exact = v[usize::try_from(q.rank(v.len() as u64)).unwrap() - 1];
            let got = h.value_at(q).unwrap();
            prop_assert!(got >= exact && got - exact <= exact / 1000);
        }
    }

    #[test]
    fn counts_do_not_wrap() {
        let mut h = Histogram::new();
        let most = (1 << 63) - 1;
        h.record(1, most).unwrap();
        assert_eq!(h.record(2, 1), Err(CountOverflow));
        assert_eq!(h.total(), most);
        let mut other = Histogram::new();
        other.record(5, 1).unwrap();
        assert_eq!(other.merge(&h), Err(CountOverflow));
        assert_eq!(other.total(), 1);
    }
}
