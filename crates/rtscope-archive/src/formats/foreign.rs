//! What the importers of other measuring tools share: a distribution from bins as a file states them, and the record
//! around it.

use super::error::ImportError;
use super::format::ImportOptions;
use super::imported::{hash, imported};
use jiff::Timestamp;
use rtscope_record::{
    Distribution, DistributionParts, Effect, Histogram, LinearBins, Moments, Nanos, Policy, Record, RecordParts, Settings, Space,
    System, ThreadInfo, Warning, limits,
};

/// Most lines of a file that a record keeps beside the figures.
const MOST_KEPT: usize = 64;
/// Longest of them, bytes.
const LONGEST_KEPT: usize = 1024;

/// A mean as a file states it, in the file's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Mean {
    /// Cut off to a whole number.
    Whole(u64),
    /// With decimals, right to within half of the last one.
    Decimal(f64, f64),
    /// Not stated, or known to be wrong.
    Unknown,
}

/// The figures of one distribution, in the file's unit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Column {
    /// The distribution's label.
    pub(super) label: String,
    /// The unit of all figures here, ns.
    pub(super) unit: u64,
    /// What the file calls each bin, and its count; ascending, without empty ones.
    pub(super) bins: Vec<(u64, u64)>,
    /// Width of a bin in units.
    pub(super) width: u64,
    /// Bins are named by their highest value, not by their lowest.
    pub(super) named_by_highest: bool,
    /// Number of bins, if they are one unit wide and named by their lowest value.
    pub(super) size: Option<u64>,
    /// Samples, including those in no bin.
    pub(super) count: u64,
    /// Lowest and highest sample; `None` without samples.
    pub(super) extremes: Option<(u64, u64)>,
    /// The stated mean.
    pub(super) mean: Mean,
    /// Samples that were taken and are not in the file.
    pub(super) dropped: u64,
    /// CPU to which the thread was pinned, if known.
    pub(super) cpu: Option<u32>,
    /// Interval of the thread, ns; 0 if unknown.
    pub(super) interval: u64,
}

impl Column {
    /// A column without samples.
    pub(super) fn empty(label: impl Into<String>, unit: u64) -> Self {
        Self {
            label: label.into(),
            unit,
            bins: Vec::new(),
            width: 1,
            named_by_highest: false,
            size: None,
            count: 0,
            extremes: None,
            mean: Mean::Unknown,
            dropped: 0,
            cpu: None,
            interval: 0,
        }
    }

    /// Samples in bins; an error for more than 2^63, which no histogram counts.
    pub(super) fn held(&self) -> Result<u64, String> {
        let sum = self.bins.iter().try_fold(0u64, |sum, b| sum.checked_add(b.1));
        sum.filter(|&n| i64::try_from(n).is_ok()).ok_or_else(|| format!("{}: more than 2^63 samples", self.label))
    }

    /// Samples in no bin; an error if more are in bins than there were.
    pub(super) fn overflow(&self) -> Result<u64, String> {
        let held = self.held()?;
        let wrong = || format!("{}: the bins hold {held} samples, but the file counts {}", self.label, self.count);
        self.count.checked_sub(held).ok_or_else(wrong)
    }

    /// What of the figures contradicts the bins, where bins are named by their lowest value.
    pub(super) fn contradiction(&self) -> Option<String> {
        let overflow = match self.overflow() {
            Ok(n) => n,
            Err(what) => return Some(what),
        };
        let wrong = |what: String| Some(format!("{}: {what}", self.label));
        let Some((min, max)) = self.extremes else {
            return (self.count > 0).then(|| format!("{}: {} samples, but no minimum and maximum", self.label, self.count));
        };
        if self.count == 0 {
            return wrong("no sample, but a minimum and a maximum".into());
        }
        if min > max {
            return wrong(format!("the minimum {min} is above the maximum {max}"));
        }
        let within = |bin: u64, value: u64| value >= bin && value - bin < self.width;
        if let (Some(&(first, _)), Some(&(last, _))) = (self.bins.first(), self.bins.last()) {
            if !within(first, min) {
                return wrong(format!("the minimum is {min}, but the lowest bin with samples is {first}"));
            }
            if overflow == 0 && !within(last, max) {
                return wrong(format!("the maximum is {max}, but the highest bin with samples is {last}"));
            }
            if overflow > 0 && (max < last || within(last, max)) {
                return wrong(format!("{overflow} samples are in no bin, but the maximum {max} is in one"));
            }
        }
        None
    }

