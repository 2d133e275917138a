//! Vinh & Chau's Figs. 7 to 11: the samples under each load as a histogram, with what they published of the same load.

use super::paper::Paper;
use super::run::{PaperRun, RunKind, kinds};
use super::tables::{Pooled, Table, tables};
use crate::edges::edge_of;
use crate::reference::{Figure, Reference, ReferenceError, all};
use rtscope_failure::{Fault, Problem};
use rtscope_record::{Distribution, DistributionError, Record};
use std::collections::BTreeMap;

/// A figure: published values of each load, and one's own samples of one machine, kernel, interval and length.
#[derive(Debug, Clone, PartialEq)]
pub struct PaperFigure {
    /// The paper.
    pub paper: Paper,
    /// Its number there.
    pub number: u32,
    /// What it shows: "interrupt latency by FIQ".
    pub what: String,
    /// What of one's own stands in for it, where that is not the same; else empty.
    pub instead: String,
    /// What one's own runs have in common, part by part; empty where there are none.
    pub of: Vec<String>,
    /// Whether samples are jitter, which has a sign: early is below zero.
    pub signed: bool,
    /// The paper's loads in its order, then others.
    pub loads: Vec<LoadHistogram>,
}

/// What a figure shows of a load.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadHistogram {
    /// Its name.
    pub load: String,
    /// The paper's values.
    pub published: Option<Reference>,
    /// One's own runs together; `None` if there are none that count.
    pub own: Option<LoadSamples>,
}

/// The samples of all runs under a load, both edges together.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadSamples {
    /// Their figures, as in the paper's table.
    pub pooled: Pooled,
    /// By how much those below zero are; `None` where no sample can be.
    pub early: Option<Distribution>,
    /// The others.
    pub late: Option<Distribution>,
}

/// Why the figures can't be had.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PaperFigureError {
    /// The published values can't be read.
    #[error(transparent)]
    Published(#[from] ReferenceError),
    /// The samples of some runs can't be added up.
    #[error("the runs under one load can't be merged: {0}")]
    Merge(#[from] DistributionError),
}

impl Problem for PaperFigureError {
    fn remedy(&self) -> String {
        match self {
            Self::Published(e) => e.remedy(),
            Self::Merge(e) => e.remedy(),
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Published(e) => e.fault(),
            Self::Merge(e) => e.fault(),
        }
    }
}

/// Vinh & Chau's figures, each once for every machine, kernel, interval and length that `records` have runs of, or once without runs.
/// What is in a figure is what is in its table, so runs that do not count there do not here.
pub fn figures(records: &[Record]) -> Result<Vec<PaperFigure>, PaperFigureError> {
    let mut runs = Vec::new();
    for r in records {
        runs.extend(PaperRun::of(r)?);
    }
    let known = Known {
        records: records.iter().map(|r| (r.id(), r)).collect(),
        kinds: runs.iter().map(|r| (r.id.as_str(), RunKind { load: String::new(), ..r.kind.clone() })).collect(),
    };
    let mut found = Vec::new();
    for table in tables(Paper::VinhChau, &all()?, &kinds(&runs)) {
        if let Some(numbered) = numbered(&table.title) {
            found.extend(of_table(numbered, &table, &known)?);
        }
    }
    Ok(found)
}

/// The records by their ids, and of what kind each is but for its load.
struct Known<'a> {
    records: BTreeMap<&'a str, &'a Record>,
    kinds: BTreeMap<&'a str, RunKind>,
}

impl Known<'_> {
    fn kind(&self, own: &Pooled) -> Option<&RunKind> {
        self.kinds.get(own.ids.first()?.as_str())
    }
}

/// The number of the figure that a table's title names, what it shows, and what of one's own stands in for it.
fn numbered(title: &str) -> Option<(u32, &str, &str)> {
    let (number, what) = title.split_once("Fig. ")?.1.split_once(": ")?;
    let (what, instead) = what.split_once("; ").unwrap_or((what, ""));
    Some((number.parse().ok()?, what, instead))
}

fn of_table(
    (number, what, instead): (u32, &str, &str),
    table: &Table,
    known: &Known<'_>,
) -> Result<Vec<PaperFigure>, PaperFigureError> {
    let mut kinds: Vec<&RunKind> = table.rows.iter().filter_map(|r| known.kind(r.own.as_ref()?)).collect();
    kinds.sort();
    kinds.dedup();
    let each: Vec<Option<&RunKind>> = if kinds.is_empty() { vec![None] } else { kinds.into_iter().map(Some).collect() };
    let figure = |kind: Option<&RunKind>| {
        Ok(PaperFigure {
            paper: Paper::VinhChau,
            number,
            what: what.into(),
            instead: instead.into(),
            of: kind.map_or_else(Vec::new, common),
            signed: table.rows.iter().any(|r| r.published.as_ref().is_some_and(|p| p.figure == Figure::Jitter)),
            loads: loads(kind, table, known)?,
        })
    };
    each.into_iter().map(figure).collect()
}

/// The loads of a table, with one's own samples of this kind of run.
fn loads(kind: Option<&RunKind>, table: &Table, known: &Known<'_>) -> Result<Vec<LoadHistogram>, DistributionError> {
    let mut loads: Vec<LoadHistogram> = Vec::new();
    for row in &table.rows {
        let own = row.own.as_ref().filter(|own| known.kind(own) == kind);
        if row.published.is_none() && own.is_none() {
            continue;
        }
        // Rows of one load follow each other.
        if loads.last().is_none_or(|l| l.load != row.condition) {
            loads.push(LoadHistogram { load: row.condition.clone(), published: None, own: None });
        }
        if let Some(load) = loads.last_mut() {
            load.published = load.published.take().or_else(|| row.published.clone());
            if let Some(pooled) = own {
                load.own = Some(samples(pooled, known)?);
            }
        }
    }
    Ok(loads)
}

