//! The papers with one's own runs beside them, and their claims, as text.

use super::grid::titled;
use super::text::{Paint, Style, wrapped};
use crate::sheets::papers as sheets;
use rtscope_analysis::papers::Papers;

/// Each paper with its conditions, what differs between them, and tables, then the comparisons of each claim if `comparisons` are wanted,
/// and the claims.
pub fn papers(p: &Papers, comparisons: bool, style: Style) -> String {
    let mut out = String::new();
    for paper in &p.papers {
        out += &style.paint(Paint::Bold, paper.paper.as_str());
        out += "\n";
        out += &wrapped(style, "  source  ", paper.source);
        out += &wrapped(style, "  theirs  ", paper.conditions);
        for own in &paper.own_conditions {
            out += &wrapped(style, "  yours   ", own);
        }
        if paper.own_conditions.is_empty() {
            out += &wrapped(
                style,
                "  yours   ",
                &format!("none of the selected runs: rtscope campaign run campaigns/{}-lab.toml takes some", paper.paper),
            );
        }
        for difference in &paper.differences {
            out += &wrapped(style, "  differs ", &difference.to_string());
        }
        for table in &paper.tables {
            out += &format!("\n{}", titled(sheets::table(table), style));
        }
        out.push('\n');
    }
    out += &wrapped(style, "Note: ", sheets::NOTE);
    out.push('\n');
    out += &claims(p, comparisons, style);
    out
}

/// The claims alone.
pub fn claims(p: &Papers, comparisons: bool, style: Style) -> String {
    let mut out = String::new();
    for claim in p.claims.iter().filter(|c| comparisons && !c.held.is_empty()) {
        out += &titled(sheets::held(claim), style);
        out.push('\n');
    }
    out += &titled(sheets::claims(&p.claims), style);
    for claim in p.claims.iter().filter(|c| !c.missing.is_empty()) {
        out += &wrapped(style, &format!("  {}: ", claim.id), &claim.missing);
    }
    out += &wrapped(style, "", &sheets::runs(p));
    out
}
