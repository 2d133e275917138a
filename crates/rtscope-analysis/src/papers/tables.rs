//! The papers' tables: published rows, and below those of one condition one's own runs of the same.

use super::paper::Paper;
use super::run::{PaperRun, RunKind};
use crate::kernel::Role;
use crate::reference::Reference;
use rtscope_record::{Space, Test, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;

/// A table of a paper.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// "Table 2", with what it is.
    pub title: String,
    /// Published rows and one's own, condition by condition.
    pub rows: Vec<PaperRow>,
}

/// A row: a published one, or the runs of one kind together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PaperRow {
    /// The condition, the same for published rows and one's own: "user space, RT", "disk".
    pub condition: String,
    /// Board and kernel of a published row; kernel, load and interval of one's own.
    pub of: String,
    /// A published row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<Reference>,
    /// One's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own: Option<Pooled>,
}

/// The runs of one kind together; times in ns, a jitter with its sign.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pooled {
    /// Runs.
    pub runs: usize,
    /// Samples.
    pub samples: u64,
    /// Events that gave none.
    pub missed: u64,
    /// Lowest.
    pub min: Option<i64>,
    /// Mean.
    pub mean: Option<f64>,
    /// Highest.
    pub max: Option<i64>,
    /// Standard deviation (population form).
    pub stddev: Option<f64>,
    /// In every run 90 % of the samples are at or below it; `None` for a jitter, and where a run's count does not support it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90: Option<u64>,
    /// The same of 95 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95: Option<u64>,
    /// The worst verdict.
    pub verdict: Verdict,
    /// Ids of the records.
    pub ids: Vec<String>,
}

impl Pooled {
    /// Of at least one run.
    fn of(runs: &[&PaperRun]) -> Self {
        let samples = runs.iter().map(|r| r.samples).fold(0, u64::saturating_add);
        let weighted = |of: &dyn Fn(&PaperRun) -> Option<f64>| -> Option<f64> {
            let sum = runs.iter().map(|r| Some(of(r)? * r.samples as f64)).try_fold(0.0, |sum, v| Some(sum + v?))?;
            Some(sum / samples as f64)
        };
        let mean = weighted(&|r| r.mean);
        let highest =
            |of: fn(&PaperRun) -> Option<u64>| runs.iter().map(|r| of(r)).try_fold(0, |highest: u64, v| Some(highest.max(v?)));
        let variance = mean.and_then(|all| weighted(&|r| Some(r.variance? + (r.mean? - all).powi(2))));
        Self {
            runs: runs.len(),
            samples,
            missed: runs.iter().map(|r| r.missed).fold(0, u64::saturating_add),
            min: runs.iter().filter_map(|r| r.min).min(),
            mean,
            max: runs.iter().filter_map(|r| r.max).max(),
            stddev: variance.map(f64::sqrt),
            p90: highest(|r| r.p90),
            p95: highest(|r| r.p95),
            verdict: runs.iter().map(|r| r.verdict).max().unwrap_or(Verdict::Invalid),
            ids: runs.iter().map(|r| r.id.clone()).collect(),
        }
    }
}

/// A table: what of the published figures is in it, what of one's own, and under which condition each stands. Conditions are in
/// the order of their numbers.
struct Spec {
    paper: Paper,
    title: &'static str,
    published: fn(&Reference) -> Option<(u8, String)>,
    own: fn(&RunKind) -> Option<(u8, String)>,
}

fn role(rt: bool) -> &'static str {
    if rt { "RT" } else { "stock" }
}

fn is_rt(k: &RunKind) -> Option<bool> {
    match k.kernel.role {
        Role::Rt => Some(true),
        Role::Stock => Some(false),
        Role::Unknown => None,
    }
}

/// User space before kernel space, RT before stock, as Adam's Table 2.
fn space_and_role(space: Space, rt: bool) -> (u8, String) {
    let rank = u8::from(space == Space::Kernel) * 2 + u8::from(!rt);
    (rank, format!("{space} space, {}", role(rt)))
}

