//! The text of the kernel's hwlat and timerlat tracers: the file `trace`, or what was read of `trace_pipe`.
//!
//! What the text means, according to the kernel's source (trace_output.c, trace_hwlat.c, trace_osnoise.c of 5.14 to 6.18):
//! - hwlat: a line for each sampling window with a gap above the threshold: the longest between two reads of the clock
//!   (inner) and between two rounds (outer), in us; `count:` is how many gaps of the window were above;
//! - timerlat: a line for the interrupt and one for the thread of each activation (and one for the return to user space),
//!   in ns; activations are numbered from 1 on each CPU;
//! - the buffer keeps the last lines only: numbers that are missing are samples that were lost.

use super::error::ImportError;
use super::foreign::{Column, Sheet, number, number_at, tally, whole};
use super::format::{Format, ImportOptions};
use rtscope_record::{Effect, Record, Space, limits};
use std::collections::{BTreeMap, HashSet};

/// Most CPUs of a kernel.
const MOST_CPUS: u64 = 8192;

/// Which of the two tracers wrote the text, if any.
pub(super) fn detect(text: &str) -> Option<Format> {
    text.lines().take(2000).find_map(|l| {
        let line = l.trim_end();
        if line == "# tracer: hwlat" || line.contains(" inner/outer(us):") {
            Some(Format::Hwlat)
        } else if line == "# tracer: timerlat" || line.contains(" timer_latency ") {
            Some(Format::Timerlat)
        } else {
            None
        }
    })
}

/// An event of the tracer, with what stands ahead of it.
struct Event<'a> {
    line: usize,
    cpu: u32,
    /// Time stamp, us since boot.
    at: u64,
    number: u64,
    /// Behind the number.
    text: &'a str,
}

/// What is in a trace.
struct Trace<'a> {
    events: Vec<Event<'a>>,
    /// Lines of other events.
    others: u64,
    /// Events that the kernel says were lost.
    lost: u64,
}

impl<'a> Trace<'a> {
    /// Takes the lines with `mark` apart.
    fn of(text: &'a str, mark: &str) -> Result<Self, ImportError> {
        whole(text)?;
        let mut trace = Self { events: Vec::new(), others: 0, lost: 0 };
        for (i, line) in text.lines().enumerate() {
            let (nr, line) = (i + 1, line.trim_end());
            if let Some(rest) = line.strip_prefix("# entries-in-buffer/entries-written:") {
                trace.lost = trace.lost.saturating_add(overwritten(rest, nr)?);
            } else if let Some(rest) = line.strip_prefix("# tracer:") {
                if nr > 1 && !trace.events.is_empty() {
                    return Err(ImportError::line(nr, format!("another trace begins here ({}): split the file", rest.trim())));
                }
            } else if let Some((_, rest)) = line.split_once("[LOST ").filter(|_| line.starts_with("CPU:")) {
                let n = rest.split_ascii_whitespace().next().unwrap_or_default();
                trace.lost = trace.lost.saturating_add(number_at(n, nr, "lost events")?);
            } else if line.is_empty() || line.starts_with('#') {
                // Heads of columns.
            } else if line.contains(mark) {
                trace.events.push(event(line, nr)?);
            } else {
                trace.others = trace.others.saturating_add(1);
            }
        }
        if trace.events.is_empty() {
            return Err(ImportError::File(
                "there is no sample in it: nothing was above the threshold, or it is of another tracer".into(),
            ));
        }
        Ok(trace)
    }

    fn elapsed_ns(&self) -> u64 {
        let at = self.events.iter().map(|e| e.at);
        at.clone().max().zip(at.min()).map_or(0, |(last, first)| (last - first).saturating_mul(1000))
    }

    fn warn(&self, sheet: &mut Sheet) {
        sheet.elapsed_ns = self.elapsed_ns();
        if self.others > 0 {
            sheet.warn(
                "events-left-out",
                Effect::Note,
                format!("{} lines are of other events, and are left out", self.others),
                "keep the trace: it says what happened around the samples",
            );
        }
        if self.lost > 0 {
            sheet.warn(
                "events-lost",
                Effect::Invalid,
                format!("the kernel's buffer lost {} events; the highest samples may be among them", self.lost),
                "a larger buffer_size_kb, or read trace_pipe while it runs",
            );
        }
    }
}