    /// Why the stated mean can't be that of the bins, where these are named by their lowest value: each sample lies in its bin, and those in none above
    /// the highest.
    pub(super) fn wrong_mean(&self) -> Option<String> {
        let overflow = u128::from(self.overflow().ok()?);
        let (min, max) = self.extremes?;
        let last = self.bins.last().map_or(min, |b| b.0.saturating_add(self.width)).clamp(min, max);
        let sum = |of: &dyn Fn(u64) -> u64| self.bins.iter().map(|&(bin, n)| u128::from(of(bin)) * u128::from(n)).sum::<u128>();
        let low = sum(&|bin| bin.max(min)) + overflow * u128::from(last);
        let high = sum(&|bin| bin.saturating_add(self.width - 1).min(max)) + overflow * u128::from(max);
        let count = u128::from(self.count.max(1));
        let (least, most) = (low as f64 / count as f64, high as f64 / count as f64);
        let (stated, fits) = match self.mean {
            Mean::Unknown => return None,
            Mean::Whole(m) => (m as f64, (u128::from(m) + 1) * count > low && u128::from(m) * count <= high),
            Mean::Decimal(m, off) => {
                let off = off + 1e-9 * m.abs();
                (m, m >= least - off && m <= most + off)
            }
        };
        (!fits).then(|| format!("{}: the average is {stated}, but the bins allow {least:.2} to {most:.2}", self.label))
    }

    /// The samples of the bins as (value in units, count): each at its bin's upper end, so that no percentile is too low, but
    /// within the extremes; and one at each extreme, where a sample is known to be.
    fn placed(&self, overflow: u64) -> Vec<(u64, u64)> {
        let Some((min, max)) = self.extremes else { return Vec::new() };
        let more = if self.named_by_highest { 0 } else { self.width.saturating_sub(1) };
        let mut placed: Vec<(u64, u64)> = self.bins.iter().map(|&(bin, n)| (bin.saturating_add(more).clamp(min, max), n)).collect();
        let move_one = |from: Option<&mut (u64, u64)>, to: u64| match from {
            Some(bin) if bin.0 != to => {
                bin.1 -= 1;
                Some((to, 1))
            }
            _ => None,
        };
        let low = move_one(placed.first_mut(), min);
        // A bin that gave its only sample to the minimum has none left for the maximum.
        let top = placed.last_mut().filter(|b| overflow == 0 && b.1 > 0);
        let high = move_one(top, max);
        placed.extend(low.into_iter().chain(high));
        placed.retain(|p| p.1 > 0);
        placed
    }

    /// Makes the distribution.
    pub(super) fn distribution(self) -> Result<Distribution, ImportError> {
        let refused = ImportError::File;
        let overflow = self.overflow().map_err(refused)?;
        let large = |what: &str| ImportError::File(format!("{}: {what} is more than 2^64 ns", self.label));
        let ns = |v: u64, what: &str| v.checked_mul(self.unit).ok_or_else(|| large(what));
        let mut p = DistributionParts::empty(&limits::cut(&self.label, limits::LABEL));
        (p.count, p.overflow, p.dropped) = (self.count, overflow, self.dropped);
        p.resolution = ns(self.width, "the width of a bin")?.max(1);
        if let Some((min, max)) = self.extremes.filter(|_| self.count > 0) {
            (p.min, p.max) = (Some(ns(min, "the minimum")?), Some(ns(max, "the maximum")?));
        }
        let (mut sum, mut sum_sq) = (0u128, 0u128);
        let mut histogram = Histogram::new();
        for (value, n) in self.placed(overflow) {
            let value = ns(value, "a bin")?;
            histogram.record(value, n).map_err(|e| ImportError::File(format!("{}: {e}", self.label)))?;
            let wide = u128::from(value);
            sum += wide * u128::from(n);
            let more = wide.checked_mul(wide).and_then(|v| v.checked_mul(n.into())).and_then(|v| sum_sq.checked_add(v));
            sum_sq = more.ok_or_else(|| refused(format!("{}: the sum of squares is more than 2^128", self.label)))?;
        }
        p.histogram = histogram;
        p.moments = self.moments(overflow, sum, sum_sq);
        p.linear = self.size.map(|size| LinearBins { unit_ns: self.unit, size, counts: self.bins, overflow_at: Vec::new() });
        p.thread = Some(ThreadInfo { cpu: self.cpu, interval: self.interval, ..ThreadInfo::default() });
        Ok(Distribution::new(p)?)
    }

