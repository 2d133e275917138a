//! Two selections side by side, and assertions held against records.

use super::grid::{Cell, Grid};
use super::{Paint, Style, verdict_paint, wrapped};
use crate::format::{NONE, clean, count, time, us};
use crate::sheet::{mean, min_max};
use rtscope_analysis::agreement::{Agreement, How, Offset, Witness};
use rtscope_analysis::compare::{MetricRow, Side, Unit, first_of};
use rtscope_analysis::{Comparison, Evaluation, Outcome};
use std::fmt::Write as _;

pub(crate) fn figure(row: &MetricRow, value: Option<f64>) -> String {
    match (value, row.unit) {
        (None, _) => NONE.into(),
        (Some(v), Unit::Ns) => us(v),
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a count that was a u64
        (Some(v), Unit::Count) => count(v as u64),
    }
}

pub(crate) fn ratio(row: &MetricRow) -> String {
    row.ratio.map_or_else(|| NONE.into(), |r| if r < 1000.0 { format!("{r:.3}") } else { format!("{r:.0}") })
}

pub(crate) fn metric(row: &MetricRow) -> String {
    if row.unit == Unit::Ns { format!("{} us", row.metric) } else { row.metric.clone() }
}

/// Both sides, a table for each load (metric, A, B, B/A), the findings, and what the comparison does not say.
pub fn comparison(c: &Comparison, style: Style) -> String {
    let mut out = side("A", &c.a, style);
    out += &side("B", &c.b, style);
    for l in &c.loads {
        let runs = |n: usize| if n == 1 { "1 run".to_owned() } else { format!("{n} runs") };
        let load = style.paint(Paint::Bold, &format!("load {}", clean(&l.load)));
        let model = l.model.map_or_else(String::new, |m| format!(", time model {m}"));
        let _ = writeln!(out, "\n{load} (A {}, B {}{model})", runs(l.a_runs), runs(l.b_runs));
        let mut grid = Grid::new().left("metric", 0).right("A", 0).right("B", 0).right("B/A", 0);
        for r in &l.rows {
            grid.row(vec![metric(r).into(), figure(r, r.a).into(), figure(r, r.b).into(), ratio(r).into()]);
        }
        out += &grid.render(style);
    }
    out += &super::lab::bands(&c.bands, "B/A of", style);
    for a in &c.agreement {
        out += &agreement(a, style);
    }
    out.push('\n');
    for f in c.findings.iter().chain(c.agreement.iter().flat_map(|a| &a.findings)) {
        let code = clean(&f.code);
        out += &wrapped(style, "! ", &format!("{code}: {}. Remedy: {}", f.message, f.remedy)).replacen(
            &code,
            &style.paint(Paint::Doubtful, &code),
            1,
        );
    }
    out += &wrapped(style, "Note: ", &c.note);
    out
}

/// Heads of the figures of an offset, all in us.
pub(crate) const OFFSET: [&str; 4] = ["offset", "median", "std dev", "range"];

/// The cells of an offset under [`OFFSET`].
pub(crate) fn offset(o: Option<&Offset>) -> [String; 4] {
    let Some(o) = o else { return [NONE; 4].map(String::from) };
    let signed = |ns: f64| format!("{:+.3}", ns / 1e3);
    let stddev = match o.stddev {
        None => NONE.into(),
        Some([low, high]) if low.to_bits() == high.to_bits() => format!("{:.3}", low / 1e3),
        Some([low, high]) => format!("{:.3} to {:.3}", low / 1e3, high / 1e3),
    };
    [signed(o.mean), signed(o.median), stddev, format!("{} to {}", signed(o.range[0]), signed(o.range[1]))]
}

/// How the offsets of an agreement are known, in words.
pub(crate) fn how(a: &Agreement) -> String {
    let Some(o) = a.edges.first().and_then(|e| e.offset.as_ref()) else { return "no samples on one side.".into() };
    match o.how {
        How::Pairs => format!(
            "Pulse by pulse: {} pairs, {} of A and {} of B alone. Range: lowest and highest difference of a pair.",
            count(o.pairs),
            count(o.alone[0]),
            count(o.alone[1])
        ),
        How::Distributions => format!(
            "By the distributions, not pulse by pulse: {}. The offset is the difference of the means, the range that of the percentiles 1 to 99; \
             the standard deviation of the differences lies between the two figures.",
            o.why
        ),
    }
}

/// An instrument in words.
pub(crate) fn witness(w: &Witness) -> String {
    let own = w.null_wire.map_or_else(String::new, |n| format!(", null wire {}", time(n as f64)));
    let error = w.uncertainty.map_or_else(String::new, |u| format!(", at most {} too high", time(u as f64)));
    format!("{}{error}{own}", w.what)
}

fn agreement(a: &Agreement, style: Style) -> String {
    let mut out = format!("\n{} (load {})\n", style.paint(Paint::Bold, "The same run, two instruments: B minus A"), clean(&a.load));
    for (name, w) in [("A", &a.a), ("B", &a.b)] {
        out += &wrapped(style, &format!("{name}  "), &witness(w));
    }
    let mut grid = Grid::new().left("edge", 0);
    for name in ["A, us", "B, us"] {
        grid = grid.group(name).right("min/max", 1).right("mean", 0).right("samples", 2);
    }
    grid = grid.group("B minus A, us");
    for head in OFFSET {
        grid = grid.right(head, 0);
    }
    for e in &a.edges {
        let mut row: Vec<Cell> = vec![e.edge.as_str().into()];
        for f in [&e.a, &e.b] {
            row.extend([min_max(a.test, f).into(), mean(a.test, f.mean).into(), count(f.samples).into()]);
        }
        row.extend(offset(e.offset.as_ref()).map(Cell::from));
        grid.row(row);
    }
    out + &grid.render(style) + &wrapped(style, "", &how(a))
}

fn side(name: &str, s: &Side, style: Style) -> String {
    let verdict = style.paint(verdict_paint(s.verdict), s.verdict.as_str());
    let clock = clean(&s.clocks.join(", "));
    let clock = if s.virtual_machine { style.paint(Paint::Doubtful, &clock) } else { clock };
    let kernel = clean(&format!("{} {}", s.kernels.join(", "), s.preemption.join(", ")));
    let ids = first_of(&s.ids, 3);
    format!("{}  {ids}\n   kernel {} · {verdict} · clock {clock}\n", style.paint(Paint::Bold, name), kernel.trim())
}

/// One line for each assertion: pass, FAIL, not shown or refused, and why.
pub fn evaluations(all: &[Evaluation], style: Style) -> String {
    let mut out = String::new();
    for e in all {
        let paint = match e.outcome {
            Outcome::Pass => Paint::Good,
            Outcome::NotShown | Outcome::Refused => Paint::Doubtful,
            Outcome::Fail => Paint::Bad,
        };
        let word = format!("{:<9}", e.outcome.as_str());
        out += &wrapped(style, &format!("{word} "), &e.text).replacen(&word, &style.paint(paint, &word), 1);
    }
    out
}
