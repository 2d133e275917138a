//! Stock against PREEMPT_RT: for each load both kernels' figures and stock/RT, and their histograms as lines of characters.

use super::grid::{Cell, Grid};
use super::strip::Axis;
use super::{Caveats, Paint, Style, verdict_paint, wrapped};
use crate::ReportError;
use crate::format::{NONE, clean, count, times, us, us_f64, us_opt};
use rtscope_analysis::Versus;
use rtscope_analysis::versus::{Block, Figures, LoadFigures};
use rtscope_record::{Clock, Record, Verdict};
use std::fmt::Write as _;

/// Columns of the picture where the terminal does not say how wide it is, or is wider than one looks along.
const WIDEST: usize = 110;
/// Room for a maximum behind its strip.
const MAXIMUM: usize = 13;

/// Compares the stock kernels of `records` with their PREEMPT_RT partners: a block for each pair, then kernels without a partner,
/// findings, and what bears on all of it. Fails when no stock kernel has a partner; the message says what it takes.
pub fn versus(records: &[Record], style: Style) -> Result<String, ReportError> {
    Ok(versus_of(&rtscope_analysis::versus(records)?, &Caveats::of_all(records), style))
}

/// [`versus`] of a comparison that was made already, of records with these caveats.
pub fn versus_of(v: &Versus, caveats: &Caveats, style: Style) -> String {
    let mut out = String::new();
    for b in &v.blocks {
        out += &block(b, style);
        out.push('\n');
    }
    let bands = super::lab::bands(&v.bands, "stock/RT of", style);
    if !bands.is_empty() {
        out += &format!("{}\n", bands.trim_start());
    }
    for f in &v.findings {
        let code = clean(&f.code);
        out += &wrapped(style, "! ", &format!("{code}: {}. Remedy: {}", f.message, f.remedy)).replacen(
            &code,
            &style.paint(Paint::Doubtful, &code),
            1,
        );
    }
    out += &caveats.render(style);
    out += &wrapped(style, "Note: ", &v.note);
    out
}

fn block(b: &Block, style: Style) -> String {
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
    out += &table(b, style);
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
    out += &super::lab::seeds_of_block(b, style);
    out + &picture(b, style)
}

fn table(b: &Block, style: Style) -> String {
    let mut grid = Grid::new().left("load", 0);
    for (i, k) in b.kernels.iter().enumerate() {
        grid = grid.group(&format!("{} us", k.role.as_str())).right("mean", 3).right("p99", 4).right("p99.9", 1).right("max", 0);
        if misses(b, i) {
            grid = grid.right("missed", 0);
        }
    }
    if b.is_pair() {
        grid = grid.group("stock/RT").right("mean", 5).right("p99.9", 2).right("max", 0);
    }
    grid = grid.group("").left("verdict", 0).left("clock", 0);
    let clock = short_clock(b);
    for l in &b.loads {
        let mut cells: Vec<Cell> = vec![l.load.as_str().into()];
        for (i, f) in l.figures.iter().enumerate() {
            let f = f.as_ref();
            let bad = f.is_some_and(|f| f.verdict == Verdict::Invalid);
            let cell = |text: String| if bad { Cell::painted(text, Paint::Bad) } else { text.into() };
            cells.push(cell(us_f64(f.and_then(|f| f.mean))));
            for value in [f.and_then(|f| f.p99), f.and_then(|f| f.p99_9), f.and_then(|f| f.max)] {
                cells.push(cell(us_opt(value)));
            }
            if misses(b, i) {
                let n = f.map(|f| f.missed);
                let text = n.map_or_else(|| NONE.into(), count);
                cells.push(if n.is_some_and(|n| n > 0) { Cell::painted(text, Paint::Doubtful) } else { text.into() });
            }
        }
        if b.is_pair() {
            let ratio = |f: fn(&rtscope_analysis::versus::Ratios) -> Option<f64>| times(l.ratios.as_ref().and_then(f));
            cells.push(ratio(|r| r.mean).into());
            cells.push(ratio(|r| r.p99_9).into());
            cells.push(Cell::painted(ratio(|r| r.max), Paint::Bold));
        }
        let (worst, whose) = worst_verdict(b, l);
        let text = if whose.is_empty() { worst.to_string() } else { format!("{worst} ({})", whose.join(", ")) };
        cells.push(Cell::painted(text, verdict_paint(worst)));
        cells.push(if b.virtual_machine { Cell::painted(clock.clone(), Paint::Doubtful) } else { clock.clone().into() });
        grid.row(cells);
    }
    grid.render(style)
}

/// Whose time a block's figures are in, for a column: virtual time with its model, where that is known.
pub(crate) fn short_clock(b: &Block) -> String {
    match b.clock {
        Clock::Virtual if b.clock_words.contains(", model") => {
            format!("virtual{}", b.model.map_or_else(String::new, |m| format!(", model {m}")))
        }
        Clock::Virtual => "virtual".into(),
        Clock::Host => b.clock_words.clone(),
    }
}

/// The worst verdict of a block's kernels under a load, and whose it is; of nobody in particular when they agree.
pub(crate) fn worst_verdict(b: &Block, l: &LoadFigures) -> (Verdict, Vec<&'static str>) {
    let each: Vec<(&str, Verdict)> =
        b.kernels.iter().zip(&l.figures).filter_map(|(k, f)| Some((k.role.as_str(), f.as_ref()?.verdict))).collect();
    let worst = each.iter().map(|e| e.1).max().unwrap_or(Verdict::Invalid);
    let whose: Vec<&str> = each.iter().filter(|e| e.1 == worst).map(|e| e.0).collect();
    (worst, if whose.len() == each.len() { Vec::new() } else { whose })
}

/// Whether kernel `i` of a block missed an event under any load.
pub(crate) fn misses(b: &Block, i: usize) -> bool {
    b.loads.iter().filter_map(|l| l.figures.get(i)?.as_ref()).any(|f| f.missed > 0)
}

/// Every load's histograms below each other on one axis.
fn picture(b: &Block, style: Style) -> String {
    let all = b.loads.iter().flat_map(|l| &l.figures).flatten().filter_map(|f| f.all.as_ref());
    let load = b.loads.iter().map(|l| clean(&l.load).chars().count()).max().unwrap_or(0).min(24);
    let role = b.kernels.iter().map(|k| k.role.as_str().len()).max().unwrap_or(0);
    let indent = load + role + 4;
    let width = style.width.unwrap_or(WIDEST).min(WIDEST).saturating_sub(indent + MAXIMUM);
    let Some(axis) = Axis::over(all, width) else { return String::new() };
    let mut out = String::from("\n");
    for l in &b.loads {
        let mut name = clean(&l.load);
        if name.chars().count() > load {
            name = name.chars().take(load - 1).chain(['…']).collect();
        }
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
