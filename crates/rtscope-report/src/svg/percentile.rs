//! The percentile chart: 1/(1-q) across on a logarithmic axis, latency up, raw and corrected.

use super::draw::{Canvas, Key, Range, linear_ticks, log_ticks, polyline, series_class};
use super::latency::{subtitle, title};
use super::style::Use;
use crate::curve::{curve, positions};
use crate::format::{nines, us};
use crate::words::samples;
use rtscope_record::correction::Corrected;
use rtscope_record::{Distribution, Record, Test};

/// One line of the chart.
pub(crate) struct Line {
    pub(crate) label: String,
    pub(crate) kind: Kind,
    /// Latency in ns at each of the chart's positions.
    pub(crate) values: Vec<Option<u64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One distribution, by index.
    One(usize),
    /// All samples.
    Raw,
    /// All events, including those that gave no sample.
    Corrected,
}

/// Positions and lines of a record's chart; no lines without samples.
pub(crate) fn lines(record: &Record) -> (Vec<f64>, Vec<Line>) {
    let all: Vec<&Distribution> = record.distributions().iter().collect();
    let Ok(Some(merged)) = record.merged() else { return (Vec::new(), Vec::new()) };
    let Some(max) = merged.max() else { return (Vec::new(), Vec::new()) };
    let corrected = Corrected::of_record(record);
    let mut x = positions(merged.count().max(corrected.as_ref().map_or(0, Corrected::count)));
    // Each line ends at its own count, where it reaches its maximum.
    x.extend(all.iter().map(|d| d.count()).chain([merged.count()]).filter(|&n| n > 0).map(|n| n as f64));
    x.sort_by(f64::total_cmp);
    x.dedup();
    let mut lines = Vec::new();
    // Late and early jitter have no figures in common.
    let common = record.parts().test != Test::Periodic;
    if common {
        lines.push(Line { label: "all, raw".into(), kind: Kind::Raw, values: curve(merged.histogram(), merged.count(), max, &x) });
    }
    if let Some(c) = corrected.as_ref().filter(|_| common) {
        let values = curve(&c.histogram, c.count(), c.max, &x);
        lines.push(Line { label: format!("all, {}", c.basis.as_str()), kind: Kind::Corrected, values });
    }
    if all.len() > 1 || !common {
        for (i, d) in all.iter().enumerate() {
            if let Some(max) = d.max() {
                let values = curve(d.histogram(), d.count(), max, &x);
                lines.push(Line { label: d.label().into(), kind: Kind::One(i), values });
            }
        }
    }
    (x, lines)
}

/// Ticks of the percentile axis up to `high`: 0 %, 50 %, 90 %, 99 % ...
pub(crate) fn ticks(high: f64) -> Vec<(f64, String)> {
    let mut ticks = vec![(1.0, nines(0)), (2.0, "50%".into())];
    for decade in 1..20usize {
        let v = 10f64.powi(i32::try_from(decade).unwrap_or(i32::MAX));
        if v > high {
            break;
        }
        ticks.push((v, nines(decade)));
    }
    ticks.retain(|t| t.0 <= high);
    ticks
}

/// Whether the maximum is more than 30 times the median, so that the latency axis is logarithmic.
pub(crate) fn is_log(record: &Record) -> bool {
    let (x, lines) = lines(record);
    let Some(raw) = lines.first() else { return false };
    let median = x.iter().zip(&raw.values).find(|(x, _)| **x >= 2.0).and_then(|(_, v)| *v);
    raw.values.iter().flatten().max().zip(median).is_some_and(|(max, median)| max / median.max(1) > 30)
}

/// The chart of one record. The latency axis is logarithmic where the maximum is more than 30 times the median.
pub fn percentile(record: &Record, usage: Use) -> String {
    let log = is_log(record);
    let (x, lines) = lines(record);
    let high = x.last().copied().unwrap_or(10.0).max(10.0);
    let values = || lines.iter().flat_map(|l| l.values.iter().flatten().copied());
    let (min, max) = (values().min().unwrap_or(0).max(1), values().max().unwrap_or(1).max(1));
    let y = if log {
        Range { low: min as f64 / 1.2, high: max as f64 * 1.3, log }
    } else {
        Range { low: 0.0, high: max as f64 * 1.08, log }
    };
    let class = |l: &Line| match l.kind {
        Kind::Raw => "all bold".to_owned(),
        Kind::Corrected => "all bold dash".into(),
        Kind::One(i) => format!("faint {}", series_class(i)),
    };
    let keys: Vec<Key> = lines
        .iter()
        .map(|l| Key {
            class: class(l),
            text: format!("{} {} µs", l.label, l.values.iter().flatten().next_back().map_or_else(String::new, |v| us(*v as f64))),
        })
        .collect();
    let mut c = Canvas::open(
        usage,
        &format!("{}: percentiles", title(record)),
        &subtitle(record),
        &keys,
        Range { low: 1.0, high, log: true },
        y,
    );
    let y_ticks = if log { log_ticks(y.low, y.high, 1e3) } else { linear_ticks(y.high, 1e3, 7.0) };
    let y_label = format!("{} (µs){}", samples(record.parts().test), if log { ", logarithmic" } else { "" });
    c.axes(&ticks(high), "Percentile (1/(1-q), logarithmic)", &y_ticks, &y_label);
    if lines.is_empty() {
        c.nothing("no samples");
    }
    for l in lines.iter().rev() {
        let path = polyline(x.iter().zip(&l.values).map(|(x, v)| v.map(|v| (c.x.at(*x), c.y.at(v as f64)))));
        c.path(&class(l), &path, &l.label);
    }
    c.close()
}
