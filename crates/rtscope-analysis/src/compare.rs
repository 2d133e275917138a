//! Two selections side by side: metric x A x B x ratio B/A for each load, and every reason why the ratio may mislead.

mod error;
mod metrics;
mod side;

pub use crate::finding::{Finding, NAMED, first_of};
pub use error::CompareError;
pub use metrics::{MetricRow, Unit};
pub use side::{Entry, Side, Tally};

use crate::agreement::{Agreement, agreement};
use crate::band::Band;
use crate::differences::differences;
use crate::finding::finding;
use crate::replicates::{self, LoadRuns, Question};
use metrics::metrics;
use rtscope_record::Record;
use serde::Serialize;
use side::{Pick, sides};
use std::collections::BTreeSet;

/// The figures under one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadRows {
    /// Name of the load; `A's / B's` where each side has one load and the two differ.
    pub load: String,
    /// The time model of both sides, in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<u32>,
    /// Runs of A that were merged.
    pub a_runs: usize,
    /// Runs of B that were merged.
    pub b_runs: usize,
    /// The figures.
    pub rows: Vec<MetricRow>,
}

/// Two selections side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The first selection, the denominator of every ratio.
    pub a: Side,
    /// The second selection.
    pub b: Side,
    /// The loads that both sides have, in A's order; or the only load of each side.
    pub loads: Vec<LoadRows>,
    /// The same loads with whole runs as replicates: differences with their intervals.
    pub runs: Vec<LoadRuns>,
    /// Ranges of the ratios that exist in several time models.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<Band>,
    /// For tests over lines that two instruments measured: how the instruments differ, for each load.
    pub agreement: Vec<Agreement>,
    /// What the reader must beware of.
    pub findings: Vec<Finding>,
    /// What the comparison does not show.
    pub note: String,
}

/// Compares selection `a` with selection `b`. The records of a side are merged exactly, load by load. Where each side has
/// a single load, the two are compared even if they differ: what a load costs is a valid question too.
///
/// ```
/// use rtscope_analysis::compare;
/// # use rtscope_record::{Distribution, Record, Settings, System};
/// # fn record(load: &str, samples: &[u64]) -> Result<Record, Box<dyn std::error::Error>> {
/// #     let empty: Record = serde_json::from_value(serde_json::json!({
/// #         "schema": rtscope_record::SCHEMA, "id": "20261121T080000Z-1a2b3c", "started": "2026-11-21T08:00:00Z", "test": "timer",
/// #         "space": "user", "load": load, "target": "local", "clock": "host", "verdict": "VALID", "warnings": [], "load_proof": null,
/// #         "distributions": [], "settings": Settings::default(), "system": System::default(),
/// #     }))?;
/// #     let mut of_record = empty.into_parts();
/// #     let mut cpu0 = Distribution::from_samples("cpu0", samples, 0)?.into_parts();
/// #     cpu0.expected = Some(cpu0.count);
/// #     of_record.distributions.push(Distribution::new(cpu0)?);
/// #     Ok(Record::new(of_record)?)
/// # }
/// let stock = record("full", &[50_000; 1_000])?;
/// let rt = record("full", &[5_000; 1_000])?;
/// let side_by_side = compare(&[stock], &[rt.clone()])?;
/// let max = side_by_side.loads[0].rows.iter().find(|row| row.metric == "max").unwrap();
/// assert_eq!((max.a, max.b, max.ratio), (Some(50_000.0), Some(5_000.0), Some(0.1)));
///
/// // Another load on each side is compared too, and a finding says so.
/// let other = compare(&[record("none", &[5_000; 1_000])?], &[rt])?;
/// assert!(other.findings.iter().any(|f| f.code == "load-differs"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compare(a: &[Record], b: &[Record]) -> Result<Comparison, CompareError> {
    compare_views(a, b, false)
}

/// [`compare`]; `same_runs` says that both sides are views of the same runs, even where they do not name two instruments.
pub fn compare_views(a: &[Record], b: &[Record], same_runs: bool) -> Result<Comparison, CompareError> {
    compare_tallies(&Tally::of(a), &Tally::of(b), same_runs)
}

