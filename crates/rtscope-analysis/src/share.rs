//! The share of stimuli that were answered below a threshold: exact where the record allows it, otherwise as bounds.

use rtscope_record::Distribution;
use serde::Serialize;

/// How many of the stimuli (`periodic`: of the intervals) gave a sample below a threshold. A stimulus without a sample is
/// not below.
///
/// ```
/// use rtscope_analysis::ShareBelow;
/// use rtscope_record::Distribution;
///
/// // Three answers, and one stimulus that got none.
/// let mut parts = Distribution::from_samples("rising", &[20_000, 30_000, 200_000], 0)?.into_parts();
/// (parts.missed, parts.expected) = (1, Some(4));
/// let rising = Distribution::new(parts)?;
///
/// let share = ShareBelow::of(&rising, 160_000, None);
/// assert_eq!((share.below, share.undecided, share.of), (2, 0, 4));
/// # Ok::<(), rtscope_record::DistributionError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ShareBelow {
    /// The threshold, ns.
    pub threshold: u64,
    /// Stimuli answered below the threshold for certain.
    pub below: u64,
    /// Stimuli that may be below: in a histogram slot that contains the threshold, above the range of an imported
    /// histogram, lost, or answered after a time-out that is shorter than the threshold.
    pub undecided: u64,
    /// All stimuli: samples, missed and lost.
    pub of: u64,
}

impl ShareBelow {
    /// The share of no stimuli.
    pub fn none(threshold: u64) -> Self {
        Self { threshold, below: 0, undecided: 0, of: 0 }
    }

    /// The share of `d`, whose stimuli had a time-out of `timeout` ns (`None`: unknown, or the test has no stimuli).
    pub fn of(d: &Distribution, threshold: u64, timeout: Option<u64>) -> Self {
        let (below, held) = split(d, threshold);
        let late = if timeout.is_some_and(|t| t >= threshold) { 0 } else { d.late() };
        let undecided = held.saturating_add(d.dropped()).saturating_add(late);
        Self { threshold, below, undecided, of: d.count().saturating_add(d.missed()).saturating_add(d.dropped()) }
    }

    /// The sum of both shares, which have the same threshold.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            threshold: self.threshold,
            below: self.below.saturating_add(other.below),
            undecided: self.undecided.saturating_add(other.undecided),
            of: self.of.saturating_add(other.of),
        }
    }
}

