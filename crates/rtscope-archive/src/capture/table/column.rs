//! A column of values: levels as long as nothing but 0 and 1 comes, else voltages.

use crate::capture::analog::{Analog, Slicer, Swing};
use crate::capture::levels::Levels;
use crate::capture::request::Request;

/// What is found out of a column when it is read first.
#[derive(Debug, Clone, Default)]
pub(super) struct Survey {
    /// As long as nothing but 0 and 1 came.
    levels: Levels,
    analog: bool,
    /// Of what is within the range, as written.
    swing: Swing,
}

impl Survey {
    #[allow(clippy::float_cmp)] // 0 and 1 are exact
    pub(super) fn take(&mut self, at: u64, value: f64) {
        if !self.analog {
            if value == 0.0 || value == 1.0 {
                self.levels.set(at, value == 1.0);
            } else {
                self.analog = true;
                self.levels = Levels::default();
            }
        }
        if value.is_finite() {
            self.swing.take(value);
        }
    }

    /// Its levels, where it had no other values.
    pub(super) fn levels(self) -> Result<Levels, Swing> {
        if self.analog { Err(self.swing) } else { Ok(self.levels) }
    }
}

/// What is taken of a column of voltages when it is read again, its swing known.
///
/// What was over the range is as high or low as the rest gets. Where rows that repeat the one before were left out, the value held until the
/// last sample before the next row: there is no slope over the gap.
#[derive(Debug)]
pub(super) struct Trace {
    low: f64,
    high: f64,
    /// What a value is in volts.
    volts: f64,
    /// Between two samples, ps, where that is known.
    sample: Option<u64>,
    runs: Runs,
    /// The latest one that was handed on.
    was: Option<(u64, f64)>,
    slicer: Slicer,
}

impl Trace {
    /// Of a column with this swing, as written, whose values are `volts` volts each and whose samples are `sample` ps apart.
    pub(super) fn new(swing: Swing, volts: f64, sample: Option<u64>, request: &Request) -> Self {
        let (low, high) = swing.ends().unwrap_or_default();
        let slicer = Slicer::new(Swing::of(low * volts, high * volts), request);
        Self { low, high, volts, sample, runs: Runs::default(), was: None, slicer }
    }

    pub(super) fn take(&mut self, at: u64, value: f64) {
        if let Some((at, value)) = self.runs.take(at, value) {
            self.pass(at, value);
        }
    }

    fn pass(&mut self, at: u64, value: f64) {
        let value = value.clamp(self.low, self.high) * self.volts;
        if let (Some((was_at, was)), Some(sample)) = (self.was, self.sample) {
            if at - was_at > sample.saturating_add(sample / 2) {
                self.slicer.take(at - sample, was);
            }
        }
        self.slicer.take(at, value);
        self.was = Some((at, value));
    }

    pub(super) fn finish(mut self) -> (Levels, Analog) {
        if let Some((at, value)) = self.runs.last {
            self.pass(at, value);
        }
        self.slicer.finish()
    }
}

/// Of stretches of one value only the ends: nothing lies between them.
#[derive(Debug, Default)]
struct Runs {
    /// The value before the last one.
    before: Option<f64>,
    /// Not handed on yet: it moves while its value stays.
    last: Option<(u64, f64)>,
}

impl Runs {
    /// The next sample; returns one that stays where it is.
    #[allow(clippy::float_cmp)] // only sameness counts
    fn take(&mut self, at: u64, value: f64) -> Option<(u64, f64)> {
        if let (Some(before), Some(last)) = (self.before, &mut self.last) {
            if before == last.1 && last.1 == value {
                last.0 = at;
                return None;
            }
        }
        let stays = self.last.replace((at, value));
        self.before = stays.map(|s| s.1).or(self.before);
        stays
    }
}
