//! The section of the page with response and periodic tests in the manner of Adam 2021: Tables 1 and 2, Figures 7 and 8.

use super::sections::banner_of;
use super::tables::table;
use crate::format::escape;
use crate::sheets::adam::{NOTE, first, second};
use crate::svg::{self, Use};
use rtscope_analysis::Adam;
use rtscope_record::Test;
use std::fmt::Write as _;

/// Everything about `a`.
pub(super) fn adam(a: &Adam) -> String {
    let mut out = String::from(
        "<section id=\"lines\" class=\"versus\" aria-labelledby=\"lines-title\">\n<h2 id=\"lines-title\">Response and periodic tests</h2>\n",
    );
    let sheets = [Some(first(a)), second(a, Test::Response, true), second(a, Test::Periodic, true)];
    out.extend(sheets.into_iter().flatten().map(|s| table(&s)));
    for picture in [svg::response_ranges(a, Use::Page), svg::response_worst(a, Use::Page)].into_iter().flatten() {
        let _ = writeln!(out, "<figure class=\"picture\">{picture}</figure>");
    }
    out.extend(a.findings.iter().map(banner_of));
    let _ = write!(
        out,
        "<p class=\"muted\">{} In the manner of Adam 2021, Tables 1 and 2 and Figures 7 and 8.</p>\n</section>\n",
        escape(NOTE)
    );
    out
}
