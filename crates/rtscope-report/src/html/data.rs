//! The charts' data as compact JSON, in the form that web/src/data.ts reads.

use super::explained;
use crate::svg::flame::colour;
use crate::svg::percentile::{Kind, lines};
use rtscope_explain::explained::Explained;
use rtscope_record::text::visible_line;
use rtscope_record::{Distribution, Record};
use serde::Serialize;
use std::borrow::Cow;

#[derive(Serialize)]
struct Series<'a> {
    label: Cow<'a, str>,
    max: Option<u64>,
    res: u64,
    unit: u64,
    /// Its samples are below zero on an axis with a sign: edges that came too early.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    early: bool,
    /// For each non-empty slot: the distance of its lowest value from the previous slot's, then its count.
    bins: Vec<u64>,
}

#[derive(Serialize)]
struct Line {
    label: String,
    kind: &'static str,
    index: usize,
    values: Vec<Option<f64>>,
}

#[derive(Serialize)]
struct Chart<'a> {
    id: &'a str,
    /// What the samples are called: "Latency" or "Jitter".
    quantity: &'static str,
    elapsed: f64,
    series: Vec<Series<'a>>,
    positions: Vec<f64>,
    lines: Vec<Line>,
    worst: Vec<Vec<(f64, f64)>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    flames: Vec<Flame<'a>>,
}

/// The flame chart of an explained sample.
#[derive(Serialize)]
struct Flame<'a> {
    latency: u64,
    shortest: u64,
    names: Vec<Cow<'a, str>>,
    /// Of each frame: row, start and length in ns, index of its name, colour.
    frames: Vec<(u32, u64, u64, u32, usize)>,
}

/// The data of every record's charts.
pub(super) fn charts(records: &[Record], explained: &[Explained]) -> serde_json::Result<String> {
    let charts: Vec<Chart<'_>> = records.iter().map(|r| chart(r, explained)).collect();
    serde_json::to_string(&charts).map(|json| inert(&json))
}

/// Escapes JSON so that it can neither end its script element nor open a comment in it: `<`, `>` and `&` occur only in
/// strings, where an escape means the same. Characters that reorder or hide text, or end a script's line (U+2028), are
/// escaped too.
pub(super) fn inert(json: &str) -> String {
    rtscope_record::text::json(json).replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

fn chart<'a>(record: &'a Record, explained: &'a [Explained]) -> Chart<'a> {
    let (positions, curves) = lines(record);
    let us = |v: u64| v as f64 / 1e3;
    let line = |l: crate::svg::percentile::Line| {
        let (kind, index) = match l.kind {
            Kind::Raw => ("raw", 0),
            Kind::Corrected => ("corrected", 0),
            Kind::One(i) => ("one", i),
        };
        Line { label: visible_line(&l.label).into_owned(), kind, index, values: l.values.iter().map(|v| v.map(us)).collect() }
    };
    Chart {
        id: record.id(),
        quantity: crate::words::samples(record.parts().test),
        elapsed: record.parts().elapsed_ns as f64 / 1e9,
        series: record.distributions().iter().map(series).collect(),
        positions: positions.iter().map(|x| (x * 1e4).round() / 1e4).collect(),
        lines: curves.into_iter().map(line).collect(),
        worst: record
            .distributions()
            .iter()
            .map(|d| d.worst().iter().map(|w| (w.at as f64 / 1e9, us(w.value))).collect())
            .collect(),
        flames: explained::of(record, explained).into_iter().take(explained::CHARTS).map(flame).collect(),
    }
}

fn flame(e: &Explained) -> Flame<'_> {
    let chart = &e.explanation.chart;
    Flame {
        latency: e.explanation.latency,
        shortest: chart.shortest,
        names: chart.names.iter().map(|n| visible_line(n)).collect(),
        frames: chart.frames.iter().map(|f| (f.row, f.start, f.ns, f.name, colour(f.cause))).collect(),
    }
}

fn series(d: &Distribution) -> Series<'_> {
    let p = d.parts();
    // Imported equal-width bins are the original data; the histogram's slots are only derived from them.
    let exact = p.linear.as_ref().filter(|l| p.resolution > 1 && l.total() == d.histogram().total());
    let pairs: Vec<(u64, u64)> = match exact {
        Some(l) => l.counts.iter().map(|&(bin, n)| (bin.saturating_mul(l.unit_ns), n)).collect(),
        None => d.histogram().iter().map(|(low, _, n)| (low, n)).collect(),
    };
    let mut bins = Vec::with_capacity(pairs.len() * 2);
    let mut before = 0;
    for (low, n) in pairs {
        bins.extend([low - before, n]);
        before = low;
    }
    Series {
        label: visible_line(d.label()),
        max: d.max(),
        res: p.resolution,
        unit: exact.map_or(0, |l| l.unit_ns),
        early: d.is_early(),
        bins,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn inert_json_means_the_same_and_has_no_markup(text in any::<String>()) {
            let hostile = format!("{text}</script><!--&amp;");
            let json = inert(&serde_json::to_string(&hostile).unwrap());
            let acts = json.contains(['<', '>', '&', '\u{2028}', '\u{202e}']);
            prop_assert!(!acts);
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), hostile);
        }
    }

    #[test]
    fn bins_are_compact_and_complete() {
        let d = Distribution::from_samples("cpu0", &[5, 5, 7, 3_000_000], 0).unwrap();
        let s = series(&d);
        let slot = d.histogram().iter().next_back().unwrap().0;
        assert_eq!(s.bins, [5, 2, 2, 1, slot - 7, 1]);
    }
}
