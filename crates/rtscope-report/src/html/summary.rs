//! The runs at a glance and as a table, preceded by what the reader must know.

use super::parts::picture;
use super::table::table;
use crate::caveats::Caveats;
use crate::svg::{Use, overview};
use crate::{ReportError, sheets};
use maud::{Markup, html};
use rtscope_record::{Effect, Record, Verdict};
use std::collections::BTreeSet;

/// The summary of all `records`.
pub(super) fn summary(records: &[Record]) -> Result<Markup, ReportError> {
    Ok(html! {
        section id="summary" aria-labelledby="summary-title" {
            h2 id="summary-title" { "Summary" }
            (banners(records))
            @for sheet in sheets::loads::loads(records)? { (table(&sheet)) }
            figure.picture { (picture(overview(records, Use::Page)?)) }
        }
    })
}

const DOUBTS: [(Verdict, Effect, &str, &str); 2] = [
    (Verdict::Invalid, Effect::Invalid, "bad", "the figures mean something else than they say"),
    (Verdict::Inconclusive, Effect::Inconclusive, "doubtful", "true for the run itself, not for what one would conclude from it"),
];

/// What affects the figures of the page: virtual machines, and runs that are not VALID.
fn banners(records: &[Record]) -> Markup {
    let of = |verdict: Verdict| records.iter().filter(move |r| r.verdict() == verdict);
    let codes = |verdict, effect| -> BTreeSet<String> {
        of(verdict).flat_map(|r| r.findings().into_owned()).filter(|w| w.effect == effect).map(|w| w.code).collect()
    };
    html! {
        @for [what, follows] in Caveats::of_all(records).of_machines() {
            p class="banner doubtful" { strong { (what) } " " (follows) }
        }
        @for (verdict, effect, class, meaning) in DOUBTS {
            @let number = of(verdict).count();
            @if number > 0 {
                p class={ "banner " (class) } {
                    strong { (number) @if number == 1 { " run is " } @else { " runs are " } (verdict) }
                    ": " (meaning) ". Because of "
                    @for (i, code) in codes(verdict, effect).into_iter().enumerate() {
                        @if i > 0 { ", " }
                        code { (code) }
                    }
                    "."
                }
            }
        }
    }
}
