//! jitterdebugger (github.com/igaw/jitterdebugger): its `results.json` and its `samples.raw`.
//!
//! What its files mean, found by running 0.3 and by reading its source:
//! - samples of 1 ms and more are counted and in minimum, maximum and average, but in no bin of the histogram;
//! - threads are numbered from 0, whichever CPUs they are pinned to (`-a 1` gives thread "0");
//! - a thread sleeps anew after each sample, so that a period that it slept over is never missed, and never counted;
//! - `samples.raw` is what its ring of samples held when they were fetched: 28 bytes each (u32 thread, u64 seconds, u64
//!   nanoseconds, u64 latency, in the machine's byte order), without unit, count and version.

use super::error::ImportError;
use super::foreign::{Column, Mean, Sheet, tally};
use super::format::ImportOptions;
use super::imported::SysInfo;
use super::json_pairs::{self, Pairs};
use rtscope_record::{Effect, Record};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Bytes of a raw sample.
const SAMPLE: usize = 28;
/// Most threads that a raw file may name: the highest number of CPUs of a kernel.
const MOST_THREADS: u32 = 8192;
/// The histogram ends here, ns.
const END: u64 = 1_000_000;

#[derive(Deserialize)]
struct Results {
    version: u64,
    #[serde(default)]
    sysinfo: SysInfo,
    cpu: Pairs<Thread>,
}

#[derive(Deserialize)]
#[serde(try_from = "RawThread")]
struct Thread {
    bins: Vec<(u64, u64)>,
    of: RawFigures,
}

#[derive(Deserialize)]
struct RawThread {
    histogram: Pairs<u64>,
    count: u64,
    min: u64,
    max: u64,
    avg: f64,
}

struct RawFigures {
    count: u64,
    min: u64,
    max: u64,
    avg: f64,
}

impl TryFrom<RawThread> for Thread {
    type Error = String;

    fn try_from(raw: RawThread) -> Result<Self, String> {
        let bins = json_pairs::bins(raw.histogram, super::foreign::number)?;
        let thread = Self { bins, of: RawFigures { count: raw.count, min: raw.min, max: raw.max, avg: raw.avg } };
        // The same check again with its label and unit would come without the line.
        let column = thread.column("this thread".into(), 1);
        column.contradiction().or_else(|| column.wrong_mean()).map_or(Ok(thread), Err)
    }
}

impl Thread {
    fn column(&self, label: String, unit: u64) -> Column {
        let mut column = Column::empty(label, unit);
        column.bins.clone_from(&self.bins);
        column.count = self.of.count;
        column.extremes = (self.of.count > 0).then_some((self.of.min, self.of.max));
        column.mean = Mean::Decimal(self.of.avg, 0.005);
        column
    }
}

/// Whether this is the beginning of a `results.json`: other tools' objects carry other keys first.
pub(super) fn detect_json(start: &str) -> bool {
    let compact: String = start.chars().filter(|c| !c.is_ascii_whitespace()).take(600).collect();
    compact.starts_with("{\"version\":") && compact.contains("\"cpu\":{") && compact.contains("\"histogram\":{")
}

/// Whether the bytes, or the beginning of a file, look like raw samples: of few threads, after the machine's start, with
/// nanoseconds below a second. A file may be cut off: its reader says so.
pub(super) fn detect_raw(bytes: &[u8]) -> bool {
    bytes.len() >= SAMPLE && bytes.chunks_exact(SAMPLE).take(256).all(|c| raw_sample(c).is_some())
}

/// Reads a `results.json`.
pub(super) fn read_json(bytes: &[u8], options: &ImportOptions) -> Result<Record, ImportError> {
    let results: Results = json_pairs::read(bytes)?;
    if !(1..=3).contains(&results.version) {
        return Err(ImportError::File(format!(
            "jitterdebugger's results have version {}, and only 1 to 3 are known",
            results.version
        )));
    }
    let said = results.sysinfo.resolution_in_ns;
    if said.is_some_and(|ns| !(1..=1_000_000).contains(&ns)) {
        return Err(ImportError::File("`resolution_in_ns` is not from 1 to 1000000".into()));
    }
    let asked = options.nanoseconds.map(|ns| if ns { 1 } else { 1000 });
    let unit = said.or(asked).unwrap_or(1000);
    let mut columns = Vec::new();
    for (name, thread) in results.cpu.0 {
        let nr = super::foreign::number(&name).ok_or_else(|| ImportError::File(format!("`{name}` is not a thread's number")))?;
        let mut column = thread.column(format!("thread{nr}"), unit);
        let end = END / unit;
        let lost = column.overflow().map_err(ImportError::File)?;
        if lost > 0 && thread.of.max < end {
            return Err(ImportError::File(format!(
                "thread {nr}: {lost} samples are in no bin, but the maximum {} is within the histogram, which ends at 1 ms",
                thread.of.max
            )));
        }
        // What is beyond the tool's own end, in a file of another version, is kept nevertheless.
        let last = column.bins.last().map_or(0, |b| b.0.saturating_add(1));
        column.size = Some(end.max(last).max(1));
        columns.push((nr, column));
    }
    if columns.is_empty() {
        return Err(ImportError::File("there is no thread in it".into()));
    }
    columns.sort_by_key(|c| c.0);
    let mut sheet = Sheet::new("jitterdebugger", columns.into_iter().map(|c| c.1).collect());
    let lost = sheet.columns.iter().filter_map(|c| c.overflow().ok()).fold(0u64, u64::saturating_add);
    if lost > 0 {
        sheet.warn(
            "histogram-incomplete",
            Effect::Inconclusive,
            format!(
                "{lost} samples are counted, but are in no bin: jitterdebugger leaves out those of 1 ms and more without saying so"
            ),
            "import its samples.raw (-s), or measure with rtscope",
        );
    }
    if said.is_none() && asked.is_none() {
        warn_of_unit(&mut sheet);
    }
    sheet.system = results.sysinfo.system();
    common(&mut sheet);
    sheet.into_record(bytes, options)
}

