//! Whole runs as replicates: each figure of both sides, its ratio with an interval, and a word.

use crate::format::{NONE, clean, count, us};
use crate::sheet::{Cell, Columns, Mark, Sheet};
use rtscope_analysis::replicates::{LoadRuns, RunRow, Scale, Word};

/// Most maxima that are listed of a side.
const LISTED: usize = 20;

/// What a word says.
pub(crate) fn word(w: Word) -> String {
    match w {
        Word::Better => "better".into(),
        Word::Worse => "worse".into(),
        Word::NoDifference => "no difference shown".into(),
        Word::TooFew { runs } => format!("too few runs: take {runs} a side"),
    }
}

/// A ratio, or a difference in us with its sign.
pub(crate) fn amount(scale: Scale, v: f64) -> String {
    match scale {
        Scale::Ratio if v < 1_000.0 => format!("{v:.3}"),
        Scale::Ratio => format!("{v:.0}"),
        Scale::Difference => format!("{:+.3} us", v / 1e3),
    }
}

fn range(scale: Scale, ends: Option<[f64; 2]>) -> String {
    ends.map_or_else(|| NONE.into(), |[low, high]| format!("{} to {}", amount(scale, low), amount(scale, high)))
}

/// A metric's name, with the length of the blocks.
pub(crate) fn metric(l: &LoadRuns, r: &RunRow) -> String {
    match l.block_ns.filter(|_| r.metric == "block-max") {
        Some(ns) => format!("max of {}", rtscope_record::Nanos(ns)),
        None => r.metric.into(),
    }
}

fn paint(r: &RunRow) -> Cell<'_> {
    match r.difference.word {
        Word::Better => Cell::marked("better", Mark::Good),
        Word::Worse => Cell::marked("worse", Mark::Bad),
        other => Cell::marked(word(other), Mark::Quiet),
    }
}

/// The runs under one load. `names`: of the sides.
pub(crate) fn replicates<'a>(l: &'a LoadRuns, [a, b]: [&'a str; 2]) -> Sheet<'a> {
    let model = l.model.map_or_else(String::new, |m| format!(", time model {m}"));
    let runs = |name: &str, i: usize| {
        let out = [(l.invalid[i], "INVALID"), (l.again[i], "the same again")].into_iter().filter(|(n, _)| *n > 0);
        let out: Vec<String> = out.map(|(n, why)| format!("{n} {why}")).collect();
        let without = if out.is_empty() { String::new() } else { format!(" without {}", out.join(" and ")) };
        let of = if l.of[i] > 1000 { format!(" of {}", count(l.of[i] as u64)) } else { String::new() };
        format!("{name} {}{of} {}{without}", count(l.runs[i] as u64), if l.runs[i] == 1 { "run" } else { "runs" })
    };
    let columns = Columns::new()
        .left("of each run", 0, |r: &RunRow| format!("{} us", metric(l, r)).into())
        .right(a, 1, |r| us(r.difference.a).into())
        .right(b, 1, |r| us(r.difference.b).into())
        .right(format!("{b}/{a}"), 0, |r| Cell::main(amount(r.difference.scale, r.difference.estimate)))
        .right("interval", 0, |r| range(r.difference.scale, r.difference.interval).into())
        .right(format!("{a}/{a}"), 2, |r| range(r.difference.scale, r.difference.noise).into())
        .right("delta", 3, |r| format!("{:+.2}", r.difference.delta).into())
        .right("20 % takes", 4, |r| r.difference.runs_for_20_percent.map_or_else(|| NONE.into(), |n| format!("{n} runs")).into())
        .left(format!("{b} is"), 0, paint);
    let all = if l.corrected { "of all events" } else { "of the samples" };
    let about = format!(" ({}, {}{model}; {all})", runs(a, 0), runs(b, 1));
    let mut notes = Vec::new();
    if l.identical {
        notes.push(format!("{a} and {b} are the same to the last bit, seed by seed."));
    }
    if l.maxima.iter().any(|side| !side.is_empty()) {
        notes.push(format!("Maximum of each run, us: {a} {}; {b} {}.", list(&l.maxima[0]), list(&l.maxima[1])));
    }
    columns.sheet(&l.rows).titled(format!("Whole runs, load {}", clean(&l.load))).about(about).noted(notes)
}

fn list(ns: &[f64]) -> String {
    let shown: Vec<String> = ns.iter().take(LISTED).map(|v| us(*v)).collect();
    let more = ns.len().saturating_sub(LISTED);
    match (shown.len(), more) {
        (0, _) => NONE.into(),
        (_, 0) => shown.join(", "),
        _ => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Whether there is an interval to show.
pub(crate) fn shown(l: &LoadRuns) -> bool {
    l.rows.iter().any(|r| r.difference.interval.is_some())
}

/// What is to be read of these tables, for all loads at once.
pub(crate) fn legend(all: &[LoadRuns], [a, b]: [&str; 2]) -> Option<String> {
    let first = all.iter().find(|l| shown(l))?;
    let percent = |v: f64| {
        let text = format!("{:.2}", v * 100.0);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    Some(format!(
        "Lower is better. All intervals hold together at {} % (each at {} %; seed {}). {a}/{a} is the middle half of {a} against itself; {b} is better or worse \
         only if the interval lies beyond that and beyond 1. Delta: how often a run of {b} is above one of {a}, less how often below. 20 % takes: runs a side that show a \
         difference of 20 % in nine of ten cases.",
        percent(first.confidence),
        percent(first.each),
        first.seed
    ))
}

/// Loads of which there are too few runs for any interval, in a sentence.
pub(crate) fn too_few(all: &[LoadRuns]) -> Option<String> {
    let few: Vec<&LoadRuns> = all.iter().filter(|l| !l.rows.is_empty() && !shown(l)).collect();
    let most = few.iter().flat_map(|l| &l.rows).filter_map(|r| match r.difference.word {
        Word::TooFew { runs } => Some(runs),
        _ => None,
    });
    let runs = most.max()?;
    let loads: Vec<String> = few.iter().map(|l| clean(&l.load)).collect();
    Some(format!("Too few runs under {} to tell a difference from chance: take {runs} a side.", loads.join(", ")))
}