/// The number of samples certainly below `t`, and of those that may be.
fn split(d: &Distribution, t: u64) -> (u64, u64) {
    let p = d.parts();
    // A value rounded down to a unit may be anywhere in that unit.
    let blur = p.resolution - 1;
    if p.max.is_some_and(|max| max.saturating_add(blur) < t) {
        return (d.count(), 0);
    }
    if p.min.is_none_or(|min| min >= t) {
        return (0, 0);
    }
    let count = |bins: &mut dyn Iterator<Item = (u64, u64, u64)>| {
        bins.fold((0u64, 0u64), |(below, open), (low, high, n)| {
            if high < t {
                (below + n, open)
            } else if low < t {
                (below, open + n)
            } else {
                (below, open)
            }
        })
    };
    let mut best = count(&mut d.histogram().iter().map(|(low, high, n)| (low, high.saturating_add(blur), n)));
    if let Some(l) = p.linear.as_ref().filter(|l| l.total() == d.histogram().total()) {
        let bins = l.counts.iter().map(|&(i, n)| {
            let low = i.saturating_mul(l.unit_ns);
            (low, low.saturating_add(l.unit_ns - 1), n)
        });
        best = std::cmp::min_by_key(best, count(&mut bins.into_iter()), |c| c.1);
    }
    // If the lowest of the worst samples is below `t`, every sample at or above `t` is among the worst, with its exact
    // value.
    let all_above = p.worst.last().is_some_and(|w| w.value < t) || p.worst.len() as u64 == d.count();
    if blur == 0 && d.overflow() == 0 && all_above {
        let above = p.worst.iter().filter(|w| w.value >= t).count() as u64;
        best = (d.count() - above, 0);
    }
    let beyond = p.linear.as_ref().is_some_and(|l| l.size.saturating_mul(l.unit_ns) >= t);
    (best.0, best.1.saturating_add(if beyond { 0 } else { d.overflow() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rtscope_record::{DistributionParts, LinearBins, Moments};

    fn of(samples: &[u64], worst: usize) -> Distribution {
        Distribution::from_samples("rising", samples, worst).unwrap()
    }

    #[test]
    fn by_hand() {
        // The slot that contains 100 us is 64 ns wide: 99,968 to 100,031.
        let d = of(&[10_000, 99_990, 100_010, 150_000], 0);
        let share = |d: &Distribution, t| {
            let s = ShareBelow::of(d, t, None);
            (s.below, s.undecided, s.of)
        };
        assert_eq!(share(&d, 100_000), (1, 2, 4), "two lie in the slot that holds the threshold");
        assert_eq!(share(&d, 99_968), (1, 0, 4), "the slot's own lower end");
        assert_eq!([share(&d, 100_031), share(&d, 100_032)], [(1, 2, 4), (3, 0, 4)], "and its upper one");
        assert_eq!(share(&d, 150_000), (3, 1, 4), "the maximum is not below itself");
        // Only one worst sample is kept, and it equals the threshold: the other may be lower.
        assert_eq!(share(&of(&[10_000, 99_990, 100_000], 1), 100_000), (1, 2, 3));
        assert_eq!(share(&of(&[10_000, 99_990, 100_000], 1), 100_001), (3, 0, 3));
        assert_eq!([share(&d, 10_000), share(&d, 150_001)], [(0, 0, 4), (4, 0, 4)], "minimum and maximum are exact");
        assert_eq!(share(&of(&[10_000, 99_990, 100_010, 150_000], 3), 100_000), (2, 0, 4), "the worst samples are exact");
        assert_eq!(share(&of(&[], 0), 1), (0, 0, 0));
    }

    #[test]
    fn what_gave_no_sample_is_not_below() {
        let mut p = of(&[5_000, 6_000], 0).into_parts();
        (p.missed, p.late, p.dropped, p.expected) = (3, 2, 1, Some(6));
        let d = Distribution::new(p).unwrap();
        assert_eq!(ShareBelow::of(&d, 10_000, Some(1_000_000)), ShareBelow { threshold: 10_000, below: 2, undecided: 1, of: 6 });
        // With a time-out of 8 us, the two late answers came after that, perhaps before 10 us.
        assert_eq!(ShareBelow::of(&d, 10_000, Some(8_000)).undecided, 3);
    }

    #[test]
    fn what_lies_beyond_an_imported_histogram() {
        let mut p = DistributionParts::empty("T0");
        (p.count, p.overflow, p.resolution) = (10, 10, 1_000);
        (p.min, p.max, p.moments) = (Some(5_000), Some(90_000), Moments::Reported { mean: 20_000.0 });
        let d = Distribution::new(p).unwrap();
        let bounds = |t| (ShareBelow::of(&d, t, None).below, ShareBelow::of(&d, t, None).undecided);
        assert_eq!([bounds(5_000), bounds(50_000), bounds(90_999), bounds(91_000)], [(0, 0), (0, 10), (0, 10), (10, 0)]);
    }

    /// Whole microseconds, as cyclictest keeps them: bins of 1 us below 100 us, and an overflow.
    fn imported(values: &[u64], beyond: u64, linear: bool) -> Distribution {
        let bins = LinearBins {
            unit_ns: 1_000,
            size: 100,
            counts: values.iter().map(|v| (v / 1_000, 1)).collect(),
            overflow_at: Vec::new(),
        };
        let mut p = DistributionParts::empty("T0");
        p.histogram = rtscope_record::Histogram::from_slots(bins.as_slots()).unwrap();
        (p.count, p.overflow, p.resolution) = (values.len() as u64 + beyond, beyond, 1_000);
        (p.min, p.max) = (values.first().copied(), if beyond > 0 { Some(300_000) } else { values.last().copied() });
        p.moments = Moments::Reported { mean: 70_000.0 };
        p.linear = linear.then_some(bins);
        Distribution::new(p).unwrap()
    }

    #[test]
    fn linear_bins_decide_at_their_ends() {
        let share = |d: &Distribution, t| (ShareBelow::of(d, t, None).below, ShareBelow::of(d, t, None).undecided);
        let (with, without) = (imported(&[50_000, 70_000, 99_000], 2, true), imported(&[50_000, 70_000, 99_000], 2, false));
        // 70 us stands for 70,000 to 70,999 ns; the slot that holds it ends later.
        assert_eq!((share(&with, 71_000), share(&without, 71_000)), ((2, 0), (1, 3)));
        assert_eq!((share(&with, 70_999), share(&with, 70_000)), ((1, 1), (1, 0)));
        // Overflowed samples are at 100 us or more.
        assert_eq!((share(&with, 100_000), share(&with, 100_001)), ((3, 0), (3, 2)));
    }

    #[test]
    fn worst_samples_decide_only_where_they_are_exact() {
        let all_kept = |resolution, overflow: u64| {
            let mut p = of(&[50_000, 99_000, 200_000], 9).into_parts();
            p.resolution = resolution;
            p.moments = Moments::Reported { mean: 100_000.0 };
            (p.overflow, p.count) = (overflow, 3 + overflow);
            let s = ShareBelow::of(&Distribution::new(p).unwrap(), 99_010, None);
            (s.below, s.undecided)
        };
        assert_eq!(all_kept(1, 0), (2, 0));
        assert_eq!(all_kept(1_000, 0), (1, 1), "99 us may be 99.9");
        let beyond = {
            let mut p = of(&[50_000, 99_000, 200_000], 2).into_parts();
            (p.overflow, p.count, p.moments) = (1, 4, Moments::Reported { mean: 100_000.0 });
            let s = ShareBelow::of(&Distribution::new(p).unwrap(), 99_001, None);
            (s.below, s.undecided)
        };
        assert_eq!(beyond, (1, 2), "the worst are of the histogram, and one is beyond it");
    }

    proptest! {
        #[test]
        fn the_truth_lies_between_the_bounds(
            samples in prop::collection::vec(0u64..300_000, 0..60),
            t in 0u64..310_000,
            worst in 0usize..70,
        ) {
            let s = ShareBelow::of(&of(&samples, worst), t, None);
            let truth = samples.iter().filter(|&&v| v < t).count() as u64;
            prop_assert!((s.below..=s.below + s.undecided).contains(&truth), "{:?} {}", s, truth);
            prop_assert!(s.below + s.undecided <= s.of && (worst < samples.len() || s.undecided == 0));
        }
    }
}
