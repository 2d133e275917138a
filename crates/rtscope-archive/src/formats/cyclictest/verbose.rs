//! cyclictest's `-v` stream: a line `thread:cycle:latency` for each sample, the format of Dewit's data.

use super::command::Command;
use super::lines::{number, shortened};
use super::options::TextOptions;
use super::table::{Average, Column, Table};
use crate::formats::error::ImportError;
use crate::formats::format::ImportOptions;
use rtscope_record::{Effect, Record, ThreadInfo, Warning};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Size of cyclictest's ring of samples not yet printed; it does not check for overruns.
const RING: usize = 16_384;

/// The fields of a sample line: thread, cycle, latency (with the SMI count glued to it by `--smi`).
fn cells(line: &str) -> Option<[&str; 3]> {
    let mut cells = line.split(':');
    let found = [cells.next()?.trim(), cells.next()?.trim(), cells.next()?.trim()];
    let numeric = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit() || b == b' ' || b == b'-');
    (cells.next().is_none() && found.iter().all(|t| numeric(t))).then_some(found)
}

/// Whether a line is a sample of the stream.
pub(super) fn is_sample(line: &str) -> bool {
    cells(line).is_some()
}

/// The samples of one thread.
#[derive(Default)]
struct Stream {
    values: Vec<u64>,
    /// The next expected cycle number.
    next: u64,
    dropped: u64,
}

impl Stream {
    fn push(&mut self, line: usize, cycle: u64, value: u64) -> Result<(), ImportError> {
        // cyclictest prints a latency of 0 under the number of the last cycle with a higher one.
        let cycle = if value == 0 && cycle < self.next { self.next } else { cycle };
        let Some(passed) = cycle.checked_sub(self.next) else {
            return Err(ImportError::line(line, format!("cycle {cycle} after cycle {}: are two runs in one file?", self.next - 1)));
        };
        self.dropped = self.dropped.saturating_add(passed);
        self.next = cycle.checked_add(1).ok_or_else(|| ImportError::line(line, "a cycle number of 2^64-1"))?;
        self.values.push(value);
        Ok(())
    }
}

/// Reads the stream of `cyclictest -v`. Skipped cycle numbers are samples that the file has lost: they are counted as
/// dropped. The record does not keep the order of the samples.
pub fn read_verbose(bytes: &[u8], options: &ImportOptions) -> Result<Record, ImportError> {
    let text = String::from_utf8_lossy(bytes);
    let mut table = Table::new("cyclictest-verbose");
    let mut streams: BTreeMap<u64, Stream> = BTreeMap::new();
    let mut intervals: BTreeMap<u64, u64> = BTreeMap::new();
    let mut dma_latency = false;
    for (i, raw) in text.split('\n').enumerate() {
        let (line, text) = (i + 1, raw.trim_end());
        if let Some([thread, cycle, value]) = cells(text) {
            let thread = number(thread, line, "thread")?;
            let value = value.split(' ').next().unwrap_or_default();
            let (cycle, value) = (number(cycle, line, "cycle")?, number(value, line, "latency")?);
            streams.entry(thread).or_default().push(line, cycle, value)?;
        } else if let Some((nr, interval)) = text.strip_prefix("Thread ").and_then(|r| r.split_once(" Interval: ")) {
            intervals.insert(number(nr, line, "Thread")?, number(interval, line, "Interval")?);
        } else if text.starts_with(|c: char| c.is_ascii_digit() || c == ' ') && !text.trim().is_empty() {
            return Err(ImportError::line(
                line,
                format!("`{}` is not `thread:cycle:latency`: is the file cut off?", shortened(text)),
            ));
        } else if !text.is_empty() {
            dma_latency |= text.starts_with("# /dev/cpu_dma_latency set to 0us");
            table.command = table.command.take().or_else(|| Command::find(text));
            if streams.is_empty() { table.kept.head.push(text.into()) } else { table.kept.tail.push(text.into()) }
        }
    }
    if let Some(last) = text.lines().next_back().filter(|l| !text.ends_with('\n') && is_sample(l)) {
        // cyclictest prints `%8ld`: a shorter last number was cut off.
        if last.rsplit(':').next().is_some_and(|v| v.len() < 8) {
            return Err(ImportError::line(text.lines().count(), "the file ends within this line"));
        }
    }
    if streams.is_empty() {
        return Err(ImportError::File("there is no line `thread:cycle:latency` in it".into()));
    }
    table.dma_latency = Some(dma_latency);
    table.decide_unit(options, None);
    let real = real_intervals(&intervals);
    let runs: Vec<(u64, usize)> = streams.iter().map(|(&nr, s)| (nr, repeated(&s.values))).filter(|r| r.1 > 0).collect();
    for (nr, longest) in runs {
        table.warnings.push(Warning::new(
            "ring-overrun",
            Effect::Invalid,
            format!(
                "thread {nr}: {longest} samples in a row equal those {RING} cycles later: cyclictest's buffer was overrun, and \
                 newer samples stand in the place of lost ones"
            ),
            "write the stream where nothing slows it down, or use a histogram (-h)",
        ));
    }
    for (&nr, stream) in &streams {
        let command = table.command.as_ref().and_then(|c| c.interval_ns(nr));
        let interval = real.get(&nr).copied().or(command).unwrap_or(0);
        table.columns.push(column(nr, stream, interval, table.unit_ns)?);
    }
    let least = table.columns.iter().filter_map(|c| c.bins.last()).map(|b| b.0.saturating_add(1)).max();
    // Every sample is known, so these bins are complete.
    table.size = least;
    table.into_record(bytes, options)
}

