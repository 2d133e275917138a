//! Published latencies as tables: a list of them, and those that may stand beside one's own runs.

use crate::format::{NONE, count, cut, us_f64, us_opt};
use crate::sheet::{Cell, Columns, Sheet};
use rtscope_analysis::reference::{Beside, Own, Reference, Standing};
use rtscope_record::Test;

/// Most characters of a load or tool in a table; `reference show` has all.
const LONGEST: usize = 30;

/// Said wherever published figures stand beside one's own.
pub(crate) const MAGNITUDES: &str =
    "Published figures show orders of magnitude: board, kernel, load, samples and tool are others than yours, as each row says.";

/// A published time in us with the decimals that it has.
pub(crate) fn plain(ns: u64) -> String {
    let text = format!("{}.{:03}", ns / 1000, ns % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A published time in us with the marks of its doubt, or a dash.
pub(crate) fn marked(ns: Option<u64>, is: Standing) -> String {
    let [before, after] = is.marks();
    ns.map_or_else(|| NONE.into(), |ns| format!("{before}{}{after}", plain(ns)))
}

/// What the marks of average and maximum in these rows mean, and of the deviation if it is shown; `None` where there are none.
fn marks(rows: &[Reference], deviation: bool) -> Option<String> {
    let mut used: Vec<Standing> = Vec::new();
    for r in rows {
        let std = r.std.filter(|_| deviation);
        for (value, is) in [(r.avg, r.avg_is), (r.max, r.max_is), (std, r.std_is)] {
            if value.is_some() && is.marks() != ["", ""] && !used.contains(&is) {
                used.push(is);
            }
        }
    }
    let means = |is: &Standing| {
        let what = match is {
            Standing::About => "read off a plot or told in prose",
            Standing::Above => "exceeded by an unknown amount",
            Standing::Censored => "censored: higher samples had been dropped",
            Standing::Disputed => "another source contradicts it",
            Standing::Impossible => "the other printed figures rule it out",
            Standing::Printed | Standing::Bound => "",
        };
        format!("{} {what}", is.marks().concat())
    };
    (!used.is_empty()).then(|| used.iter().map(means).collect::<Vec<_>>().join("; ") + ".")
}

fn space(r: &Reference) -> &'static str {
    r.space.map_or(NONE, |s| s.as_str())
}

/// A row for each published figure.
pub(crate) fn list(rows: &[Reference]) -> Sheet<'_> {
    let columns = Columns::new()
        .whole("id", 0, |r: &Reference| r.id.as_str().into())
        .left("study", 4, |r| cut(&r.study, LONGEST).into())
        .left("test", 0, |r| r.test.as_str().into())
        .left("space", 0, |r| space(r).into())
        .left("figure", 6, |r| r.figure.as_str().into())
        .left("board", 1, |r| cut(&r.board, LONGEST).into())
        .left("kernel", 5, |r| cut(&r.kernel, LONGEST).into())
        .left("RT", 0, |r| if r.rt { "yes" } else { "no" }.into())
        .left("load", 3, |r| cut(&r.load, LONGEST).into())
        .right("min us", 2, |r| marked(r.min, Standing::Printed).into())
        .right("avg us", 0, |r| marked(r.avg, r.avg_is).into())
        .right("max us", 0, |r| Cell::main(marked(r.max, r.max_is)))
        .right("std dev us", 7, |r| marked(r.std, r.std_is).into())
        .left("evidence", 8, |r| r.evidence.as_str().into());
    columns
        .sheet(rows)
        .noted(marks(rows, true))
        .noted(["`rtscope reference show ID` has a row's conditions and caveats.".to_owned()])
}

/// A row of one's own, or of others.
enum Line<'a> {
    Own(&'a Own),
    Published(&'a Reference),
}

impl Line<'_> {
    fn text(&self, own: impl Fn(&Own) -> String, published: impl Fn(&Reference) -> String) -> Cell<'_> {
        match self {
            Self::Own(o) => own(o).into(),
            Self::Published(r) => published(r).into(),
        }
    }
}

/// The title of what stands beside one's own: "Published latencies: timer, user space".
pub(crate) fn title(b: &Beside) -> String {
    let what = if b.test == Test::Periodic { "jitter" } else { "latencies" };
    format!("Published {what}: {}, {} space", b.test, b.space)
}

/// Whether one's own figures may be trusted, and in whose time they are.
pub(crate) fn standing(o: &Own) -> String {
    format!("{}, clock: {}", o.verdict, o.clock)
}

/// One's own runs, then what was published of the same.
pub(crate) fn beside(b: &Beside) -> Sheet<'_> {
    let columns = Columns::new()
        .left("whose", 0, |l: &Line<'_>| match l {
            Line::Own(o) => Cell::main(o.id.as_str()),
            Line::Published(r) => r.id.as_str().into(),
        })
        .left("board", 1, |l| l.text(|o| cut(&o.board, LONGEST), |r| cut(&r.board, LONGEST)))
        .left("kernel", 6, |l| l.text(|o| cut(&o.kernel.release, LONGEST), |r| cut(&r.kernel, LONGEST)))
        .left("RT", 0, |l| l.text(|o| crate::words::preempt_rt(o.kernel.role).into(), |r| if r.rt { "yes" } else { "no" }.into()))
        .right("avg us", 0, |l| l.text(|o| us_f64(o.avg), |r| marked(r.avg, r.avg_is)))
        .right("max us", 0, |l| match l {
            Line::Own(o) => Cell::main(us_opt(o.max)),
            Line::Published(r) => marked(r.max, r.max_is).into(),
        })
        .left("load", 2, |l| l.text(|o| cut(&o.load, LONGEST), |r| cut(&r.load, LONGEST)))
        .left("samples", 3, |l| l.text(|o| count(o.samples), |r| cut(&r.samples, LONGEST)))
        .left("tool", 5, |l| l.text(|o| cut(&o.tool, LONGEST), |r| cut(&r.tool, LONGEST)))
        .left("doubts", 0, |l| l.text(|o| format!("{}, {}", o.verdict, o.clock), |r| r.doubts().join(", ")));
    let lines = b.own.iter().map(Line::Own).chain(b.references.iter().map(Line::Published));
    columns.sheet_of(lines).titled(title(b)).noted(notes(b)).noted(marks(&b.references, false))
}

/// What a reader must know of all rows.
pub(crate) fn notes(b: &Beside) -> Vec<String> {
    let mut notes = vec![MAGNITUDES.to_owned()];
    if b.test == Test::Periodic {
        notes.push("Jitter counts by its amount, early or late; the published has no sign.".into());
    }
    if b.own.iter().any(|o| o.model.is_some()) {
        notes.push("Virtual time follows a model of the lab: it is no board's.".into());
    }
    if b.own.iter().any(|o| o.soft_lines) {
        notes.push("Software lines (soft:) have no pin in between: yours is quicker by what a pin takes.".into());
    }
    if b.own.iter().any(|o| o.missed > 0) {
        notes.push("Your figures are of the samples taken: missed events are in none of them.".into());
    }
    if !b.quotations.is_empty() {
        notes.push(format!("Left out, since the original is here: {}.", b.quotations.join(", ")));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_times_keep_their_decimals() {
        assert_eq!([0, 20, 5_910, 49_000, 258_164, 36_802_000].map(plain), ["0", "0.02", "5.91", "49", "258.164", "36802"]);
        assert_eq!(marked(Some(90_000), Standing::About), "~90");
        assert_eq!(marked(Some(360_000), Standing::Censored), "360*");
        assert_eq!(marked(None, Standing::Disputed), "-");
    }
}
