//! The log-linear histogram: HdrHistogram's bucket scheme with 3 significant digits over the whole range of u64 nanoseconds.
//!
//! There is one global scheme, so that any two histograms merge exactly. Slots below 2048 ns are 1 ns wide; above, a slot's width
//! is at most 1/1024 of its value. Source of the scheme: HdrHistogram (Gil Tene), lowest discernible value 1, 3 digits.

use crate::quantile::Quantile;
use rtscope_failure::Problem;
use std::sync::Arc;

/// Number of slots: 2048 linear ones, then 1024 for each further power of two up to 2^64.
pub const SLOTS: usize = 2048 + 53 * 1024;

/// The slot that counts `value`. Branch-free; the sampling loop calls it.
#[inline]
#[allow(clippy::cast_possible_truncation)] // at most SLOTS - 1
pub const fn slot_of(value: u64) -> usize {
    let bucket = 53 - (value | 2047).leading_zeros();
    ((bucket as usize) << 10) + (value >> bucket) as usize
}

/// How many times the slot width has doubled up to `slot`.
const fn doublings(slot: usize) -> usize {
    (slot >> 10).saturating_sub(1)
}

/// The lowest value that `slot` counts.
pub const fn slot_lowest(slot: usize) -> u64 {
    let doublings = doublings(slot);
    ((slot - (doublings << 10)) as u64) << doublings
}

/// The highest value that `slot` counts.
pub const fn slot_highest(slot: usize) -> u64 {
    slot_lowest(slot) + ((1u64 << doublings(slot)) - 1)
}

/// The number of the eighth of an octave that a value is in, for pictures, which need no finer slots; values below 8 have one each.
pub fn eighth_of(value: u64) -> u64 {
    let shift = value.checked_ilog2().unwrap_or(0).saturating_sub(3);
    u64::from(shift) * 8 + (value >> shift)
}

/// The lowest value of an eighth of an octave.
pub fn eighth_lowest(eighth: u64) -> u64 {
    if eighth < 16 { eighth } else { (eighth % 8 + 8) << (eighth / 8 - 1).min(60) }
}

/// Calls `take` with each slot and the number of values in it, for the values `first`, `first - step`, `first - 2 step` ...
/// (`points` values, none below 0). One call for each point, or for each slot where slots are wider than the step.
#[inline]
pub fn progression(first: u64, step: u64, points: u64, mut take: impl FnMut(usize, u64)) {
    let (mut value, mut left) = (first, points);
    while left > 0 {
        let slot = slot_of(value);
        let room = value - slot_lowest(slot);
        let n = if room < step { 1 } else { room.checked_div(step).map_or(left, |more| left.min(more + 1)) };
        take(slot, n);
        left -= n;
        value = value.saturating_sub(n.saturating_mul(step));
    }
}

/// A sparse histogram: slots in ascending order with their counts, without zero counts. Counting is lossless: a total above 2^63-1
/// is refused.
///
/// ```
/// use rtscope_record::Histogram;
///
/// let mut cpu0 = Histogram::new();
/// cpu0.record(12_000, 99)?;
/// cpu0.record(1_000_000, 1)?;
/// let mut cpu1 = Histogram::new();
/// cpu1.record(15_000, 100)?;
///
/// // Merging adds counts: nothing is lost, however often it is done.
/// let mut all = cpu0.clone();
/// all.merge(&cpu1)?;
/// assert_eq!(all.total(), 200);
///
/// // A percentile is the upper end of its slot: never too low, at most 0.1 % too high.
/// let q = |text: &str| text.parse().unwrap();
/// let p50 = all.value_at(q("p50")).unwrap();
/// assert!((15_000..15_000 + 15).contains(&p50));
/// assert!(all.value_at(q("p99.9")).unwrap() >= 1_000_000);
/// assert_eq!(Histogram::new().value_at(q("p50")), None);
/// # Ok::<(), rtscope_record::histogram::CountOverflow>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Histogram {
    counts: Vec<(u32, u64)>,
    total: u64,
    /// The text that this was read from, until something is added: packing takes ten times as long as reading.
    text: Option<Arc<str>>,
}

/// Compares the counts only, not the text.
impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.total == other.total && self.counts == other.counts
    }
}

impl Eq for Histogram {}

