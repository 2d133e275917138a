//! Two selections side by side: metric x A x B x ratio B/A for each load, and every reason why the ratio may mislead.

use crate::adam::{EdgeFigures, merged_figures};
use crate::agreement::{Agreement, agreement};
use crate::band::Band;
use crate::summary::{clock_words, time_model, virtual_machine};
use rtscope_record::correction::{Basis, Corrected};
use rtscope_record::{Distribution, DistributionError, Quantile, Record, Test, Verdict};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Events.
    Count,
}

/// Why a comparison must be read with care, or which part of it is absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A stable name for programs, such as `clock-differs`.
    pub code: String,
    /// What was found and why it matters.
    pub message: String,
    /// What mends it.
    pub remedy: String,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Side {
    /// Ids of its records, in the order given.
    pub ids: Vec<String>,
    /// Kernel releases, each once.
    pub kernels: Vec<String>,
    /// Preemption models, each once.
    pub preemption: Vec<String>,
    /// Clock and machine in words, each once.
    pub clocks: Vec<String>,
    /// Whether any record was taken in a virtual machine.
    pub virtual_machine: bool,
    /// The worst verdict among its records.
    pub verdict: Verdict,
}

/// One figure of both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricRow {
    /// "mean", "p99.9", "corrected p99.9", "missed" ...
    pub metric: String,
    /// What it counts.
    pub unit: Unit,
    /// Of A; `None` where A can't tell.
    pub a: Option<f64>,
    /// Of B; `None` where B can't tell.
    pub b: Option<f64>,
    /// B / A; `None` where one is unknown or A is 0.
    pub ratio: Option<f64>,
}

/// The figures under one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadRows {
    /// Name of the load; `A's / B's` where each side has one load and they differ.
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
    /// The loads that both sides have, in A's order; or the one load of each.
    pub loads: Vec<LoadRows>,
    /// Ratios that several time models have: their ranges.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<Band>,
    /// Tests over lines that two instruments saw: what they differ in, for each of these loads.
    pub agreement: Vec<Agreement>,
    /// What to beware of.
    pub findings: Vec<Finding>,
    /// What the comparison does not say: there are no intervals yet.
    pub note: String,
}

/// Why two selections can't be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CompareError {
    /// A selection is empty.
    #[error("selection {0} holds no record: nothing to compare (see `rtscope list`)")]
    Empty(&'static str),
    /// The sides share no load.
    #[error("A was measured under {a}, B under {b}: they have no load in common; measure both under the same load (--load)")]
    NoCommonLoad {
        /// Loads of A.
        a: String,
        /// Loads of B.
        b: String,
    },
    /// The sides were measured in different time models of the lab.
    #[error(
        "A is in time model {a} of the lab, B in time model {b}: what things cost differs, so there is no ratio; measure both in one model (--model N; \
         records without a model are of model 1)"
    )]
    NoCommonModel {
        /// Models of A.
        a: String,
        /// Models of B.
        b: String,
    },
    /// The counts of one side exceed a u64.
    #[error("the records of {side} under `{load}` can't be merged: {error}")]
    Merge {
        /// "A" or "B".
        side: &'static str,
        /// Which load.
        load: String,
        /// Why.
        error: DistributionError,
    },
}

/// The records of one side under one load, merged exactly.
struct Merged {
    runs: usize,
    all: Option<Distribution>,
    /// With signs, where all its records are of the test periodic.
    jitter: Option<EdgeFigures>,
    corrected: Option<Corrected>,
}

/// Compares selection `a` with selection `b`. The records of a side are merged exactly, load by load; two sides of one load each are
/// compared also when it is not the same, since what a load costs is a question too.
pub fn compare(a: &[Record], b: &[Record]) -> Result<Comparison, CompareError> {
    compare_views(a, b, false)
}

