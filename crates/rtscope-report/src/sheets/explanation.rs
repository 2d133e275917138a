//! An explained sample: its milestones, and its time by cause, task and function.

use crate::format::{clean, us_opt};
use crate::sheet::{Cell, Columns, Sheet};
use rtscope_explain::explained::Explained;
use rtscope_explain::explanation::{Explanation, FunctionShare, Share};
use rtscope_record::Record;

/// Functions that are shown.
const SHOWN: usize = 12;

/// Which sample it is.
pub(crate) fn whose(record: &Record, e: &Explained) -> String {
    let (p, at) = (record.parts(), e.at as f64 / 1e9);
    format!("run {}, {}, at {at:.6} s, {} under load {}", record.id(), e.distribution, p.target, p.load)
}

/// When what happened.
pub(crate) fn milestones(e: &Explanation) -> Sheet<'static> {
    let m = &e.milestones;
    let rows = vec![
        ("timer interrupt", m.interrupt),
        ("thread woken", m.woken),
        ("switch due", m.due),
        ("switched to the thread", m.switched),
        ("in user space", m.user),
        ("clock read", Some(e.latency)),
    ];
    Columns::new()
        .left("milestone", 0, |r: &(&str, Option<u64>)| Cell::from(r.0.to_owned()))
        .right("us after the expiry", 0, |r| us_opt(r.1).into())
        .sheet_of(rows)
}

/// By cause, or by task: `what`.
pub(crate) fn shares<'a>(what: &'a str, all: &'a [Share], latency: u64) -> Sheet<'a> {
    Columns::new()
        .left(what, 0, |s: &Share| clean(&s.name).into())
        .right("us", 0, |s| us_opt(Some(s.ns)).into())
        .right("%", 0, move |s| percent(s.ns, latency).into())
        .sheet(all)
}

/// The functions that took most themselves.
pub(crate) fn functions(e: &Explanation) -> Sheet<'_> {
    let latency = e.latency;
    Columns::new()
        .left("function", 0, |f: &FunctionShare| clean(&f.name).into())
        .right("itself us", 0, |f| us_opt(Some(f.own)).into())
        .right("%", 0, move |f| percent(f.own, latency).into())
        .right("with all above it us", 0, |f| us_opt(Some(f.total)).into())
        .sheet(&e.functions[..e.functions.len().min(SHOWN)])
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1}", part as f64 * 100.0 / whole.max(1) as f64)
}
