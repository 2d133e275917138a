//! The data that plots draw of a histogram: equal-width bins and percentile curves, computed alike for SVG and HTML.

use rtscope_record::{Distribution, Histogram};
use std::collections::BTreeMap;

/// Points of a percentile curve per decade of 1/(1-q).
const PER_DECADE: u32 = 16;

/// The smallest number of the 1-2-5 series at or above `v` (at least 1).
pub(crate) fn nice(v: f64) -> u64 {
    let mut step = 1u64;
    while step < u64::MAX / 10 {
        for factor in [1, 2, 5] {
            if (step * factor) as f64 >= v {
                return step * factor;
            }
        }
        step *= 10;
    }
    step
}

/// Bin width in ns for a plot whose linear axis ends at `end`: about 400 bins, never finer than the data.
///
/// Slots are at most 1/1024 of their value wide, so a bin of end/400 holds at least two of the widest slots: the plot
/// shows no comb.
pub(crate) fn bin_width(end: u64, resolution: u64) -> u64 {
    let width = nice(end as f64 / 400.0);
    // A multiple of the unit that values were rounded to; otherwise every second bin would be empty.
    let resolution = resolution.max(1);
    width.div_ceil(resolution).saturating_mul(resolution)
}

/// Counts of samples in bins of `width` ns: (bin, count), without empty bins. A slot is counted at its highest value, as
/// for percentiles; where the tool kept exact bins, those are used.
pub(crate) fn bins(d: &Distribution, width: u64) -> Vec<(u64, u64)> {
    let mut bins = BTreeMap::<u64, u64>::new();
    let max = d.max().unwrap_or(u64::MAX);
    match &d.parts().linear {
        Some(l) if l.total() == d.histogram().total() => {
            for &(bin, n) in &l.counts {
                *bins.entry(bin.saturating_mul(l.unit_ns) / width).or_default() += n;
            }
        }
        _ => {
            for (_, high, n) in d.histogram().iter() {
                *bins.entry(high.min(max) / width).or_default() += n;
            }
        }
    }
    bins.into_iter().collect()
}

/// Positions of a percentile curve for up to `count` samples: x = 1/(1-q), from 1 to `count`.
pub(crate) fn positions(count: u64) -> Vec<f64> {
    let mut x = Vec::new();
    for i in 0.. {
        let v = 10f64.powf(f64::from(i) / f64::from(PER_DECADE));
        if v >= count as f64 {
            break;
        }
        x.push(v);
    }
    if count > 0 {
        x.push(count as f64);
    }
    x
}

/// Value in ns at each of `positions`, rounded up; `None` where `count` samples are too few, and among overflowed
/// samples.
pub(crate) fn curve(h: &Histogram, count: u64, max: u64, positions: &[f64]) -> Vec<Option<u64>> {
    let mut slots = h.iter();
    let (mut seen, mut highest) = (0u64, 0u64);
    let at = |x: f64| {
        if x > count as f64 {
            return None;
        }
        // rank = ceil(count * (1 - 1/x)) = count - floor(count / x)
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // count / x lies between 0 and count
        let rank = count
            .saturating_sub(((count as f64) / x + 1e-9).floor() as u64)
            .saturating_add(u64::from(x >= count as f64))
            .clamp(1, count.max(1));
        while seen < rank {
            let (_, high, n) = slots.next()?;
            seen += n;
            highest = high.min(max);
        }
        Some(highest)
    };
    positions.iter().copied().map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn widths_are_nice() {
        assert_eq!([nice(0.0), nice(1.1), nice(3.0), nice(5.1), nice(800.0)], [1, 2, 5, 10, 1000]);
        assert_eq!(bin_width(400_000, 1), 1_000);
        assert_eq!(bin_width(100_000, 1_000), 1_000, "never finer than the data");
        assert_eq!(bin_width(0, 0), 1);
        assert!(bin_width(u64::MAX, 1) > u64::MAX / 1000);
    }

    #[test]
    fn a_curve_ends_at_the_maximum() {
        let samples: Vec<u64> = (1..=1000).collect();
        let d = Distribution::from_samples("x", &samples, 0).unwrap();
        let x = positions(1000);
        let y = curve(d.histogram(), 1000, 1000, &x);
        assert_eq!((x[0], y[0]), (1.0, Some(1)));
        assert_eq!((*x.last().unwrap(), *y.last().unwrap()), (1000.0, Some(1000)));
        let at = |want: f64| y[x.iter().position(|v| (v - want).abs() < 1e-9).unwrap()];
        assert_eq!((at(10.0), at(100.0)), (Some(900), Some(990)));
        assert_eq!(curve(d.histogram(), 1000, 1000, &[2000.0]), [None]);
        // 1000 of 2000 samples overflowed: the upper half is unknown.
        assert_eq!(curve(d.histogram(), 2000, 9999, &[1.5, 4.0]), [Some(667), None]);
        assert_eq!(positions(0), [0.0; 0]);
        assert_eq!(positions(1), [1.0]);
    }

    proptest! {
        #[test]
        fn bins_lose_no_sample(samples in prop::collection::vec(0u64..1 << 40, 0..200), width in 1u64..1_000_000) {
            let d = Distribution::from_samples("x", &samples, 0).unwrap();
            let b = bins(&d, width);
            prop_assert_eq!(b.iter().map(|t| t.1).sum::<u64>(), samples.len() as u64);
            prop_assert!(b.windows(2).all(|w| w[0].0 < w[1].0));
        }

        #[test]
        fn curves_rise(samples in prop::collection::vec(0u64..1 << 40, 1..300)) {
            let d = Distribution::from_samples("x", &samples, 0).unwrap();
            let max = d.max().unwrap();
            let x = positions(samples.len() as u64);
            let y = curve(d.histogram(), d.count(), max, &x);
            prop_assert!(y.windows(2).all(|w| w[0] <= w[1]));
            prop_assert_eq!(*y.last().unwrap(), Some(max));
        }
    }
}
