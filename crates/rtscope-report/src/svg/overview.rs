//! Runs at a glance: for each run a bar from minimum to maximum on a common logarithmic axis, with median, p99.9 and
//! maximum marked.

use super::draw::{CHARACTER, Canvas, Size, WIDTH, lines, log_ticks};
use super::style::{COLOURS, Use};
use crate::format::{escape, time};
use crate::names::groups;
use crate::words::quantities;
use crate::{ReportError, summarize};
use rtscope_record::Record;
use std::fmt::Write as _;

/// Least and greatest room for names, and room for the values, in user units.
const LABEL: [f64; 2] = [90.0, 245.0];
const VALUES: f64 = 190.0;
const ROW: f64 = 30.0;
/// Row height for more than `MANY` runs.
const LOW_ROW: f64 = 20.0;
const MANY: usize = 24;

/// A bar for each record, in the order given; with several kernels, grouped below the kernels' names.
pub fn overview(records: &[Record], usage: Use) -> Result<String, ReportError> {
    let summaries = records.iter().map(summarize).collect::<Result<Vec<_>, _>>()?;
    let groups = groups(records);
    let bars: Vec<_> = summaries.iter().map(|s| s.merged.as_ref().and_then(|m| Some((m.min?.max(1), m.max?.max(1), m)))).collect();
    let low = bars.iter().flatten().map(|b| b.0).min().unwrap_or(1_000) as f64 / 1.15;
    let high = (bars.iter().flatten().map(|b| b.1).max().unwrap_or(1_000_000) as f64 * 1.15).max(low * 10.0);
    let mut clocks: Vec<&str> = summaries.iter().map(|s| s.clock_words.as_str()).collect();
    clocks.sort_unstable();
    clocks.dedup();
    let sub = format!("bar: minimum to maximum · tick: median · diamond: p99.9 · clock: {}", clocks.join(" · "));
    let sub = lines(&[sub], Size::ALONE.longest(CHARACTER));
    let row = if records.len() > MANY { LOW_ROW } else { ROW };
    let top = 49.0 + sub.len() as f64 * 17.0;
    let heads = if groups.len() > 1 { groups.len() } else { 0 };
    let bottom = top + (records.len() + heads) as f64 * row;
    let every: Vec<&Record> = records.iter().collect();
    let longest = groups.iter().flat_map(|g| &g.runs).map(|r| r.label.chars().count()).max().unwrap_or(0);
    let left = (longest as f64 * CHARACTER + 24.0).clamp(LABEL[0], LABEL[1]);
    let what = quantities(&every);
    let title = format!("{what} by load");
    let mut out = Canvas::head(Size::ALONE, usage, [title.as_str(); 2], &sub, bottom + 44.0);
    let at = |v: f64| left + (v.max(low).log10() - low.log10()) / (high.log10() - low.log10()) * (WIDTH - left - VALUES);
    for (v, text) in log_ticks(low, high, 1e3) {
        let x = at(v);
        let _ = writeln!(out, "<path class=\"grid\" d=\"M{x:.1} {:.1}V{bottom:.1}\"/>", top - 8.0);
        let _ = writeln!(out, "<text class=\"tick\" text-anchor=\"middle\" x=\"{x:.1}\" y=\"{:.1}\">{text}</text>", bottom + 17.0);
    }
    let middle = f64::midpoint(left, WIDTH - VALUES);
    let _ = writeln!(
        out,
        "<text class=\"label\" text-anchor=\"middle\" x=\"{middle:.1}\" y=\"{:.1}\">{what} (µs), logarithmic</text>",
        bottom + 35.0
    );
    let mut y = top - row / 2.0;
    for (g, nr, run) in groups.iter().flat_map(|g| g.runs.iter().enumerate().map(move |(nr, run)| (g, nr, run))) {
        let (s, bar) = (&summaries[run.index], &bars[run.index]);
        if nr == 0 && heads > 0 {
            y += row;
            let _ = writeln!(out, "<text class=\"group\" x=\"12\" y=\"{:.1}\">{}</text>", y + 5.0, escape(&g.kernel));
        }
        y += row;
        let colour = nr % COLOURS;
        let _ = writeln!(
            out,
            "<text text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}<title>{}</title></text>",
            left - 12.0,
            y + 4.0,
            escape(&run.label),
            escape(&run.name)
        );
        let Some((min, max, m)) = bar else {
            let _ = writeln!(out, "<text class=\"sub\" x=\"{left:.1}\" y=\"{:.1}\">no samples</text>", y + 4.0);
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
