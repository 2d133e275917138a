//! An explained sample: the answer first, then milestones and tables.

use super::grid;
use super::text::Style;
use crate::format::{clean, us_whole};
use crate::sheets::explanation as sheets;
use rtscope_explain::explained::Explained;
use rtscope_explain::explanation::{Explanation, Share};
use rtscope_explain::groups::SampleGroup;
use rtscope_record::Record;

/// One sample of a record, explained.
pub fn explanation(record: &Record, explained: &Explained, style: Style) -> String {
    let e = &explained.explanation;
    let mut out = format!("{}\n  {}\n", clean(&explained.sentence), clean(&sheets::whose(record, explained)));
    let called = clean(&e.hold.from.join(" > "));
    if !called.is_empty() {
        out += &format!("  {} began in: {called}\n", e.hold.cause);
    }
    if let Some(means) = e.traced {
        out += &format!("  read from the kernel's trace, taken with {}: its times are whole us\n\n", means.words());
    }
    let u = e.unwinder;
    if u.compared > 0 {
        out += &format!("  of {} stacks held against the kernel's unwinder {} agree\n\n", u.compared, u.agreed);
    }
    for sheet in sheets::of(e) {
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
pub fn explanation_groups(groups: &[SampleGroup]) -> String {
    let all: usize = groups.iter().map(|g| g.samples).sum();
    let line = |g: &SampleGroup| format!("{} of {all}: {}, up to {} us\n", g.samples, clean(&g.what), us_whole(g.highest));
    groups.iter().map(line).collect()
}

/// The samples of two runs at the same grid point: what each was, and the time by cause and function side by side.
pub fn explanations(two: [(&Record, &Explained); 2], style: Style) -> String {
    let mut out = String::new();
    for (name, (record, e)) in ["A", "B"].iter().zip(two) {
        out += &format!("{name}: {}\n   {}\n", clean(&e.sentence), clean(&sheets::whose(record, e)));
    }
    out.push('\n');
    let [a, b] = two.map(|(_, e)| &e.explanation);
    let function = |e: &Explanation| e.functions.iter().map(|f| (f.name.clone(), f.own)).collect::<Vec<_>>();
    let share = |all: &[Share]| all.iter().map(|s| (s.name.clone(), s.ns)).collect::<Vec<_>>();
    for (what, a, b) in [("cause", share(&a.causes), share(&b.causes)), ("function itself", function(a), function(b))] {
        out += &grid::titled(sheets::side_by_side(what, &a, &b), style);
        out.push('\n');
    }
    out
}
