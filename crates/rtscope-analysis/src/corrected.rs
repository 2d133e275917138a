//! The omission-corrected view of a whole record: each distribution corrected at its own interval, then merged.

use rtscope_record::correction::Corrected;
use rtscope_record::{Distribution, Histogram, Quantile, Record, Test};

/// A corrected view that can be merged with others.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// Raw samples and the ones put back.
    pub histogram: Histogram,
    /// Mean of both, ns.
    pub mean: f64,
    /// Highest sample, ns.
    pub max: u64,
}

impl View {
    /// The corrected view of one distribution of `record`; `None` where a correction has no meaning or no basis: a test without
    /// a stimulus that waits for the answer (`periodic`, `sustained`), no interval, no samples, or overflowed or lost samples,
    /// whose omitted neighbours nobody knows.
    pub fn of(record: &Record, d: &Distribution) -> Option<Self> {
        let p = record.parts();
        if !matches!(p.test, Test::Timer | Test::Response) || d.overflow() > 0 || d.dropped() > 0 {
            return None;
        }
        let thread = d.parts().thread.as_ref().map(|t| t.interval).filter(|&i| i > 0);
        let view = Corrected::of(d, thread.unwrap_or(p.settings.interval.0)).ok()??;
        Some(Self { histogram: view.histogram, mean: view.mean, max: d.max()? })
    }

    /// All of `views` as one; `None` when one of them is missing or there is none, since a partial correction would mislead.
    pub fn merge<'a>(views: impl IntoIterator<Item = Option<&'a Self>>) -> Option<Self> {
        let mut all: Option<Self> = None;
        for view in views {
            let view = view?;
            all = Some(match all {
                None => view.clone(),
                Some(mut sum) => {
                    let (n, m) = (sum.histogram.total() as f64, view.histogram.total() as f64);
                    sum.histogram.merge(&view.histogram).ok()?;
                    sum.mean = (sum.mean * n + view.mean * m) / (n + m).max(1.0);
                    sum.max = sum.max.max(view.max);
                    sum
                }
            });
        }
        all
    }

    /// The corrected view of the record's merged distribution.
    pub fn of_record(record: &Record) -> Option<Self> {
        let views: Vec<_> = record.distributions().iter().filter(|d| d.count() > 0).map(|d| Self::of(record, d)).collect();
        Self::merge(views.iter().map(Option::as_ref))
    }

    /// Samples in the view.
    pub fn count(&self) -> u64 {
        self.histogram.total()
    }

    /// The value at `q`, ns, never too low, at most the maximum; `None` when the count does not support `q`.
    pub fn value_at(&self, q: Quantile) -> Option<u64> {
        if !q.supported_by(self.count()) {
            return None;
        }
        self.histogram.value_at(q).map(|v| v.min(self.max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Build, canonical};

    #[test]
    fn the_canonical_omission_example() {
        let view = View::of_record(&canonical()).unwrap();
        assert_eq!(view.count(), 20_000);
        assert!((view.mean / 1e3 - 25_003_000.0).abs() < 1.0);
        let p99 = view.value_at("p99".parse().unwrap()).unwrap();
        assert!((98_000_000_000..=98_098_000_000).contains(&p99), "{p99}");
        assert_eq!(view.value_at("p99.9999".parse().unwrap()), None);
    }

    #[test]
    fn each_thread_is_corrected_at_its_own_interval() {
        let r = Build::new("none").cpu(0, 1_000_000, &[10_000, 3_000_000]).cpu(1, 2_000_000, &[10_000, 3_000_000]).record();
        // 3 ms at 1 ms puts back 2 ms and 1 ms; at 2 ms nothing at or above 2 ms.
        assert_eq!(View::of_record(&r).unwrap().count(), 4 + 2);
    }

    #[test]
    fn a_part_that_has_no_correction_leaves_none_for_the_whole() {
        let r = Build::new("none").cpu(0, 1_000_000, &[10_000]).record();
        let mut parts = r.into_parts();
        let mut d = parts.distributions[0].clone().into_parts();
        d.dropped = 1;
        d.expected = None;
        parts.distributions.push({
            d.label = "cpu1".into();
            Distribution::new(d).unwrap()
        });
        assert_eq!(View::of_record(&Record::new(parts).unwrap()), None);
    }
}
