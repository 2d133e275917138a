//! Two selections side by side, and assertions held against records.

use super::grid::Grid;
use super::{Paint, Style, verdict_paint, wrapped};
use crate::format::{NONE, clean, count, us};
use rtscope_analysis::compare::{MetricRow, Side, Unit};
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
        let _ = writeln!(out, "\n{load} (A {}, B {})", runs(l.a_runs), runs(l.b_runs));
        let mut grid = Grid::new().left("metric", 0).right("A", 0).right("B", 0).right("B/A", 0);
        for r in &l.rows {
            grid.row(vec![metric(r).into(), figure(r, r.a).into(), figure(r, r.b).into(), ratio(r).into()]);
        }
        out += &grid.render(style);
    }
    out.push('\n');
    for f in &c.findings {
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

fn side(name: &str, s: &Side, style: Style) -> String {
    let verdict = style.paint(verdict_paint(s.verdict), s.verdict.as_str());
    let clock = clean(&s.clocks.join(", "));
    let clock = if s.virtual_machine { style.paint(Paint::Doubtful, &clock) } else { clock };
    let kernel = clean(&format!("{} {}", s.kernels.join(", "), s.preemption.join(", ")));
    let ids = if s.ids.len() > 3 { format!("{} and {} more", s.ids[..3].join(", "), s.ids.len() - 3) } else { s.ids.join(", ") };
    format!("{}  {ids}\n   kernel {} · {verdict} · clock {clock}\n", style.paint(Paint::Bold, name), kernel.trim())
}

/// One line for each assertion: pass, FAIL or refused, and why.
pub fn evaluations(all: &[Evaluation], style: Style) -> String {
    let mut out = String::new();
    for e in all {
        let paint = match e.outcome {
            Outcome::Pass => Paint::Good,
            Outcome::Refused => Paint::Doubtful,
            Outcome::Fail => Paint::Bad,
        };
        let word = format!("{:<7}", e.outcome.as_str());
        out += &wrapped(style, &format!("{word} "), &e.text).replacen(&word, &style.paint(paint, &word), 1);
    }
    out
}
