//! Writes a record as cyclictest's text, line for line, in either dialect.

use super::kept::Kept;
use super::options::{Dialect, NO_MINIMUM, TextOptions};
use super::table::{printed_average, printed_extremes};
use crate::formats::error::ExportError;
use rtscope_record::{Distribution, LinearBins, Record, Test};
use std::fmt::Write;

/// Most rows of dialect A: cyclictest's own limit.
const MOST_ROWS: u64 = 1_000_000;

/// The figures of a running thread for its `T:` line; times in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveLine {
    /// Number of the thread, from 0.
    pub index: usize,
    /// Thread id.
    pub tid: u32,
    /// Priority in force.
    pub priority: u8,
    /// Interval, ns.
    pub interval: u64,
    /// Samples so far.
    pub count: u64,
    /// Lowest so far, ns; ignored while there is no sample.
    pub min: u64,
    /// Latest sample, ns.
    pub last: u64,
    /// Sum so far, ns.
    pub sum: u128,
    /// Highest so far, ns.
    pub max: u64,
}

// Writing to a String can't fail, so the results of `writeln!` are ignored here and below.

/// Appends a `T:` line with its line break.
pub fn write_thread_line(out: &mut String, t: &LiveLine, options: &TextOptions) {
    let unit = options.unit_ns();
    let average = (t.sum / u128::from(unit)).checked_div(u128::from(t.count)).unwrap_or(0);
    let (min, last, max) = if t.count == 0 { (NO_MINIMUM, 0, 0) } else { (t.min / unit, t.last / unit, t.max / unit) };
    thread_line(out, t, min, last, u64::try_from(average).unwrap_or(u64::MAX), max, options);
}

fn thread_line(out: &mut String, t: &LiveLine, min: u64, act: u64, avg: u64, max: u64, options: &TextOptions) {
    let width = if options.nanoseconds { 8 } else { 5 };
    let _ = writeln!(
        out,
        "T:{:2} ({:5}) P:{:2} I:{} C:{:7} Min:{min:7} Act:{act:width$} Avg:{avg:width$} Max:{max:8}",
        t.index,
        t.tid,
        t.priority,
        t.interval / 1000,
        t.count
    );
}

/// What cyclictest prints repeatedly without `-q`: the status line and a `T:` line for each thread. `again` first moves
/// the cursor up over the lines printed before.
pub fn write_live(policy: &str, loadavg: &str, threads: &[LiveLine], options: &TextOptions, again: bool) -> String {
    let mut out = String::new();
    if again {
        let _ = write!(out, "\u{1b}[{}A", threads.len() + 2);
    }
    let _ = write!(out, "policy: {policy}: loadavg: {}          \n\n", loadavg.trim_end());
    for t in threads {
        write_thread_line(&mut out, t, options);
    }
    out
}

/// Writes the whole output of a run: header, `T:` lines or histogram or both, and what follows a break.
pub fn write_text(record: &Record, options: &TextOptions) -> Result<String, ExportError> {
    let p = record.parts();
    if p.test != Test::Timer {
        return Err(ExportError::Test(p.test.to_string()));
    }
    let kept = Kept::of(record);
    let mut out = String::new();
    match &kept {
        _ if !options.header => {}
        Some(kept) => lines(&mut out, &kept.head),
        None if p.settings.hold_dma_latency => out.push_str("# /dev/cpu_dma_latency set to 0us\n"),
        None => {}
    }
    let kept = kept.unwrap_or_default();
    if options.histogram.is_none() {
        // Before the `T:` lines, which scripts take by `tail`.
        missed(&mut out, record, options);
    }
    if !options.quiet || options.histogram.is_none() {
        if kept.threads.is_empty() {
            thread_lines(&mut out, record, options);
        } else {
            lines(&mut out, &kept.threads);
        }
    }
    if let Some(bins) = options.histogram {
        histogram(&mut out, record, bins, options, &kept)?;
    }
    lines(&mut out, &kept.tail);
    if kept == Kept::default() {
        broken(&mut out, record, options);
    }
    Ok(out)
}

fn lines(out: &mut String, all: &[String]) {
    for line in all {
        out.push_str(line);
        out.push('\n');
    }
}

fn thread_lines(out: &mut String, record: &Record, options: &TextOptions) {
    for (index, d) in record.distributions().iter().enumerate() {
        let thread = d.parts().thread.clone().unwrap_or_default();
        let (min, max) = printed_extremes(d, options);
        let act = thread.last.unwrap_or(0) / options.unit_ns();
        let t = LiveLine {
            index,
            tid: thread.tid,
            priority: thread.priority,
            interval: thread.interval,
            count: d.count(),
            min: 0,
            last: 0,
            sum: 0,
            max: 0,
        };
        thread_line(out, &t, min, act, printed_average(d, options), max, options);
    }
}

/// Writes a line of one number per thread, at least `width` digits each, and possibly one more for all threads.
fn numbered(out: &mut String, name: &str, width: usize, values: impl Iterator<Item = u64>, all: Option<u64>) {
    let _ = write!(out, "{name}");
    for v in values.chain(all) {
        let _ = write!(out, " {v:0width$}");
    }
    out.push('\n');
}