/// [`compare`]; `same_runs` says that both sides are views of the same runs, also where they do not name two instruments.
pub fn compare_views(a: &[Record], b: &[Record], same_runs: bool) -> Result<Comparison, CompareError> {
    for (side, name) in [(a, "A"), (b, "B")] {
        if side.is_empty() {
            return Err(CompareError::Empty(name));
        }
    }
    let (loads_a, loads_b) = (loads_of(a), loads_of(b));
    let pairs: Vec<(&String, &String)> = match (loads_a.as_slice(), loads_b.as_slice()) {
        ([one], [other]) => vec![(one, other)],
        _ => loads_a.iter().filter(|l| loads_b.contains(l)).map(|l| (l, l)).collect(),
    };
    let Some(&(first_a, first_b)) = pairs.first() else {
        return Err(CompareError::NoCommonLoad { a: loads_a.join(", "), b: loads_b.join(", ") });
    };
    let (all_a, all_b): (Vec<&Record>, Vec<&Record>) = (a.iter().collect(), b.iter().collect());
    let mut findings = differences(&all_a, &all_b, ["A", "B"]);
    findings.extend(sides(a, b));
    if first_a != first_b {
        findings.push(finding(
            "load-differs",
            format!("A was measured under {first_a}, B under {first_b}: the ratios are of the loads as well"),
            format!("to compare machines or kernels, measure both under the same load: rtscope measure timer --load {first_a}"),
        ));
    }
    for (own, other, name, other_name) in [(&loads_a, &loads_b, "A", "B"), (&loads_b, &loads_a, "B", "A")] {
        let only: Vec<_> = own.iter().filter(|l| !other.contains(l)).cloned().collect();
        if first_a == first_b && !only.is_empty() {
            findings.push(finding(
                "load-on-one-side",
                format!("only {name} was measured under {}: these runs are not compared", only.join(", ")),
                format!("measure {other_name} under the same loads: rtscope measure timer --load {}", only[0]),
            ));
        }
    }
    let models = common_models(a, b)?;
    let (models_a, models_b) = (models_of(a), models_of(b));
    for (own, other, name, other_name) in [(&models_a, &models_b, "A", "B"), (&models_b, &models_a, "B", "A")] {
        let only: Vec<String> = own.difference(other).flatten().map(u32::to_string).collect();
        if let (Some(model), true) = (only.first(), matches!(models.as_slice(), [Pick::In(_), ..])) {
            findings.push(finding(
                "model-on-one-side",
                format!("only {name} was measured in time model {}: these runs are not compared", only.join(", ")),
                format!("measure {other_name} in the same models: --model {model}"),
            ));
        }
    }
    let (mut rows, mut views) = (Vec::new(), Vec::new());
    for (load_a, load_b) in pairs {
        let load = if load_a == load_b { load_a.clone() } else { format!("{load_a} / {load_b}") };
        let error = |error| CompareError::Merge { side: "A or B", load: load.clone(), error };
        for &pick in &models {
            let [of_a, of_b] = [(a, load_a), (b, load_b)].map(|(side, load)| under(side, load, pick));
            // A load that one side has in another model only.
            if of_a.is_empty() || of_b.is_empty() {
                continue;
            }
            let (ma, mb) = (merge(&of_a, load_a, "A")?, merge(&of_b, load_b, "B")?);
            views.extend(agreement(&load, &of_a, &of_b, same_runs).map_err(error)?);
            let model = of_a.first().filter(|r| r.parts().lab.is_some()).and_then(|r| time_model(r));
            rows.push(LoadRows { load: load.clone(), model, a_runs: ma.runs, b_runs: mb.runs, rows: metrics(&ma, &mb) });
        }
    }
    let bands = bands(&rows);
    findings.extend(crate::band::findings(&bands));
    let single = rows.iter().all(|l| l.a_runs == 1 && l.b_runs == 1);
    let note = if single {
        "one run a side: no interval can be given, and a difference may be chance; repeat both, interleaved, before concluding"
    } else {
        "the runs of a side are merged into one; no confidence interval is computed, so a difference may be chance"
    };
    Ok(Comparison { a: side(a), b: side(b), loads: rows, bands, agreement: views, findings, note: note.into() })
}

fn loads_of(records: &[Record]) -> Vec<String> {
    let mut loads = Vec::new();
    for r in records {
        if !loads.contains(&r.parts().load) {
            loads.push(r.parts().load.clone());
        }
    }
    loads
}

/// Which records are merged.
#[derive(Debug, Clone, Copy)]
enum Pick {
    /// All.
    Any,
    /// Those in a time model; `None`: those in the time of a host.
    In(Option<u32>),
}

/// Those of `load` that are picked.
fn under<'a>(records: &'a [Record], load: &str, pick: Pick) -> Vec<&'a Record> {
    let picked = |r: &Record| match pick {
        Pick::Any => true,
        Pick::In(model) => time_model(r) == model,
    };
    records.iter().filter(|r| r.parts().load == load && picked(r)).collect()
}

fn models_of(records: &[Record]) -> BTreeSet<Option<u32>> {
    records.iter().map(time_model).collect()
}

/// The time models in which both sides have records, each to be compared apart; any where it does not matter: virtual time against that of a
/// host is told as such. Refused where both sides are in virtual time only and have no model in common.
fn common_models(a: &[Record], b: &[Record]) -> Result<Vec<Pick>, CompareError> {
    let (of_a, of_b) = (models_of(a), models_of(b));
    let common: Vec<Option<u32>> = of_a.intersection(&of_b).copied().collect();
    let several = of_a.iter().flatten().chain(of_b.iter().flatten()).collect::<BTreeSet<_>>().len() > 1;
    if !several {
        return Ok(vec![Pick::Any]);
    }
    if common.is_empty() {
        let names = |of: BTreeSet<Option<u32>>| {
            let name = |m: Option<u32>| m.map_or_else(|| "none (host time)".into(), |m| m.to_string());
            of.into_iter().map(name).collect::<Vec<String>>().join(", ")
        };
        return Err(CompareError::NoCommonModel { a: names(of_a), b: names(of_b) });
    }
    Ok(common.into_iter().map(Pick::In).collect())
}

