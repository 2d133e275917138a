//! Stock kernels against PREEMPT_RT: for each load the figures of both and stock/RT, and the maxima over the lab's seeds.

use crate::format::{NONE, times, us_f64, us_opt};
use crate::sheet::{Cell, Columns, Mark, Sheet};
use rtscope_analysis::Seeds;
use rtscope_analysis::versus::{Figures, KernelPair, LoadFigures, Ratios};
use rtscope_record::{Clock, Verdict};

fn of(l: &LoadFigures, kernel: usize) -> Option<&Figures> {
    l.figures.get(kernel)?.as_ref()
}

/// A figure of kernel `i`, marked if its run is INVALID.
fn figure(l: &LoadFigures, i: usize, text: impl Fn(Option<&Figures>) -> String) -> Cell<'static> {
    let f = of(l, i);
    Cell::marked_if(f.is_some_and(|f| f.verdict == Verdict::Invalid), text(f), Mark::Invalid)
}

fn ratio(l: &LoadFigures, f: impl Fn(&Ratios) -> Option<f64>) -> Cell<'static> {
    times(l.ratios.as_ref().and_then(f)).into()
}

/// The figures of the kernels next to each other, load by load.
pub(crate) fn loads(b: &KernelPair) -> Sheet<'_> {
    let mut columns = Columns::new().left("load", 0, |l: &LoadFigures| l.load.as_str().into()).least(Some(super::LOAD));
    for (i, k) in b.kernels.iter().enumerate() {
        columns = columns
            .kernel(k.role)
            .right("mean", 3, move |l| figure(l, i, |f| us_f64(f.and_then(|f| f.mean))))
            .right("p99", 4, move |l| figure(l, i, |f| us_opt(f.and_then(|f| f.p99))))
            .right("p99.9", 1, move |l| figure(l, i, |f| us_opt(f.and_then(|f| f.p99_9))))
            .right("p99.99", 7, move |l| figure(l, i, |f| us_opt(f.and_then(|f| f.p99_99))))
            .right("max", 0, move |l| match figure(l, i, |f| us_opt(f.and_then(|f| f.max))) {
                max if max.mark.is_some() => max,
                max => Cell::main(max.text),
            })
            .when(misses(b, i), |c| c.right("missed", 0, move |l| of(l, i).map_or_else(Cell::none, |f| Cell::trouble(f.missed))));
    }
    let clock = short_clock(b);
    let columns = columns
        .group("stock/RT")
        .when(b.is_pair(), |c| {
            c.right("mean", 5, |l| ratio(l, |r| r.mean))
                .right("p99", 6, |l| ratio(l, |r| r.p99))
                .right("p99.9", 2, |l| ratio(l, |r| r.p99_9))
                .right("p99.99", 8, |l| ratio(l, |r| r.p99_99))
                .right("max", 0, |l| Cell { mark: Some(Mark::Ratio), ..ratio(l, |r| r.max) })
        })
        .group("")
        .whole("verdict", 0, |l| verdict(b, l))
        .whole("clock", 0, move |_| Cell::clock(clock.clone(), b.virtual_machine));
    columns.sheet(&b.loads).titled(format!("Latency in us of {} time, by load", b.clock))
}

/// The worst verdict of the kernels under a load, and whose it is if they differ.
fn verdict(b: &KernelPair, l: &LoadFigures) -> Cell<'static> {
    let each: Vec<(&str, Verdict)> =
        b.kernels.iter().zip(&l.figures).filter_map(|(k, f)| Some((k.role.as_str(), f.as_ref()?.verdict))).collect();
    let worst = each.iter().map(|e| e.1).max().unwrap_or(Verdict::Invalid);
    let whose: Vec<&str> = each.iter().filter(|e| e.1 == worst).map(|e| e.0).collect();
    let text = if whose.len() == each.len() { worst.to_string() } else { format!("{worst} ({})", whose.join(", ")) };
    Cell::marked(text, Mark::Verdict(worst))
}

/// The clock of a block's figures, short enough for a column: virtual time with its model, where known.
fn short_clock(b: &KernelPair) -> String {
    match b.clock {
        Clock::Virtual if b.clock_words.contains(", model") => {
            format!("virtual{}", b.model.map_or_else(String::new, |m| format!(", model {m}")))
        }
        Clock::Virtual => "virtual".into(),
        Clock::Host => b.clock_words.clone(),
    }
}

/// Whether kernel `i` of a block missed an event under any load.
fn misses(b: &KernelPair, i: usize) -> bool {
    b.loads.iter().filter_map(|l| of(l, i)).any(|f| f.missed > 0)
}

/// The maxima of the kernels over the seeds, and the ratio of their medians; `None` where no kernel has more than one
/// seed.
pub(crate) fn seeds(b: &KernelPair) -> Option<Sheet<'_>> {
    let seeds = |l: &LoadFigures, i: usize| of(l, i).and_then(|f| f.seeds);
    if !b.loads.iter().flat_map(|l| &l.figures).flatten().any(|f| f.seeds.is_some_and(|s| s.seeds > 1)) {
        return None;
    }
    let us = move |l: &LoadFigures, i: usize, f: fn(Seeds) -> u64| us_opt(seeds(l, i).map(f));
    let mut columns = Columns::new().left("max over seeds", 0, |l: &LoadFigures| l.load.as_str().into());
    for (i, k) in b.kernels.iter().enumerate() {
        columns = columns
            .kernel(k.role)
            .right("seeds", 1, move |l| seeds(l, i).map_or_else(|| NONE.into(), |s| s.seeds.to_string()).into())
            .right("lowest", 2, move |l| us(l, i, |s| s.lowest).into())
            .right("median", 0, move |l| us(l, i, |s| s.median).into())
            .right("highest", 0, move |l| Cell::main(us(l, i, |s| s.highest)));
    }
    let columns = columns.group("stock/RT").when(b.is_pair(), |c| {
        c.right("of medians", 0, move |l| {
            let both = seeds(l, 0).zip(seeds(l, 1)).filter(|(_, rt)| l.ratios.is_some() && rt.median > 0);
            times(both.map(|(stock, rt)| stock.median as f64 / rt.median as f64)).into()
        })
    });
    Some(columns.sheet(&b.loads).titled("Maxima over seeds"))
}
