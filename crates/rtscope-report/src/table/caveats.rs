//! What the reader must know about the records behind a table, as its last lines.

use super::text::{Style, verdict_paint, wrapped};
use crate::caveats::Caveats;
use rtscope_analysis::compare::{NAMED, first_of};
use rtscope_record::{Effect, Record, Verdict};

/// The lines of `c`.
pub(super) fn lines(c: &Caveats, style: Style) -> String {
    let mut out = String::new();
    for text in c.of_machines() {
        out += &wrapped(style, "! ", &text.join(" "));
    }
    for verdict in [Verdict::Invalid, Verdict::Inconclusive] {
        let effect = if verdict == Verdict::Invalid { Effect::Invalid } else { Effect::Inconclusive };
        let mut reasons = Vec::new();
        for ((_, code), under) in c.by_code.iter().filter(|((e, _), _)| e.0 == effect) {
            let everywhere = under.len() == c.loads.len();
            reasons.push(if everywhere { code.clone() } else { format!("{code} (under {})", under.join(", ")) });
        }
        if !reasons.is_empty() {
            let first = format!("{verdict}: ");
            let text = wrapped(style, &first, &format!("{}. `rtscope show ID` tells why, and what mends it.", reasons.join(", ")));
            out += &text.replacen(verdict.as_str(), &style.paint(verdict_paint(verdict), verdict.as_str()), 1);
        }
    }
    if !c.cut.is_empty() {
        out += &wrapped(style, "! ", &format!("Ended early: {}. The figures are of the part that ran.", first_of(&c.cut, NAMED)));
    }
    out
}

/// [`lines`] for all `records`.
pub(super) fn caveats<'a>(style: Style, records: impl IntoIterator<Item = &'a Record>) -> String {
    lines(&Caveats::of_all(records), style)
}
