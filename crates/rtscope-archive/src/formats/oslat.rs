//! oslat's `--json` (rt-tests): how long a busy loop was kept from going on.
//!
//! What the file means, found by running 2.4 and by reading the source of 2.4 and later:
//! - latencies are rounded up to whole us; a bin is named by its upper end, from some version on by one width more, and
//!   with `-B` by a bias more; the last one holds everything above it too, and nothing marks it;
//! - with `-W` that is not whole us, minimum and maximum are in ns while the bins are in us with three decimals;
//! - the average adds the excess of the first thread to every thread, in another unit with `-W`: it is not taken.

use super::error::ImportError;
use super::foreign::{Column, Sheet, number};
use super::format::ImportOptions;
use super::imported::{SysInfo, moment};
use super::json_pairs::{self, Pairs};
use rtscope_record::{Effect, Nanos, Policy, Record};
use serde::Deserialize;

#[derive(Deserialize)]
struct Results {
    file_version: u64,
    #[serde(rename = "cmdline:", alias = "cmdline", default)]
    command: String,
    #[serde(rename = "rt_test_version:", alias = "rt_test_version", default)]
    version: String,
    #[serde(default)]
    start_time: String,
    #[serde(default)]
    end_time: String,
    return_code: i64,
    #[serde(default)]
    sysinfo: SysInfo,
    num_threads: u64,
    thread: Pairs<Thread>,
}

#[derive(Deserialize)]
struct RawThread {
    cpu: u32,
    min: u64,
    max: u64,
    /// Wrong, see above, but it must be there.
    #[serde(rename = "avg")]
    _avg: f64,
    histogram: Pairs<u64>,
}

/// A thread's figures; bins and extremes in one unit, us or ns.
#[derive(Deserialize)]
#[serde(try_from = "RawThread")]
struct Thread {
    cpu: u32,
    min: u64,
    max: u64,
    bins: Vec<(u64, u64)>,
    nanoseconds: bool,
}

impl TryFrom<RawThread> for Thread {
    type Error = String;

    fn try_from(raw: RawThread) -> Result<Self, String> {
        let nanoseconds = raw.histogram.0.iter().any(|(name, _)| name.contains('.'));
        let bins = json_pairs::bins(raw.histogram, |name| if nanoseconds { thousandths(name) } else { number(name) })?;
        if let (Some(first), true) = (bins.first(), raw.min > raw.max || bins.is_empty()) {
            return Err(format!("the minimum {} is above the maximum {}, with samples from {}", raw.min, raw.max, first.0));
        }
        if let Some(first) = bins.first().filter(|f| raw.min > f.0) {
            return Err(format!("the minimum is {}, but there are samples in the bin up to {}", raw.min, first.0));
        }
        if bins.len() > 1 && bins.get(bins.len() - 2).is_some_and(|b| raw.max < b.0.saturating_sub(bins[0].0)) {
            return Err(format!("the maximum is {}, but there are samples above", raw.max));
        }
        Ok(Self { cpu: raw.cpu, min: raw.min, max: raw.max, bins, nanoseconds })
    }
}

/// `1.500` as 1500.
fn thousandths(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.')?;
    let part = number(part).filter(|_| part.len() == 3)?;
    number(whole)?.checked_mul(1000)?.checked_add(part)
}

/// Whether this is the beginning of a file of oslat and not of another tool of rt-tests, whose threads have no frequency.
pub(super) fn detect(start: &str) -> bool {
    start.contains("\"file_version\"") && start.contains("\"freq\":") && start.contains("\"duration\":")
}

