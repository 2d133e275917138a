//! An explained sample: the answer first, then milestones and tables.

use super::grid;
use super::text::Style;
use crate::format::{clean, us_whole};
use crate::sheets::explanation as sheets;
use rtscope_explain::explained::Explained;
use rtscope_explain::groups::Group;
use rtscope_record::Record;

/// One sample of a record, explained.
pub fn explanation(record: &Record, explained: &Explained, style: Style) -> String {
    let e = &explained.explanation;
    let mut out = format!("{}\n  {}\n", clean(&explained.sentence), clean(&sheets::whose(record, explained)));
    let called = clean(&e.hold.from.join(" > "));
    out += &format!("  {} began in: {called}\n", e.hold.cause);
    let u = e.unwinder;
    if u.compared > 0 {
        out += &format!("  of {} stacks held against the kernel's unwinder {} agree\n\n", u.compared, u.agreed);
    }
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

/// Which sample it is, in words.
pub fn explanation_whose(record: &Record, e: &Explained) -> String {
    sheets::whose(record, e)
}

/// What several samples were, each kind once: "14 of 20: softirq: network receive, up to 33.28 us".
pub fn explanation_groups(groups: &[Group]) -> String {
    let all: usize = groups.iter().map(|g| g.samples).sum();
    let line = |g: &Group| format!("{} of {all}: {}, up to {} us\n", g.samples, clean(&g.what), us_whole(g.highest));
    groups.iter().map(line).collect()
}