/// [`compare_views`] for sides whose records were added one by one.
pub fn compare_tallies(a: &Tally, b: &Tally, same_runs: bool) -> Result<Comparison, CompareError> {
    for (side, name) in [(a, "A"), (b, "B")] {
        if side.is_empty() {
            return Err(CompareError::Empty(name));
        }
    }
    let (loads_a, loads_b) = (a.loads(), b.loads());
    let pairs: Vec<(&str, &str)> = match (loads_a.as_slice(), loads_b.as_slice()) {
        ([one], [other]) => vec![(one, other)],
        _ => loads_a.iter().filter(|l| b.has(l)).map(|&l| (l, l)).collect(),
    };
    let Some(&(first_a, first_b)) = pairs.first() else {
        return Err(CompareError::NoCommonLoad { a: loads_a.join(", "), b: loads_b.join(", ") });
    };
    let mut findings = differences(&a.aspects, &b.aspects, ["A", "B"]);
    findings.extend(sides(a, b));
    if first_a != first_b {
        findings.push(finding(
            "load-differs",
            format!("A was measured under {first_a}, B under {first_b}: the ratios are of the loads as well"),
            format!("to compare machines or kernels, measure both under the same load: rtscope measure timer --load {first_a}"),
        ));
    }
    for (own, other, name, other_name) in [(&loads_a, b, "A", "B"), (&loads_b, a, "B", "A")] {
        let only: Vec<&str> = own.iter().copied().filter(|l| !other.has(l)).collect();
        if first_a == first_b && !only.is_empty() {
            findings.push(finding(
                "load-on-one-side",
                format!("only {name} was measured under {}: these runs are not compared", only.join(", ")),
                format!("measure {other_name} under the same loads: rtscope measure timer --load {}", only[0]),
            ));
        }
    }
    let models = common_models(a, b)?;
    for (own, other, name, other_name) in [(a, b, "A", "B"), (b, a, "B", "A")] {
        let only: Vec<String> = own.models.difference(&other.models).flatten().map(u32::to_string).collect();
        if let (Some(model), true) = (only.first(), matches!(models.as_slice(), [Pick::In(_), ..])) {
            findings.push(finding(
                "model-on-one-side",
                format!("only {name} was measured in time model {}: these runs are not compared", only.join(", ")),
                format!("measure {other_name} in the same models: --model {model}"),
            ));
        }
    }
    let (mut rows, mut views, mut questions) = (Vec::new(), Vec::new(), Vec::new());
    for (load_a, load_b) in pairs {
        let load = if load_a == load_b { load_a.to_owned() } else { format!("{load_a} / {load_b}") };
        let error = |error| CompareError::Merge { side: "A or B", load: load.clone(), error };
        for &pick in &models {
            // A side may have this load only in another model.
            let (Some(of_a), Some(of_b)) = (a.under(load_a, pick), b.under(load_b, pick)) else { continue };
            let (fa, fb) = (of_a.figures(load_a, "A")?, of_b.figures(load_b, "B")?);
            if let (Some(x), Some(y)) = (of_a.lines(), of_b.lines()) {
                views.extend(agreement(&load, &x, &y, same_runs).map_err(error)?);
            }
            let (a_runs, b_runs) = (of_a.runs, of_b.runs);
            questions.push(Question { load: load.clone(), model: of_a.model, sides: [&of_a.replicates, &of_b.replicates] });
            rows.push(LoadRows { load: load.clone(), model: of_a.model, a_runs, b_runs, rows: metrics(&fa, &fb) });
        }
    }
    let bands = bands(&rows);
    findings.extend(crate::band::findings(&bands));
    let runs = replicates::answers(&questions);
    findings.extend(replicates::findings(&runs, &questions, ["A", "B"]));
    let single = rows.iter().all(|l| l.a_runs == 1 && l.b_runs == 1);
    let note = if single {
        "one run a side: no interval can be given, and a difference may be chance; repeat both, interleaved, before concluding"
    } else {
        "the first tables merge the runs of a side; only the words of the last tables tell differences from chance"
    };
    Ok(Comparison { a: a.side(), b: b.side(), loads: rows, runs, bands, agreement: views, findings, note: note.into() })
}

/// The time models in which both sides have records, each to be compared separately; host time counts as one. With fewer
/// than two models there is nothing to separate, and all records are taken together: a finding reports virtual time
/// against host time. Refused where there are several models and the sides share none.
fn common_models(a: &Tally, b: &Tally) -> Result<Vec<Pick>, CompareError> {
    let (of_a, of_b) = (&a.models, &b.models);
    let common: Vec<Option<u32>> = of_a.intersection(of_b).copied().collect();
    let several = of_a.iter().flatten().chain(of_b.iter().flatten()).collect::<BTreeSet<_>>().len() > 1;
    if !several {
        return Ok(vec![Pick::Any]);
    }
    if common.is_empty() {
        let names = |of: &BTreeSet<Option<u32>>| {
            let name = |m: Option<u32>| m.map_or_else(|| "none (host time)".into(), |m| m.to_string());
            of.iter().copied().map(name).collect::<Vec<String>>().join(", ")
        };
        return Err(CompareError::NoCommonModel { a: names(of_a), b: names(of_b) });
    }
    Ok(common.into_iter().map(Pick::In).collect())
}

/// The range of each ratio over the time models that have it.
fn bands(rows: &[LoadRows]) -> Vec<Band> {
    let mut found = Vec::new();
    for (i, first) in rows.iter().enumerate() {
        if rows[..i].iter().any(|r| r.load == first.load) {
            continue;
        }
        for metric in first.rows.iter().filter(|r| r.unit == Unit::Ns) {
            let of_model = |r: &LoadRows| Some((r.model?, r.rows.iter().find(|m| m.metric == metric.metric)?.ratio));
            let ratios = rows.iter().filter(|r| r.load == first.load).filter_map(of_model);
            found.extend(Band::new("", &first.load, &metric.metric, ratios));
        }
    }
    found
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