/// The ranges of each ratio over the time models that have it.
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

fn merge(of_load: &[&Record], load: &str, side: &'static str) -> Result<Merged, CompareError> {
    let error = |error| CompareError::Merge { side, load: load.into(), error };
    let mut all: Option<Distribution> = None;
    let mut views = Vec::new();
    for r in of_load {
        if let Some(d) = r.merged().map_err(error)? {
            if d.count() > 0 {
                views.push(Corrected::of_record(r));
            }
            all = Some(match all {
                None => d,
                Some(sum) => sum.merge(&d, "all", 32).map_err(error)?,
            });
        }
    }
    let jitter = if of_load.iter().all(|r| r.parts().test == Test::Periodic) {
        Some(merged_figures(of_load).map_err(error)?.0)
    } else {
        None
    };
    Ok(Merged { runs: of_load.len(), all, jitter, corrected: Corrected::merge(views.iter().map(Option::as_ref)) })
}

fn metrics(a: &Merged, b: &Merged) -> Vec<MetricRow> {
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
    let both = |f: &dyn Fn(&Distribution) -> Option<f64>| (a.all.as_ref().and_then(f), b.all.as_ref().and_then(f));
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
        let view = |v: &Merged| v.corrected.as_ref().and_then(|c| float(c.value_at(q)));
        let (x, y) = (view(a), view(b));
        // The corrected figures are shown where they differ from the raw ones on one side at least.
        if (x, y) != both(&|d| float(d.value_at(q))) && (x.is_some() || y.is_some()) {
            push(corrected_name(q, a.corrected.as_ref(), b.corrected.as_ref()), Unit::Ns, x, y);
        }
    }
    push_counts(&mut push, a, b);
    rows
}

/// What a corrected figure is called: a guess by `HdrHistogram`'s rule by its name, also where it is on one side only.
fn corrected_name(q: Quantile, a: Option<&Corrected>, b: Option<&Corrected>) -> String {
    match [a, b].map(|c| c.is_some_and(|c| c.basis == Basis::Rule)) {
        [false, false] => format!("corrected {q}"),
        [true, false] if b.is_some() => format!("corrected {q} (A {})", Basis::Rule.as_str()),
        [false, true] if a.is_some() => format!("corrected {q} (B {})", Basis::Rule.as_str()),
        _ => format!("{q} {}", Basis::Rule.as_str()),
    }
}

/// What is compared of a jitter: late and early amounts have no common percentile.
type Jitter = fn(&EdgeFigures) -> Option<f64>;
const JITTER: [(&str, Jitter); 4] = [
    ("earliest", |j| j.min.map(|v| v as f64)),
    ("mean", |j| j.mean),
    ("stddev", |j| j.stddev),
    ("latest", |j| j.max.map(|v| v as f64)),
];

