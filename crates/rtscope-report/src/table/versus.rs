//! Stock against PREEMPT_RT: for each load the figures of both kernels and stock/RT, and their histograms drawn with
//! characters.

use super::replicates::replicates;
use super::strip::Axis;
use super::text::{Paint, Style, finding, wrapped};
use super::{caveats, grid};
use crate::caveats::Caveats;
use crate::format::{clean, times, us};
use crate::names::labels;
use crate::{ReportError, sheets};
use rtscope_analysis::Versus;
use rtscope_analysis::versus::{Figures, KernelPair};
use rtscope_record::{Record, Verdict};
use std::fmt::Write as _;

/// Greatest width of the picture, characters; also used where the terminal's width is unknown.
const WIDEST: usize = 110;
/// Room for the maximum after its strip, characters.
const MAXIMUM: usize = 13;

/// Compares the stock kernels of `records` with their PREEMPT_RT partners: a block for each pair, then kernels without a
/// partner, findings and caveats. Fails when no stock kernel has a partner; the message says what is needed.
pub fn versus(records: &[Record], style: Style) -> Result<String, ReportError> {
    Ok(versus_of(&rtscope_analysis::versus(records)?, &Caveats::of_all(records), style))
}

/// [`versus`] for a comparison that was already made, of records with these caveats.
pub fn versus_of(v: &Versus, caveats: &Caveats, style: Style) -> String {
    let mut out = String::new();
    for b in &v.blocks {
        out += &block(b, style);
        out += &replicates(&b.runs, ["stock", "RT"], style);
        out.push('\n');
    }
    if let Some(sheet) = sheets::lab::bands(&v.bands, "stock/RT of") {
        out += &format!("{}\n", grid::titled(sheet, style));
    }
    out.extend(v.findings.iter().map(|f| finding(style, f)));
    out += &caveats::lines(caveats, style);
    out += &wrapped(style, "Note: ", &v.note);
    out
}

fn block(b: &KernelPair, style: Style) -> String {
    let title = if b.is_pair() { "Stock against RT" } else { "No partner" };
    let mut out = style.paint(Paint::Bold, title);
    for part in [b.series.as_str(), b.arch.as_str()].into_iter().filter(|p| !p.is_empty()) {
        let _ = write!(out, " · {}", clean(part));
    }
    let _ = writeln!(out, " · timer latency, {} space", b.space);
    let mut facts: Vec<(&str, String)> = Vec::new();
    for k in &b.kernels {
        let release = if k.release.is_empty() { "unknown" } else { &k.release };
        facts.push((k.role.as_str(), clean(&format!("{release} {}", k.preemption))));
    }
    if !b.machine.is_empty() {
        facts.push(("machine", clean(&b.machine)));
    }
    let clock = clean(&b.clock_words);
    facts.push(("clock", if b.virtual_machine { style.paint(Paint::Doubtful, &clock) } else { clock }));
    let width = facts.iter().map(|f| f.0.len()).max().unwrap_or(0);
    for (name, value) in facts {
        let _ = writeln!(out, "  {name:width$}  {value}");
    }
    out.push('\n');
    out += &grid::render(sheets::versus::loads(b), style);
    if let Some(o) = &b.overall {
        let (stock, rt) = (us(o.stock_max as f64), us(o.rt_max as f64));
        let ratio = format!("stock/RT {}", times(o.ratio));
        let text = format!(
            "stock {stock} us (load {}), RT {rt} us (load {}): {ratio}, {} time",
            clean(&o.stock_load),
            clean(&o.rt_load),
            b.clock
        );
        out += &wrapped(style, "Highest: ", &text).replacen(&ratio, &style.paint(Paint::Bold, &ratio), 1);
    }
    out += &sheets::versus::seeds(b).map_or_else(String::new, |s| format!("\n{}", grid::render(s, style)));
    out + &picture(b, style)
}

/// The histograms of every load, one below the other on a common axis.
fn picture(b: &KernelPair, style: Style) -> String {
    let all = b.loads.iter().flat_map(|l| &l.figures).flatten().filter_map(|f| f.all.as_ref());
    let names = labels(&b.loads.iter().map(|l| clean(&l.load)).collect::<Vec<_>>(), 24);
    let load = names.iter().map(|n| n.chars().count()).max().unwrap_or(0);
    let role = b.kernels.iter().map(|k| k.role.as_str().len()).max().unwrap_or(0);
    let indent = load + role + 4;
    let width = style.width.unwrap_or(WIDEST).min(WIDEST).saturating_sub(indent + MAXIMUM);
    let Some(axis) = Axis::over(all, width) else { return String::new() };
    let mut out = String::from("\n");
    for (l, mut name) in b.loads.iter().zip(names) {
        for (k, f) in b.kernels.iter().zip(&l.figures) {
            let strip = f.as_ref().map_or_else(|| "not measured".into(), |f| strip(&axis, f, style));
            let _ = writeln!(out, "{name:load$}  {:role$}  {strip}", k.role.as_str());
            name.clear();
        }
    }
    let [rule, labels] = axis.scale(indent);
    let _ = writeln!(out, "{}\n{labels}", style.paint(Paint::Dim, &rule));
    let _ = writeln!(out, "{}us, {} time, log axis; height: log of samples; ◂ max", " ".repeat(indent), b.clock);
    out
}

fn strip(axis: &Axis, f: &Figures, style: Style) -> String {
    let Some(d) = &f.all else { return "no samples".into() };
    let strip = axis.strip(d);
    match f.verdict {
        Verdict::Invalid => format!("{strip} {}", style.paint(Paint::Bad, "INVALID")),
        _ => strip,
    }
}
