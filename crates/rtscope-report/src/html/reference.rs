//! The page's section with published latencies beside one's own runs.

use super::parts::picture;
use super::table::table;
use crate::sheets::reference as sheets;
use crate::svg::{self, Use};
use maud::{Markup, html};
use rtscope_analysis::reference::Beside;

/// Everything about `found`.
pub(super) fn published(found: &[Beside]) -> Markup {
    html! {
        section.versus id="published" aria-labelledby="published-title" {
            h2 id="published-title" { "Published latencies" }
            @for b in found {
                @match (&b.none, svg::published(b, Use::Page)) {
                    (Some(why), _) => p.muted { (why) },
                    (None, drawn) => {
                        @if let Some(svg) = drawn { figure.picture { (picture(svg)) } }
                        details {
                            summary { "The same as a table: " (b.test) ", " (b.space) " space" }
                            (table(&sheets::beside(b)))
                            @for r in &b.references { p.muted { strong { (r.id) } " " (r.study) ", " (r.place) ": " (r.caveat) "." } }
                        }
                    },
                }
            }
        }
    }
}
