//! Runs at a glance: for each a bar from minimum to maximum on one logarithmic axis, with median, p99.9 and maximum marked.

use super::draw::{Canvas, Size, WIDTH, log_ticks};
use super::{COLOURS, Use};
use crate::format::{escape, time};
use crate::names::labels;
use crate::shown::quantities;
use crate::{ReportError, summarize};
use rtscope_record::Record;
use std::fmt::Write as _;

const LABEL: f64 = 150.0;
const VALUES: f64 = 190.0;
const ROW: f64 = 30.0;
const TOP: f64 = 66.0;

/// One bar for each record, in the order given.
pub fn overview(records: &[Record], usage: Use) -> Result<String, ReportError> {
    let summaries = records.iter().map(summarize).collect::<Result<Vec<_>, _>>()?;
    let bars: Vec<_> = summaries.iter().map(|s| s.merged.as_ref().and_then(|m| Some((m.min?.max(1), m.max?.max(1), m)))).collect();
    let low = bars.iter().flatten().map(|b| b.0).min().unwrap_or(1_000) as f64 / 1.15;
    let high = (bars.iter().flatten().map(|b| b.1).max().unwrap_or(1_000_000) as f64 * 1.15).max(low * 10.0);
    let height = TOP + records.len() as f64 * ROW + 44.0;
    let bottom = TOP + records.len() as f64 * ROW;
    let mut clocks: Vec<&str> = summaries.iter().map(|s| s.clock_words.as_str()).collect();
    clocks.sort_unstable();
    clocks.dedup();
    let sub = [format!("bar: minimum to maximum · tick: median · diamond: p99.9 · clock: {}", clocks.join(", "))];
    let every: Vec<&Record> = records.iter().collect();
    let what = quantities(&every);
    let title = format!("{what} by load");
    let mut out = Canvas::head(Size::ALONE, usage, [title.as_str(); 2], &sub, height);
    let at = |v: f64| LABEL + (v.max(low).log10() - low.log10()) / (high.log10() - low.log10()) * (WIDTH - LABEL - VALUES);
    for (v, text) in log_ticks(low, high, 1e3) {
        let x = at(v);
        let _ = writeln!(out, "<path class=\"grid\" d=\"M{x:.1} {:.1}V{bottom:.1}\"/>", TOP - 8.0);
        let _ = writeln!(out, "<text class=\"tick\" text-anchor=\"middle\" x=\"{x:.1}\" y=\"{:.1}\">{text}</text>", bottom + 17.0);
    }
    let middle = f64::midpoint(LABEL, WIDTH - VALUES);
    let _ = writeln!(
        out,
        "<text class=\"label\" text-anchor=\"middle\" x=\"{middle:.1}\" y=\"{:.1}\">{what} (µs), logarithmic</text>",
        bottom + 35.0
    );
    for (i, ((s, bar), name)) in summaries.iter().zip(&bars).zip(labels(&every, 22)).enumerate() {
        let y = TOP + i as f64 * ROW + ROW / 2.0;
        let colour = i % COLOURS;
        let _ = writeln!(out, "<text text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>", LABEL - 12.0, y + 4.0, escape(&name));
        let Some((min, max, m)) = bar else {
            let _ = writeln!(out, "<text class=\"sub\" x=\"{LABEL:.1}\" y=\"{:.1}\">no samples</text>", y + 4.0);
            continue;
        };
        let (x1, x2) = (at(*min as f64), at(*max as f64));
        let _ = writeln!(
            out,
            "<rect class=\"bar f{colour}\" x=\"{x1:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"12\" rx=\"3\"/>",
            y - 6.0,
            (x2 - x1).max(2.0)
        );
        let raw = |name: &str| m.percentile(name).and_then(|p| p.raw);
        if let Some(p50) = raw("p50") {
            let _ = writeln!(out, "<path class=\"line bold s{colour}\" d=\"M{:.1} {:.1}v16\"/>", at(p50 as f64), y - 8.0);
        }
        if let Some(p999) = raw("p99.9") {
            let _ = writeln!(out, "<path class=\"f{colour}\" d=\"M{:.1} {:.1}l5 5l-5 5l-5 -5z\"/>", at(p999 as f64), y - 5.0);
        }
        let _ = writeln!(out, "<path class=\"line bold s{colour}\" d=\"M{x2:.1} {:.1}v12\"/>", y - 6.0);
        let verdict = if s.verdict.passes_strict() { "" } else { s.verdict.as_str() };
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\">{} <tspan class=\"sub\">{verdict}</tspan></text>",
            WIDTH - VALUES + 14.0,
            y + 4.0,
            time(*max as f64)
        );
    }
    out.push_str("</svg>\n");
    Ok(out)
}