/// Stock before RT, as Balci and Dewit.
fn by_role(rt: bool) -> (u8, String) {
    (u8::from(rt), role(rt).to_owned())
}

/// Vinh & Chau's loads in their order, then others.
fn by_load(load: &str) -> (u8, String) {
    const LOADS: [&str; 6] = ["none", "background", "calculation", "disk", "network", "full"];
    let rank = LOADS.iter().position(|l| *l == load).unwrap_or(LOADS.len());
    (u8::try_from(rank).unwrap_or(u8::MAX), load.to_owned())
}

fn vinh_published(r: &Reference, table: &str) -> Option<(u8, String)> {
    (r.study == format!("Vinh & Chau, Table {table}")).then(|| by_load(&r.load))
}

fn vinh_own(k: &RunKind, test: Test, space: Space, rt: bool) -> Option<(u8, String)> {
    (k.test == test && k.space == space && is_rt(k) == Some(rt)).then(|| by_load(&k.load))
}

const SPECS: [Spec; 10] = [
    Spec {
        paper: Paper::Adam2021,
        title: "Table 1 and Fig. 7: response latency of PREEMPT_RT kernels",
        published: |r| {
            let first = ["adam-1-sw", "adam-3-sw", "adam-5-sw", "adam-7-sw", "bm-user", "bm-kern"].contains(&r.id.as_str());
            r.space.filter(|_| first).map(|s| (u8::from(s == Space::Kernel), format!("{s} space")))
        },
        own: |k| {
            let fits = k.test == Test::Response && is_rt(k) == Some(true);
            fits.then(|| (u8::from(k.space == Space::Kernel), format!("{} space", k.space)))
        },
    },
    Spec {
        paper: Paper::Adam2021,
        title: "Table 1 and section 7: jitter of a periodic task, semi-periods of 15 ms",
        published: |r| (r.id == "adam-per").then(|| (0, "RT, space not stated".to_owned())),
        own: |k| {
            let of = is_rt(k).filter(|_| k.test == Test::Periodic).map(|rt| space_and_role(k.space, rt));
            of.map(|(rank, condition)| (rank + 1, condition))
        },
    },
    Spec {
        paper: Paper::Adam2021,
        title: "Table 2 and Fig. 8: response latency, both edges together",
        published: |r| {
            let of = r.space.filter(|_| r.study == "Adam 2021, Table 2");
            of.map(|space| space_and_role(space, r.rt))
        },
        own: |k| is_rt(k).filter(|_| k.test == Test::Response).map(|rt| space_and_role(k.space, rt)),
    },
    Spec {
        paper: Paper::Balci2017,
        title: "The two plots: wake-up latency without load",
        published: |r| (r.study == "Balci 2017").then(|| by_role(r.rt)),
        own: |k| is_rt(k).filter(|_| k.test == Test::Timer && k.space == Space::User && k.load == "none").map(by_role),
    },
    Spec {
        paper: Paper::Dewit2024,
        title: "Table I and Fig. 1: wake-up latency under load",
        published: |r| (r.study == "Dewit 2024, Table I").then(|| by_role(r.rt)),
        own: |k| is_rt(k).filter(|_| k.test == Test::Timer && k.space == Space::User && k.load != "none").map(by_role),
    },
    Spec {
        paper: Paper::VinhChau,
        title: "Table 1 and Fig. 7: jitter of a periodic task, user space",
        published: |r| vinh_published(r, "1"),
        own: |k| vinh_own(k, Test::Periodic, Space::User, false),
    },
    Spec {
        paper: Paper::VinhChau,
        title: "Table 2 and Fig. 8: interrupt latency by IRQ",
        published: |r| vinh_published(r, "2"),
        own: |k| vinh_own(k, Test::Response, Space::Kernel, false),
    },
    Spec {
        paper: Paper::VinhChau,
        title: "Table 3 and Fig. 9: jitter by a timer's interrupt, kernel space",
        published: |r| vinh_published(r, "3"),
        own: |k| vinh_own(k, Test::Periodic, Space::Kernel, false),
    },
    Spec {
        paper: Paper::VinhChau,
        title: "Table 4 and Fig. 10: jitter by FIQ; one's own: kernel space on PREEMPT_RT, as lines have no FIQ",
        published: |r| vinh_published(r, "4"),
        own: |k| vinh_own(k, Test::Periodic, Space::Kernel, true),
    },
    Spec {
        paper: Paper::VinhChau,
        title: "Table 5 and Fig. 11: interrupt latency by FIQ; one's own: IRQ on PREEMPT_RT, as lines have no FIQ",
        published: |r| vinh_published(r, "5"),
        own: |k| vinh_own(k, Test::Response, Space::Kernel, true),
    },
];

