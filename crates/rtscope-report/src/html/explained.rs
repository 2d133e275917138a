//! The explained samples of a run: the answers, and for the worst of them a flame chart and tables.

use super::parts::picture;
use super::table::table;
use crate::sheets::explanation as sheets;
use crate::svg::{self, Use};
use maud::{Markup, html};
use rtscope_explain::explained::Explained;
use rtscope_record::Record;

/// Samples of a run that have a chart: each adds up to 150 KB.
pub(super) const CHARTS: usize = 3;
/// Samples of a run whose answers are listed.
const LISTED: usize = 64;

/// The explanations of a record, the highest latency first.
pub(super) fn of<'a>(record: &Record, all: &'a [Explained]) -> Vec<&'a Explained> {
    let mut of: Vec<&Explained> = all.iter().filter(|e| e.record == record.id()).collect();
    of.sort_by_key(|e| (std::cmp::Reverse(e.explanation.latency), e.at));
    of.truncate(LISTED);
    of
}

/// The section of record `i`; empty where nothing was explained.
pub(super) fn section(i: usize, record: &Record, all: &[Explained]) -> Markup {
    let of = of(record, all);
    html! {
        @if !of.is_empty() {
            h3 { "Why it was late" }
            @if of.len() > 1 {
                ul.groups {
                    @for g in rtscope_explain::groups::groups(of.iter().map(|e| &e.explanation)) {
                        li { strong { (g.samples) " of " (of.len()) } ": " (g.what) ", up to " (crate::format::time(g.highest as f64)) }
                    }
                }
            }
            @for (n, e) in of.iter().take(CHARTS).enumerate() { (sample(i, n, record, e)) }
            @if of.len() > CHARTS {
                details {
                    summary { "The other explained samples" }
                    ul { @for e in of.iter().skip(CHARTS) { li { (e.sentence) } } }
                }
            }
        }
    }
}

fn sample(i: usize, n: usize, record: &Record, explained: &Explained) -> Markup {
    let e = &explained.explanation;
    let whose = sheets::whose(record, explained);
    html! {
        p.answer { strong { (explained.sentence) } }
        figure.chart data-record=(i) data-chart="flame" data-flame=(n) {
            figcaption {
                h3 { (e.path.title()) }
                span.help { "Click a frame to zoom to it. Rows: cause, task, calls from the outermost down." }
                span.buttons {
                    input.search type="search" placeholder="Find a function" aria-label="Find a function in this chart";
                    button.reset type="button" { "Reset zoom" }
                }
            }
            div.live role="group" aria-label="Flame chart, interactive" {}
            div.static { (picture(svg::flame(e, &whose, Use::Page))) }
        }
        details {
            summary { "Milestones, causes, tasks, functions" }
            p.muted {
                (whose)
                @if !e.hold.from.is_empty() { "; " (e.hold.cause) " began in: " (e.hold.from.join(" > ")) }
                @if let Some(means) = e.traced { "; read from the kernel's trace, taken with " (means.words()) ": its times are whole us" }
            }
            div.tables {
                @for sheet in sheets::of(e) { div { (table(&sheet)) } }
            }
        }
    }
}
