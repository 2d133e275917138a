//! The findings of `rtscope check`: each with its severity, what it is, why it matters, and the remedy.

use super::text::{Paint, Style, wrap};
use rtscope_record::{Effect, Verdict, Warning};
use std::fmt::Write as _;

fn severity(effect: Effect) -> (&'static str, Paint) {
    match effect {
        Effect::Invalid => ("INVALID", Paint::Bad),
        Effect::Inconclusive => ("INCONCLUSIVE", Paint::Doubtful),
        Effect::Note => ("note", Paint::Dim),
    }
}

/// Findings as a list, worst first, and their overall result.
pub fn findings(found: &[Warning], style: Style) -> String {
    let mut sorted: Vec<&Warning> = found.iter().collect();
    sorted.sort_by_key(|w| std::cmp::Reverse(w.effect));
    let mut out = String::new();
    for w in sorted {
        out += &one(w, style);
    }
    let number = |effect| found.iter().filter(|w| w.effect == effect).count();
    let (invalid, inconclusive, notes) = (number(Effect::Invalid), number(Effect::Inconclusive), number(Effect::Note));
    let text = match Verdict::of(found) {
        Verdict::Valid | Verdict::Repeatable if notes == 0 => "Nothing found: this machine is fit to measure.".to_owned(),
        Verdict::Valid | Verdict::Repeatable => format!("Fit to measure; {notes} to know."),
        _ => format!("{invalid} would make a run INVALID, {inconclusive} INCONCLUSIVE; {notes} to know."),
    };
    let paint = if invalid > 0 {
        Paint::Bad
    } else if inconclusive > 0 {
        Paint::Doubtful
    } else {
        Paint::Good
    };
    let _ = writeln!(out, "{}", style.paint(paint, &text));
    out
}

/// One finding or warning: severity and code, then the reason, then the remedy.
pub(super) fn one(w: &Warning, style: Style) -> String {
    let (word, paint) = severity(w.effect);
    let code = crate::format::clean(&w.code);
    let mut out = format!("{} {}\n", style.paint(paint, word), style.paint(Paint::Bold, &code));
    wrap(&mut out, style, "  ", &w.message);
    if !w.remedy.is_empty() {
        wrap(&mut out, style, "  remedy: ", &w.remedy);
    }
    out
}