/// Whether runs of this kind are in a table of the paper.
pub(super) fn has(paper: Paper, kind: &RunKind) -> bool {
    SPECS.iter().any(|s| s.paper == paper && (s.own)(kind).is_some())
}

/// The tables of a paper. A condition of which nothing was published is there too.
pub(super) fn tables(paper: Paper, published: &[Reference], kinds: &BTreeMap<RunKind, Vec<&PaperRun>>) -> Vec<Table> {
    SPECS.iter().filter(|s| s.paper == paper).map(|s| table(s, published, kinds)).collect()
}

fn table(spec: &Spec, rows: &[Reference], kinds: &BTreeMap<RunKind, Vec<&PaperRun>>) -> Table {
    let mut conditions: BTreeMap<(u8, String), Vec<PaperRow>> = BTreeMap::new();
    for r in rows {
        if let Some(condition) = (spec.published)(r) {
            let row = PaperRow { condition: condition.1.clone(), of: published(r), published: Some(r.clone()), own: None };
            conditions.entry(condition).or_default().push(row);
        }
    }
    let own: Vec<_> = kinds.iter().filter_map(|(kind, runs)| Some(((spec.own)(kind)?, kind, runs))).collect();
    for (condition, kind, runs) in &own {
        let beside: Vec<&RunKind> = own.iter().filter(|(other, ..)| other == condition).map(|(_, kind, _)| *kind).collect();
        let row =
            PaperRow { condition: condition.1.clone(), of: name(kind, &beside), published: None, own: Some(Pooled::of(runs)) };
        conditions.entry(condition.clone()).or_default().push(row);
    }
    Table { title: spec.title.into(), rows: conditions.into_values().flatten().collect() }
}

/// Board and kernel of a published row, and that an oscilloscope timed it.
fn published(r: &Reference) -> String {
    let kernel = if r.kernel == "not stated" { String::new() } else { format!(", {}", r.kernel) };
    let by = if r.tool.starts_with("oscilloscope") { ", by oscilloscope" } else { "" };
    format!("{}{kernel}{by}", r.board)
}

/// Kernel, load and interval of one's own runs, and what tells them from those beside them of the same three.
fn name(k: &RunKind, beside: &[&RunKind]) -> String {
    let short = |k: &RunKind| format!("{}, load {}, every {}", k.kernel.label, k.load, k.every());
    let mut name = short(k);
    let alike: Vec<&RunKind> = beside.iter().copied().filter(|other| short(other) == name).collect();
    let machine = |k: &RunKind| format!("{} {}", k.machine, k.clock_words);
    let more: [&dyn Fn(&RunKind) -> String; 4] =
        [&machine, &RunKind::length, &|k: &RunKind| k.scheduling.clone(), &|k: &RunKind| k.device.clone()];
    for one in more {
        let own = one(k);
        if alike.iter().any(|other| one(other) != own) {
            name += &format!(", {own}");
        }
    }
    name
}