fn common(sheet: &mut Sheet) {
    sheet.warn_of_missed("jitterdebugger");
    sheet.warn(
        "cpus-unknown",
        Effect::Note,
        "jitterdebugger numbers its threads from 0, whichever CPUs they ran on: with -a, thread 0 need not be CPU 0",
        "keep the command line with the file",
    );
}

fn warn_of_unit(sheet: &mut Sheet) {
    sheet.warn(
        "unit-assumed",
        Effect::Note,
        "the file does not show whether its figures are in microseconds or (with -N) in nanoseconds: microseconds are taken",
        "import with --nsecs if it was measured with -N",
    );
}

struct Raw {
    thread: u32,
    at: u128,
    value: u64,
}

/// A raw sample; `None` for bytes that are none. Little-endian: what else wrote it is refused.
fn raw_sample(bytes: &[u8]) -> Option<Raw> {
    let (thread, rest) = bytes.split_first_chunk::<4>()?;
    let (seconds, rest) = rest.split_first_chunk::<8>()?;
    let (nanos, rest) = rest.split_first_chunk::<8>()?;
    let (value, _) = rest.split_first_chunk::<8>()?;
    let (thread, seconds) = (u32::from_le_bytes(*thread), u64::from_le_bytes(*seconds));
    let (nanos, value) = (u64::from_le_bytes(*nanos), u64::from_le_bytes(*value));
    let sound = thread < MOST_THREADS && nanos < 1_000_000_000 && seconds < 1 << 40 && (seconds, nanos) > (0, 0);
    sound.then(|| Raw { thread, at: u128::from(seconds) * 1_000_000_000 + u128::from(nanos), value })
}

/// Reads a `samples.raw`.
pub(super) fn read_raw(bytes: &[u8], options: &ImportOptions) -> Result<Record, ImportError> {
    let refused = |at: usize, what: &str| ImportError::File(format!("sample {} (byte {}): {what}", at + 1, at * SAMPLE));
    if bytes.is_empty() {
        return Err(ImportError::File("there is no sample in it".into()));
    }
    let mut threads: BTreeMap<u32, (u128, Vec<u64>)> = BTreeMap::new();
    let mut span: Option<(u128, u128)> = None;
    for (i, chunk) in bytes.chunks(SAMPLE).enumerate() {
        if chunk.len() < SAMPLE {
            return Err(refused(i, "the file ends within it: is it cut off?"));
        }
        let sample = raw_sample(chunk).ok_or_else(|| refused(i, "not a sample of jitterdebugger (of a little-endian machine)"))?;
        let thread = threads.entry(sample.thread).or_default();
        if sample.at < thread.0 {
            return Err(refused(i, "it was taken before the one ahead of it, of the same thread"));
        }
        thread.0 = sample.at;
        thread.1.push(sample.value);
        span = Some(span.map_or((sample.at, sample.at), |s| (s.0.min(sample.at), s.1.max(sample.at))));
    }
    let unit = match options.nanoseconds {
        Some(true) => 1,
        _ => 1000,
    };
    let columns = threads.into_iter().map(|(nr, (_, samples))| {
        let mut column = Column::empty(format!("thread{nr}"), unit);
        tally(samples, &mut column);
        column
    });
    let mut sheet = Sheet::new("jitterdebugger-raw", columns.collect());
    sheet.elapsed_ns = span.and_then(|s| u64::try_from(s.1 - s.0).ok()).unwrap_or(0);
    if options.nanoseconds.is_none() {
        warn_of_unit(&mut sheet);
    }
    sheet.warn(
        "count-unknown",
        Effect::Inconclusive,
        "the file does not say how many samples were taken: those that did not fit into jitterdebugger's ring, or came at its end, are not in it",
        "compare the counts with the `count` of its results.json",
    );
    common(&mut sheet);
    sheet.into_record(bytes, options)
}