/// Reads the file.
pub(super) fn read(bytes: &[u8], options: &ImportOptions) -> Result<Record, ImportError> {
    let file: Results = json_pairs::read(bytes)?;
    let wrong = |what: String| Err(ImportError::File(what));
    if file.file_version != 1 {
        return wrong(format!("not oslat's JSON: `file_version` is {}, not 1", file.file_version));
    }
    if file.thread.0.len() as u64 != file.num_threads {
        return wrong(format!("`num_threads` is {}, but there are {} threads", file.num_threads, file.thread.0.len()));
    }
    if file.thread.0.is_empty() {
        return wrong("there is no thread in it".into());
    }
    let words: Vec<String> = file.command.split_ascii_whitespace().map(str::to_owned).collect();
    let width = bin_width(&words);
    let nanoseconds = file.thread.0.iter().any(|t| t.1.nanoseconds);
    let buckets = buckets(&words, if nanoseconds { width } else { None });
    let (mut columns, mut folded, mut shifted) = (Vec::new(), 0u64, false);
    for (name, thread) in &file.thread.0 {
        if nanoseconds && !thread.nanoseconds && !thread.bins.is_empty() {
            return wrong(format!("thread {name}: bins in whole us beside bins with decimals"));
        }
        let mut column = Column::empty(format!("cpu{}", thread.cpu), if nanoseconds { 1 } else { 1000 });
        column.width = if nanoseconds { width.unwrap_or(1) } else { width.map_or(1, |w| w / 1000) }.max(1);
        (column.cpu, column.named_by_highest) = (Some(thread.cpu), true);
        column.bins.clone_from(&thread.bins);
        column.count = column.held().map_err(ImportError::File)?;
        column.extremes = (column.count > 0).then_some((thread.min, thread.max));
        shifted |= thread.bins.first().is_some_and(|b| b.0 > thread.min);
        // Everything above goes into the last bin, so that its samples may be anywhere up to the maximum.
        if let Some(last) = column.bins.last().copied().filter(|b| b.0 < thread.max) {
            if buckets.is_some_and(|n| last.0 / column.width < n) {
                let (max, highest) = (thread.max, last.0);
                return wrong(format!(
                    "thread {name}: the maximum is {max}, but no sample is above the bin {highest}, which is not the last"
                ));
            }
            column.bins.pop();
            folded = folded.saturating_add(last.1);
        }
        columns.push(column);
    }
    let mut sheet = Sheet::new("oslat", columns);
    sheet.warn_of_quantity("oslat measures how long a busy loop was interrupted");
    if folded > 0 {
        sheet.warn(
            "last-bin",
            Effect::Inconclusive,
            format!("{folded} samples are in the highest bin, which holds all above it too: they are kept as overflowed"),
            "measure with a larger -b",
        );
    }
    sheet.warn(
        "average-untrusted",
        Effect::Note,
        "oslat's average adds the excess of its first thread to all, and is wrong with -W: it is left out, and the mean is made of the bins",
        "take no mean of oslat at its word where samples overflowed: they are counted at the highest bin",
    );
    if nanoseconds {
        sheet.warn(
            "mixed-units",
            Effect::Note,
            "with this -W oslat states minimum and maximum in ns and its bins in us: both are taken as such",
            "measure with a -W of whole us",
        );
    }
    if shifted {
        sheet.warn(
            "bins-shifted",
            Effect::Note,
            "the lowest bin is named higher than the minimum: samples may be lower than their bins by a width, or by the bias of -B",
            "measure without -B",
        );
    }
    if file.return_code != 0 {
        sheet.warn("tool-failed", Effect::Invalid, format!("oslat ended with code {}", file.return_code), "run it again");
    }
    settings(&mut sheet, &words);
    sheet.system = file.sysinfo.system();
    if !file.version.is_empty() {
        sheet.system.tools.insert("oslat".into(), file.version.clone());
    }
    let (start, end) = (moment(&file.start_time), moment(&file.end_time));
    if let (Some(start), Some(end)) = (start, end) {
        sheet.elapsed_ns = u64::try_from(end.duration_since(start).as_nanos()).unwrap_or(0);
    }
    sheet.started = start;
    sheet.into_record(bytes, options)
}

/// The value of an option, attached or in the next word.
fn value<'a>(words: &'a [String], short: &str, long: &str) -> Option<&'a str> {
    words.iter().enumerate().find_map(|(i, w)| {
        let next = || words.get(i + 1).map(String::as_str);
        if w == short || w == long {
            return next();
        }
        let attached = w.strip_prefix(long).and_then(|r| r.strip_prefix('='));
        attached.or_else(|| w.strip_prefix(short).filter(|r| !r.is_empty()))
    })
}

/// `-W`, ns.
fn bin_width(words: &[String]) -> Option<u64> {
    value(words, "-W", "--bucket-width").and_then(number).filter(|w| (1..=1_000_000_000).contains(w))
}

/// Number of bins: `-b`, or what it is without; `None` without a command line.
fn buckets(words: &[String], narrow: Option<u64>) -> Option<u64> {
    words.first()?;
    let asked = value(words, "-b", "--bucket-size").map(number);
    asked.unwrap_or_else(|| Some(narrow.filter(|&w| w < 1000).map_or(32, |w| 32_000 / w)))
}

fn settings(sheet: &mut Sheet, words: &[String]) {
    let priority =
        value(words, "-f", "--rtprio").and_then(number).and_then(|p| u8::try_from(p).ok()).filter(|p| (1..=99).contains(p));
    if let Some(priority) = priority {
        (sheet.settings.policy, sheet.settings.priority) = (Policy::Fifo, priority);
    }
    let seconds = value(words, "-D", "--duration").and_then(number).and_then(|s| s.checked_mul(Nanos::PER_SEC));
    sheet.settings.duration = seconds.map(Nanos);
    if !words.is_empty() {
        sheet.settings.mlockall = true;
    }
    sheet.settings.command = words.to_vec();
}
