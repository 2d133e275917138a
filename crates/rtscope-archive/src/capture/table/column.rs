//! A column of values: levels as long as nothing but 0 and 1 comes, else voltages.

use crate::capture::{Levels, Signal};

/// What came so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Column {
    /// Of stretches of one value below an analog one only the ends: nothing lies between them.
    samples: Vec<(u64, f64)>,
    analog: bool,
}

impl Column {
    pub(super) fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    #[allow(clippy::float_cmp)] // as written: 0 and 1 are exact, and only sameness counts
    pub(super) fn take(&mut self, at: u64, value: f64) {
        self.analog |= value != 0.0 && value != 1.0;
        if let [.., before, last] = &mut self.samples[..] {
            if before.1 == last.1 && last.1 == value {
                last.0 = at;
                return;
            }
        }
        self.samples.push((at, value));
    }

    /// The signal: values are `volts` volts each, samples `sample` ps apart.
    #[allow(clippy::float_cmp)] // as above
    pub(super) fn finish(self, volts: f64, sample: Option<u64>) -> Signal {
        if self.analog {
            return Signal::Analog(voltages(&self.samples, volts, sample));
        }
        let mut levels = Levels::default();
        for (at, value) in self.samples {
            levels.set(at, value == 1.0);
        }
        Signal::Digital(levels)
    }
}

/// Samples in volts. What was over the range is as high or low as the rest gets. Where rows that repeat the one before were left out, the
/// value held until the last sample before the next row: there is no slope over the gap.
fn voltages(samples: &[(u64, f64)], volts: f64, sample: Option<u64>) -> Vec<(u64, f64)> {
    let finite = samples.iter().map(|s| s.1).filter(|v| v.is_finite());
    let (low, high) = finite.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
    let (low, high) = if low > high { (0.0, 0.0) } else { (low, high) };
    let mut all: Vec<(u64, f64)> = Vec::with_capacity(samples.len());
    for &(at, value) in samples {
        let value = value.clamp(low, high) * volts;
        if let (Some(&(was_at, was)), Some(sample)) = (all.last(), sample) {
            if at - was_at > sample.saturating_add(sample / 2) {
                all.push((at - sample, was));
            }
        }
        all.push((at, value));
    }
    all
}
