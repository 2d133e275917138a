//! The section of the page with response and periodic tests in the manner of Adam 2021: Tables 1 and 2, Figures 7 and 8.

use super::sections::banner_of;
use super::tables::verdict_badge;
use crate::format::escape;
use crate::sheet::{NOTE, Sheet, first, second};
use crate::svg::{self, Use};
use crate::table::Paint;
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

fn table(s: &Sheet) -> String {
    let mut out = format!("<div class=\"scroll\"><table class=\"figures\"><caption>{}</caption><thead><tr>", escape(&s.title));
    let grouped = s.columns.iter().any(|c| !c.group.is_empty());
    let word = |right: bool| if right { "" } else { " class=\"word\"" };
    for run in s.columns.chunk_by(|a, b| !a.group.is_empty() && a.group == b.group) {
        if run[0].group.is_empty() {
            let rows = if grouped { " rowspan=\"2\"" } else { "" };
            let _ = write!(out, "<th scope=\"col\"{rows}{}>{}</th>", word(run[0].right), escape(&run[0].head));
        } else {
            let _ = write!(out, "<th scope=\"colgroup\" class=\"group\" colspan=\"{}\">{}</th>", run.len(), escape(run[0].group));
        }
    }
    if grouped {
        out += "</tr><tr>";
        for c in s.columns.iter().filter(|c| !c.group.is_empty()) {
            let _ = write!(out, "<th scope=\"col\"{}>{}</th>", word(c.right), escape(&c.head));
        }
    }
    out += "</tr></thead><tbody>\n";
    for row in &s.rows {
        out += "<tr>";
        for (i, (cell, column)) in row.iter().zip(&s.columns).enumerate() {
            let text = cell.verdict.map_or_else(|| escape(&cell.text), verdict_badge);
            let class = match (column.right, cell.paint) {
                (false, _) => " class=\"word\"",
                (true, Some(Paint::Bold)) => " class=\"strong\"",
                (true, _) => "",
            };
            let _ = if i == 0 { write!(out, "<th scope=\"row\">{text}</th>") } else { write!(out, "<td{class}>{text}</td>") };
        }
        out += "</tr>\n";
    }
    out + "</tbody></table></div>\n"
}
