//! An explained sample: its milestones, and its time by cause, task and function.

use crate::format::{clean, us_opt};
use crate::sheet::{Cell, Columns, Sheet};
use rtscope_explain::explained::Explained;
use rtscope_explain::explanation::{Explanation, FunctionShare, Share};
use rtscope_explain::path::Path;
use rtscope_record::Record;
use std::collections::BTreeMap;

/// Functions that are shown.
const SHOWN: usize = 12;

/// Which sample it is.
pub(crate) fn whose(record: &Record, e: &Explained) -> String {
    let (p, at) = (record.parts(), e.at as f64 / 1e9);
    format!("run {}, {}, at {at:.6} s, {} under load {}", record.id(), e.distribution, p.target, p.load)
}

/// All tables of a sample.
pub(crate) fn of(e: &Explanation) -> [Sheet<'_>; 4] {
    [milestones(e), shares("cause", &e.causes, e.latency), shares("task", &e.tasks, e.latency), functions(e)]
}

/// When what happened.
fn milestones(e: &Explanation) -> Sheet<'static> {
    let m = &e.milestones;
    let is_thread = e.path == Path::WakeUp;
    let task = e.path.task();
    let called = if e.path == Path::Answer { "handler called" } else { "callback called" };
    // Of a thread's wake-up also what was not seen.
    let rows = [
        (is_thread, "timer interrupt".to_owned(), m.interrupt),
        (false, "stimulus driven".to_owned(), m.driven),
        (is_thread, format!("{task} woken"), m.woken),
        (is_thread, "switch due".to_owned(), m.due),
        (is_thread, format!("switched to the {task}"), m.switched),
        (is_thread, "in user space".to_owned(), m.user),
        (false, called.to_owned(), m.called),
        (true, e.path.ends().to_owned(), Some(e.latency)),
    ];
    let rows: Vec<_> = rows.into_iter().filter(|(always, _, at)| *always || at.is_some()).map(|(_, name, at)| (name, at)).collect();
    let since = match e.path {
        Path::WakeUp | Path::Callback => "us after the expiry",
        Path::Answer => "us after the stimulus",
        Path::Edge => "us after the grid point",
    };
    Columns::new()
        .left("milestone", 0, |r: &(String, Option<u64>)| Cell::from(r.0.clone()))
        .right(since, 0, |r| us_opt(r.1).into())
        .sheet_of(rows)
}

/// By cause, or by task: `what`.
fn shares<'a>(what: &'a str, all: &'a [Share], latency: u64) -> Sheet<'a> {
    Columns::new()
        .left(what, 0, |s: &Share| clean(&s.name).into())
        .right("us", 0, |s| us_opt(Some(s.ns)).into())
        .right("%", 0, move |s| percent(s.ns, latency).into())
        .sheet(all)
}

/// The functions that took most themselves.
fn functions(e: &Explanation) -> Sheet<'_> {
    let latency = e.latency;
    Columns::new()
        .left("function", 0, |f: &FunctionShare| clean(&f.name).into())
        .right("itself us", 0, |f| us_opt(Some(f.own)).into())
        .right("%", 0, move |f| percent(f.own, latency).into())
        .right("with all above it us", 0, |f| us_opt(Some(f.total)).into())
        .sheet(&e.functions[..e.functions.len().min(SHOWN)])
}

/// Times of A and B by name, the longest of either first.
pub(crate) fn side_by_side<'a>(what: &'a str, a: &[(String, u64)], b: &[(String, u64)]) -> Sheet<'a> {
    let mut all: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    for (side, times) in [a, b].into_iter().enumerate() {
        for (name, ns) in times {
            all.entry(name).or_default()[side] += ns;
        }
    }
    let mut rows: Vec<(String, [u64; 2])> = all.into_iter().map(|(name, ns)| (name.to_owned(), ns)).collect();
    rows.sort_by_key(|(_, ns)| std::cmp::Reverse(ns.iter().max().copied()));
    rows.truncate(SHOWN);
    Columns::new()
        .left(what, 0, |r: &(String, [u64; 2])| clean(&r.0).into())
        .right("A us", 0, |r| us_opt(Some(r.1[0])).into())
        .right("B us", 0, |r| us_opt(Some(r.1[1])).into())
        .sheet_of(rows)
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1}", part as f64 * 100.0 / whole.max(1) as f64)
}
