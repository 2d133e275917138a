//! Finds which pulse of one instrument is which pulse of the other, by their times. The two clocks may differ in start
//! and rate.

/// A pulse as an instrument saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pulse<'a> {
    /// Time of the pulse, ns since an arbitrary start of the instrument's own.
    pub(super) at: i128,
    /// The measured value, ns.
    pub(super) value: i64,
    /// Its edge: "rising", "falling".
    pub(super) edge: &'a str,
}

/// Why pulses are not paired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unpaired {
    /// The records keep only the worst samples.
    #[error("the records do not keep every pulse (--worst 10000 keeps all of a short run)")]
    NotKept,
    /// A side has several runs, and nothing says which run of one belongs to which of the other.
    #[error("several runs a side")]
    SeveralRuns,
    /// The times fit in several ways, or in none.
    #[error("the pulses can't be matched by their times: take random intervals, or the same number of pulses on both sides")]
    Ambiguous,
}

/// How many pulses may be absent at the start of one side: every alignment up to this is tried.
const SHIFTS: usize = 64;
/// Greatest difference between two clocks over the time from one pulse to the next, ns; a quarter of the shortest
/// interval where that is less.
const ALIKE: i128 = 100_000;

/// Pairs the values of pulses, given in ascending order of time: all pulses of both sides where that fits, else by the
/// one alignment that fits clearly best.
pub(super) fn pair(a: &[Pulse<'_>], b: &[Pulse<'_>]) -> Result<Vec<(i64, i64)>, Unpaired> {
    let gaps = [a, b].into_iter().flat_map(|side| side.windows(2)).map(|w| w[1].at - w[0].at);
    // With fewer than two pulses on each side there is no interval to limit the tolerance.
    let tolerance = gaps.min().map_or(ALIKE, |shortest| (shortest / 4).min(ALIKE));
    let shifts = (0..SHIFTS.min(a.len())).map(|i| (i, 0)).chain((1..SHIFTS.min(b.len())).map(|j| (0, j)));
    let mut ways: Vec<Vec<(i64, i64)>> = shifts.map(|(i, j)| follow(&a[i..], &b[j..], tolerance)).collect();
    ways.sort_by_key(|w| std::cmp::Reverse(w.len()));
    let second = ways.get(1).map_or(0, Vec::len);
    let best = ways.into_iter().next().unwrap_or_default();
    let complete = best.len() == a.len() && best.len() == b.len();
    let clear = second * 10 < best.len() * 9 && best.len() * 2 > a.len().min(b.len());
    if !best.is_empty() && (complete || clear) { Ok(best) } else { Err(Unpaired::Ambiguous) }
}

