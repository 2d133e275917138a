//! Comparison of two selections, and the outcome of assertions.

use super::grid;
use super::replicates::replicates;
use super::text::{Paint, Style, finding, verdict_paint, wrapped};
use crate::format::clean;
use crate::instrument::witness;
use crate::sheets;
use rtscope_analysis::agreement::Agreement;
use rtscope_analysis::compare::{Side, first_of};
use rtscope_analysis::{Comparison, Evaluation, Outcome};

/// Both sides, a table for each load (metric, A, B, B/A), the findings, and what the comparison does not show.
pub fn comparison(c: &Comparison, style: Style) -> String {
    let mut out = side("A", &c.a, style);
    out += &side("B", &c.b, style);
    for l in &c.loads {
        out.push('\n');
        out += &grid::titled(sheets::comparison::metrics(l), style);
    }
    out += &sheets::lab::bands(&c.bands, "B/A of").map_or_else(String::new, |s| format!("\n{}", grid::titled(s, style)));
    for a in &c.agreement {
        out += &agreement(a, style);
    }
    out += &replicates(&c.runs, ["A", "B"], style);
    out.push('\n');
    for f in c.findings.iter().chain(c.agreement.iter().flat_map(|a| &a.findings)) {
        out += &finding(style, f);
    }
    out += &wrapped(style, "Note: ", &c.note);
    out
}

fn agreement(a: &Agreement, style: Style) -> String {
    let mut out = format!("\n{} (load {})\n", style.paint(Paint::Bold, "The same run, two instruments: B minus A"), clean(&a.load));
    for (name, w) in [("A", &a.a), ("B", &a.b)] {
        out += &wrapped(style, &format!("{name}  "), &witness(w));
    }
    out + &grid::render(sheets::comparison::agreement(a), style)
}

fn side(name: &str, s: &Side, style: Style) -> String {
    let (verdict, clock) = (s.verdict.as_str(), clean(&s.clocks.join(", ")));
    let kernel = clean(&format!("{} {}", s.kernels.join(", "), s.preemption.join(", ")));
    let ids = first_of(&s.ids, 3);
    let head = wrapped(style, &format!("{name}  "), &ids).replacen(name, &style.paint(Paint::Bold, name), 1);
    let what = wrapped(style, "   ", &format!("kernel {} · {verdict} · clock {clock}", kernel.trim()));
    // Painted only now: what is wrapped has no colours.
    let what = what.replacen(verdict, &style.paint(verdict_paint(s.verdict), verdict), 1);
    head + &if s.virtual_machine { what.replacen(&clock, &style.paint(Paint::Doubtful, &clock), 1) } else { what }
}

/// A line for each assertion: pass, FAIL, not shown or refused, and why.
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
