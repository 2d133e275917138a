//! A paper's tables with one's own runs beside the published figures, and its claims.

use super::reference::marked;
use crate::format::{NONE, clean, count, cut, us_f64, us_opt};
use crate::sheet::{Cell, Columns, Mark, Sheet};
use crate::words::{mean, signed_us};
use rtscope_analysis::papers::{Answer, Claim, Held, PaperRow, Papers, Pooled, Table};
use rtscope_analysis::reference::Standing;
use rtscope_record::Test;

/// Most characters of what a row is of.
const LONGEST: usize = 60;

/// Said below every paper's tables.
pub(crate) const NOTE: &str = "Yours are marked >. A published figure shows an order of magnitude: what differs is listed above each paper's tables. Of a jitter yours \
has a sign, early below zero. In every run that share of your samples is at or below the time in the column `below`. Marks of published figures: ~ read off a plot, > exceeded, * censored, ? disputed, ! impossible; \
`rtscope reference show ID` has each row's source and caveats.";

/// A table; each condition with its published rows first. One's own figures of a jitter have their sign.
pub(crate) fn table(t: &Table) -> Sheet<'_> {
    let test = |r: &PaperRow| r.published.as_ref().map_or(Test::Timer, |p| p.test);
    let signed = t.rows.iter().any(|r| test(r) == Test::Periodic);
    let own_test = if signed { Test::Periodic } else { Test::Response };
    let shares = t.rows.iter().any(|r| r.published.as_ref().is_some_and(|p| p.below.is_some()));
    let columns = Columns::new()
        .left("condition", 0, |r: &PaperRow| clean(&r.condition).into())
        .left("of", 0, |r| {
            let name = cut(&clean(&r.of), LONGEST);
            if r.own.is_some() { Cell::main(format!("> {name}")) } else { Cell::marked(name, Mark::Quiet) }
        })
        .right("min us", 1, move |r| both(r, |p| marked(p.min, Standing::Printed), |o| signed_us(own_test, o.min)))
        .right("mean us", 0, move |r| both(r, |p| marked(p.avg, p.avg_is), |o| mean(own_test, o.mean)))
        .right("max us", 0, move |r| both(r, |p| marked(p.max, p.max_is), |o| signed_us(own_test, o.max)))
        .right("std dev us", 1, move |r| both(r, |p| marked(p.std, p.std_is), |o| us_f64(o.stddev)))
        .when(shares, |c| c.left("below us", 0, |r| both(r, |p| p.below.clone().unwrap_or_else(|| NONE.into()), below)))
        .right("runs", 4, |r| r.own.as_ref().map_or_else(Cell::none, |o| count(o.runs as u64).into()))
        .right("samples", 2, |r| both(r, |p| cut(&p.samples, 24), |o| count(o.samples)))
        .right("missed", 0, |r| r.own.as_ref().map_or_else(Cell::none, |o| Cell::trouble(o.missed)))
        .whole("verdict", 3, |r| r.own.as_ref().map_or_else(Cell::none, |o| Cell::verdict(o.verdict)));
    columns.sheet(&t.rows).titled(t.title.clone())
}

/// The times at or below which 90 % and 95 % of the samples of every run are.
fn below(o: &Pooled) -> String {
    let of = |share: &str, ns: Option<u64>| ns.map(|ns| format!("{share} %: {}", us_opt(Some(ns))));
    let both: Vec<String> = [of("90", o.p90), of("95", o.p95)].into_iter().flatten().collect();
    if both.is_empty() { NONE.into() } else { both.join(", ") }
}

fn both(
    r: &PaperRow,
    published: impl Fn(&rtscope_analysis::reference::Reference) -> String,
    own: impl Fn(&Pooled) -> String,
) -> Cell<'_> {
    match (&r.own, &r.published) {
        (Some(o), _) => Cell::main(own(o)),
        (None, Some(p)) => Cell::marked(published(p), Mark::Quiet),
        (None, None) => Cell::none(),
    }
}

