//! A column of values: levels as long as all values are 0 or 1, voltages otherwise.

use crate::capture::analog::{Analog, Slicer, Swing};
use crate::capture::levels::Levels;
use crate::capture::request::CaptureRequest;

/// What the first pass finds out about a column.
#[derive(Debug, Clone, Default)]
pub(super) struct Survey {
    /// The levels, used as long as all values are 0 or 1.
    levels: Levels,
    analog: bool,
    /// Swing of the values within range, in the file's unit.
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

    /// Its levels, or the swing where it has values other than 0 and 1.
    pub(super) fn levels(self) -> Result<Levels, Swing> {
        if self.analog { Err(self.swing) } else { Ok(self.levels) }
    }
}

/// Processes a column of voltages in the second pass, when its swing is known.
///
/// Values over range are clamped to the swing. Where rows that repeat the previous one were left out, the value held
/// until one sample before the next row, so there is no slope over the gap.
#[derive(Debug)]
pub(super) struct Trace {
    low: f64,
    high: f64,
    /// Volts per unit of the values.
    volts: f64,
    /// Time between two samples, ps, where known.
    sample: Option<u64>,
    runs: Runs,
    /// The latest sample passed on.
    was: Option<(u64, f64)>,
    slicer: Slicer,
}

impl Trace {
    /// For a column with this swing in its own unit of `volts` volts, whose samples are `sample` ps apart.
    pub(super) fn new(swing: Swing, volts: f64, sample: Option<u64>, request: &CaptureRequest) -> Self {
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

/// Reduces each stretch of equal values to its two ends.
#[derive(Debug, Default)]
struct Runs {
    /// The value of the previous sample passed on.
    before: Option<f64>,
    /// The latest sample, not passed on yet: its time moves on while the value stays the same.
    last: Option<(u64, f64)>,
}

impl Runs {
    /// Takes the next sample; returns an earlier one once it is final.
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