/// More than 2^63-1 samples in one histogram, the most that HdrHistogram's format holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a histogram can't count more than 2^63-1 samples")]
pub struct CountOverflow;

impl Problem for CountOverflow {
    fn remedy(&self) -> String {
        "choose fewer records".into()
    }
}

fn add_counts(a: u64, b: u64) -> Result<u64, CountOverflow> {
    a.checked_add(b).filter(|&sum| i64::try_from(sum).is_ok()).ok_or(CountOverflow)
}

/// Why a slot can't be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SlotError {
    /// The slot is not below [`SLOTS`].
    #[error("slot {0} is beyond the histogram's last slot")]
    Beyond(u64),
    /// The counts add up to more than 2^63-1.
    #[error(transparent)]
    Overflow(#[from] CountOverflow),
}

/// The remedy for a damaged file.
pub(crate) const ANEW: &str = "get the file anew from where it was measured: it is damaged, or was changed since";

impl Problem for SlotError {
    fn remedy(&self) -> String {
        match self {
            Self::Beyond(_) => ANEW.into(),
            Self::Overflow(e) => e.remedy(),
        }
    }
}

/// Position of `slot` in the ascending `counts`, or where it would be inserted; starts at `from`. Gallops, since the position is
/// usually near.
fn seek(counts: &[(u32, u64)], from: usize, slot: u32) -> usize {
    let (mut low, mut step) = (from, 1);
    while counts.get(low + step - 1).is_some_and(|c| c.0 < slot) {
        low += step;
        step *= 2;
    }
    let end = counts.len().min(low + step);
    low + counts[low..end].partition_point(|c| c.0 < slot)
}

/// Looking up one slot costs about as much as passing this many in a merge.
const MUCH_SMALLER: usize = 4;

