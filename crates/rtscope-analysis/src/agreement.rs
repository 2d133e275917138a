//! One run measured by two instruments: for each edge, how far their figures differ and how much the difference spreads
//! (Adam 2021, Table 2: software next to an oscilloscope).
//!
//! Where both records keep every pulse, pulses are paired and each pair gives a difference. Otherwise only the
//! distributions can be compared: the differences of their means and medians stand in for those of the pairs, but only
//! bounds of the spread are known.

mod pairs;

use crate::edges::{EdgeFigures, edge_of, merged_figures};
use crate::finding::{Finding, finding};
use pairs::{Pulse, Unpaired, pair};
use rtscope_record::{Distribution, DistributionError, Record, Test};
use serde::Serialize;

/// How the differences are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// Pulse by pulse.
    Pairs,
    /// From the distributions.
    Distributions,
}

/// By how much B's figures differ from A's: B minus A, ns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Offset {
    /// How the difference was found.
    pub how: How,
    /// Why pulses are not paired; empty where they are.
    pub why: String,
    /// Pulses that both instruments saw; 0 without pairing.
    pub pairs: u64,
    /// Pulses of A and of B without a partner; 0 without pairing.
    pub alone: [u64; 2],
    /// Mean of the differences: the offset.
    pub mean: f64,
    /// Median of the differences; without pairing, the difference of the medians.
    pub median: f64,
    /// Lowest and highest possible standard deviation of the differences (population form). The two are equal where
    /// pulses are paired. `None` where a side's own deviation is unknown.
    pub stddev: Option<[f64; 2]>,
    /// Lowest and highest difference of a pair; without pairing, of the percentiles 1 to 99.
    pub range: [f64; 2],
}

/// What both instruments saw of one edge.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EdgeAgreement {
    /// "both", "rising", "falling".
    pub edge: String,
    /// The first instrument's figures.
    pub a: EdgeFigures,
    /// The second one's.
    pub b: EdgeFigures,
    /// B minus A; `None` where one has no sample.
    pub offset: Option<Offset>,
}

/// One of the two instruments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InstrumentView {
    /// What held its clock, or the format of the file it was imported from.
    pub what: String,
    /// The instrument's stated error, ns: a latency may be too high by at most this much. `None` where the record does
    /// not say.
    pub uncertainty: Option<u64>,
    /// Median latency of the instrument's null wire (its own share), ns. `None` where it was not calibrated.
    pub null_wire: Option<u64>,
}

/// One run, or several under one load, measured by two instruments.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Agreement {
    /// Name of the load.
    pub load: String,
    /// `response` or `periodic`.
    pub test: Test,
    /// The first instrument.
    pub a: InstrumentView,
    /// The second.
    pub b: InstrumentView,
    /// Both edges together, then each edge that both instruments saw.
    pub edges: Vec<EdgeAgreement>,
    /// What the reader must beware of.
    pub findings: Vec<Finding>,
}

fn witness(records: &[&Record]) -> InstrumentView {
    let p = records[0].parts();
    let facts = p.instrument.as_ref();
    let imported = p.source.as_ref().map(|s| format!("{} ({})", s.file, s.format));
    let what = facts.map(|i| i.what.clone()).filter(|w| !w.is_empty());
    let highest = records.iter().filter_map(|r| r.parts().instrument.as_ref()).map(|i| i.uncertainty).max();
    InstrumentView {
        what: what.or(imported).unwrap_or_else(|| "not known".into()),
        uncertainty: highest.filter(|_| facts.is_some_and(|i| i.stimulus.is_some())),
        null_wire: facts.and_then(|i| i.calibration.as_ref()).and_then(|c| c.median),
    }
}

