//! The page's section that compares two selections.

use super::parts::{clock_badge, finding, picture, verdict_badge};
use super::table::table;
use crate::instrument::witness;
use crate::sheets;
use crate::svg::{self, Use};
use maud::{Markup, html};
use rtscope_analysis::compare::Side;
use rtscope_analysis::replicates::LoadRuns;
use rtscope_analysis::{Agreement, Comparison};

/// Everything about `c`.
pub(super) fn comparison(c: &Comparison) -> Markup {
    html! {
        section id="comparison" aria-labelledby="comparison-title" {
            h2 id="comparison-title" { "Comparison" }
            (side("A", &c.a))
            (side("B", &c.b))
            @for f in &c.findings { (finding(f)) }
            div.tables { @for l in &c.loads { div { (table(&sheets::comparison::metrics(l))) } } }
            (replicates(&c.runs, ["A", "B"]))
            @if let Some(sheet) = sheets::lab::bands(&c.bands, "B/A of") { (table(&sheet)) }
            @for a in &c.agreement { (agreement(a)) }
            p.muted { "Note: " (c.note) "." }
        }
    }
}

/// Whole runs as replicates: forest plot, maxima and tables. `names`: of the sides.
pub(super) fn replicates(all: &[LoadRuns], names: [&str; 2]) -> Markup {
    let plots = [svg::forest(all, names, Use::Page), svg::run_maxima(all, names, Use::Page)];
    html! {
        @for plot in plots.into_iter().flatten() { figure { (picture(plot)) } }
        @for l in all.iter().filter(|l| sheets::replicates::shown(l)) { (table(&sheets::replicates::replicates(l, names))) }
        @for text in sheets::replicates::legend(all, names).into_iter().chain(sheets::replicates::too_few(all)) { p.muted { (text) } }
    }
}

fn side(name: &str, s: &Side) -> Markup {
    html! {
        p {
            strong { (name) } " " (verdict_badge(s.verdict)) " " (clock_badge(&s.clocks.join(", "), s.virtual_machine))
            " kernel " (s.kernels.join(", ")) " " (s.preemption.join(", ")) " " span.muted { (s.ids.join(", ")) }
        }
    }
}

/// One run as measured by two instruments.
fn agreement(a: &Agreement) -> Markup {
    html! {
        h3 { "The same run, two instruments (load " (a.load) ")" }
        @for (name, w) in [("A", &a.a), ("B", &a.b)] { p { strong { (name) } " " (witness(w)) } }
        @for f in &a.findings { (finding(f)) }
        (table(&sheets::comparison::agreement(a)))
    }
}
