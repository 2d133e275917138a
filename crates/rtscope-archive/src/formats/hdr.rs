//! HdrHistogram's two text formats: the interval log (version 1.3) and the percentile table that its plotter reads
//! (`.hgrm`).

use super::error::ExportError;
use rtscope_record::{Distribution, Record, hdr};
use std::fmt::Write;

/// Lines of the percentile table for each halving of the distance to 100 %.
const TICKS_PER_HALF: f64 = 5.0;
/// Ticks are sums of decimal fractions in f64: a level this close to a round one is taken for it.
const ROUNDING: f64 = 1e-12;

/// Writes the interval log: for each distribution a tagged line with start and length in s, maximum in ns, and the
/// histogram (ns).
///
/// What a histogram does not hold (overflowed, missed and dropped samples) is written as comment lines.
pub fn write_log(record: &Record) -> String {
    let p = record.parts();
    let start = p.started.parse::<jiff::Timestamp>().map_or(0.0, |t| t.as_millisecond() as f64 / 1e3);
    let mut out = String::new();
    // Writing to a String can't fail, here and below.
    let _ = writeln!(out, "#[rtscope record {}, values in ns]", p.id);
    let _ = writeln!(out, "#[Histogram log format version 1.3]");
    let _ = writeln!(out, "#[StartTime: {start:.3} (seconds since epoch), {}]", p.started);
    for d in record.distributions() {
        for (name, n) in [("overflow", d.overflow()), ("missed", d.missed()), ("dropped", d.dropped())] {
            if n > 0 {
                let _ = writeln!(out, "#[{} {name}: {n}]", tag(d.label()));
            }
        }
    }
    let _ = writeln!(out, "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"");
    for d in record.distributions() {
        let length = p.elapsed_ns as f64 / 1e9;
        let max = d.histogram().iter().next_back().map_or(0, |(_, high, _)| d.max().map_or(high, |m| m.min(high)));
        let _ = writeln!(out, "Tag={},0.000,{length:.3},{max}.000,{}", tag(d.label()), hdr::encode(d.histogram()));
    }
    out
}

/// A label as a tag, in which commas and blanks are not allowed.
fn tag(label: &str) -> String {
    label.chars().map(|c| if c == ',' || c.is_whitespace() || c.is_control() { '_' } else { c }).collect()
}

/// Writes the percentile table of all distributions merged, in ns.
pub fn write_hgrm(record: &Record) -> Result<String, ExportError> {
    let all = match record.merged()? {
        Some(all) => all,
        None => Distribution::from_samples("all", &[], 0)?,
    };
    let mut out = format!("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    let total = all.histogram().total();
    let top = |high: u64| all.max().map_or(high, |m| m.min(high));
    let mut seen = 0;
    let mut level = 0.0;
    for (_, high, n) in all.histogram().iter() {
        seen += n;
        let here = seen as f64 / total as f64;
        // A line for every tick that this bin reaches; the last bin ends the table with a line of its own.
        while seen < total && level <= here + ROUNDING && level < 1.0 - ROUNDING {
            let _ = writeln!(out, "{:12.3} {level:2.12} {seen:10} {:14.2}", top(high) as f64, 1.0 / (1.0 - level));
            let halvings = (1.0f64 / (1.0 - level)).log2().floor() + 1.0;
            level += 0.5f64.powf(halvings) / TICKS_PER_HALF;
        }
        if seen == total {
            let _ = writeln!(out, "{:12.3} {:2.12} {seen:10}", top(high) as f64, 1.0);
        }
    }
    let (mean, deviation) = (all.mean().unwrap_or(0.0), all.stddev().unwrap_or(0.0));
    let max = all.max().unwrap_or(0) as f64;
    let _ = writeln!(out, "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]");
    let _ = writeln!(out, "#[Max     = {max:12.3}, Total count    = {total:12}]");
    let _ = writeln!(out, "#[Buckets = {:12}, SubBuckets     = {:12}]", 54, 2048);
    for (name, n) in [("Overflow", all.overflow()), ("Missed", all.missed()), ("Dropped", all.dropped())] {
        if n > 0 {
            let _ = writeln!(out, "#[{name} = {n}]");
        }
    }
    Ok(out)
}
