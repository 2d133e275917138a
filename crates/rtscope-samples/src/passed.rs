//! Books the grid points that the loop passed over: off the path of a sample, in memory that is present from the start.
//!
//! The points of one stall are an arithmetic progression, so a stall is first noted as two numbers, whatever its length. When the
//! notes are full, further stalls are counted slot by slot. That takes some ns for each point or slot, a small part of the stall's
//! own duration.

use crate::memory::{room, touched};
use rtscope_record::histogram::{SlotError, progression, slot_lowest, slot_of};
use rtscope_record::{Histogram, PassedOver};
use std::collections::BTreeMap;

/// Number of slots in the loop's arrays, for samples and for points passed over: latencies below 2^30 ns (1.07 s).
pub(crate) const NEAR: usize = slot_of(1 << 30);
/// Stalls that are noted before the slots are counted.
const NOTES: usize = 128;
/// Counter wraps that fit without an allocation, each of 65,536 points: 33 million in all.
const FULL: usize = 512;

/// The points passed over by one thread.
#[derive(Debug)]
pub struct Passed {
    interval: u64,
    /// Noted stalls: latency of the first point (ns), number of points. Points beyond the array are also noted here, and may
    /// allocate: after a stall of more than a second, that disturbs nothing.
    stalls: Vec<(u64, u64)>,
    /// 16-bit counters, because every thread locks this memory and it mostly stays empty.
    counts: Vec<u16>,
    /// Slots whose counter wrapped, once for each wrap.
    full: Vec<u32>,
    sum: u128,
    min: u64,
    max: u64,
}

impl Passed {
    /// Room for the points of a grid with this interval, ns.
    pub fn new(interval: u64) -> Self {
        Self { interval, stalls: room(NOTES, (0, 0)), counts: touched(NEAR, 0), full: room(FULL, 0), ..Self::none() }
    }

    /// For a thread without a grid: allocates nothing.
    pub fn none() -> Self {
        let (stalls, counts, full) = (Vec::new(), Vec::new(), Vec::new());
        Self { interval: 0, stalls, counts, full, sum: 0, min: u64::MAX, max: 0 }
    }

    /// The interval of the grid, ns; 0 without a grid.
    pub fn interval(&self) -> u64 {
        self.interval
    }

    /// Books a stall: the first of the `points` passed over waited `first` ns, each further one an interval less.
    #[cold]
    pub fn stall(&mut self, first: u64, points: u64) {
        let Some(steps) = points.checked_sub(1) else { return };
        let last = first.saturating_sub(steps.saturating_mul(self.interval));
        self.sum += (u128::from(first) + u128::from(last)) * u128::from(points) / 2;
        self.min = self.min.min(last);
        self.max = self.max.max(first);
        if self.stalls.len() < NOTES {
            self.stalls.push((first, points)); // capacity was touched beforehand
        } else {
            self.count(first, points);
        }
    }

    fn count(&mut self, first: u64, points: u64) {
        let beyond = first.checked_sub(slot_lowest(self.counts.len())).and_then(|over| over.checked_div(self.interval));
        let far = beyond.map_or(0, |steps| points.min(steps + 1));
        if far > 0 {
            self.stalls.push((first, far));
        }
        let (counts, full) = (&mut self.counts, &mut self.full);
        progression(first.saturating_sub(far.saturating_mul(self.interval)), self.interval, points - far, |slot, n| {
            let Some(count) = counts.get_mut(slot) else { return };
            let sum = u64::from(*count) + n;
            *count = u16::try_from(sum & 0xffff).unwrap_or_default();
            for _ in 0..sum >> 16 {
                full.push(u32::try_from(slot).unwrap_or_default());
            }
        });
    }

