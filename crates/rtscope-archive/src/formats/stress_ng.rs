//! What stress-ng prints of its `--cyclic` stressor, alone or among its other messages.
//!
//! What the text means, found by running 0.15.06 and by reading the source:
//! - only as many samples as `--cyclic-samples` are kept and are in any figure; how many there would have been is noted;
//! - its percentiles are samples at a rank that is cut off, up to a whole step too high or low: they are kept as lines;
//! - `--cyclic-dist` adds a histogram with rows named by their lowest value, which may end before the highest sample;
//! - the default policy is SCHED_DEADLINE, which may be refused; there are no figures then.

use super::error::ImportError;
use super::foreign::{Column, Mean, Sheet, decimal, number_at, whole};
use super::format::ImportOptions;
use rtscope_record::{Effect, Policy, Record, limits};

/// Most rows of its histogram.
const MOST_ROWS: usize = 10_000_000;

/// The text behind `cyclic: ` in a message of stress-ng.
fn message(line: &str) -> Option<&str> {
    let at = line.find("stress-ng: ")?;
    let (_, rest) = line[at..].split_once("] ")?;
    let rest = rest.strip_prefix("cyclic: ").or_else(|| rest.strip_prefix("stress-ng-cyclic: "))?;
    Some(rest.trim())
}

/// Whether the text has figures of the stressor.
pub(super) fn detect(text: &str) -> bool {
    text.lines().filter_map(message).any(|m| m.starts_with("sched ") && m.ends_with(" samples"))
}

/// The stressor's messages.
#[derive(Default)]
struct Messages {
    policy: Option<(usize, String)>,
    delay: u64,
    samples: u64,
    mean: Option<f64>,
    extremes: Option<(usize, u64, u64)>,
    needed: Option<u64>,
    /// Width of the histogram's rows and the rows.
    rows: Option<(u64, Vec<(u64, u64)>)>,
    kept: Vec<String>,
}

/// The word behind `key`, up to the next comma or space.
fn behind<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let rest = text.split_once(key)?.1.trim_start();
    Some(rest.split([',', ' ']).next().unwrap_or_default())
}

impl Messages {
    fn of(text: &str) -> Result<Self, ImportError> {
        let mut m = Self::default();
        for (i, line) in text.lines().enumerate() {
            if let Some(said) = message(line) {
                m.sort(i + 1, said)?;
            }
        }
        Ok(m)
    }

    fn sort(&mut self, nr: usize, said: &str) -> Result<(), ImportError> {
        let wrong = |what: &str| ImportError::line(nr, format!("{what}: `{}`", limits::cut(said, 80)));
        if let Some(rest) = said.strip_prefix("sched ") {
            if let Some((first, _)) = self.policy {
                return Err(ImportError::line(nr, format!("a second run (the first is at line {first}): split the file")));
            }
            let (policy, figures) = rest.split_once(": ").ok_or_else(|| wrong("no policy"))?;
            let (delay, samples) = figures.split_once(" ns delay, ").ok_or_else(|| wrong("no delay"))?;
            let samples = samples.strip_suffix(" samples").ok_or_else(|| wrong("no number of samples"))?;
            self.policy = Some((nr, policy.into()));
            (self.delay, self.samples) = (number_at(delay, nr, "delay")?, number_at(samples, nr, "samples")?);
        } else if said.starts_with("mean: ") {
            let mean = behind(said, "mean:").and_then(decimal).ok_or_else(|| wrong("no mean"))?;
            self.once(nr, self.mean.is_some())?;
            self.mean = Some(mean);
            self.kept.push(said.into());
        } else if said.starts_with("min: ") {
            let of = |key: &str| number_at(behind(said, key).unwrap_or_default(), nr, key);
            let (min, max) = (of("min:")?, of("max:")?);
            if behind(said, "std.dev.").and_then(decimal).is_none() {
                return Err(wrong("no standard deviation: is the line cut off?"));
            }
            self.once(nr, self.extremes.is_some())?;
            self.extremes = Some((nr, min, max));
            self.kept.push(said.into());
        } else if let Some(rest) = said.strip_prefix("latency distribution (") {
            let width = rest.split_once(" ns intervals").ok_or_else(|| wrong("no width of the rows"))?.0;
            let width = number_at(width, nr, "width")?;
            if width == 0 {
                return Err(wrong("rows of no width"));
            }
            self.once(nr, self.rows.is_some())?;
            self.rows = Some((width, Vec::new()));
        } else if said.starts_with("Note: --cyclic-samples needed to be ") {
            self.needed = Some(number_at(behind(said, "needed to be").unwrap_or_default(), nr, "samples")?);
        } else if said.contains("no latency information available") {
            return Err(wrong("stress-ng took no samples"));
        } else if said.contains('%') {
            self.kept.push(said.into());
        } else if let Some((width, rows)) = self.rows.as_mut().filter(|_| said.starts_with(|c: char| c.is_ascii_digit())) {
            let mut cells = said.split_ascii_whitespace();
            let (Some(bin), Some(count), None) = (cells.next(), cells.next(), cells.next()) else {
                return Err(wrong("not a row of the histogram"));
            };
            let (bin, count) = (number_at(bin, nr, "bin")?, number_at(count, nr, "frequency")?);
            if bin % *width != 0 || rows.last().is_some_and(|r| r.0 >= bin) || rows.len() >= MOST_ROWS {
                return Err(wrong("this row is not in its place"));
            }
            rows.push((bin, count));
        }
        Ok(())
    }