/// Pairs pulses from the first of both sides on. The offset between the clocks is updated with every pair, so their rates
/// may differ.
fn follow(a: &[Pulse<'_>], b: &[Pulse<'_>], tolerance: i128) -> Vec<(i64, i64)> {
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    let (Some(first), Some(other)) = (a.first(), b.first()) else { return pairs };
    let mut apart = other.at - first.at;
    while let (Some(p), Some(q)) = (a.get(i), b.get(j)) {
        let off = q.at - p.at - apart;
        if off > tolerance {
            i += 1;
        } else if off < -tolerance {
            j += 1;
        } else {
            if p.edge == q.edge {
                pairs.push((p.value, q.value));
            }
            apart += off;
            (i, j) = (i + 1, j + 1);
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pulses at these times, in us, each with its number as its value.
    fn at(times: &[i128]) -> Vec<Pulse<'static>> {
        times.iter().zip(0..).map(|(&us, value)| Pulse { at: us * 1000, value, edge: "rising" }).collect()
    }

    /// The numbers of the pulses that are paired.
    fn paired(a: &[i128], b: &[i128]) -> Result<Vec<(i64, i64)>, Unpaired> {
        pair(&at(a), &at(b))
    }

    #[test]
    fn as_many_at_one_rate_are_all_paired() {
        let (a, b): (Vec<i128>, Vec<i128>) = ((0..5).map(|i| i * 1000).collect(), (0..5).map(|i| 70 + i * 1000).collect());
        assert_eq!(paired(&a, &b), Ok((0..5).map(|i| (i, i)).collect()));
        assert_eq!(paired(&a, &b[1..]), Err(Unpaired::Ambiguous));
        assert_eq!(paired(&a[1..], &b), Err(Unpaired::Ambiguous));
        assert_eq!(
            (paired(&[3], &[9]), paired(&[], &[]), paired(&[3], &[])),
            (Ok(vec![(0, 0)]), Err(Unpaired::Ambiguous), Err(Unpaired::Ambiguous))
        );
    }

    #[test]
    fn a_pulse_may_be_off_by_the_tolerance_and_no_more() {
        // Long intervals: the limit is 100 us. The times that follow are shifted too.
        for (off, near) in [(100, true), (-100, true), (101, false), (-101, false)] {
            let b = [0, 10_000, 30_000 + off, 70_000 + off];
            let found = paired(&[0, 10_000, 30_000, 70_000], &b).unwrap_or_default();
            assert_eq!(found.len() == 4, near, "{off}: {found:?}");
        }
        // The shortest interval is 40 us, so the limit is a quarter of that, wherever that interval lies.
        for ((off, near), start) in
            [(10, true), (-10, true), (11, false), (-11, false)].into_iter().flat_map(|c| [(c, 0), (c, 7_000)])
        {
            let b = [0, 40, 5_000, 20_000 + off, 90_000 + off].map(|t| t + start);
            let found = paired(&[0, 40, 5_000, 20_000, 90_000].map(|t| t + start), &b).unwrap_or_default();
            assert_eq!(found.len() == 5, near, "{off} after {start}: {found:?}");
        }
    }

    #[test]
    fn pulses_of_one_moment_are_paired_in_their_order() {
        // Only their order tells the first two apart: each has one partner.
        assert_eq!(paired(&[0, 0, 1_000], &[50, 50, 1_050]), Ok(vec![(0, 0), (1, 1), (2, 2)]));
    }

    #[test]
    fn clocks_of_other_rates_are_followed() {
        // The clock runs 5 % faster, so without tracking it would be off by more than the tolerance after three pulses.
        let a: Vec<i128> = (0..30).map(|i| i * 1000 + i * i % 700).collect();
        let b: Vec<i128> = a.iter().map(|t| 5_000 + t * 21 / 20).collect();
        assert_eq!(paired(&a, &b).map(|p| p.len()), Ok(30));
    }

    #[test]
    fn edges_are_paired_with_their_like() {
        let (mut a, mut b) = (at(&[0, 1_000, 3_000, 7_000]), at(&[500, 1_500, 3_500, 7_500]));
        (a[1].edge, b[1].edge, b[2].edge) = ("falling", "falling", "falling");
        // The third pulse rises on one side and falls on the other.
        assert_eq!(pair(&a, &b), Ok(vec![(0, 0), (1, 1), (3, 3)]));
        assert_eq!(pair(&a[1..2], &b[..1]), Err(Unpaired::Ambiguous), "one of each");
    }

    #[test]
    fn the_best_way_must_be_clearly_better_than_the_next() {
        // Equal intervals and one extra pulse on one side: either everything but that pulse is paired, or everything is
        // shifted by one.
        let of = |n: i128| {
            let all: Vec<i128> = (0..n).map(|i| i * 1000).collect();
            let more: Vec<i128> =
                all.iter().copied().chain([2_500]).collect::<std::collections::BTreeSet<_>>().into_iter().collect();
            [paired(&more, &all).map(|p| p.len()), paired(&all, &more).map(|p| p.len())]
        };
        assert_eq!(of(9), [Ok(9), Ok(9)], "8 are less than nine tenths of 9");
        assert_eq!(of(10), [Err(Unpaired::Ambiguous), Err(Unpaired::Ambiguous)], "9 are nine tenths of 10");
    }

    #[test]
    fn more_than_half_must_be_paired() {
        // The first three pulses match; the rest are unrelated.
        let (a, b) = ([0, 1_000, 3_200, 10_300, 17_700, 24_900], [0, 1_000, 3_200, 31_100, 42_900, 55_000]);
        assert_eq!(paired(&a[..5], &b), Ok(vec![(0, 0), (1, 1), (2, 2)]));
        assert_eq!(paired(&a, &b[..5]), Ok(vec![(0, 0), (1, 1), (2, 2)]));
        assert_eq!(paired(&a, &b), Err(Unpaired::Ambiguous));
    }
}