fn bins_of<'a>(d: &'a Distribution, options: &TextOptions) -> Result<&'a LinearBins, ExportError> {
    let label = || d.label().to_owned();
    let bins = d.parts().linear.as_ref().ok_or_else(|| ExportError::NoBins { label: label() })?;
    if bins.unit_ns != options.unit_ns() {
        return Err(ExportError::Unit { label: label(), found: bins.unit_ns, wanted: options.unit_ns() });
    }
    Ok(bins)
}

fn histogram(out: &mut String, record: &Record, size: u64, options: &TextOptions, kept: &Kept) -> Result<(), ExportError> {
    let all = record.distributions();
    let bins = all.iter().map(|d| bins_of(d, options)).collect::<Result<Vec<_>, _>>()?;
    let dense = options.dialect == Dialect::A;
    let sums = options.sum && (!dense || all.len() > 1);
    let _ = writeln!(out, "# Histogram");
    rows(out, &bins, size, dense, sums)?;
    let totals: Vec<u64> = bins.iter().map(|b| b.total()).collect();
    let overflows: Vec<u64> = all.iter().zip(&totals).map(|(d, &t)| d.count() - t).collect();
    let of_all = |is: bool, value: Option<u64>| value.filter(|_| is && options.sum && all.len() > 1);
    let sum = |values: &[u64]| Some(values.iter().copied().fold(0, u64::saturating_add));
    if dense {
        numbered(out, "# Total:", 9, totals.iter().copied(), of_all(sums, sum(&totals)));
    }
    let extremes: Vec<(u64, u64)> = all.iter().map(|d| printed_extremes(d, options)).collect();
    numbered(out, "# Min Latencies:", 5, extremes.iter().map(|e| e.0), None);
    numbered(out, "# Avg Latencies:", 5, all.iter().map(|d| printed_average(d, options)), None);
    numbered(out, "# Max Latencies:", 5, extremes.iter().map(|e| e.1), of_all(true, extremes.iter().map(|e| e.1).max()));
    numbered(out, "# Histogram Overflows:", 5, overflows.iter().copied(), of_all(true, sum(&overflows)));
    let _ = writeln!(out, "# Histogram Overflow at cycle number:");
    for (i, (b, &overflow)) in bins.iter().zip(&overflows).enumerate() {
        let _ = write!(out, "# Thread {i}:");
        let logged = b.overflow_at.len() as u64;
        let cycles: Vec<String> = b.overflow_at.iter().map(|c| format!("{c:05}")).collect();
        if !dense || !cycles.is_empty() {
            let _ = write!(out, " {}", cycles.join(" "));
        }
        let others = overflow.saturating_sub(logged);
        // A full log is followed by the number of other overflows, in dialect B even when that is 0.
        if others > 0 || (!dense && logged >= b.size) {
            let _ = write!(out, " # {others:05} others");
        }
        out.push('\n');
    }
    if let Some(smi) = &kept.smi {
        let _ = writeln!(out, "{smi}");
    }
    missed(out, record, options);
    out.push('\n');
    Ok(())
}

fn rows(out: &mut String, bins: &[&LinearBins], size: u64, dense: bool, sums: bool) -> Result<(), ExportError> {
    // Bins above the requested number are never left out: their samples are included in the totals.
    let size = bins.iter().map(|b| b.size).fold(size, u64::max);
    if dense && size > MOST_ROWS {
        return Err(ExportError::TooManyRows { rows: size });
    }
    let mut rest: Vec<&[(u64, u64)]> = bins.iter().map(|b| b.counts.as_slice()).collect();
    let mut next = 0;
    while next < size {
        if !dense {
            let Some(&lowest) = rest.iter().filter_map(|r| r.first()).map(|(bin, _)| bin).min() else { break };
            next = lowest;
        }
        let _ = write!(out, "{next:06}");
        let mut all = 0u64;
        for (i, counts) in rest.iter_mut().enumerate() {
            let n = match counts.split_first() {
                Some((&(bin, n), others)) if bin == next => {
                    *counts = others;
                    n
                }
                _ => 0,
            };
            all = all.saturating_add(n);
            let _ = write!(out, "{}{n:06}", if i == 0 { ' ' } else { '\t' });
        }
        if sums {
            let _ = write!(out, "\t{all:06}");
        }
        out.push('\n');
        next += 1;
    }
    Ok(())
}

/// Writes what cyclictest does not have: missed and expected periods.
fn missed(out: &mut String, record: &Record, options: &TextOptions) {
    let expected: Option<Vec<u64>> = record.distributions().iter().map(|d| d.parts().expected).collect();
    if let (true, Some(expected)) = (options.missed, expected) {
        numbered(out, "# Missed:", 5, record.distributions().iter().map(Distribution::missed), None);
        numbered(out, "# Expected:", 5, expected.into_iter(), None);
    }
}

/// With `-b`: writes the thread ids, and the first sample above the limit, if any.
fn broken(out: &mut String, record: &Record, options: &TextOptions) {
    let Some(limit) = record.parts().settings.break_above else { return };
    let threads = || record.distributions().iter().filter_map(|d| Some((d, d.parts().thread.as_ref()?)));
    numbered(out, "# Thread Ids:", 5, threads().map(|(_, t)| t.tid.into()), None);
    let above = threads().flat_map(|(d, t)| d.worst().iter().filter(|w| w.value > limit.0).map(|w| (w.at, w.value, t.tid)));
    if let Some((_, value, tid)) = above.min() {
        let _ = writeln!(out, "# Break thread: {tid}");
        let _ = writeln!(out, "# Break value: {}", value / options.unit_ns());
    }
}
