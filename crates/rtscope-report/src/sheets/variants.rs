//! Kernels beside each other: figures of each under each load, and what it changes against the base.

use super::replicates::amount;
use crate::format::{NONE, clean, count, us_f64, us_opt};
use crate::sheet::{Cell, Columns, Mark, Sheet};
use rtscope_analysis::replicates::Word;
use rtscope_analysis::versus::{Variant, VariantsAt};

/// What the tables are called where something was set, and where nothing was.
pub(crate) const SETTINGS: &str = "What each setting changes";
pub(crate) const KERNELS: &str = "Kernels beside each other";

/// Said below the tables.
pub(crate) const NOTE: &str = "Ratios are of whole runs, each kernel over the base, with their interval; below 1 is better. All intervals hold together at 95 %. A word says \
better or worse only where the interval also lies beyond the base's own noise. Maximum and missed are of all runs together.";

/// A row for each kernel under each load.
pub(crate) fn variants(p: &VariantsAt) -> Sheet<'_> {
    let change = |v: &Variant, metric: &str| {
        let row = v.runs.as_ref().and_then(|r| r.rows.iter().find(|r| r.metric == metric));
        let Some(d) = row.map(|r| &r.difference) else { return if v.runs.is_none() { "base".into() } else { Cell::none() } };
        let range =
            d.interval.map_or_else(String::new, |[low, high]| format!(" ({} to {})", amount(d.scale, low), amount(d.scale, high)));
        let (word, mark) = match d.word {
            Word::Better => (" better", Mark::Good),
            Word::Worse => (" worse", Mark::Bad),
            Word::NoDifference => (" =", Mark::Quiet),
            Word::TooFew { .. } => (" too few runs", Mark::Doubtful),
        };
        Cell::marked(format!("{}{range}{word}", amount(d.scale, d.estimate)), mark)
    };
    let columns = Columns::new()
        .left("load", 0, |v: &Variant| clean(&v.load).into())
        .left("kernel", 0, |v| clean(&v.kernel.label).into())
        .left("preemption", 3, |v| clean(&v.kernel.preemption).into())
        .right("runs", 4, |v| count(v.figures.runs as u64).into())
        .right("mean us", 1, |v| us_f64(v.figures.mean).into())
        .right("p99.9 us", 1, |v| us_opt(v.figures.p99_9).into())
        .right("max us", 0, |v| Cell::main(us_opt(v.figures.max)))
        .right("missed", 2, |v| Cell::trouble(v.figures.missed))
        .right("mean/base", 2, move |v| change(v, "mean"))
        .right("p99.9/base", 0, move |v| change(v, "p99.9"))
        .right("block max/base", 4, move |v| change(v, "block-max"))
        .whole("verdict", 5, |v| Cell::verdict(v.figures.verdict));
    let place = [p.what.as_str(), p.machine.as_str(), p.arch.as_str(), p.clock_words.as_str()];
    let place: Vec<String> = place.iter().filter(|t| !t.is_empty()).map(|t| clean(t)).collect();
    let place = if place.is_empty() { NONE.to_owned() } else { place.join(" · ") };
    columns.sheet(&p.rows).titled(format!("Kernels against {}", clean(&p.base.label))).about(format!(" · {place}"))
}
