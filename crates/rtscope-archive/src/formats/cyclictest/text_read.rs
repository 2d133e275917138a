//! Reads cyclictest's text: `T:` lines, a histogram in either dialect, or both.

use super::command::Command;
use super::lines::{ThreadLine, number, numbers, shortened, thread_line, without_escapes};
use super::options::{Dialect, NO_MINIMUM, TextOptions};
use super::table::{Average, Column, Table};
use super::text_write::write_text;
use crate::formats::error::ImportError;
use crate::formats::format::ImportOptions;
use rtscope_record::{Record, ThreadInfo};
use std::collections::BTreeMap;

/// A line with one number per thread, and possibly one for all threads.
type Numbered = Option<(usize, Vec<u64>)>;
/// The beginning of a line of numbers, and where the line is stored.
type NumberedKind = (&'static str, fn(&mut Lines) -> &mut Numbered);

/// The lines of a file, sorted by kind.
#[derive(Default)]
struct Lines {
    /// Line number of `# Histogram`.
    histogram: Option<usize>,
    rows: Vec<(usize, u64, Vec<u64>)>,
    total: Numbered,
    min: Numbered,
    avg: Numbered,
    max: Numbered,
    overflows: Numbered,
    missed: Numbered,
    expected: Numbered,
    /// Overflow log of each thread: line number, cycle numbers, number of others.
    logs: BTreeMap<u64, (usize, Vec<u64>, Option<u64>)>,
    log_expected: bool,
    threads: BTreeMap<u64, (ThreadLine, String)>,
    thread_ids: Vec<u64>,
    head: Vec<String>,
    tail: Vec<String>,
    smi: Option<String>,
    command: Option<Command>,
    dma_latency: bool,
    last: usize,
}

impl Lines {
    fn of(text: &str) -> Result<Self, ImportError> {
        let mut l = Self::default();
        for (i, raw) in text.split('\n').enumerate() {
            let (line, text) = (i + 1, without_escapes(raw.trim_end_matches('\r')));
            if text.trim().is_empty() {
                continue;
            }
            l.last = line;
            l.sort(line, text)?;
        }
        Ok(l)
    }

    fn sort(&mut self, line: usize, text: &str) -> Result<(), ImportError> {
        if let Some(t) = thread_line(text, line)? {
            self.threads.insert(t.index, (t, text.trim_end().into()));
            return Ok(());
        }
        if text.trim_end() == "# Histogram" {
            if let Some(first) = self.histogram {
                return Err(ImportError::line(line, format!("a second histogram (the first is at line {first}): split the file")));
            }
            self.histogram = Some(line);
            return Ok(());
        }
        let kinds: [NumberedKind; 7] = [
            ("# Total:", |l| &mut l.total),
            ("# Min Latencies:", |l| &mut l.min),
            ("# Avg Latencies:", |l| &mut l.avg),
            ("# Max Latencies:", |l| &mut l.max),
            ("# Histogram Overflows:", |l| &mut l.overflows),
            ("# Missed:", |l| &mut l.missed),
            ("# Expected:", |l| &mut l.expected),
        ];
        for (start, place) in kinds {
            if let Some(rest) = text.strip_prefix(start) {
                let values = numbers(rest, line, start)?;
                if place(self).replace((line, values)).is_some() {
                    return Err(ImportError::line(line, format!("a second `{start}` line")));
                }
                return Ok(());
            }
        }
        if text.trim_end() == "# Histogram Overflow at cycle number:" {
            self.log_expected = true;
        } else if let Some((nr, log)) = text.strip_prefix("# Thread ").and_then(|r| r.split_once(':')).filter(|r| r.0 != "Ids") {
            self.log(line, nr, log)?;
        } else if text.starts_with("# SMIs:") {
            self.smi = Some(text.into());
        } else {
            self.other(line, text)?;
        }
        Ok(())
    }

    fn log(&mut self, line: usize, nr: &str, log: &str) -> Result<(), ImportError> {
        let nr = number(nr, line, "# Thread")?;
        let (cycles, others) = match log.split_once('#') {
            Some((cycles, others)) => {
                let count = others.trim().strip_suffix("others").map(str::trim_end);
                let count = count.ok_or_else(|| {
                    ImportError::line(line, "an overflow log that ends neither in a cycle number nor in `others`")
                })?;
                (cycles, Some(number(count, line, "others")?))
            }
            None => (log, None),
        };
        if self.logs.insert(nr, (line, numbers(cycles, line, "cycle number")?, others)).is_some() {
            return Err(ImportError::line(line, format!("a second overflow log of thread {nr}")));
        }
        Ok(())
    }

    fn other(&mut self, line: usize, text: &str) -> Result<(), ImportError> {
        let starts_as_row = text.starts_with(|c: char| c.is_ascii_digit());
        if starts_as_row && self.histogram.is_some() && self.min.is_none() {
            let mut cells = text.split_ascii_whitespace();
            let bin = number(cells.next().unwrap_or_default(), line, "bin")?;
            let counts = cells.map(|c| number(c, line, "count")).collect::<Result<Vec<_>, _>>()?;
            let before = self.rows.last();
            if before.is_some_and(|b| b.1 >= bin) {
                return Err(ImportError::line(line, format!("bin {bin} is not above the one before it")));
            }
            let columns = before.map_or(counts.len().max(1), |b| b.2.len());
            if counts.len() != columns {
                return Err(ImportError::line(line, format!("{} counts, where the rows before it have {columns}", counts.len())));
            }
            self.rows.push((line, bin, counts));
            return Ok(());
        }
        if starts_as_row && text.split_ascii_whitespace().all(|c| c.bytes().all(|b| b.is_ascii_digit())) {
            return Err(ImportError::line(line, "a row of numbers outside the histogram"));
        }
        let in_rows = self.histogram.is_some() && self.min.is_none();
        if in_rows && !text.starts_with('#') {
            return Err(ImportError::line(line, format!("`{}` is neither a row of the histogram nor a comment", shortened(text))));
        }
        // The status line, repeated above the live figures.
        if text.starts_with("policy: ") {
            return Ok(());
        }
        if let Some(ids) = text.strip_prefix("# Thread Ids:") {
            self.thread_ids = numbers(ids, line, "thread id")?;
        }
        self.dma_latency |= text.starts_with("# /dev/cpu_dma_latency set to 0us");
        self.command = self.command.take().or_else(|| Command::find(text));
        if self.histogram.is_none() {
            self.head.push(text.into());
        } else {
            self.tail.push(text.into());
        }
        Ok(())
    }
}

/// Reads cyclictest's text in either dialect, with or without a histogram.
///
/// Of several `T:` lines of a thread (live figures) the last one counts. Where there is a histogram, its figures are
/// used.
pub fn read_text(bytes: &[u8], options: &ImportOptions) -> Result<Record, ImportError> {
    let text = String::from_utf8_lossy(bytes);
    let lines = Lines::of(&text)?;
    if !text.ends_with('\n') {
        whole_last_line(&text, lines.last)?;
    }
    let table = if lines.histogram.is_some() { with_histogram(lines, options)? } else { without_histogram(lines, options)? };
    keep_thread_lines(table, bytes, options)
}

/// Refuses a file that ends within a number, which would otherwise be read as a smaller number: without a final line
/// break, the last number must have the width that cyclictest gives it.
fn whole_last_line(text: &str, line: usize) -> Result<(), ImportError> {
    let last = text.trim_end().lines().next_back().unwrap_or_default();
    let short = match last.rsplit_once("Max:") {
        Some((start, max)) => start.starts_with("T:") && max.len() < 8,
        None => {
            let digits = last.len() - last.trim_end_matches(|c: char| c.is_ascii_digit()).len();
            last == "T" || last.starts_with('#') && (1..5).contains(&digits)
        }
    };
    if short { Err(ImportError::line(line, "the file ends within this line")) } else { Ok(()) }
}

/// Makes the record; the file's `T:` lines are kept in it only where its figures do not reproduce them.
fn keep_thread_lines(table: Table, bytes: &[u8], options: &ImportOptions) -> Result<Record, ImportError> {
    let raw = table.kept.threads.clone();
    let record = table.into_record(bytes, options)?;
    if raw.is_empty() {
        return Ok(record);
    }
    let mut parts = record.into_parts();
    if let Some(source) = &mut parts.source {
        source.kept.retain(|k| !k.starts_with("thread:"));
    }
    let made = Record::new(parts.clone())?;
    let shape = TextOptions { histogram: None, header: false, missed: false, quiet: false, ..TextOptions::of(&made, Dialect::A) };
    let own = write_text(&made, &shape).unwrap_or_default();
    let same = own.lines().filter(|l| l.starts_with("T:")).eq(raw.iter().map(String::as_str));
    if !same {
        if let Some(source) = &mut parts.source {
            source.kept.extend(raw.into_iter().map(|l| format!("thread:{l}")));
        }
    }
    Ok(Record::new(parts)?)
}

fn with_histogram(l: Lines, options: &ImportOptions) -> Result<Table, ImportError> {
    let cut_off = |what: &str| ImportError::line(l.last, format!("the file ends without `{what}`: is it cut off?"));
    let (_, min) = l.min.as_ref().ok_or_else(|| cut_off("# Min Latencies:"))?;
    let n = min.len();
    // Checks a line against `n`: one number per thread, or one more, the combination of them all (by `fold`).
    let checked = |line: &Numbered, name: &str, fold: Option<fn(u64, u64) -> u64>| {
        let (at, values) = line.as_ref().ok_or_else(|| cut_off(name))?;
        let (own, all) = values
            .split_at_checked(n)
            .ok_or_else(|| ImportError::line(*at, format!("{} numbers, where `# Min Latencies:` has {n} threads", values.len())))?;
        match (all, fold) {
            ([], _) => {}
            ([all], Some(fold)) if n > 0 => {
                let made = own.iter().copied().reduce(fold).unwrap_or(0);
                if made != *all {
                    return Err(ImportError::line(*at, format!("the last number is {all}, but the threads give {made}")));
                }
            }
            _ => return Err(ImportError::line(*at, format!("{} numbers, where `# Min Latencies:` has {n} threads", values.len()))),
        }
        Ok((*at, own.to_vec()))
    };
    if n == 0 {
        return Err(ImportError::line(l.min.as_ref().map_or(0, |m| m.0), "no thread"));
    }
    let (_, avg) = checked(&l.avg, "# Avg Latencies:", None)?;
    let (_, max) = checked(&l.max, "# Max Latencies:", Some(u64::max))?;
    let (overflow_line, overflows) = checked(&l.overflows, "# Histogram Overflows:", Some(u64::saturating_add))?;
    let dialect_a = l.total.is_some();
    let mut table = Table::new(if dialect_a { "cyclictest-text/A" } else { "cyclictest-text/B" });
    table.command.clone_from(&l.command);
    let mut bins = vec![Vec::new(); n];
    let mut held = vec![0u64; n];
    for (line, bin, counts) in &l.rows {
        let (own, sum) = counts.split_at_checked(n).filter(|(_, s)| s.len() <= 1).ok_or_else(|| {
            ImportError::line(*line, format!("{} counts, where `# Min Latencies:` has {n} threads", counts.len()))
        })?;
        let made = own.iter().try_fold(0u64, |a, &b| a.checked_add(b));
        if sum.first().is_some_and(|s| Some(*s) != made) {
            return Err(ImportError::line(*line, format!("the sum column says {}, but the counts give another sum", sum[0])));
        }
        table.kept.sum |= !sum.is_empty();
        for ((bins, held), &count) in bins.iter_mut().zip(&mut held).zip(own) {
            *held = held.checked_add(count).ok_or_else(|| ImportError::line(*line, "more than 2^64 samples"))?;
            if count > 0 {
                bins.push((*bin, count));
            }
        }
    }
    // With one thread, or without any row, only the longer lines reveal a sum column.
    table.kept.sum |= l.max.as_ref().is_some_and(|m| m.1.len() > n);
    if dialect_a {
        let (line, totals) = checked(&l.total, "# Total:", Some(u64::saturating_add))?;
        if totals != held {
            return Err(ImportError::line(line, format!("the totals are {totals:?}, but the rows add up to {held:?}")));
        }
    }
    let logs = overflow_logs(&l, n, &overflows, overflow_line)?;
    let shown = l.threads.values().next().map(|t| t.0.nanoseconds);
    table.decide_unit(options, shown);
    let missed = missed_periods(&l, n)?;
    for i in 0..n {
        let nr = i as u64;
        let count = held[i].checked_add(overflows[i]).ok_or_else(|| ImportError::line(overflow_line, "more than 2^64 samples"))?;
        if let Some(&late) = logs[i].0.iter().find(|&&cycle| cycle >= count) {
            return Err(ImportError::line(overflow_line, format!("thread {i} overflowed at cycle {late}, but had {count} only")));
        }
        let mut thread = thread_info(l.threads.get(&nr).map(|t| &t.0), table.unit_ns, table.command.as_ref(), nr)?;
        if let Some(id) = l.thread_ids.get(i).and_then(|&id| u32::try_from(id).ok()) {
            thread.tid = id;
        }
        table.columns.push(Column {
            label: format!("thread{i}"),
            bins: std::mem::take(&mut bins[i]),
            count,
            min: min[i],
            max: max[i],
            average: Average::Whole(avg[i]),
            overflow_at: logs[i].0.clone(),
            missed: missed.as_ref().map(|m| m[i]),
            dropped: 0,
            thread,
        });
    }
    let dense = l.rows.iter().enumerate().all(|(i, r)| r.1 == i as u64) && !l.rows.is_empty();
    let rows = l.rows.last().map(|r| r.1.saturating_add(1)).filter(|_| dense && dialect_a);
    let logged = logs.iter().find(|log| log.1).map(|log| log.0.len() as u64);
    // A log has room for as many cycles as there are bins; in dialect B one that is full says so.
    let open = logs.iter().filter(|log| !log.1 && !dialect_a).map(|log| log.0.len() as u64 + 1).max();
    table.decide_size(rows.or(logged), open.unwrap_or(0));
    if let Some(rows) = rows {
        (table.size, table.size_known) = (Some(rows), true);
    }
    Ok(finish(table, l))
}

/// The overflow log of each thread and whether it was full, checked against the number of overflows.
fn overflow_logs(l: &Lines, n: usize, overflows: &[u64], line: usize) -> Result<Vec<(Vec<u64>, bool)>, ImportError> {
    if let Some((nr, log)) = l.logs.iter().next_back().filter(|(nr, _)| **nr >= n as u64) {
        return Err(ImportError::line(log.0, format!("an overflow log of thread {nr}, but there are {n} threads")));
    }
    let mut logs = Vec::new();
    for (nr, &count) in (0u64..).zip(overflows) {
        let Some((at, cycles, others)) = l.logs.get(&nr) else {
            if l.log_expected {
                return Err(ImportError::line(
                    l.last,
                    format!("the file ends without the overflow log of thread {nr}: is it cut off?"),
                ));
            }
            logs.push((Vec::new(), false));
            continue;
        };
        if (cycles.len() as u64).checked_add(others.unwrap_or(0)) != Some(count) {
            let told = format!("{} cycles and {} others are logged", cycles.len(), others.unwrap_or(0));
            return Err(ImportError::line(*at, format!("{told}, but line {line} counts {count} overflows of thread {nr}")));
        }
        logs.push((cycles.clone(), others.is_some()));
    }
    Ok(logs)
}

/// Missed and expected periods of each thread, where rtscope wrote them.
fn missed_periods(l: &Lines, n: usize) -> Result<Option<Vec<(u64, u64)>>, ImportError> {
    let (Some((line, missed)), Some((_, expected))) = (&l.missed, &l.expected) else { return Ok(None) };
    if missed.len() != n || expected.len() != n {
        return Err(ImportError::line(*line, format!("missed periods of {} threads, but there are {n}", missed.len())));
    }
    Ok(Some(missed.iter().copied().zip(expected.iter().copied()).collect()))
}

fn thread_info(t: Option<&ThreadLine>, unit: u64, command: Option<&Command>, nr: u64) -> Result<ThreadInfo, ImportError> {
    let interval = t.map(|t| t.interval_us.saturating_mul(1000)).or_else(|| command.and_then(|c| c.interval_ns(nr)));
    let last = match t.filter(|t| t.cycles > 0) {
        Some(t) => Some(t.act.checked_mul(unit).ok_or_else(|| ImportError::File("`Act:` is more than 2^64 ns".into()))?),
        None => None,
    };
    Ok(ThreadInfo {
        tid: t.map_or(0, |t| t.tid),
        cpu: None,
        policy: None,
        priority: t.map_or_else(|| command.map_or(0, |c| c.settings(0).priority), |t| t.priority),
        interval: interval.unwrap_or(0),
        last,
        first_at: None,
    })
}

fn without_histogram(l: Lines, options: &ImportOptions) -> Result<Table, ImportError> {
    if l.threads.is_empty() {
        return Err(ImportError::File(
            "there is neither a histogram nor a `T:` line in it: no output of cyclictest, or cut off".into(),
        ));
    }
    if let Some(missing) = (0..).zip(l.threads.keys()).find(|(i, nr)| i != *nr) {
        return Err(ImportError::File(format!("there is no `T:` line of thread {}", missing.0)));
    }
    let mut table = Table::new("cyclictest-text");
    table.command.clone_from(&l.command);
    table.decide_unit(options, l.threads.values().next().map(|t| t.0.nanoseconds));
    let missed = missed_periods(&l, l.threads.len())?;
    for (i, (nr, (t, _))) in l.threads.iter().enumerate() {
        if t.cycles == 0 && (t.min, t.max) != (NO_MINIMUM, 0) {
            return Err(ImportError::File(format!("thread {nr}: no cycle, but a minimum of {} and a maximum of {}", t.min, t.max)));
        }
        table.columns.push(Column {
            label: format!("thread{nr}"),
            bins: Vec::new(),
            count: t.cycles,
            min: t.min,
            max: t.max,
            average: Average::Whole(t.avg),
            overflow_at: Vec::new(),
            missed: missed.as_ref().map(|m| m[i]),
            dropped: 0,
            thread: thread_info(Some(t), table.unit_ns, table.command.as_ref(), *nr)?,
        });
    }
    Ok(finish(table, l))
}

fn finish(mut table: Table, l: Lines) -> Table {
    table.kept.thread_lines = !l.threads.is_empty();
    table.kept.threads = l.threads.into_values().map(|t| t.1).collect();
    table.kept.head = l.head;
    table.kept.tail = l.tail;
    table.kept.smi = l.smi;
    table.dma_latency = Some(l.dma_latency);
    table
}