    fn moments(&self, overflow: u64, sum: u128, sum_sq: u128) -> Moments {
        let exact = Moments::Exact { sum, sum_sq };
        if self.count == 0 {
            return exact;
        }
        let unit = self.unit as f64;
        let in_units = sum / u128::from(self.unit);
        let stated = match self.mean {
            Mean::Whole(m) => Some((m as f64, in_units / u128::from(self.count) == u128::from(m))),
            Mean::Decimal(m, off) => Some((m, (m - in_units as f64 / self.count as f64).abs() <= off + 1e-9 * m.abs())),
            Mean::Unknown => None,
        };
        if overflow == 0 && self.width == 1 && stated.is_none_or(|s| s.1) {
            return exact;
        }
        match stated {
            Some((mean, _)) => Moments::Reported { mean: mean * unit },
            None => {
                // Samples beyond the bins count as the highest bin: the mean is that or more.
                let top = self.bins.last().map_or_else(|| self.extremes.map_or(0, |e| e.0), |b| b.0);
                let beyond = u128::from(top) * u128::from(self.unit) * u128::from(overflow);
                Moments::Reported { mean: (sum + beyond) as f64 / self.count as f64 }
            }
        }
    }
}

/// Columns of single samples, one for each label.
pub(super) fn tally(samples: impl IntoIterator<Item = u64>, column: &mut Column) {
    let mut bins = std::collections::BTreeMap::new();
    for v in samples {
        *bins.entry(v).or_insert(0u64) += 1;
        column.count += 1;
    }
    column.extremes = bins.keys().next().copied().zip(bins.keys().next_back().copied());
    column.bins = bins.into_iter().collect();
}

/// What becomes a record.
#[derive(Debug)]
pub(super) struct Sheet {
    /// Name of the format, for the record's source.
    pub(super) format: &'static str,
    /// What the id of the record ends in, if one file gives several.
    pub(super) suffix: String,
    /// The distributions.
    pub(super) columns: Vec<Column>,
    /// Where the measured task ran, if the file says so.
    pub(super) space: Option<Space>,
    /// What is not in the figures.
    pub(super) warnings: Vec<Warning>,
    /// Lines of the file beside its figures.
    pub(super) kept: Vec<String>,
    /// The settings that are known.
    pub(super) settings: Settings,
    /// What the file says of the machine.
    pub(super) system: System,
    /// Its start, if the file says so.
    pub(super) started: Option<Timestamp>,
    /// How long it took, ns; 0 if unknown.
    pub(super) elapsed_ns: u64,
}

impl Sheet {
    /// A sheet that knows its columns only.
    pub(super) fn new(format: &'static str, columns: Vec<Column>) -> Self {
        let settings = unknown_settings(columns.len());
        Self {
            format,
            suffix: String::new(),
            columns,
            space: None,
            warnings: Vec::new(),
            kept: Vec::new(),
            settings,
            system: System::default(),
            started: None,
            elapsed_ns: 0,
        }
    }

    /// Adds a warning.
    pub(super) fn warn(&mut self, code: &str, effect: Effect, message: impl Into<String>, remedy: &str) {
        self.warnings.push(Warning::new(code, effect, message.into(), remedy));
    }

    /// Warns that the tool does not count the periods that it slept over.
    pub(super) fn warn_of_missed(&mut self, tool: &str) {
        self.warn(
            "missed-unknown",
            Effect::Inconclusive,
            format!("{tool} does not count the periods that it slept over, so that percentiles may be far too low"),
            "measure with `rtscope measure timer`, which counts them",
        );
    }

    /// Warns that the figures are of something else than wake-ups.
    pub(super) fn warn_of_quantity(&mut self, what: &str) {
        self.warn(
            "other-quantity",
            Effect::Inconclusive,
            format!("{what}: not the latency of a task's wake-up, though the record is of the timer test"),
            "compare it with records of the same tool only",
        );
    }