/// The real intervals, ns: cyclictest prints the interval of the next thread, which is longer by the distance. The
/// distance shows only with two threads or more.
fn real_intervals(printed: &BTreeMap<u64, u64>) -> BTreeMap<u64, u64> {
    let (Some(first), Some(second)) = (printed.get(&0), printed.get(&1)) else { return BTreeMap::new() };
    let Some(distance) = second.checked_sub(*first) else { return BTreeMap::new() };
    let real = |us: u64| us.checked_sub(distance).filter(|&us| us > 0).and_then(|us| us.checked_mul(1000));
    printed.iter().filter_map(|(&nr, &us)| Some((nr, real(us)?))).collect()
}

fn column(nr: u64, s: &Stream, interval: u64, unit: u64) -> Result<Column, ImportError> {
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    for &v in &s.values {
        *bins.entry(v).or_default() += 1;
    }
    let last = s.values.last().copied();
    let last = match last.map(|v| v.checked_mul(unit)) {
        Some(None) => return Err(ImportError::File("a latency is more than 2^64 ns".into())),
        Some(ns) => ns,
        None => None,
    };
    let sum: u128 = s.values.iter().map(|&v| u128::from(v)).sum();
    let average = u64::try_from(sum / s.values.len().max(1) as u128).unwrap_or(u64::MAX);
    Ok(Column {
        label: format!("thread{nr}"),
        count: s.values.len() as u64,
        min: s.values.iter().min().copied().unwrap_or(0),
        max: s.values.iter().max().copied().unwrap_or(0),
        average: Average::Whole(average),
        overflow_at: Vec::new(),
        missed: None,
        dropped: s.dropped,
        thread: ThreadInfo { interval, last, ..ThreadInfo::default() },
        bins: bins.into_iter().collect(),
    })
}

/// The longest run of samples that equal those one ring later, where it is longer than chance explains; else 0.
///
/// A reader that falls behind by more than the ring prints samples that were overwritten: those of one ring later, which
/// then appear again in their own place. How long a run chance explains follows from how often samples agree at a
/// distance of one less than the ring.
fn repeated(values: &[u64]) -> usize {
    let agree = |distance: usize| values.iter().zip(values.get(distance..).unwrap_or_default()).map(|(a, b)| a == b);
    let pairs = values.len().saturating_sub(RING);
    if pairs == 0 {
        return 0;
    }
    let chance = (agree(RING - 1).filter(|&same| same).count() + 1) as f64 / (pairs + 2) as f64;
    // A run of this length arises by chance in one of a billion such streams.
    let needed = (1e-9 / pairs as f64).ln() / chance.min(0.999_999).ln();
    let (mut longest, mut run) = (0usize, 0usize);
    for same in agree(RING) {
        run = if same { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    if longest as f64 > needed.max(8.0) { longest } else { 0 }
}

/// Writes the lines before the stream: numbers of CPUs, and each thread's interval as cyclictest prints it (with the
/// distance added), us.
pub fn write_verbose_header(out: &mut String, configured: u32, online: u32, held: bool, intervals_us: &[u64]) {
    // Writing to a String can't fail.
    let _ = writeln!(out, "Max CPUs = {configured}");
    let _ = writeln!(out, "Online CPUs = {online}");
    if held {
        let _ = writeln!(out, "# /dev/cpu_dma_latency set to 0us");
    }
    for (i, us) in intervals_us.iter().enumerate() {
        let _ = writeln!(out, "Thread {i} Interval: {us}");
    }
}

/// Appends one sample (ns) as a line of the stream, with its line break.
pub fn write_verbose_line(out: &mut String, thread: u32, cycle: u64, value: u64, options: &TextOptions) {
    // Writing to a String can't fail.
    let _ = writeln!(out, "{thread:8}:{cycle:8}:{:8}", value / options.unit_ns());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::Format;

    #[test]
    fn an_overrun_ring_is_noticed_and_chance_is_not() {
        let noise = |i: usize| ((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % 12;
        let mut values: Vec<u64> = (0..60_000).map(noise).collect();
        assert_eq!(repeated(&values), 0);
        for i in 5_000..5_200 {
            values[i] = values[i + RING];
        }
        assert!(repeated(&values) >= 200);
        assert_eq!(repeated(&vec![3; 60_000]), 0, "a constant stream shows nothing");
    }

    #[test]
    fn lines_of_the_stream() {
        assert_eq!(cells("       0:      12:       6"), Some(["0", "12", "6"]));
        for other in ["", "Thread 0 Interval: 1500", "0:1", "0:1:2:3", "a:1:2", "12:00:01 up 3 days"] {
            assert!(!is_sample(other), "{other}");
        }
        assert_eq!(super::super::detect("Max CPUs = 2\n       0:       0:       6\n"), Some(Format::CyclictestV));
    }
}