    /// All points passed over, as a record has them; `None` if there were none.
    pub fn finish(mut self) -> Result<Option<PassedOver>, SlotError> {
        if self.stalls.is_empty() {
            return Ok(None);
        }
        // The array is there already: counting the notes in it costs a tenth of sorting them into a tree.
        for (first, points) in std::mem::take(&mut self.stalls) {
            self.count(first, points);
        }
        let near = (0u64..).zip(self.counts.iter().map(|&n| u64::from(n)));
        let full = self.full.iter().map(|&slot| (u64::from(slot), 1 << 16));
        let mut far = BTreeMap::new();
        for &(first, points) in &self.stalls {
            progression(first, self.interval, points, |slot, n| *far.entry(slot as u64).or_insert(0u64) += n);
        }
        let histogram = Histogram::from_slots(near.chain(full).chain(far))?;
        Ok(Some(PassedOver { histogram, sum: self.sum, min: self.min, max: self.max }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn notes_and_counts_are_what_the_points_are(
            stalls in prop::collection::vec(prop_oneof![9 => 0u64..1_000_000, 1 => 0u64..3_000_000_000], 0..200),
            interval in 10_000u64..500_000,
        ) {
            let stalls: Vec<(u64, u64)> = stalls.into_iter().map(|first| (first, first / interval + 1)).collect();
            let mut passed = Passed::new(interval);
            for &(first, points) in &stalls { passed.stall(first, points); }
            prop_assert_eq!(passed.finish().unwrap(), PassedOver::of_stalls(stalls, interval).unwrap());
        }
    }

    #[test]
    fn a_counter_may_go_round() {
        let mut passed = Passed::new(1_000);
        for _ in 0..200_000 {
            passed.stall(1_500, 2);
        }
        assert_eq!(passed.full.capacity(), FULL, "nothing was allocated");
        let own = passed.finish().unwrap().unwrap();
        assert_eq!(own.histogram.slots().collect::<Vec<_>>(), [(slot_of(500), 200_000), (slot_of(1_500), 200_000)]);
        assert_eq!((own.sum, own.min, own.max), (400_000_000, 500, 1_500));
    }

    #[test]
    fn ten_minutes_are_noted_by_two_numbers() {
        let mut passed = Passed::new(200_000);
        passed.stall(600_000_000_000, 3_000_000);
        assert_eq!((passed.stalls.len(), passed.stalls.capacity()), (1, NOTES));
        let own = passed.finish().unwrap().unwrap();
        assert_eq!((own.histogram.total(), own.min, own.max), (3_000_000, 200_000, 600_000_000_000));
    }

    #[test]
    fn nobody_waits_where_nothing_was_passed_over() {
        let mut passed = Passed::new(250);
        passed.stall(100, 0);
        assert_eq!((passed.interval(), Passed::none().interval()), (250, 0));
        assert_eq!((passed.finish(), Passed::none().finish()), (Ok(None), Ok(None)));
    }

    /// A `Passed` whose notes are full of stalls of one point that waited 1 ns.
    fn noted(interval: u64) -> Passed {
        let mut passed = Passed::new(interval);
        for _ in 0..NOTES {
            passed.stall(1, 1);
        }
        passed
    }

    #[test]
    fn what_finds_the_notes_full_is_counted() {
        let mut passed = noted(100);
        assert_eq!((passed.stalls.len(), passed.counts[1]), (NOTES, 0));
        passed.stall(201, 3);
        assert_eq!((passed.stalls.len(), passed.stalls.capacity()), (NOTES, NOTES));
        assert_eq!([1, 101, 201, 301].map(|slot| passed.counts[slot]), [1, 1, 1, 0]);
        let own = passed.finish().unwrap().unwrap();
        assert_eq!(own.histogram.slots().collect::<Vec<_>>(), [(1, 129), (101, 1), (201, 1)]);
        assert_eq!((own.sum, own.min, own.max), (128 + 303, 1, 201));
    }

    #[test]
    fn of_a_stall_beyond_the_array_the_points_beyond_it_are_noted() {
        const BEYOND: u64 = 1 << 30;
        for (first, noted_points) in [(BEYOND - 1, 0), (BEYOND, 1), (BEYOND + 99, 1), (BEYOND + 100, 2), (BEYOND + 250, 3)] {
            let mut passed = noted(100);
            passed.stall(first, 4);
            let note = (noted_points > 0).then_some((first, noted_points));
            assert_eq!(passed.stalls[NOTES..].first(), note.as_ref());
            let counted: u64 = passed.counts.iter().map(|&n| u64::from(n)).sum();
            assert_eq!(counted, 4 - noted_points, "{first}");
            let stalls = [(1, 1); NOTES].into_iter().chain([(first, 4)]);
            assert_eq!(passed.finish(), PassedOver::of_stalls(stalls, 100));
        }
    }
}