/// Merges two lists of counts that can't overflow. Avoids a branch on which list is next: that is unpredictable, and a
/// misprediction costs more than the additions.
fn both(a: &[(u32, u64)], b: &[(u32, u64)]) -> Vec<(u32, u64)> {
    let mut sum = Vec::with_capacity(a.len().saturating_add(b.len()));
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let (of_a, of_b) = (x.0 <= y.0, y.0 <= x.0);
        sum.push((x.0.min(y.0), x.1 * u64::from(of_a) + y.1 * u64::from(of_b)));
        (i, j) = (i + usize::from(of_a), j + usize::from(of_b));
    }
    sum.extend_from_slice(&a[i..]);
    sum.extend_from_slice(&b[j..]);
    sum
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a histogram from a dense array of counts as the sampling loop keeps it (index = slot).
    pub fn from_dense(counts: &[u64]) -> Result<Self, SlotError> {
        Self::from_slots((0u64..).zip(counts.iter().copied()))
    }

    /// Builds a histogram from pairs of slot and count; zero counts are skipped, repeated slots add up.
    pub fn from_slots(pairs: impl IntoIterator<Item = (u64, u64)>) -> Result<Self, SlotError> {
        let mut h = Self::new();
        for (slot, n) in pairs {
            h.add(slot, n)?;
        }
        Ok(h)
    }

    /// An empty histogram with room for `slots` slots.
    pub(crate) fn with_room(slots: usize) -> Self {
        Self { counts: Vec::with_capacity(slots.min(SLOTS)), ..Self::default() }
    }

    /// Remembers `text` as what this histogram was read from.
    pub(crate) fn read_from(self, text: &str) -> Self {
        Self { text: Some(text.into()), ..self }
    }

    /// The text that this histogram was read from, if any.
    pub(crate) fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Adds `n` to the count of a slot.
    pub(crate) fn add(&mut self, slot: u64, n: u64) -> Result<(), SlotError> {
        let index = usize::try_from(slot).ok().filter(|&s| s < SLOTS).ok_or(SlotError::Beyond(slot))?;
        Ok(self.add_slot(index, n)?)
    }

    fn add_slot(&mut self, slot: usize, n: u64) -> Result<(), CountOverflow> {
        if n == 0 {
            return Ok(());
        }
        self.total = add_counts(self.total, n)?;
        self.text = None;
        let slot = u32::try_from(slot).map_err(|_| CountOverflow)?;
        // The total is at least as large as every count, so no count can overflow. Ascending slots, the usual case, are appended.
        match self.counts.last() {
            Some(last) if last.0 >= slot => match self.counts.binary_search_by_key(&slot, |c| c.0) {
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

    /// Adds every count of `other`, exactly. If `other` is much smaller and its slots are already occupied, the cost depends on
    /// `other` alone.
    pub fn merge(&mut self, other: &Self) -> Result<(), CountOverflow> {
        self.total = add_counts(self.total, other.total)?;
        self.text = None;
        if other.counts.len() > self.counts.len() / MUCH_SMALLER {
            self.counts = both(&self.counts, &other.counts);
            return Ok(());
        }
        let (mut at, mut absent) = (0, 0);
        for &(slot, n) in &other.counts {
            at = seek(&self.counts, at, slot);
            match self.counts.get_mut(at) {
                // The total is at least as large as every count, so no count can overflow.
                Some(own) if own.0 == slot => own.1 += n,
                _ => absent += 1,
            }
        }
        if absent > 0 {
            self.insert_absent(other, absent);
        }
        Ok(())
    }

    /// Inserts the `absent` slots of `other` that are not yet occupied, from the last on, so that each slot moves once.
    fn insert_absent(&mut self, other: &Self, absent: usize) {
        let mut old = self.counts.len();
        self.counts.resize(old + absent, (0, 0));
        let mut end = self.counts.len();
        for &(slot, n) in other.counts.iter().rev() {
            if old == end {
                break;
            }
            while old > 0 && self.counts[old - 1].0 > slot {
                (old, end) = (old - 1, end - 1);
                self.counts[end] = self.counts[old];
            }
            if old == 0 || self.counts[old - 1].0 != slot {
                end -= 1;
                self.counts[end] = (slot, n);
            }
        }
    }

    /// Number of samples.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Number of slots that hold samples.
    pub fn occupied(&self) -> usize {
        self.counts.len()
    }

    /// Non-empty slots in ascending order: (slot, count).
    pub fn slots(&self) -> impl DoubleEndedIterator<Item = (usize, u64)> + '_ {
        self.counts.iter().map(|&(s, n)| (s as usize, n))
    }

    /// Non-empty slots in ascending order: (lowest value, highest value, count), ns.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64, u64)> + '_ {
        self.slots().map(|(s, n)| (slot_lowest(s), slot_highest(s), n))
    }

    /// The value at `q`: the highest value of its slot, so that it is never too low; `None` when empty.
    ///
    /// Does not check whether the count supports `q`: see [`Quantile::supported_by`].
    pub fn value_at(&self, q: Quantile) -> Option<u64> {
        self.values_at_ranks(&[q.rank(self.total)]).first().copied().flatten()
    }

    /// For each of these ascending ranks (from 1), the highest value of the slot with that sample; `None` beyond the last sample.
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

    /// The values at [`Quantile::STANDARD`], each as from [`Histogram::value_at`], among `count` events, of which those not in the
    /// histogram are higher than all in it. `None` if `count` does not support a quantile, or if it lies among the events not in
    /// the histogram.
    pub fn standard(&self, count: u64) -> [Option<u64>; Quantile::STANDARD.len()] {
        let ranks = Quantile::STANDARD.map(|q| q.rank(count));
        let mut values = self.values_at_ranks(&ranks).into_iter();
        Quantile::STANDARD.map(|q| values.next().flatten().filter(|_| q.supported_by(count)))
    }

    /// Samples in slots entirely above `value`, and samples in the slot that holds it: the exact number above `value` lies between
    /// the first and the sum of both.
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
    fn eighths_of_octaves_follow_one_another() {
        for eighth in 0..400 {
            let lowest = eighth_lowest(eighth);
            assert_eq!(eighth_of(lowest), eighth);
            assert!(eighth == 0 || eighth_of(lowest - 1) == eighth - 1, "{eighth}");
        }
        assert_eq!((eighth_of(u64::MAX), eighth_lowest(eighth_of(u64::MAX))), (60 * 8 + 15, 15 << 60));
    }

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
        fn merging_is_adding_slot_by_slot(
            parts in prop::collection::vec(prop::collection::btree_map(0u64..300, 1u64..9, 0..40), 1..6),
        ) {
            let (mut sum, mut plain) = (Histogram::new(), std::collections::BTreeMap::new());
            for part in parts {
                for (&slot, &n) in &part {
                    *plain.entry(slot).or_insert(0) += n;
                }
                sum.merge(&Histogram::from_slots(part).unwrap()).unwrap();
                prop_assert_eq!(&sum, &Histogram::from_slots(plain.clone()).unwrap());
            }
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

    fn of(counts: &[(u64, u64)]) -> Histogram {
        Histogram::from_slots(counts.iter().copied()).unwrap()
    }

    #[test]
    fn every_sample_is_in_its_slot() {
        let mut h = Histogram::new();
        // In any order and repeatedly; 0 times adds nothing.
        for (value, n) in [(5, 3), (5, 2), (9, 4), (5, 5), (7, 1), (9, 6), (3, 0), (4096, 6), (4099, 1), (4100, 1)] {
            h.record(value, n).unwrap();
        }
        let slots = [(5, 10), (7, 1), (9, 10), (3072, 7), (3073, 1)];
        assert_eq!(h.slots().collect::<Vec<_>>(), slots);
        assert_eq!(h.total(), 29);
        assert_eq!(h, of(&slots.map(|(slot, n)| (slot as u64, n))));
        assert_eq!(h.iter().next_back(), Some((4100, 4103, 1)));
        assert_eq!(Histogram::from_dense(&[0, 2, 0, 0, 3]), Ok(of(&[(1, 2), (4, 3)])));
        assert_eq!(of(&[(4, 1), (1, 2), (4, 2), (0, 0)]), of(&[(1, 2), (4, 3)]));
    }

    #[test]
    fn points_of_one_slot_are_given_together() {
        let of = |first, step, points| {
            let mut calls = Vec::new();
            progression(first, step, points, |slot, n| calls.push((slot, n)));
            calls
        };
        // Slots of 4,100 to 4,103 ns, 4,096 to 4,099, and 4,094 to 4,095.
        assert_eq!(of(4100, 1, 6), [(3073, 1), (3072, 4), (3071, 1)]);
        assert_eq!((of(4095, 1, 2), of(4095, 2, 2)), (vec![(3071, 2)], vec![(3071, 1), (3070, 1)]));
        assert_eq!((of(3001, 1000, 3), of(5, 0, 3), of(5, 1, 0)), (vec![(2524, 1), (2001, 1), (1001, 1)], vec![(5, 3)], vec![]));
    }

    #[test]
    fn there_is_no_slot_beyond_the_last() {
        let last = SLOTS as u64 - 1;
        assert_eq!(Histogram::from_slots([(last, 1)]).unwrap().iter().next().map(|(_, highest, _)| highest), Some(u64::MAX));
        assert_eq!(Histogram::from_slots([(last + 1, 1)]), Err(SlotError::Beyond(last + 1)));
        assert_eq!(Histogram::from_slots([(0, 1 << 62), (1, 1 << 62)]), Err(SlotError::Overflow(CountOverflow)));
    }

    #[test]
    fn equal_slots_add_up_when_merged() {
        let mut h = of(&[(1, 10), (3, 20), (8, 30)]);
        h.merge(&of(&[(0, 1), (3, 4), (9, 5)])).unwrap();
        assert_eq!(h, of(&[(0, 1), (1, 10), (3, 24), (8, 30), (9, 5)]));
        assert_eq!(h.total(), 70);
    }

    #[test]
    fn a_rank_has_the_value_of_its_sample() {
        let h = of(&[(2, 3), (2048, 2), (9, 1)]);
        assert_eq!(h.values_at_ranks(&[1, 3, 4, 5, 6, 7]), [Some(2), Some(2), Some(9), Some(2049), Some(2049), None]);
        assert_eq!(h.value_at("p50".parse().unwrap()), Some(2));
        assert_eq!(h.value_at("p100".parse().unwrap()), Some(2049));
        assert_eq!(Histogram::new().value_at("p50".parse().unwrap()), None);
    }

    #[test]
    fn what_lies_above_is_counted_but_for_the_slot_itself() {
        let h = of(&[(2, 3), (9, 1), (10, 5), (2048, 2)]);
        for (value, expected) in [(1, (11, 0)), (2, (8, 3)), (9, (7, 1)), (2047, (2, 0)), (2049, (0, 2)), (2050, (0, 0))] {
            assert_eq!(h.above(value), expected, "{value}");
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
