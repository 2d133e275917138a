//! The page's section on the tails of its runs: the worst of all first, then each with its answer, plots and tables.

use super::parts::picture;
use super::table::table;
use crate::sheets::tail as sheets;
use crate::svg::{self, Use};
use crate::table::{NO_GUARANTEE, tail_sentence};
use maud::{Markup, html};
use rtscope_statistics::tail::{Study, envelope};

/// The tail of a series of runs, in us.
#[derive(Debug, Clone)]
pub struct TailOf {
    /// What the series is of: target, kernel, load, CPU.
    pub name: String,
    /// How much it holds, such as `128 blocks of 64ms, 5 runs`.
    pub about: String,
    /// The study of its block maxima, or why there is none.
    pub blocks: Result<Study, String>,
    /// The study of its latencies above thresholds, or why there is none.
    pub latencies: Result<Study, String>,
}

const UNIT: &str = "us";

/// Everything about `all`.
pub(super) fn tails(all: &[TailOf]) -> Markup {
    let studied: Vec<(String, Study)> = all.iter().filter_map(|t| Some((t.name.clone(), t.blocks.clone().ok()?))).collect();
    let worst = envelope(&studied);
    html! {
        section.versus id="tails" aria-labelledby="tails-title" {
            h2 id="tails-title" { "How the tails end" }
            @if studied.len() > 1 && !worst.is_empty() { (table(&sheets::envelope(&worst, studied[0].1.confidence))) }
            @for t in all { (one(t)) }
            p.muted { "Note: " (NO_GUARANTEE) }
        }
    }
}

fn one(t: &TailOf) -> Markup {
    html! {
        h3 { (t.name) }
        p.muted { (t.about) }
        @match &t.blocks {
            Ok(s) => {
                p { strong { (tail_sentence(s, UNIT)) } }
                figure.picture { (picture(svg::tail_levels(s, UNIT, Use::Page))) }
                details {
                    summary { "Gates, parameters and return levels" }
                    (table(&sheets::gates(s)))
                    (table(&sheets::parameters(s)))
                    (table(&sheets::levels(s, UNIT)))
                }
            },
            Err(why) => p.muted { "No law of block maxima: " (why) },
        }
        @match &t.latencies {
            Ok(s) => {
                @if let Some(plot) = svg::tail_mean_excess(s, UNIT, Use::Page) { figure.picture { (picture(plot)) } }
                details {
                    summary { "What exceeds thresholds, of all latencies" }
                    p { (tail_sentence(s, UNIT)) }
                    (table(&sheets::thresholds(s)))
                    (table(&sheets::levels(s, UNIT)))
                }
            },
            Err(why) => p.muted { "No law above thresholds: " (why) },
        }
    }
}
