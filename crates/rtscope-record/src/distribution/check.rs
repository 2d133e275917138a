//! Consistency checks of a distribution: figures may not contradict its histogram.

use super::parts::{DistributionParts, Moments};
use super::passed::PassedOver;
use crate::histogram::{Histogram, slot_of};
use crate::linear::LinearBins;

/// The first contradiction among the figures, if any.
pub(super) fn contradiction(p: &DistributionParts) -> Option<&'static str> {
    of_figures(p).or_else(|| of_slots(p))
}

/// Contradictions that can be found without looking at every slot.
pub(super) fn of_figures(p: &DistributionParts) -> Option<&'static str> {
    let first = p.histogram.iter().next();
    let last = p.histogram.iter().next_back();
    match (p.min, p.max) {
        (None, None) if p.count == 0 => {}
        (Some(min), Some(max)) if p.count > 0 && min <= max => {
            // Overflowed samples may lie below the lowest slot or above the highest.
            if first.is_some_and(|(low, high, _)| min > high || (p.overflow == 0 && min < low)) {
                return Some("the minimum is not in the histogram's lowest slot");
            }
            if last.is_some_and(|(low, high, _)| max < low || (p.overflow == 0 && max > high)) {
                return Some("the maximum is not in the histogram's highest slot");
            }
        }
        _ => return Some("minimum and maximum do not fit the count"),
    }
    if p.late > p.missed {
        return Some("more late answers than missed stimuli");
    }
    if let Some(passed) = &p.passed {
        // Count and missed together are then all events expected and not lost, so the corrected view is complete.
        if passed.histogram.total() != p.missed || p.expected.is_none() {
            return Some("the points passed over are not as many as were missed");
        }
        if p.late > 0 || p.overflow > 0 {
            return Some("points passed over beside late answers or overflowed samples: no test gives both");
        }
    }
    if p.resolution == 0 {
        return Some("the resolution is 0");
    }
    match p.moments {
        Moments::Exact { .. } if p.overflow > 0 => return Some("the sums can't be exact where samples overflowed"),
        Moments::Exact { .. } => {}
        Moments::Reported { mean } => {
            let (min, max) = (p.min.unwrap_or(0) as f64, p.max.unwrap_or(0) as f64);
            // Foreign tools round the mean to their own unit.
            let unit = p.resolution as f64;
            if !mean.is_finite() || mean < min - unit || mean > max + unit {
                return Some("the reported mean lies outside minimum and maximum");
            }
        }
    }
    if p.worst.windows(2).any(|w| w[0].value < w[1].value) || p.worst.len() as u64 > p.count {
        return Some("the worst samples are not in descending order, or more than there are samples");
    }
    if p.worst.first().is_some_and(|w| Some(w.value) != p.max) {
        return Some("the first of the worst samples is not the maximum");
    }
    None
}

/// Contradictions that need a look at every slot.
fn of_slots(p: &DistributionParts) -> Option<&'static str> {
    if let Some(what) = p.passed.as_ref().and_then(PassedOver::contradiction) {
        return Some(what);
    }
    if let Moments::Exact { sum, sum_sq } = p.moments {
        let mut low = (0u128, 0u128);
        let mut high = (0u128, 0u128);
        for (lo, hi, n) in p.histogram.iter() {
            let (lo, hi, n) = (u128::from(lo), u128::from(hi), u128::from(n));
            low = (low.0 + lo * n, low.1.saturating_add((lo * lo).saturating_mul(n)));
            high = (high.0 + hi * n, high.1.saturating_add((hi * hi).saturating_mul(n)));
        }
        if !(low.0..=high.0).contains(&sum) || !(low.1..=high.1).contains(&sum_sq) {
            return Some("the sums lie outside what the histogram allows");
        }
    }
    if let Some(what) = p.blocks.as_ref().and_then(|b| b.contradiction(p.expected, p.max, &p.histogram, p.passed.as_ref())) {
        return Some(what);
    }
    if let Some(l) = &p.linear {
        if let Some(fault) = l.fault() {
            return Some(fault);
        }
        let fits = if p.resolution > 1 {
            // Imported data: the bins are the samples, and the histogram was made from them.
            l.total() == p.histogram.total() && Histogram::from_slots(l.as_slots()).as_ref() == Ok(&p.histogram)
        } else {
            l.total()
                == p.histogram.iter().take_while(|&(low, ..)| low < l.size.saturating_mul(l.unit_ns)).map(|t| t.2).sum::<u64>()
                || l.total() <= p.histogram.total() && straddles(p, l)
        };
        if !fits {
            return Some("the linear bins do not agree with the histogram");
        }
    }
    None
}

/// Whether a slot crosses the end of the linear bins, so that the slots give only bounds of the bins' total, and it is within them.
fn straddles(p: &DistributionParts, l: &LinearBins) -> bool {
    let end = l.size.saturating_mul(l.unit_ns);
    let below: u64 = p.histogram.iter().take_while(|&(_, high, _)| high < end).map(|t| t.2).sum();
    let (_, within) = p.histogram.above(end.saturating_sub(1));
    slot_of(end.saturating_sub(1)) == slot_of(end) && (below..=below + within).contains(&l.total())
}