fn mark(answer: Answer) -> Mark {
    match answer {
        Answer::Confirmed => Mark::Good,
        Answer::Contradicted => Mark::Bad,
        Answer::NotEnoughData => Mark::Doubtful,
    }
}

/// A row for each claim.
pub(crate) fn claims(all: &[Claim]) -> Sheet<'_> {
    let tally = |c: &Claim, answer: Answer| c.held.iter().filter(|h| h.answer == answer).count() as u64;
    let columns = Columns::new()
        .left("paper", 0, |c: &Claim| c.paper.as_str().into())
        .left("claim", 0, |c| c.id.into())
        .left("answer", 0, |c| Cell::marked(c.answer.as_str(), mark(c.answer)))
        .right("comparisons", 0, |c| count(c.held.len() as u64).into())
        .right("confirm", 0, move |c| count(tally(c, Answer::Confirmed)).into())
        .right("contradict", 0, move |c| Cell::trouble(tally(c, Answer::Contradicted)))
        .right("open", 0, move |c| Cell::trouble(tally(c, Answer::NotEnoughData)))
        .right("ratios", 0, |c| ratios(c).into())
        .left("runs", 1, |c| c.held.iter().map(|h| h.verdict).max().map_or_else(Cell::none, Cell::verdict));
    columns.sheet(all).titled("Claims").about(" (each confirmed only if every comparison confirms it; contradicted if any does)")
}

/// The lowest and the highest ratio of a claim's comparisons.
fn ratios(c: &Claim) -> String {
    let all: Vec<f64> = c.held.iter().filter_map(|h| h.ratio).collect();
    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
    match all.iter().copied().reduce(f64::max) {
        None => NONE.into(),
        Some(high) if all.len() == 1 => ratio(high),
        Some(high) => format!("{} to {}", ratio(low), ratio(high)),
    }
}

fn ratio(v: f64) -> String {
    if v < 100.0 { format!("{v:.3}") } else { format!("{v:.0}") }
}

/// Of which runs the figures are, and which do not count.
pub(crate) fn runs(p: &Papers) -> String {
    let out = match p.left_out {
        0 => String::new(),
        1 => "; 1 run does not count: INVALID or interrupted".into(),
        n => format!("; {n} runs do not count: INVALID or interrupted"),
    };
    format!("Fingerprint of all figures of the {} runs: {}{out}", p.runs, p.fingerprint)
}

/// The comparisons of a claim.
pub(crate) fn held(c: &Claim) -> Sheet<'_> {
    // A claim may hold times beside figures without a unit: then the times have theirs in the row.
    let times = c.held.iter().all(|h| !h.unit.is_empty());
    let side = move |h: &Held, i: usize| {
        let figure = match h.figures {
            None => NONE.into(),
            Some(f) if h.unit.is_empty() => ratio(f[i]),
            Some(f) if times => us_f64(Some(f[i])),
            Some(f) => format!("{} us", us_f64(Some(f[i]))),
        };
        format!("{figure} ({})", h.runs[i])
    };
    let unit = if times { " us" } else { "" };
    let names = c.held.first().map_or_else(|| [String::from("A"), String::from("B")], |h| h.sides.clone());
    let [a, b] = names;
    let columns = Columns::new()
        .left("comparison", 0, |h: &Held| clean(&h.of).into())
        .right(format!("{a}{unit} (runs)"), 1, move |h| side(h, 0).into())
        .right(format!("{b}{unit} (runs)"), 1, move |h| side(h, 1).into())
        .right("ratio", 0, |h| Cell::main(h.ratio.map_or_else(|| NONE.into(), ratio)))
        .right("interval", 0, |h| {
            h.interval.map_or_else(|| NONE.into(), |[low, high]| format!("{} to {}", ratio(low), ratio(high))).into()
        })
        .left("answer", 0, |h| Cell::marked(h.answer.as_str(), mark(h.answer)))
        .whole("verdict", 3, |h| Cell::verdict(h.verdict))
        .left("", 2, |h| clean(&h.why).into());
    columns.sheet(&c.held).titled(c.id).about(format!(": {}. {}: {}", c.says, c.paper, c.test))
}