fn samples(pooled: &Pooled, known: &Known<'_>) -> Result<LoadSamples, DistributionError> {
    let (mut early, mut late): (Option<Distribution>, Option<Distribution>) = (None, None);
    for r in pooled.ids.iter().filter_map(|id| known.records.get(id.as_str())) {
        for d in r.distributions() {
            let (of, label) = if edge_of(d.label()).1 { (&mut early, "early") } else { (&mut late, "late") };
            *of = Some(match of.take() {
                Some(sum) => sum.with(d, label, 0)?,
                None => d.clone(),
            });
        }
    }
    Ok(LoadSamples { pooled: pooled.clone(), early, late })
}

/// What runs of a kind have in common, in words.
fn common(k: &RunKind) -> Vec<String> {
    let parts = [
        k.kernel.label.clone(),
        format!("{}, {}", k.machine, k.clock_words),
        format!("every {}", k.every()),
        format!("{} a run", k.length()),
        k.scheduling.clone(),
        k.device.clone(),
    ];
    parts.into_iter().filter(|p| !p.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Build;
    use rtscope_record::system::Preemption;
    use rtscope_record::{Effect, Nanos, Space, Test};

    const LOADS: [&str; 6] = ["none", "background", "calculation", "disk", "network", "full"];

    /// A run on a stock kernel, with these samples.
    fn run(test: Test, load: &str, seed: u64, samples: &[(&str, &[u64], u64)]) -> Build {
        let mut b = Build::lines(&format!("{test}-{load}-{seed}"), test, samples);
        b.0.load = load.into();
        b.0.settings.interval = Nanos(20_000_000);
        b.0.system.kernel.release = "6.12.1-amd64".into();
        b.0.system.kernel.preemption = Preemption::Voluntary;
        b
    }

    /// Two runs of a wave: under each load one edge 3 us early, two on time or late.
    fn waves(load: &str) -> Vec<Record> {
        let of = |seed| run(Test::Periodic, load, seed, &[("rising early", &[3_000], 0), ("falling late", &[0, 5_000 + seed], 0)]);
        [1, 2].map(|seed| of(seed).record()).into()
    }

    #[test]
    fn each_figure_has_the_samples_of_its_runs_under_each_load() {
        let mut records: Vec<Record> = LOADS.iter().flat_map(|load| waves(load)).collect();
        let mut answer = run(Test::Response, "full", 1, &[("rising", &[9_000], 0), ("falling", &[7_000, 8_000], 0)]);
        answer.0.space = Space::Kernel;
        records.push(answer.record());
        // Given twice, a run counts once.
        records.push(records[0].clone());
        let found = figures(&records).unwrap();
        let heads: Vec<_> = found.iter().map(|f| (f.number, f.signed, f.of.is_empty())).collect();
        assert_eq!(heads, [(7, true, false), (8, false, false), (9, true, true), (10, true, true), (11, false, true)]);
        for f in &found {
            assert_eq!(f.loads.iter().map(|l| l.load.as_str()).collect::<Vec<_>>(), LOADS, "Fig. {}", f.number);
            assert!(f.loads.iter().all(|l| l.published.is_some()) && !f.what.is_empty(), "Fig. {}", f.number);
        }
        for load in &found[0].loads {
            let own = load.own.as_ref().unwrap();
            let (early, late) = (own.early.as_ref().unwrap(), own.late.as_ref().unwrap());
            assert_eq!((early.count(), early.max(), late.count(), late.max()), (2, Some(3_000), 4, Some(5_002)));
            assert_eq!((own.pooled.runs, own.pooled.min, own.pooled.max), (2, Some(-3_000), Some(5_002)));
        }
        let latency: Vec<_> = found[1].loads.iter().filter_map(|l| l.own.as_ref()).collect();
        assert_eq!(latency.len(), 1, "of the other loads there are no runs");
        assert!(latency[0].early.is_none() && latency[0].late.as_ref().unwrap().count() == 3, "both edges");
        assert!(found[2].loads.iter().all(|l| l.own.is_none()));
        assert!(found[3].instead.contains("PREEMPT_RT"), "{}", found[3].instead);
    }

    #[test]
    fn runs_of_another_kind_have_a_figure_of_their_own_and_invalid_ones_none() {
        let mut longer = run(Test::Periodic, "disk", 3, &[("rising late", &[1_000], 0)]);
        longer.0.settings.duration = Some(Nanos(3_600_000_000_000));
        let invalid = run(Test::Periodic, "full", 3, &[("rising late", &[1_000], 0)]).warn("load-died", Effect::Invalid);
        let found = figures(&[waves("none"), vec![longer.record(), invalid.record()]].concat()).unwrap();
        assert_eq!(found.iter().map(|f| f.number).collect::<Vec<_>>(), [7, 7, 8, 9, 10, 11]);
        let loads = |f: &PaperFigure| f.loads.iter().filter(|l| l.own.is_some()).map(|l| l.load.clone()).collect::<Vec<_>>();
        let mut both = [loads(&found[0]), loads(&found[1])];
        both.sort();
        assert_eq!(both, [vec!["disk"], vec!["none"]]);
        assert_ne!(found[0].of, found[1].of);
        assert!(figures(&[]).unwrap().iter().all(|f| f.of.is_empty()), "without runs there are the published values");
    }
}
