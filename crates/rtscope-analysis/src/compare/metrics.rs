//! The rows of a comparison: each figure of A, that of B, and the ratio B/A.

use crate::edges::EdgeFigures;
use rtscope_record::correction::{Basis, Corrected};
use rtscope_record::{Distribution, Quantile};
use serde::Serialize;

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Events.
    Count,
}

/// One figure of both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricRow {
    /// "mean", "p99.9", "corrected p99.9", "missed" ...
    pub metric: String,
    /// Its unit.
    pub unit: Unit,
    /// A's figure; `None` where A does not have it.
    pub a: Option<f64>,
    /// B's figure; `None` where B does not have it.
    pub b: Option<f64>,
    /// B / A; `None` where one is unknown or A is 0.
    pub ratio: Option<f64>,
}

/// What was measured of one side under one load.
pub(super) struct Figures<'a> {
    pub(super) all: Option<&'a Distribution>,
    /// Signed jitter, where all records are of the test `periodic`.
    pub(super) jitter: Option<EdgeFigures>,
    pub(super) corrected: Option<&'a Corrected>,
}

pub(super) fn metrics(a: &Figures<'_>, b: &Figures<'_>) -> Vec<MetricRow> {
    let mut rows = Vec::new();
    let mut push = |metric: String, unit: Unit, a: Option<f64>, b: Option<f64>| {
        let ratio = a.zip(b).and_then(|(a, b)| (a > 0.0).then_some(b / a));
        rows.push(MetricRow { metric, unit, a, b, ratio });
    };
    if let (Some(x), Some(y)) = (&a.jitter, &b.jitter) {
        for (name, of) in JITTER {
            push(name.into(), Unit::Ns, of(x), of(y));
        }
        push_counts(&mut push, a, b);
        return rows;
    }
    let both = |f: &dyn Fn(&Distribution) -> Option<f64>| (a.all.and_then(f), b.all.and_then(f));
    let float = |v: Option<u64>| v.map(|v| v as f64);
    let mut latency = |name: &str, f: &dyn Fn(&Distribution) -> Option<f64>| {
        let (x, y) = both(f);
        push(name.into(), Unit::Ns, x, y);
    };
    latency("min", &|d| float(d.min()));
    latency("mean", &Distribution::mean);
    latency("stddev", &Distribution::stddev);
    for q in Quantile::STANDARD {
        let (x, y) = both(&|d| float(d.value_at(q)));
        if x.is_some() || y.is_some() {
            push(q.to_string(), Unit::Ns, x, y);
        }
    }
    let (x, y) = both(&|d| float(d.max()));
    push("max".into(), Unit::Ns, x, y);
    for q in Quantile::STANDARD {
        let view = |v: &Figures<'_>| v.corrected.and_then(|c| float(c.value_at(q)));
        let (x, y) = (view(a), view(b));
        // Corrected figures are shown only where they differ from the raw ones on at least one side.
        if (x, y) != both(&|d| float(d.value_at(q))) && (x.is_some() || y.is_some()) {
            push(corrected_name(q, a.corrected, b.corrected), Unit::Ns, x, y);
        }
    }
    push_counts(&mut push, a, b);
    rows
}

/// The name of a corrected figure. One guessed by `HdrHistogram`'s rule names the rule, even where only one side is
/// guessed.
fn corrected_name(q: Quantile, a: Option<&Corrected>, b: Option<&Corrected>) -> String {
    match [a, b].map(|c| c.is_some_and(|c| c.basis == Basis::Rule)) {
        [false, false] => format!("corrected {q}"),
        [true, false] if b.is_some() => format!("corrected {q} (A {})", Basis::Rule.as_str()),
        [false, true] if a.is_some() => format!("corrected {q} (B {})", Basis::Rule.as_str()),
        _ => format!("{q} {}", Basis::Rule.as_str()),
    }
}

/// A figure of a jitter. There are no percentiles: late and early amounts have none in common.
type Jitter = fn(&EdgeFigures) -> Option<f64>;
const JITTER: [(&str, Jitter); 4] = [
    ("earliest", |j| j.min.map(|v| v as f64)),
    ("mean", |j| j.mean),
    ("stddev", |j| j.stddev),
    ("latest", |j| j.max.map(|v| v as f64)),
];

fn push_counts(push: &mut impl FnMut(String, Unit, Option<f64>, Option<f64>), a: &Figures<'_>, b: &Figures<'_>) {
    for (name, f) in COUNTS {
        let [x, y] = [a, b].map(|m| m.all.map(|d| f(d) as f64));
        if matches!(name, "samples" | "missed") || x.is_some_and(|v| v > 0.0) || y.is_some_and(|v| v > 0.0) {
            push(name.into(), Unit::Count, x, y);
        }
    }
}

type Counter = fn(&Distribution) -> u64;
const COUNTS: [(&str, Counter); 6] = [
    ("samples", Distribution::count),
    ("missed", Distribution::missed),
    ("late", Distribution::late),
    ("spurious", Distribution::spurious),
    ("overflow", Distribution::overflow),
    ("dropped", Distribution::dropped),
];