/// Compares what two instruments saw of the same runs under `load`.
///
/// `None` where that makes no sense: the records are not all of one test, or the test is not one over lines. Also `None`,
/// unless the comparison was `asked` for, where both sides have the same instrument or were measured at different times.
pub fn agreement(load: &str, a: &[&Record], b: &[&Record], asked: bool) -> Result<Option<Agreement>, DistributionError> {
    let (Some(first), Some(second)) = (a.first(), b.first()) else { return Ok(None) };
    let test = first.parts().test;
    let one = a.iter().chain(b).all(|r| r.parts().test == test);
    let (of_a, of_b) = (witness(a), witness(b));
    if !one || !matches!(test, Test::Response | Test::Periodic) || (of_a.what == of_b.what && !asked) {
        return Ok(None);
    }
    let mut findings = Vec::new();
    let live = |r: &Record| r.parts().source.is_none();
    if live(first) && live(second) && !overlap(first, second) {
        if !asked {
            return Ok(None);
        }
        findings.push(finding(
            "runs-apart",
            format!("{} and {} were not taken at the same time: these are not two views of one run", first.id(), second.id()),
            "measure with both instruments at once",
        ));
    }
    let ((both_a, edges_a), (both_b, edges_b)) = (merged_figures(a)?, merged_figures(b)?);
    let names = |edges: &[EdgeFigures]| edges.iter().map(|e| e.edge.clone()).collect::<Vec<_>>();
    let (of_one, of_other) = (names(&edges_a), names(&edges_b));
    // Comparing both edges of one instrument with a single edge of the other would say nothing about the instruments.
    let mut views = Vec::new();
    if of_one.iter().all(|n| of_other.contains(n)) && of_one.len() == of_other.len() {
        views.push((None, both_a, both_b));
    } else {
        findings.push(finding(
            "edges-differ",
            format!("A saw the edges {}, B {}", of_one.join(", "), of_other.join(", ")),
            "let both instruments see both edges",
        ));
    }
    for x in edges_a {
        if let Some(y) = edges_b.iter().find(|y| y.edge == x.edge) {
            views.push((Some(x.edge.clone()), x, y.clone()));
        }
    }
    if views.iter().any(|(_, x, y)| x.samples != y.samples) {
        let each =
            views.iter().map(|(edge, x, y)| format!("{} {} and {}", edge.as_deref().unwrap_or("both"), x.samples, y.samples));
        findings.push(finding(
            "counts-differ",
            format!("A and B saw a different number of samples ({}): what only one of them saw is in its figures", each.collect::<Vec<_>>().join(", ")),
            "start and end both instruments with the stimuli, or compare the pairs (--worst 10000 keeps every pulse of a short run)",
        ));
    }
    let edges = views.into_iter().map(|(edge, x, y)| {
        let offset = offset([(a, &x), (b, &y)], edge.as_deref());
        EdgeAgreement { edge: edge.unwrap_or_else(|| "both".into()), a: x, b: y, offset }
    });
    Ok(Some(Agreement { load: load.into(), test, a: of_a, b: of_b, edges: edges.collect(), findings }))
}

/// B minus A for one edge (`None`: both edges), from pairs where pairing is possible.
fn offset(sides: [(&[&Record], &EdgeFigures); 2], edge: Option<&str>) -> Option<Offset> {
    if sides.iter().any(|s| s.1.samples == 0) {
        return None;
    }
    let why = match sides.map(|s| s.0) {
        [[one], [other]] => match pulses(one, edge).zip(pulses(other, edge)) {
            Some((p, q)) => match pair(&p, &q) {
                Ok(found) => return Some(by_pairs(&found, [p.len(), q.len()])),
                Err(e) => e,
            },
            None => Unpaired::NotKept,
        },
        _ => Unpaired::SeveralRuns,
    };
    Some(by_distributions(why, sides, edge))
}

/// How far apart the recorded times of one run may be on the two sides, ns: start times have a resolution of a second,
/// and the setup before the first stimulus takes time.
const SLACK: i128 = 30_000_000_000;

/// Whether two runs were taken at the same time; `true` where a time can't be read.
fn overlap(a: &Record, b: &Record) -> bool {
    let span = |r: &Record| {
        let start = r.parts().started.parse::<jiff::Timestamp>().ok()?.as_nanosecond();
        Some((start - SLACK, start + i128::from(r.parts().elapsed_ns) + SLACK))
    };
    span(a).zip(span(b)).is_none_or(|(x, y)| x.0 <= y.1 && y.0 <= x.1)
}

