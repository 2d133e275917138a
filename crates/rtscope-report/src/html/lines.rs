//! The page's section with response and periodic tests as in Adam 2021: Tables 1 and 2, Figures 7 and 8.

use super::parts::{finding, picture};
use super::table::table;
use crate::sheets::line_tests::{NOTE, first, second};
use crate::svg::{self, Use};
use maud::{Markup, html};
use rtscope_analysis::LineTests;
use rtscope_record::Test;

/// Everything about `a`.
pub(super) fn lines(a: &LineTests) -> Markup {
    let sheets = [Some(first(a)), second(a, Test::Response, true), second(a, Test::Periodic, true)];
    let pictures = [svg::response_ranges(a, Use::Page), svg::response_worst(a, Use::Page)];
    html! {
        section.versus id="lines" aria-labelledby="lines-title" {
            h2 id="lines-title" { "Response and periodic tests" }
            @for sheet in sheets.iter().flatten() { (table(sheet)) }
            @for svg in pictures.into_iter().flatten() { figure.picture { (picture(svg)) } }
            @for f in &a.findings { (finding(f)) }
            p.muted { (NOTE) " In the manner of Adam 2021, Tables 1 and 2 and Figures 7 and 8." }
        }
    }
}