/// How many entries were overwritten: `13/20   #P:8`.
fn overwritten(rest: &str, nr: usize) -> Result<u64, ImportError> {
    let cell = rest.split_ascii_whitespace().next().unwrap_or_default();
    let (held, written) = cell.split_once('/').ok_or_else(|| ImportError::line(nr, "no numbers of entries"))?;
    let (held, written) = (number_at(held, nr, "entries")?, number_at(written, nr, "entries")?);
    written.checked_sub(held).ok_or_else(|| ImportError::line(nr, "more entries in the buffer than were written"))
}

/// `TASK-PID [CPU] FLAGS TIME: #NUMBER REST`; the task's name may hold anything.
fn event(line: &str, nr: usize) -> Result<Event<'_>, ImportError> {
    let wrong = || {
        let told =
            format!("`{}` is not a line of a trace (of the usual format, without latency-format)", limits::cut(line.trim(), 60));
        ImportError::line(nr, told)
    };
    let (head, rest) = line.rsplit_once(": #").ok_or_else(wrong)?;
    let mut words = head.split_ascii_whitespace().rev();
    let (time, _flags, cpu) = (words.next().ok_or_else(wrong)?, words.next().ok_or_else(wrong)?, words.next().ok_or_else(wrong)?);
    let (seconds, micros) = time.split_once('.').ok_or_else(wrong)?;
    let micros = number(micros).filter(|_| micros.len() == 6).ok_or_else(wrong)?;
    let at = number(seconds).and_then(|s| s.checked_mul(1_000_000)?.checked_add(micros)).ok_or_else(wrong)?;
    let cpu = cpu.strip_prefix('[').and_then(|c| c.strip_suffix(']')).and_then(number).filter(|&c| c < MOST_CPUS);
    let cpu = cpu.and_then(|c| u32::try_from(c).ok()).ok_or_else(wrong)?;
    let (nth, text) = rest.split_once(' ').ok_or_else(wrong)?;
    Ok(Event { line: nr, cpu, at, number: number_at(nth, nr, "number")?, text: text.trim() })
}

/// The value behind `key`, up to a space.
fn behind<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split_once(key)?.1.split_ascii_whitespace().next()
}

fn columns(samples: BTreeMap<u32, Vec<u64>>, unit: u64, what: &str) -> Vec<Column> {
    let column = |(cpu, samples): (u32, Vec<u64>)| {
        let mut column = Column::empty(format!("cpu{cpu} {what}"), unit);
        column.cpu = Some(cpu);
        tally(samples, &mut column);
        column
    };
    samples.into_iter().map(column).collect()
}

/// Reads a trace of hwlat: a record of the inner gaps, and one of the outer.
pub(super) fn read_hwlat(bytes: &[u8], options: &ImportOptions) -> Result<Vec<Record>, ImportError> {
    let text = String::from_utf8_lossy(bytes);
    let trace = Trace::of(&text, " inner/outer(us):")?;
    let (mut inner, mut outer) = (BTreeMap::<u32, Vec<u64>>::new(), BTreeMap::<u32, Vec<u64>>::new());
    let (mut seen, mut highest, mut gaps, mut nmis) = (HashSet::new(), 0u64, Some(0u64), 0u64);
    for e in &trace.events {
        let wrong = |what: &str| ImportError::line(e.line, format!("{what}: `{}`", limits::cut(e.text, 60)));
        let pair = e.text.split_once("inner/outer(us):").ok_or_else(|| wrong("no gaps"))?.1.trim_start();
        let pair = pair.split_once("ts:").ok_or_else(|| wrong("no time"))?.0.trim();
        let (i, o) = pair.split_once('/').ok_or_else(|| wrong("no pair of gaps"))?;
        inner.entry(e.cpu).or_default().push(number_at(i, e.line, "inner")?);
        outer.entry(e.cpu).or_default().push(number_at(o, e.line, "outer")?);
        if !seen.insert(e.number) {
            return Err(ImportError::line(e.line, format!("sample {} is there twice: two traces in one file?", e.number)));
        }
        highest = highest.max(e.number);
        // Kernels before 5.7 do not count the gaps.
        let count = behind(e.text, "count:").filter(|_| e.text.contains(" count:"));
        let count = count.map(|c| number_at(c, e.line, "count")).transpose()?;
        gaps = gaps.zip(count).map(|(sum, n)| sum.saturating_add(n));
        if let Some(n) = behind(e.text, "nmi-count:") {
            nmis = nmis.saturating_add(number_at(n, e.line, "nmi-count")?);
        }
    }
    let missing = highest.saturating_sub(seen.len() as u64);
    [("inner", inner), ("outer", outer)]
        .into_iter()
        .map(|(what, samples)| {
            let format = if what == "inner" { "hwlat/inner" } else { "hwlat/outer" };
            let mut sheet = Sheet::new(format, columns(samples, 1000, what));
            (sheet.suffix, sheet.space) = (format!("-{what}"), Some(Space::Kernel));
            sheet.warn_of_quantity("hwlat measures gaps in a loop with interrupts off, those above its threshold only");
            if missing > 0 {
                sheet.warn(
                    "dropped",
                    Effect::Invalid,
                    format!("{missing} samples are missing from the trace: their numbers are passed over, and the highest may be among them"),
                    "a larger buffer_size_kb, or read trace_pipe while it runs",
                );
            }
            let counted = gaps.map_or_else(|| "how many is not stated".into(), |n| format!("{n} in all"));
            sheet.warn(
                "longest-only",
                Effect::Note,
                format!("a line has only the longest of its window's gaps above the threshold ({counted}); windows without one are not in the trace"),
                "use the maximum, not percentiles",
            );
            if nmis > 0 {
                sheet.warn("nmis", Effect::Note, format!("{nmis} NMIs came meanwhile"), "look for perf and the NMI watchdog");
            }
            trace.warn(&mut sheet);
            sheet.into_record(bytes, options)
        })
        .collect()
}

