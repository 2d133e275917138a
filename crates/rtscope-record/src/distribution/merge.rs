//! Merges two distributions.

use super::{Distribution, DistributionError, DistributionParts, Moments, check};
use crate::hdr::HdrError;
use crate::histogram::{CountOverflow, SlotError};

/// Upper bound for samples that are not among the worst, ns: the last of these, or the maximum if none was kept. 0 if all were
/// kept.
fn not_kept_up_to(p: &DistributionParts) -> u64 {
    let all = p.worst.len() as u64 == p.count;
    p.worst.last().map(|w| w.value).or(p.max).filter(|_| !all).unwrap_or(0)
}

impl Distribution {
    /// Merges this and `other` exactly into one distribution with this label. Keeps the `worst` highest samples of both, as far as
    /// these are known: an import that kept none may have any below its maximum. Thread, linear bins and block maxima are dropped.
    pub fn merge(&self, other: &Self, label: &str, worst: usize) -> Result<Self, DistributionError> {
        self.clone().with(other, label, worst)
    }

    /// [`Self::merge`] in place: when merging many, each costs in proportion to its own size, not to that of the result.
    pub fn with(self, other: &Self, label: &str, worst: usize) -> Result<Self, DistributionError> {
        let error =
            |e: CountOverflow| DistributionError::Histogram { label: label.into(), error: HdrError::Slot(SlotError::Overflow(e)) };
        let add = |x: u64, y: u64| x.checked_add(y).ok_or(CountOverflow).map_err(error);
        let weigh = |d: &Self| d.mean().unwrap_or(0.0) * d.count() as f64;
        let (known, weight) = (self.all_known() && other.all_known(), weigh(&self) + weigh(other));
        let (mut p, b) = (self.0, &other.0);
        let floor = not_kept_up_to(&p).max(not_kept_up_to(b));
        label.clone_into(&mut p.label);
        (p.thread, p.linear, p.blocks) = (None, None, None);
        p.histogram.merge(&b.histogram).map_err(error)?;
        p.count = add(p.count, b.count)?;
        p.missed = add(p.missed, b.missed)?;
        p.late = add(p.late, b.late)?;
        p.spurious = add(p.spurious, b.spurious)?;
        p.overflow = add(p.overflow, b.overflow)?;
        p.dropped = add(p.dropped, b.dropped)?;
        p.expected = match (p.expected, b.expected) {
            (Some(x), Some(y)) => Some(add(x, y)?),
            _ => None,
        };
        p.passed = match (p.passed.take(), &b.passed) {
            // Without a number of expected events, or with overflowed samples, not every latency is known.
            _ if !known || p.expected.is_none() || p.overflow > 0 => None,
            (Some(x), Some(y)) => Some(x.with(y).map_err(error)?),
            (x, y) => x.or_else(|| y.clone()),
        };
        p.min = p.min.into_iter().chain(b.min).min();
        p.max = p.max.max(b.max);
        p.moments = match (p.moments, b.moments) {
            (Moments::Exact { sum: s, sum_sq: q }, Moments::Exact { sum, sum_sq }) => {
                Moments::Exact { sum: s.saturating_add(sum), sum_sq: q.saturating_add(sum_sq) }
            }
            _ => Moments::Reported { mean: weight / (p.count.max(1) as f64) },
        };
        p.worst.extend(&b.worst);
        p.worst.retain(|w| w.value >= floor);
        p.worst.sort_by(|x, y| y.value.cmp(&x.value).then(x.at.cmp(&y.at)));
        p.worst.truncate(worst);
        p.resolution = p.resolution.max(b.resolution);
        // Checks by slot hold for the result because they hold for both: counts and bounds of the sums add up.
        match check::of_figures(&p) {
            Some(what) => Err(DistributionError::Contradiction { label: p.label, what: what.into() }),
            None => Ok(Self(p)),
        }
    }
}
