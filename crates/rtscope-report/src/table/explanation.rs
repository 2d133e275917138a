//! An explained sample: the answer first, then milestones and tables.

use super::grid;
use super::text::Style;
use crate::sheets::explanation as sheets;
use rtscope_explain::explanation::Explanation;
use rtscope_record::{Distribution, Record, Worst};

/// One sample of a record, explained.
pub fn explanation(record: &Record, d: &Distribution, w: &Worst, e: &Explanation, style: Style) -> String {
    let at = w.at as f64 / 1e9;
    let mut out = format!("{}\n", e.sentence());
    out += &format!(
        "  run {}, {}, at {at:.6} s, {} under load {}\n",
        record.id(),
        d.label(),
        record.parts().target,
        record.parts().load
    );
    let called = e.hold.from.join(" > ");
    out += &format!("  {} began in: {called}\n\n", e.hold.cause);
    for sheet in [
        sheets::milestones(e),
        sheets::shares("cause", &e.causes, e.latency),
        sheets::shares("task", &e.tasks, e.latency),
        sheets::functions(e),
    ] {
        out += &grid::titled(sheet, style);
        out.push('\n');
    }
    out
}
