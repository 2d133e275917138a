//! The instrument of a test over lines, and results that are not distributions.

use super::text::{Paint, Style, wrapped};
use crate::instrument::{facts, results, search};
use rtscope_record::Record;
use std::fmt::Write as _;

/// The instrument's part of a record; with `all` including every step of a search. Empty where there was no instrument.
pub(super) fn of(record: &Record, all: bool, style: Style) -> String {
    let mut out = String::new();
    for text in results(record) {
        out.push('\n');
        out += &wrapped(style, "", &text);
    }
    for (title, facts, width, shown) in [("Instrument", facts(record), 11, true), ("Search", search(record), 13, all)] {
        if !shown || facts.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n{}", style.paint(Paint::Bold, title));
        for (name, text) in facts {
            out += &wrapped(style, &format!("  {name:width$}  "), &text);
        }
    }
    out
}
