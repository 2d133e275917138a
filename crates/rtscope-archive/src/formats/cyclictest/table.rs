//! The contents of any cyclictest file, thread by thread, and the record made from them.

use super::command::Command;
use super::kept::Kept;
use super::options::{NO_MINIMUM, TextOptions};
use crate::formats::error::ImportError;
use crate::formats::foreign::unknown_settings;
use crate::formats::format::ImportOptions;
use crate::formats::imported::{hash, imported};
use jiff::Timestamp;
use rtscope_record::{
    Distribution, DistributionParts, Effect, Histogram, LinearBins, Moments, Record, RecordParts, Space, System, ThreadInfo,
    Warning,
};

/// cyclictest writes its JSON while the threads may still be measuring, and bins first: one or two samples may be counted
/// but not binned. More than that is an overflow, not this race.
const MOST_UNSETTLED: u64 = 2;

/// An average as the file states it, in the file's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Average {
    /// Truncated to a whole number (text).
    Whole(u64),
    /// Rounded to two decimals (JSON).
    Decimal(f64),
    /// Not a number: there were no samples.
    None,
}

/// The figures of one thread, in the file's unit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Column {
    pub(super) label: String,
    pub(super) bins: Vec<(u64, u64)>,
    /// Samples, including overflowed ones.
    pub(super) count: u64,
    pub(super) min: u64,
    pub(super) max: u64,
    pub(super) average: Average,
    pub(super) overflow_at: Vec<u64>,
    /// Missed and expected periods, where the file states them (only files written by rtscope do).
    pub(super) missed: Option<(u64, u64)>,
    /// Samples missing from the file.
    pub(super) dropped: u64,
    pub(super) thread: ThreadInfo,
}

/// The contents of a file.
#[derive(Debug)]
pub(super) struct Table {
    /// Name of the format and dialect, for the record's source.
    pub(super) format: &'static str,
    pub(super) unit_ns: u64,
    /// The unit was assumed.
    pub(super) unit_assumed: bool,
    /// Number of bins of the histogram; `None` without a histogram.
    pub(super) size: Option<u64>,
    /// Whether the number of bins is known, rather than the smallest possible.
    pub(super) size_known: bool,
    pub(super) columns: Vec<Column>,
    pub(super) command: Option<Command>,
    pub(super) kept: Kept,
    pub(super) warnings: Vec<Warning>,
    pub(super) started: Option<Timestamp>,
    pub(super) elapsed_ns: u64,
    pub(super) system: System,
    /// Whether the file shows that the DMA latency target was set.
    pub(super) dma_latency: Option<bool>,
}

impl Table {
    pub(super) fn new(format: &'static str) -> Self {
        Self {
            format,
            unit_ns: 1000,
            unit_assumed: false,
            size: None,
            size_known: true,
            columns: Vec::new(),
            command: None,
            kept: Kept::default(),
            warnings: Vec::new(),
            started: None,
            elapsed_ns: 0,
            system: System::default(),
            dma_latency: None,
        }
    }

    /// Decides the unit: what the caller says, else what the file shows, else what its command line says, else
    /// microseconds.
    pub(super) fn decide_unit(&mut self, options: &ImportOptions, shown: Option<bool>) {
        let said = self.command.as_ref().map(|c| c.nanoseconds);
        let decided = options.nanoseconds.or(shown).or(said);
        self.unit_assumed = decided.is_none();
        self.unit_ns = if decided == Some(true) { 1 } else { 1000 };
        self.kept.nanoseconds = self.unit_ns == 1;
    }

    /// Decides the number of bins where the rows do not show it: the command line's number, else `logged` where it is
    /// conclusive, else the smallest that holds the columns and is not below `least`.
    pub(super) fn decide_size(&mut self, logged: Option<u64>, least: u64) {
        let held = self.columns.iter().filter_map(|c| c.bins.last()).map(|b| b.0.saturating_add(1)).max();
        let least = held.unwrap_or(0).max(least);
        let said = self.command.as_ref().and_then(|c| c.histogram);
        let known = said.or(logged).filter(|&n| n >= least);
        self.size_known = known.is_some();
        // A histogram must have at least one bin.
        self.size = Some(known.unwrap_or(least.max(1)));
    }

    fn overflow(column: &Column) -> u64 {
        let held = column.bins.iter().fold(0u64, |sum, b| sum.saturating_add(b.1));
        column.count.saturating_sub(held)
    }

