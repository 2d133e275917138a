//! Comparison of two selections: a table for each load, and one run as measured by two instruments.

use crate::format::{NONE, count, us};
use crate::sheet::{Cell, Columns, Sheet};
use crate::words::{mean, min_max, samples};
use rtscope_analysis::Agreement;
use rtscope_analysis::agreement::{EdgeAgreement, How, Offset};
use rtscope_analysis::compare::{LoadRows, MetricRow, Unit};
use rtscope_analysis::line_tests::EdgeFigures;

fn figure(row: &MetricRow, value: Option<f64>) -> String {
    match (value, row.unit) {
        (None, _) => NONE.into(),
        (Some(v), Unit::Ns) => us(v),
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a count that was a u64
        (Some(v), Unit::Count) => count(v as u64),
    }
}

fn ratio(row: &MetricRow) -> String {
    row.ratio.map_or_else(|| NONE.into(), |r| if r < 1000.0 { format!("{r:.3}") } else { format!("{r:.0}") })
}

fn metric(row: &MetricRow) -> String {
    if row.unit == Unit::Ns { format!("{} us", row.metric) } else { row.metric.clone() }
}

/// Every metric of both sides under one load.
pub(crate) fn metrics(l: &LoadRows) -> Sheet<'_> {
    let runs = |n: usize| if n == 1 { "1 run".to_owned() } else { format!("{n} runs") };
    let model = l.model.map_or_else(String::new, |m| format!(", time model {m}"));
    let columns = Columns::new()
        .left("metric", 0, |r: &MetricRow| metric(r).into())
        .right("A", 0, |r| figure(r, r.a).into())
        .right("B", 0, |r| figure(r, r.b).into())
        .right("B/A", 0, |r| Cell::main(ratio(r)));
    let about = format!(" (A {}, B {}{model})", runs(l.a_runs), runs(l.b_runs));
    columns.sheet(&l.rows).titled(format!("load {}", l.load)).about(about)
}

type Side = fn(&EdgeAgreement) -> &EdgeFigures;

/// One run as measured by two instruments: the figures of both for each edge, and their offset.
pub(crate) fn agreement(a: &Agreement) -> Sheet<'_> {
    let test = a.test;
    let signed = |ns: f64| format!("{:+.3}", ns / 1e3);
    let stddev = |o: &Offset| match o.stddev {
        None => NONE.into(),
        Some([low, high]) if low.to_bits() == high.to_bits() => format!("{:.3}", low / 1e3),
        Some([low, high]) => format!("{:.3} to {:.3}", low / 1e3, high / 1e3),
    };
    let mut columns = Columns::new().left("edge", 0, |e: &EdgeAgreement| e.edge.as_str().into());
    let sides: [(&str, Side); 2] = [("A, us", |e| &e.a), ("B, us", |e| &e.b)];
    for (name, of) in sides {
        columns = columns
            .group(name)
            .right("min/max", 1, move |e| min_max(test, of(e)).into())
            .right("mean", 0, move |e| mean(test, of(e).mean).into())
            .right("samples", 2, move |e| count(of(e).samples).into());
    }
    let offset = |e: &EdgeAgreement, text: &dyn Fn(&Offset) -> String| e.offset.as_ref().map_or_else(|| NONE.into(), text);
    let columns = columns
        .group("B minus A, us")
        .right("offset", 0, move |e| offset(e, &|o| signed(o.mean)).into())
        .right("median", 0, move |e| offset(e, &|o| signed(o.median)).into())
        .right("std dev", 0, move |e| offset(e, &|o| stddev(o)).into())
        .right("range", 0, move |e| offset(e, &|o| format!("{} to {}", signed(o.range[0]), signed(o.range[1]))).into());
    let title = format!("{} of both, and B minus A", samples(test));
    columns.sheet(&a.edges).titled(title).noted([how(a)])
}

/// How the offsets of an agreement were found, in words.
fn how(a: &Agreement) -> String {
    let Some(o) = a.edges.first().and_then(|e| e.offset.as_ref()) else { return "no samples on one side.".into() };
    match o.how {
        How::Pairs => format!(
            "Pulse by pulse: {} pairs, {} of A and {} of B alone. Range: lowest and highest difference of a pair.",
            count(o.pairs),
            count(o.alone[0]),
            count(o.alone[1])
        ),
        How::Distributions => format!(
            "By the distributions, not pulse by pulse: {}. The offset is the difference of the means, the range that of the percentiles 1 to 99; \
             the standard deviation of the differences lies between the two figures.",
            o.why
        ),
    }
}