fn of_edge<'a>(records: &[&'a Record], edge: Option<&str>) -> Vec<&'a Distribution> {
    let is = |d: &&Distribution| edge.is_none_or(|e| edge_of(d.label()).0 == e);
    records.iter().flat_map(|r| r.distributions()).filter(is).collect()
}

/// Every pulse of an edge in order of time; `None` where the record does not keep them all.
fn pulses<'a>(record: &'a Record, edge: Option<&str>) -> Option<Vec<Pulse<'a>>> {
    let mut found = Vec::new();
    for d in of_edge(&[record], edge) {
        if d.worst().len() as u64 != d.count() {
            return None;
        }
        let (name, early) = edge_of(d.label());
        for w in d.worst() {
            let value = i64::try_from(w.value).ok()?;
            // For an answer, use the moment of its stimulus, which both instruments saw alike.
            let at = i128::from(w.at) - if record.parts().test == Test::Response { i128::from(value) } else { 0 };
            found.push(Pulse { at, value: if early { -value } else { value }, edge: name });
        }
    }
    found.sort_by_key(|p| p.at);
    Some(found)
}

fn by_pairs(found: &[(i64, i64)], samples: [usize; 2]) -> Offset {
    let mut differences: Vec<i128> = found.iter().map(|&(a, b)| i128::from(b) - i128::from(a)).collect();
    differences.sort_unstable();
    let n = differences.len();
    let mean = differences.iter().sum::<i128>() as f64 / n as f64;
    let variance = differences.iter().map(|&d| (d as f64 - mean).powi(2)).sum::<f64>() / n as f64;
    let at = |i: usize| differences.get(i).copied().unwrap_or(0) as f64;
    Offset {
        how: How::Pairs,
        why: String::new(),
        pairs: n as u64,
        alone: samples.map(|all| (all - n) as u64),
        mean,
        median: f64::midpoint(at((n - 1) / 2), at(n / 2)),
        stddev: Some([variance.sqrt(); 2]),
        range: [at(0), at(n - 1)],
    }
}

fn by_distributions(why: Unpaired, sides: [(&[&Record], &EdgeFigures); 2], edge: Option<&str>) -> Offset {
    let [(a, x), (b, y)] = sides;
    let [p, q] = [a, b].map(|records| points(&of_edge(records, edge)));
    let difference = |share: f64| value_at(&q, share) - value_at(&p, share);
    let all = (1..100).map(|i| difference(f64::from(i) / 100.0));
    let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), d| (l.min(d), h.max(d)));
    Offset {
        how: How::Distributions,
        why: why.to_string(),
        pairs: 0,
        alone: [0, 0],
        mean: y.mean.unwrap_or(0.0) - x.mean.unwrap_or(0.0),
        median: difference(0.5),
        // The deviations of two variables give only these bounds for the deviation of their difference.
        stddev: x.stddev.zip(y.stddev).map(|(s, t)| [(s - t).abs(), s + t]),
        range: [low, high],
    }
}

/// Samples in ascending order with their counts. Each sample is placed in the middle of its histogram slot; samples above
/// the range of an imported histogram are placed midway between minimum and maximum.
fn points(parts: &[&Distribution]) -> Vec<(f64, u64)> {
    let mut found = Vec::new();
    for d in parts {
        let (min, max) = (d.min().unwrap_or(0), d.max().unwrap_or(0));
        let sign = if edge_of(d.label()).1 { -1.0 } else { 1.0 };
        let slots = d.histogram().iter().map(|(low, high, n)| (low.max(min), high.min(max.max(low)), n));
        found.extend(
            slots.chain([(min, max, d.overflow())]).map(|(low, high, n)| (sign * f64::midpoint(low as f64, high as f64), n)),
        );
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found
}

/// The value that `share` of the samples do not exceed.
fn value_at(points: &[(f64, u64)], share: f64) -> f64 {
    let total: u64 = points.iter().map(|p| p.1).sum();
    let wanted = share * total as f64;
    let mut seen = 0u64;
    for &(value, n) in points {
        seen += n;
        if seen as f64 >= wanted {
            return value;
        }
    }
    points.last().map_or(0.0, |p| p.0)
}

#[cfg(test)]
#[path = "agreement_tests.rs"]
mod tests;
