//! The page's section with the four papers: their claims, then the conditions and figures of each with one's own beside them, and its
//! figures drawn from one's own runs, or where else on the page they are.

use super::parts::picture;
use super::table::table;
use crate::ReportError;
use crate::sheets::papers as sheets;
use crate::svg::{self, Use};
use maud::{Markup, html};
use rtscope_analysis::papers::{Paper, PaperBesideRuns, Papers, figures};
use rtscope_record::Record;

/// The sections that a page has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sections {
    pub(super) versus: bool,
    pub(super) lines: bool,
    pub(super) published: bool,
}

/// Everything about `p`, which was computed from `records`.
pub(super) fn papers(p: &Papers, records: &[Record], there: Sections) -> Result<Markup, ReportError> {
    let drawn = drawn(p, records)?;
    Ok(html! {
        section.versus id="papers" aria-labelledby="papers-title" {
            h2 id="papers-title" { "The four papers" }
            (table(&sheets::claims(&p.claims)))
            @for c in p.claims.iter().filter(|c| !c.missing.is_empty()) { p.muted { strong { (c.id) } ": " (c.missing) "." } }
            @for c in p.claims.iter().filter(|c| !c.held.is_empty()) {
                details {
                    summary { "Each comparison of " (c.id) }
                    (table(&sheets::held(c)))
                }
            }
            @for b in &p.papers { (beside(b, there, &drawn)) }
            p.muted { (sheets::NOTE) " " (sheets::runs(p)) "." }
        }
    })
}

/// The figures that are drawn here, each with its paper; none of a paper without runs.
fn drawn(p: &Papers, records: &[Record]) -> Result<Vec<(Paper, String)>, ReportError> {
    let all = figures(records)?.into_iter().map(|f| (f.paper, svg::by_load(&f, Use::Page)));
    Ok(all.filter(|(paper, _)| p.papers.iter().any(|b| b.paper == *paper && !b.own_conditions.is_empty())).collect())
}

/// A paper, with its figures of those that are drawn here.
fn beside(b: &PaperBesideRuns, there: Sections, drawn: &[(Paper, String)]) -> Markup {
    let elsewhere = elsewhere(b.paper, there);
    html! {
        h3 { (b.paper.as_str()) }
        p.muted { (b.source) }
        p { strong { "Theirs: " } (b.conditions) }
        @for own in &b.own_conditions { p { strong { "Yours: " } (own) } }
        @if b.own_conditions.is_empty() {
            p { strong { "Yours: " } "none of these runs: campaigns/" (b.paper.as_str()) "-lab.toml takes some" }
        }
        @if !b.differences.is_empty() {
            p { strong { "What differs:" } }
            ul { @for d in &b.differences { li { strong { (d.what) } ": " (d.yours.join(", ")) "; theirs: " (d.theirs) } } }
        }
        @for t in &b.tables { (table(&sheets::table(t))) }
        @if !b.own_conditions.is_empty() {
            @for (figure, place, what) in elsewhere { p { (figure) " from your runs: " a href={ "#" (place) } { (what) } "." } }
        }
        @for (_, svg) in drawn.iter().filter(|(paper, _)| *paper == b.paper) { figure.picture { (picture(svg.clone())) } }
    }
}

/// A paper's figures that other sections have: which, the section where one's own runs are drawn so, and what is drawn there.
fn elsewhere(paper: Paper, there: Sections) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let histograms = "the histogram of each run, a line for each CPU or edge";
    let published = "published figures as bars, yours as lines";
    let all: [(&str, &str, &str, bool); 2] = match paper {
        Paper::Adam2021 => [
            ("Figures 7 and 8", "lines", "ranges and worst case of each kernel", there.lines),
            ("The published values beside them", "published", published, there.published),
        ],
        Paper::Balci2017 => [
            ("Both plots", "main", histograms, true),
            ("Both in one, with the published maxima", "versus", "histograms of both kernels", there.versus),
        ],
        Paper::Dewit2024 => [
            ("Figure 1, with the published maxima", "versus", "histograms of both kernels", there.versus),
            ("Figure 2", "published", published, there.published),
        ],
        Paper::VinhChau => [("The published values beside all runs", "published", published, there.published), ("", "", "", false)],
    };
    all.into_iter().filter(|f| f.3).map(|(figure, place, what, _)| (figure, place, what))
}