    fn once(&self, nr: usize, twice: bool) -> Result<(), ImportError> {
        if self.policy.is_none() {
            return Err(ImportError::line(nr, "figures without the line `cyclic: sched ...` ahead of them"));
        }
        if twice { Err(ImportError::line(nr, "these figures are there twice: split the file")) } else { Ok(()) }
    }
}

/// Reads the figures.
pub(super) fn read(bytes: &[u8], options: &ImportOptions) -> Result<Record, ImportError> {
    let text = String::from_utf8_lossy(bytes);
    whole(&text)?;
    let m = Messages::of(&text)?;
    let last = text.lines().count().max(1);
    let need = |what: &str| ImportError::line(last, format!("the file ends without `cyclic: {what}`: is it cut off?"));
    let (_, policy) = m.policy.clone().ok_or_else(|| need("sched ..."))?;
    let mean = m.mean.ok_or_else(|| need("mean: ..."))?;
    let (line, min, max) = m.extremes.ok_or_else(|| need("min: ..."))?;
    if m.samples == 0 {
        return Err(ImportError::line(line, "figures, but no samples"));
    }
    if min > max || mean < min as f64 - 0.01 || mean > max as f64 + 0.01 {
        return Err(ImportError::line(line, format!("minimum {min}, mean {mean} and maximum {max} are not in this order")));
    }
    let mut column = Column::empty("cyclic", 1);
    (column.count, column.extremes, column.interval) = (m.samples, Some((min, max)), m.delay);
    column.mean = Mean::Decimal(mean, 0.005);
    if let Some((width, rows)) = m.rows {
        column.width = width;
        column.bins = rows.into_iter().filter(|r| r.1 > 0).collect();
        if let Some(what) = column.contradiction().or_else(|| column.wrong_mean()) {
            return Err(ImportError::line(line, what));
        }
    }
    if let Some(needed) = m.needed {
        let lost = needed.checked_sub(m.samples);
        column.dropped = lost.ok_or_else(|| ImportError::line(last, format!("{} samples, of only {needed}", m.samples)))?;
    }
    let mut sheet = Sheet::new("stress-ng-cyclic", vec![column]);
    sheet.warn_of_missed("stress-ng");
    sheet.settings.interval = rtscope_record::Nanos(m.delay);
    sheet.settings.policy = match policy.split_ascii_whitespace().next() {
        Some("SCHED_FIFO") => Policy::Fifo,
        Some("SCHED_RR") => Policy::Rr,
        Some("SCHED_DEADLINE") => Policy::Deadline,
        _ => Policy::Other,
    };
    sheet.warn(
        "priority-unknown",
        Effect::Note,
        format!("stress-ng says {policy}, but not with which priority"),
        "keep the command line with the file",
    );
    sheet.kept = m.kept;
    sheet.into_record(bytes, options)
}
