//! Published latencies as text: a list, one in full, and beside one's own runs.

use super::grid::{render, titled};
use super::text::{Paint, Style, wrapped};
use crate::sheets::reference as sheets;
use rtscope_analysis::reference::{Beside, Reference, Standing};

/// Said where no published figure is wanted.
const NOTHING: &str = "No published figure passes these filters.\n";

/// A row for each published figure.
pub fn references(rows: &[Reference], style: Style) -> String {
    if rows.is_empty() { NOTHING.into() } else { render(sheets::list(rows), style) }
}

/// One published figure with its source, conditions and caveats.
pub fn reference(r: &Reference, style: Style) -> String {
    let mut out = style.paint(Paint::Bold, &format!("{}: {}", r.id, r.study)) + "\n";
    let figure = |ns: Option<u64>, is: Standing| {
        let doubt = if is.words().is_empty() { String::new() } else { format!(" ({})", is.words()) };
        ns.map(|ns| format!("{} us{doubt}", sheets::plain(ns)))
    };
    let space = r.space.map_or_else(|| "space not stated".to_owned(), |s| format!("{s} space"));
    let facts = [
        ("where", Some(r.place.clone())),
        ("test", Some(format!("{}, {space}, {}", r.test, r.figure.as_str()))),
        ("what", Some(r.what.clone())),
        ("board", Some(r.board.clone())),
        ("kernel", Some(format!("{} ({})", r.kernel, if r.rt { "PREEMPT_RT" } else { "stock" }))),
        ("load", Some(r.load.clone())),
        ("tool", Some(r.tool.clone())),
        ("samples", Some(r.samples.clone())),
        ("min", figure(r.min, Standing::Printed)),
        ("average", figure(r.avg, r.avg_is)),
        ("max", figure(r.max, r.max_is)),
        ("std dev", figure(r.std, r.std_is)),
        ("below", r.below.as_ref().map(|b| format!("{b} us"))),
        ("evidence", Some(r.evidence.as_str().to_owned())),
        ("original", r.original.clone()),
        ("checked", Some(r.checked.words().to_owned())),
    ];
    for (name, text) in facts {
        if let Some(text) = text {
            out += &wrapped(style, &format!("  {name:<9} "), &text);
        }
    }
    for caveat in r.caveat.split("; ") {
        out += &wrapped(style, "  ! ", caveat);
    }
    out
}

/// For each test and space one's own runs above what was published of the same, or why there is nothing.
pub fn references_beside(found: &[Beside], style: Style) -> String {
    let tables = found.iter().map(|b| match &b.none {
        Some(why) => wrapped(style, "", why),
        None => titled(sheets::beside(b), style),
    });
    tables.collect::<Vec<_>>().join("\n")
}