    /// Makes the record, with a warning for everything the file does not say.
    pub(super) fn into_record(mut self, bytes: &[u8], options: &ImportOptions) -> Result<Record, ImportError> {
        self.warn();
        let mut settings =
            self.command.as_ref().map_or_else(|| unknown_settings(self.columns.len()), |c| c.settings(self.columns.len()));
        if let Some(held) = self.dma_latency {
            settings.hold_dma_latency = held;
        }
        settings.linear_bins = self.size.map(|n| (n, self.unit_ns));
        if let (None, Some(first)) = (&self.command, self.columns.first()) {
            // Without a command line, use what the threads' own lines show.
            settings.interval = rtscope_record::Nanos(first.thread.interval);
            settings.priority = first.thread.priority;
        }
        let mut distributions = Vec::with_capacity(self.columns.len());
        for column in std::mem::take(&mut self.columns) {
            distributions.push(self.distribution(column)?);
        }
        Ok(Record::new(RecordParts {
            elapsed_ns: self.elapsed_ns,
            space: Space::User,
            warnings: self.warnings,
            settings,
            system: self.system,
            distributions,
            ..imported(options, self.started, &hash(bytes), "", self.format, self.kept.into_lines())?
        })?)
    }

    fn warn(&mut self) {
        let mut warn =
            |code: &str, effect, message: String, remedy: &str| self.warnings.push(Warning::new(code, effect, message, remedy));
        if self.columns.iter().any(|c| c.missed.is_none()) {
            warn(
                "missed-unknown",
                Effect::Inconclusive,
                "cyclictest does not count the periods that it slept over, so that percentiles may be far too low".into(),
                "measure with `rtscope measure timer` or `rtscope cyclictest`, which count them",
            );
        }
        let overflow: u64 = self.columns.iter().map(Self::overflow).fold(0, u64::saturating_add);
        match self.size {
            None if overflow > 0 => warn(
                "no-histogram",
                Effect::Inconclusive,
                "the file holds count, minimum, average and maximum only: there are no percentiles".into(),
                "run cyclictest with -h",
            ),
            Some(size) if overflow > 0 => warn(
                "overflow",
                Effect::Inconclusive,
                format!("{overflow} samples lie beyond the histogram's {size} bins; only the highest of each thread is known"),
                "run cyclictest with a larger -h",
            ),
            _ => {}
        }
        let dropped: u64 = self.columns.iter().map(|c| c.dropped).fold(0, u64::saturating_add);
        if dropped > 0 {
            warn(
                "dropped",
                Effect::Invalid,
                format!(
                    "{dropped} samples are missing from the file: cycle numbers are passed over, and the highest may be among them"
                ),
                "write the stream of cyclictest -v where nothing slows it down, without -o, or use a histogram (-h)",
            );
        }
        if self.size.is_some() && !self.size_known {
            warn(
                "bins-unknown",
                Effect::Note,
                "the file leaves out empty rows and does not say how many bins there were: the least possible number is taken"
                    .into(),
                "keep cyclictest's command line with its output",
            );
        }
        if self.command.is_none() {
            warn(
                "settings-unknown",
                Effect::Note,
                "the file does not carry its command line: settings that the figures do not show are unknown".into(),
                "keep cyclictest's command line as a comment in its output, or import its --json",
            );
        }
        if self.unit_assumed {
            warn(
                "unit-assumed",
                Effect::Note,
                "the file does not show whether its figures are in microseconds or (with -N) in nanoseconds: microseconds are taken".into(),
                "say so when importing",
            );
        }
    }

    fn distribution(&mut self, c: Column) -> Result<Distribution, ImportError> {
        let unit = self.unit_ns;
        let beyond = |what: &str| ImportError::File(format!("{}: {what} is more than 2^64 ns", c.label));
        let scale = |v: u64, what: &str| v.checked_mul(unit).ok_or_else(|| beyond(what));
        let mut p = DistributionParts::empty(&c.label);
        let (mut held, mut sum, mut sum_sq) = (0u64, 0u128, 0u128);
        for &(bin, n) in &c.bins {
            // HdrHistogram's counts are signed.
            if i64::try_from(n).is_err() {
                return Err(ImportError::File(format!("{}: bin {bin} counts {n} samples, more than 2^63", c.label)));
            }
            let value = u128::from(scale(bin, "a bin")?);
            let squared = value.checked_mul(value).and_then(|v| v.checked_mul(n.into())).and_then(|v| sum_sq.checked_add(v));
            sum_sq = squared.ok_or_else(|| ImportError::File(format!("{}: the sum of squares is more than 2^128", c.label)))?;
            sum += value * u128::from(n);
            held = held.checked_add(n).ok_or_else(|| ImportError::File(format!("{}: more than 2^64 samples", c.label)))?;
        }
        p.overflow = c.count.checked_sub(held).ok_or_else(|| {
            ImportError::File(format!("{}: the bins hold {held} samples, but there were only {} cycles", c.label, c.count))
        })?;
        p.count = c.count;
        p.histogram = Histogram::from_slots(
            c.bins.iter().map(|&(bin, n)| (rtscope_record::histogram::slot_of(bin.saturating_mul(unit)) as u64, n)),
        )
        .map_err(|e| ImportError::File(e.to_string()))?;
        if c.count > 0 {
            self.check_extremes(&c, p.overflow)?;
            (p.min, p.max) = (Some(scale(c.min, "the minimum")?), Some(scale(c.max, "the maximum")?));
        }
        p.moments = self.moments(&c, p.overflow, sum, sum_sq)?;
        p.dropped = c.dropped;
        if let Some((missed, expected)) = c.missed {
            (p.missed, p.expected) = (missed, Some(expected));
        }
        p.linear = self.size.map(|size| LinearBins { unit_ns: unit, size, counts: c.bins, overflow_at: c.overflow_at });
        p.resolution = unit;
        p.thread = Some(c.thread);
        Ok(Distribution::new(p)?)
    }