/// What a timerlat line is of: its word, in labels, and where it runs.
const CONTEXTS: [(&str, &str, Space); 3] =
    [("irq", "irq", Space::Kernel), ("thread", "thread", Space::Kernel), ("user-ret", "user", Space::User)];

/// Reads a trace of timerlat: a record for each context.
pub(super) fn read_timerlat(bytes: &[u8], options: &ImportOptions) -> Result<Vec<Record>, ImportError> {
    let text = String::from_utf8_lossy(bytes);
    let trace = Trace::of(&text, " timer_latency ")?;
    // Of each context and CPU: the last number, and the samples.
    let mut found: [BTreeMap<u32, (u64, Vec<u64>)>; 3] = Default::default();
    for e in &trace.events {
        let wrong = |what: &str| ImportError::line(e.line, format!("{what}: `{}`", limits::cut(e.text, 60)));
        let words: Vec<&str> = e.text.split_ascii_whitespace().collect();
        let ["context", context, "timer_latency", latency, "ns"] = words[..] else {
            return Err(wrong("not a sample of timerlat"));
        };
        let which = CONTEXTS.iter().position(|c| c.0 == context).ok_or_else(|| wrong("an unknown context"))?;
        let latency = number_at(latency, e.line, "timer_latency")?;
        let of = found[which].entry(e.cpu).or_default();
        if e.number <= of.0 {
            let told = format!("activation {} of CPU {} after {}: two traces in one file?", e.number, e.cpu, of.0);
            return Err(ImportError::line(e.line, told));
        }
        of.0 = e.number;
        of.1.push(latency);
    }
    let mut records = Vec::new();
    for ((_, what, space), found) in CONTEXTS.into_iter().zip(found).filter(|f| !f.1.is_empty()) {
        let missing: BTreeMap<u32, u64> = found.iter().map(|(&cpu, f)| (cpu, f.0.saturating_sub(f.1.len() as u64))).collect();
        let mut columns = columns(found.into_iter().map(|(cpu, f)| (cpu, f.1)).collect(), 1, what);
        for c in &mut columns {
            c.dropped = c.cpu.and_then(|cpu| missing.get(&cpu)).copied().unwrap_or(0);
        }
        let format = match what {
            "irq" => "timerlat/irq",
            "thread" => "timerlat/thread",
            _ => "timerlat/user",
        };
        let mut sheet = Sheet::new(format, columns);
        (sheet.suffix, sheet.space) = (format!("-{what}"), Some(space));
        match what {
            "irq" => sheet.warn_of_quantity("these are the times from the timer's expiry to its interrupt handler"),
            "user" => sheet.warn_of_quantity("these are the times from the timer's expiry to the return to user space"),
            _ => {}
        }
        sheet.warn_of_missed("timerlat");
        trace.warn(&mut sheet);
        records.push(sheet.into_record(bytes, options)?);
    }
    Ok(records)
}