fn push_counts(push: &mut impl FnMut(String, Unit, Option<f64>, Option<f64>), a: &Merged, b: &Merged) {
    for (name, f) in COUNTS {
        let [x, y] = [a, b].map(|m| m.all.as_ref().map(|d| f(d) as f64));
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

fn side(records: &[Record]) -> Side {
    Side {
        ids: records.iter().map(|r| r.id().to_owned()).collect(),
        kernels: each_once(records, |r| r.parts().system.kernel.release.clone()),
        preemption: each_once(records, |r| r.parts().system.kernel.preemption.as_str().into()),
        clocks: each_once(records, clock_words),
        virtual_machine: records.iter().any(virtual_machine),
        verdict: records.iter().map(Record::verdict).max().unwrap_or(Verdict::Invalid),
    }
}

fn each_once<'a>(records: impl IntoIterator<Item = &'a Record>, f: impl Fn(&'a Record) -> String) -> Vec<String> {
    records.into_iter().map(f).filter(|s| !s.is_empty()).collect::<BTreeSet<_>>().into_iter().collect()
}

pub(crate) fn finding(code: &str, message: String, remedy: impl Into<String>) -> Finding {
    Finding { code: code.into(), message, remedy: remedy.into() }
}

/// What was measured differently, so that a ratio compares the measurements and not the machines; `names` are those of the sides.
pub(crate) fn differences(a: &[&Record], b: &[&Record], names: [&str; 2]) -> Vec<Finding> {
    type Aspect = (&'static str, &'static str, &'static str, fn(&Record) -> String);
    const ASPECTS: [Aspect; 9] = [
        ("test-differs", "test", "compare runs of the same test", |r| r.parts().test.to_string()),
        ("space-differs", "space", "measure both in the same --space", |r| r.parts().space.to_string()),
        ("clock-differs", "clock", "measure both with the same clock: virtual and host time do not compare", |r| {
            r.parts().clock.to_string()
        }),
        ("machine-differs", "machine", "measure both on bare metal, or both in the same virtual machine", |r| {
            r.parts().system.virtualization.clone().unwrap_or_else(|| "bare metal".into())
        }),
        ("interval-differs", "interval", "measure both with the same --interval", |r| intervals(r)),
        ("policy-differs", "policy and priority", "measure both with the same --policy and --priority", |r| {
            let s = &r.parts().settings;
            format!("{} {}", s.policy, s.priority)
        }),
        ("placement-differs", "placement of threads", "measure both pinned, or both with --migrate, on as many threads", |r| {
            let s = &r.parts().settings;
            format!("{} threads {}", s.threads, if s.migrate { "free to migrate" } else { "pinned" })
        }),
        ("lab-differs", "the lab's machine", "take both with one QEMU: the same program, firmware and processor", |r| {
            let of = |l: &rtscope_record::Lab| {
                let short = |sha256: &Option<String>| sha256.as_deref().map_or("-", |hex| hex.get(..12).unwrap_or(hex)).to_owned();
                let flags = l.processor.as_ref().map_or(0, |p| p.flags.len());
                format!("QEMU {} ({}, firmware {}, {flags} CPU flags)", l.qemu, short(&l.qemu_sha256), short(&l.firmware_sha256))
            };
            r.parts().lab.as_ref().map(of).unwrap_or_default()
        }),
        ("resolution-differs", "resolution", "measure both with rtscope: an imported figure was rounded down", |r| {
            let widest = r.distributions().iter().map(|d| d.parts().resolution).max().unwrap_or(1);
            format!("{widest} ns")
        }),
    ];
    let mut found = Vec::new();
    for (code, what, remedy, f) in ASPECTS {
        let (x, y) = (each_once(a.iter().copied(), f), each_once(b.iter().copied(), f));
        if x != y {
            let message = format!("{} and {} differ in {what}: {} against {}", names[0], names[1], x.join(", "), y.join(", "));
            found.push(finding(code, message, remedy));
        } else if x.len() > 1 {
            let message = format!("the runs merged on each side differ in {what}: {}", x.join(", "));
            found.push(finding(code, message, remedy));
        }
    }
    found
}

fn intervals(r: &Record) -> String {
    let of_threads: BTreeSet<u64> =
        r.distributions().iter().filter_map(|d| d.parts().thread.as_ref()).map(|t| t.interval).filter(|&i| i > 0).collect();
    if of_threads.is_empty() {
        return r.parts().settings.interval.to_string();
    }
    of_threads.into_iter().map(|i| rtscope_record::Nanos(i).to_string()).collect::<Vec<_>>().join("+")
}

/// What is wrong with a side of its own.
fn sides(a: &[Record], b: &[Record]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (records, name) in [(a, "A"), (b, "B")] {
        let mut by_verdict: BTreeMap<Verdict, Vec<&str>> = BTreeMap::new();
        for r in records {
            by_verdict.entry(r.verdict()).or_default().push(r.id());
        }
        for (verdict, code, why) in [
            (Verdict::Invalid, "side-invalid", "its figures mean something else than they say"),
            (Verdict::Inconclusive, "side-inconclusive", "its figures hold for that run only"),
        ] {
            if let Some(ids) = by_verdict.get(&verdict) {
                let message = format!("{name} holds {verdict} runs ({}): {why}", ids.join(", "));
                found.push(finding(code, message, format!("see the warnings: rtscope show {}", ids[0])));
            }
        }
        if records.iter().any(virtual_machine) {
            let words = each_once(records, clock_words).join(", ");
            found.push(finding(
                "virtual-machine",
                format!("{name} was measured in a virtual machine ({words}): its figures say little about real hardware"),
                "measure on the board itself",
            ));
        }
        if records.iter().any(|r| r.parts().interrupted) {
            found.push(finding("interrupted", format!("{name} holds a run that was ended early"), "repeat it to its end"));
        }
    }
    let ids: BTreeSet<&str> = a.iter().map(Record::id).collect();
    let shared: Vec<&str> = b.iter().map(Record::id).filter(|id| ids.contains(id)).collect();
    if !shared.is_empty() {
        found.push(finding("same-run", format!("A and B both hold {}", shared.join(", ")), "select different runs"));
    }
    found
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