    fn check_extremes(&mut self, c: &Column, overflow: u64) -> Result<(), ImportError> {
        let wrong = |what: String| Err(ImportError::File(format!("{}: {what}", c.label)));
        if let (Some(first), Some(last)) = (c.bins.first(), c.bins.last()) {
            if c.min != first.0 {
                return wrong(format!("the minimum is {}, but the lowest sample in the bins is {}", c.min, first.0));
            }
            if overflow == 0 && c.max != last.0 {
                return wrong(format!("the maximum is {}, but the highest sample in the bins is {}", c.max, last.0));
            }
            if overflow > 0 && (c.max < last.0 || c.max == last.0 && overflow > MOST_UNSETTLED) {
                return wrong(format!("samples overflowed, but the maximum {} lies in the bins", c.max));
            }
        }
        // The minimum need not be a sample's: cyclictest starts from `NO_MINIMUM`, and prints that when every sample is
        // higher.
        if c.min > c.max {
            return wrong(format!("the minimum {} is above the maximum {}", c.min, c.max));
        }
        let known = self.size.filter(|_| self.size_known && self.format != "cyclictest-verbose");
        let end = known.or(c.bins.last().map(|b| b.0.saturating_add(1))).unwrap_or(0);
        if overflow == 0 || c.max >= end {
            return Ok(());
        }
        if overflow > MOST_UNSETTLED {
            return wrong(format!("samples overflowed {end} bins, but the maximum is {}", c.max));
        }
        self.warnings.push(Warning::new(
            "unsettled",
            Effect::Inconclusive,
            format!(
                "{}: {overflow} samples are counted but in no bin: the file was written before the measurement had ended",
                c.label
            ),
            "use the text that cyclictest prints at its end (-q -h)",
        ));
        Ok(())
    }

    fn moments(&mut self, c: &Column, overflow: u64, sum: u128, sum_sq: u128) -> Result<Moments, ImportError> {
        let unit = self.unit_ns;
        let exact = Moments::Exact { sum, sum_sq };
        let in_units = sum / u128::from(unit);
        let (agrees, stated) = match c.average {
            Average::None if c.count == 0 => return Ok(exact),
            Average::None => return Err(ImportError::File(format!("{}: {} cycles, but no average", c.label, c.count))),
            Average::Whole(a) => (u128::from(a) == in_units / u128::from(c.count.max(1)), a as f64),
            Average::Decimal(a) => ((a - in_units as f64 / c.count.max(1) as f64).abs() <= 0.005 + 1e-9 * a.abs(), a),
        };
        if overflow == 0 && (agrees || c.count == 0) {
            return Ok(exact);
        }
        if overflow == 0 {
            self.warnings.push(Warning::new(
                "average-differs",
                Effect::Inconclusive,
                format!("{}: the file states the average {stated}, which its bins do not give", c.label),
                "look whether the file was changed after cyclictest wrote it",
            ));
        }
        Ok(Moments::Reported { mean: stated * unit as f64 })
    }
}

/// The minimum and maximum that cyclictest prints for a thread, in the unit of `options`.
pub(super) fn printed_extremes(d: &Distribution, options: &TextOptions) -> (u64, u64) {
    let unit = options.unit_ns();
    (d.min().map_or(NO_MINIMUM, |v| v / unit), d.max().map_or(0, |v| v / unit))
}

/// The average as text prints it: truncated to a whole number.
pub(super) fn printed_average(d: &Distribution, options: &TextOptions) -> u64 {
    let unit = options.unit_ns();
    match d.parts().moments {
        _ if d.count() == 0 => 0,
        Moments::Exact { sum, .. } => u64::try_from(sum / u128::from(unit) / u128::from(d.count())).unwrap_or(u64::MAX),
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a mean lies between 0 and 2^64
        Moments::Reported { mean } => (mean / unit as f64) as u64,
    }
}
