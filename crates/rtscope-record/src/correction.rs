//! The omission-corrected view of a distribution.
//!
//! A task that oversleeps by many periods takes one sample where an unhurried observer would have taken many. The corrected view adds,
//! for every sample above the interval, the samples that the passed-over grid points would have given: value - interval,
//! value - 2 interval, ... down to the interval (Gil Tene's correction for coordinated omission).

use crate::distribution::Distribution;
use crate::histogram::{CountOverflow, Histogram, slot_lowest, slot_of};
use crate::quantile::Quantile;

/// A distribution with the omitted samples put back.
#[derive(Debug, Clone, PartialEq)]
pub struct Corrected {
    /// Raw and added samples together.
    pub histogram: Histogram,
    /// Mean of both, ns.
    pub mean: f64,
    max: u64,
}

impl Corrected {
    /// The corrected view at the given interval (ns); `None` without an exact mean, with interval 0, or when empty.
    ///
    /// Samples above the interval are taken at the highest value of their slot, at most the maximum; where the worst samples of the
    /// distribution are still known exactly, those are used.
    pub fn of(d: &Distribution, interval: u64) -> Result<Option<Self>, CountOverflow> {
        let (Some(max), Some(mean)) = (d.max(), d.mean()) else { return Ok(None) };
        if interval == 0 {
            return Ok(None);
        }
        // Slots of the added samples, in any order: put in order once, at the end.
        let mut extra: Vec<(u64, u64)> = Vec::new();
        let mut added = 0u128;
        let mut added_sum = 0u128;
        let mut stall = |value: u64, n: u64, extra: &mut Vec<(u64, u64)>| -> Result<(), CountOverflow> {
            let steps = value / interval;
            if value <= interval {
                return Ok(());
            }
            // Down to the interval itself: value - k * interval >= interval for k = 1 ..= steps - 1.
            added += u128::from(steps - 1) * u128::from(n);
            let last = value - (steps - 1) * interval;
            added_sum += u128::from(n) * u128::from(steps - 1) * (u128::from(value - interval) + u128::from(last)) / 2;
            spread(extra, interval, value, steps, n)
        };
        let mut known = std::collections::BTreeMap::<usize, u64>::new();
        for w in d.worst() {
            if w.value > interval {
                stall(w.value, 1, &mut extra)?;
                *known.entry(slot_of(w.value)).or_default() += 1;
            }
        }
        for (slot, n) in d.histogram().slots() {
            let rest = n - known.get(&slot).copied().unwrap_or(0).min(n);
            if rest > 0 {
                stall(crate::histogram::slot_highest(slot).min(max), rest, &mut extra)?;
            }
        }
        extra.sort_unstable();
        let mut histogram = d.histogram().clone();
        histogram.merge(&Histogram::from_slots(extra).map_err(|_| CountOverflow)?)?;
        let count = u128::from(d.count());
        let total = mean * count as f64 + added_sum as f64;
        Ok(Some(Self { histogram, mean: total / (count + added) as f64, max }))
    }

    /// Samples in the corrected view.
    pub fn count(&self) -> u64 {
        self.histogram.total()
    }

    /// The value at `q`, ns: never too low, at most the maximum.
    pub fn value_at(&self, q: Quantile) -> Option<u64> {
        self.histogram.value_at(q).map(|v| v.min(self.max))
    }
}

/// Adds `value - k * interval` for k = 1 .. steps, slot by slot where many of them share one.
fn spread(extra: &mut Vec<(u64, u64)>, interval: u64, value: u64, steps: u64, n: u64) -> Result<(), CountOverflow> {
    let mut k = 1;
    while k < steps {
        let v = value - k * interval;
        // How many further steps stay within this slot.
        let same = ((v - slot_lowest(slot_of(v))) / interval).min(steps - 1 - k);
        extra.push((slot_of(v) as u64, n.checked_mul(same + 1).ok_or(CountOverflow)?));
        k += same + 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::{Distribution, Worst};
    use proptest::prelude::*;

    /// The canonical omission example: 10,000 samples of 1 ms, then one of 100 s, at an interval of 10 ms.
    #[test]
    fn the_canonical_example() {
        let mut values = vec![1_000_000u64; 10_000];
        values.push(100_000_000_000);
        let d = Distribution::from_samples("canonical", &values, 8).unwrap();
        assert_eq!(d.count(), 10_001);
        assert!((d.mean().unwrap() / 1e3 - 10_998.90).abs() < 0.01);
        let within = |got: u64, want: u64| got >= want && got - want <= want / 1000;
        assert!(within(d.value_at("p99.99".parse().unwrap()).unwrap(), 1_000_000));
        let c = Corrected::of(&d, 10_000_000).unwrap().unwrap();
        assert_eq!(c.count(), 20_000);
        assert!((c.mean / 1e3 - 25_003_000.0).abs() < 1.0, "{}", c.mean);
        for (p, want) in [("p50", 1_000_000u64), ("p75", 50_000_000_000), ("p90", 80_000_000_000), ("p99", 98_000_000_000)] {
            assert!(within(c.value_at(p.parse().unwrap()).unwrap(), want), "{p}");
        }
    }

    proptest! {
        #[test]
        fn it_is_what_adding_one_by_one_gives(values in prop::collection::vec(0u64..3_000_000, 1..40), interval in 200u64..100_000) {
            let d = Distribution::from_samples("x", &values, 64).unwrap();
            let mut plain = Histogram::new();
            let (mut sum, mut count) = (0u128, 0u128);
            for &v in &values {
                let mut x = v;
                loop {
                    plain.record(x, 1).unwrap();
                    sum += u128::from(x);
                    count += 1;
                    if x < 2 * interval || v <= interval { break; }
                    x -= interval;
                }
            }
            let c = Corrected::of(&d, interval).unwrap().unwrap();
            prop_assert_eq!(&c.histogram, &plain);
            prop_assert!((c.mean - sum as f64 / count as f64).abs() < 1.0);
        }
    }

    #[test]
    fn unknown_worst_samples_are_never_taken_too_low() {
        let d = Distribution::from_samples("x", &[5_000_001; 10], 1).unwrap();
        let c = Corrected::of(&d, 1_000_000).unwrap().unwrap();
        assert_eq!(c.count(), 50);
        assert_eq!(d.worst(), [Worst { value: 5_000_001, at: 0 }]);
    }
}
