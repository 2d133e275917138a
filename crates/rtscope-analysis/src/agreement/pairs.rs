//! Which pulse of one instrument is which of another: by their times, whose clocks differ in start and rate.

/// A pulse as an instrument saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pulse {
    /// When, ns since a moment of the instrument's own.
    pub(super) at: i128,
    /// What was measured of it, ns.
    pub(super) value: i64,
    /// Its edge.
    pub(super) falling: bool,
}

/// Why pulses are not paired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unpaired {
    /// Only the worst are there.
    #[error("the records do not keep every pulse (--worst 10000 keeps all of a short run)")]
    NotKept,
    /// Which run goes with which is not known.
    #[error("several runs a side")]
    SeveralRuns,
    /// The times fit in several ways, or in none.
    #[error("the times of the pulses do not tell which is which: random intervals, or the same number of pulses, would")]
    Ambiguous,
}

/// Beginnings that are tried: so many pulses may be absent at the start of one side.
const SHIFTS: usize = 64;
/// Two clocks tell the time from one pulse to the next alike to this, ns, at most; to a quarter of the shortest interval where that is less.
const ALIKE: i128 = 100_000;

/// Pairs the values of pulses in ascending order of time. All of both, where that fits; else the one way that fits clearly best.
pub(super) fn pair(a: &[Pulse], b: &[Pulse]) -> Result<Vec<(i64, i64)>, Unpaired> {
    let gaps = [a, b].into_iter().flat_map(|side| side.windows(2)).map(|w| w[1].at - w[0].at);
    // Without a second pulse anything is near enough.
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

/// Pairs from the first pulse of both on; the distance between the clocks is taken from pair to pair, so that their rates may differ.
fn follow(a: &[Pulse], b: &[Pulse], tolerance: i128) -> Vec<(i64, i64)> {
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    let (Some(first), Some(other)) = (a.first(), b.first()) else { return pairs };
    let mut apart = other.at - first.at;
    while let (Some(p), Some(q)) = (a.get(i), b.get(j)) {
        let off = q.at - p.at - apart;
        if off.abs() <= tolerance {
            if p.falling == q.falling {
                pairs.push((p.value, q.value));
            }
            apart += off;
            (i, j) = (i + 1, j + 1);
        } else if off > 0 {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}