    /// Makes the record, with a warning for each thing that follows from the columns.
    pub(super) fn into_record(mut self, bytes: &[u8], options: &ImportOptions) -> Result<Record, ImportError> {
        self.warn_of_columns()?;
        limits::check("the distributions", self.columns.len(), limits::DISTRIBUTIONS)
            .map_err(|e| ImportError::File(e.to_string()))?;
        let mut distributions = Vec::with_capacity(self.columns.len());
        for column in std::mem::take(&mut self.columns) {
            distributions.push(column.distribution()?);
        }
        let kept = self.kept.iter().take(MOST_KEPT).map(|l| limits::cut(l, LONGEST_KEPT)).collect();
        let parts = imported(options, self.started, &hash(bytes), &self.suffix, self.format, kept)?;
        Ok(Record::new(RecordParts {
            elapsed_ns: self.elapsed_ns,
            space: self.space.unwrap_or(parts.space),
            warnings: self.warnings,
            settings: self.settings,
            system: self.system,
            distributions,
            ..parts
        })?)
    }

    fn warn_of_columns(&mut self) -> Result<(), ImportError> {
        let mut overflow = 0u64;
        for c in &self.columns {
            overflow = overflow.saturating_add(c.overflow().map_err(ImportError::File)?);
        }
        let held = self.columns.iter().any(|c| !c.bins.is_empty());
        if overflow > 0 && held {
            self.warn(
                "overflow",
                Effect::Inconclusive,
                format!("{overflow} samples lie beyond the histogram; only the highest of each column is known"),
                "measure with a larger histogram",
            );
        } else if overflow > 0 {
            self.warn(
                "no-histogram",
                Effect::Inconclusive,
                "the file holds single figures only, no histogram: there are no percentiles",
                "keep the tool's histogram or samples",
            );
        }
        let widest =
            self.columns.iter().filter(|c| !c.bins.is_empty() && c.width > 1).map(|c| c.width.saturating_mul(c.unit)).max();
        if let Some(widest) = widest {
            self.warn(
                "wide-bins",
                Effect::Note,
                format!("the histogram's bins are {widest} ns wide: a percentile is the upper end of its bin"),
                "measure with narrower bins",
            );
        }
        let dropped = self.columns.iter().fold(0u64, |sum, c| sum.saturating_add(c.dropped));
        if dropped > 0 {
            self.warn(
                "dropped",
                Effect::Invalid,
                format!("{dropped} samples were taken and are not in the file; the highest may be among them"),
                "measure with larger buffers, or with a histogram",
            );
        }
        if self.settings.command.is_empty() {
            self.warn(
                "settings-unknown",
                Effect::Note,
                "the file does not carry its command line: settings that the figures do not show are unknown",
                "keep the command line with the file",
            );
        }
        if self.system.kernel.release.is_empty() {
            self.warn(
                "system-unknown",
                Effect::Note,
                "the file says nothing of the machine and its kernel",
                "keep them beside the file",
            );
        }
        Ok(())
    }
}

/// The settings of a run whose command line is unknown: they claim nothing.
pub(super) fn unknown_settings(threads: usize) -> Settings {
    Settings {
        interval: Nanos(0),
        threads: u32::try_from(threads).unwrap_or(u32::MAX),
        policy: Policy::Other,
        priority: 0,
        mlockall: false,
        hold_dma_latency: false,
        worst: 0,
        ..Settings::default()
    }
}

/// A whole number of decimal digits only.
pub(super) fn number(text: &str) -> Option<u64> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

/// A whole number at a line.
pub(super) fn number_at(text: &str, line: usize, what: &str) -> Result<u64, ImportError> {
    let wrong = || ImportError::line(line, format!("{what}: `{}` is not a whole number below 2^64", limits::cut(text, 40)));
    number(text).ok_or_else(wrong)
}

/// A number with decimals, neither negative nor infinite.
pub(super) fn decimal(text: &str) -> Option<f64> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    plain.then(|| text.parse::<f64>().ok()).flatten().filter(|v| v.is_finite())
}

/// Refuses a text that does not end with its last line: a number may be cut off.
pub(super) fn whole(text: &str) -> Result<(), ImportError> {
    if text.ends_with('\n') {
        return Ok(());
    }
    Err(ImportError::line(text.lines().count().max(1), "the file ends within this line: is it cut off?"))
}
