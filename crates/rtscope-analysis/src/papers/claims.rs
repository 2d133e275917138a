//! The papers' claims, each a named comparison of one's own runs: confirmed, contradicted, or not enough data.
//!
//! A claim is a bound on a ratio B/A of a figure of whole runs. It is confirmed where the interval lies on the claimed side in every
//! comparison that the runs allow, and contradicted where it lies on the other side in any. All intervals of a claim hold together.

use super::paper::Paper;
use super::run::{PaperRun, RunKind};
use crate::kernel::Role;
use rtscope_record::{Handler, Space, Test, Verdict};
use rtscope_statistics::replicates::{Level, Runs, Scale, difference};
use serde::Serialize;
use std::collections::BTreeMap;

const CONFIDENCE: f64 = 0.95;
/// Of the bootstrap.
const SEED: u64 = 1;
/// Fewest runs a side of which an interval is believed.
pub(super) const FEWEST: usize = 3;

/// What one's own runs say to a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The interval lies on the claimed side.
    Confirmed,
    /// It lies on the other side.
    Contradicted,
    /// It lies on both, or there is none.
    NotEnoughData,
}

impl Answer {
    /// The answer in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Contradicted => "contradicted",
            Self::NotEnoughData => "not enough data",
        }
    }
}

/// A claim with its answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claim {
    /// Its name: `rt-lowers-maximum`.
    pub id: &'static str,
    /// The paper that makes it.
    pub paper: Paper,
    /// The claim in a sentence.
    pub says: &'static str,
    /// What is compared, and the bound.
    pub test: String,
    /// The answer over all comparisons.
    pub answer: Answer,
    /// Why there is no comparison, or too few runs; empty otherwise.
    pub missing: String,
    /// Each comparison.
    pub held: Vec<Held>,
}

/// A comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Held {
    /// What both sides have in common: kernel or load, space, interval, clock.
    pub of: String,
    /// What A is, and B.
    pub sides: [String; 2],
    /// Runs of A and of B that have the figure.
    pub runs: [usize; 2],
    /// The figure of A and of B: the geometric mean over runs.
    pub figures: Option<[f64; 2]>,
    /// Their unit: "ns", or empty for a quotient.
    pub unit: &'static str,
    /// B/A.
    pub ratio: Option<f64>,
    /// Its interval.
    pub interval: Option<[f64; 2]>,
    /// The answer.
    pub answer: Answer,
    /// Why there is no answer; empty otherwise.
    pub why: String,
    /// The worst verdict among the runs.
    pub verdict: Verdict,
}

/// A figure of a run.
#[derive(Clone, Copy)]
enum Figure {
    Worst,
    Mean,
    Deviation,
    /// How many times the mean the worst is.
    WorstOverMean,
    /// The geometric mean of the mean and the worst.
    WorstAndMean,
}

impl Figure {
    /// The figure, if it is known.
    fn of(self, r: &PaperRun) -> Option<f64> {
        let both = r.worst.zip(r.mean);
        let figure = match self {
            Self::Worst => r.worst,
            Self::Mean => r.mean,
            Self::Deviation => r.variance.map(f64::sqrt),
            Self::WorstOverMean => both.map(|(worst, mean)| if mean > 0.0 { worst / mean } else { 0.0 }),
            Self::WorstAndMean => both.map(|(worst, mean)| (worst * mean).sqrt()),
        };
        figure.filter(|v| v.is_finite())
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Worst => "maximum",
            Self::Mean => "mean",
            Self::Deviation => "standard deviation",
            Self::WorstOverMean => "maximum over mean",
            Self::WorstAndMean => "geometric mean of maximum and mean",
        }
    }
}

/// The claimed side of a ratio.
#[derive(Clone, Copy)]
enum Bound {
    Below(f64),
    Above(f64),
}

impl Bound {
    fn answer(self, [low, high]: [f64; 2]) -> Answer {
        let (claimed, other) = match self {
            Self::Below(c) => (high < c, low >= c),
            Self::Above(c) => (low > c, high <= c),
        };
        match (claimed, other) {
            (true, _) => Answer::Confirmed,
            (_, true) => Answer::Contradicted,
            _ => Answer::NotEnoughData,
        }
    }

    fn words(self) -> String {
        match self {
            Self::Below(c) => format!("below {c}"),
            Self::Above(c) => format!("above {c}"),
        }
    }
}

pub(super) type Kinds<'a> = BTreeMap<RunKind, Vec<&'a PaperRun>>;

/// A claim as it is tried.
struct Spec {
    paper: Paper,
    id: &'static str,
    says: &'static str,
    figures: &'static [Figure],
    bound: Bound,
    /// What A is and what B is.
    sides: [&'static str; 2],
    /// Which kinds are A.
    is_a: fn(&RunKind) -> bool,
    /// Whether a kind is the B of this A.
    is_b: fn(&RunKind, &RunKind) -> bool,
    /// What the runs lack where there is no pair.
    lacks: &'static str,
}

fn stock(k: &RunKind) -> bool {
    k.kernel.role == Role::Stock
}

/// What Dewit measured, on the stock kernel.
fn loaded_stock_timer(k: &RunKind) -> bool {
    k.test == Test::Timer && k.space == Space::User && k.load != "none" && stock(k)
}

const LOADED_TIMERS: &str = "timer tests under load on a stock kernel and its PREEMPT_RT partner";

/// The same but for the kernel, which is the RT one of the same series with the same parameters.
fn rt_of(a: &RunKind, b: &RunKind) -> bool {
    let kernels = b.kernel.role == Role::Rt && a.kernel.numbers().is_some() && a.kernel.numbers() == b.kernel.numbers();
    kernels
        && a.kernel.parameters == b.kernel.parameters
        && a.kernel.tuning == b.kernel.tuning
        && a.beside_kernel() == b.beside_kernel()
}

fn same_but_load(a: &RunKind, b: &RunKind) -> bool {
    b.load != "none" && *a == RunKind { load: a.load.clone(), ..b.clone() }
}

fn same_but_space(a: &RunKind, b: &RunKind) -> bool {
    // The device's task is a thread of the run only in user space. Another instrument has another latency of its own.
    let of = |k: &RunKind| RunKind {
        space: Space::User,
        device: k.instrument().to_owned(),
        threads: 0,
        scheduling: String::new(),
        ..k.clone()
    };
    b.space == Space::Kernel && of(a) == of(b)
}

/// The same kernel with high-resolution timers.
fn with_high_resolution(a: &RunKind, b: &RunKind) -> bool {
    let rest: Vec<&String> = a.kernel.parameters.iter().filter(|p| *p != "highres=off").collect();
    let kernels = a.kernel.release == b.kernel.release
        && a.kernel.tuning == b.kernel.tuning
        && rest == b.kernel.parameters.iter().collect::<Vec<_>>();
    kernels && a.beside_kernel() == b.beside_kernel()
}

const SPECS: &[Spec] = &[
    Spec {
        paper: Paper::Adam2021,
        id: "rt-lowers-response-maximum",
        says: "PREEMPT_RT lowers the worst-case response latency",
        figures: &[Figure::Worst],
        bound: Bound::Below(1.0),
        sides: ["stock", "RT"],
        is_a: |k| k.test == Test::Response && stock(k),
        is_b: rt_of,
        lacks: "response tests on a stock kernel and its PREEMPT_RT partner",
    },
    Spec {
        paper: Paper::Adam2021,
        id: "kernel-response-below-user",
        says: "Response latency in kernel space is below that in user space",
        figures: &[Figure::Mean, Figure::Worst],
        bound: Bound::Below(1.0),
        sides: ["user space", "kernel space"],
        is_a: |k| k.test == Test::Response && k.space == Space::User,
        is_b: same_but_space,
        lacks: "response tests in user and in kernel space on one kernel",
    },
    Spec {
        paper: Paper::Balci2017,
        id: "rt-lowers-maximum",
        says: "PREEMPT_RT lowers the maximum wake-up latency without load",
        figures: &[Figure::Worst],
        bound: Bound::Below(1.0),
        sides: ["stock", "RT"],
        is_a: |k| k.test == Test::Timer && k.space == Space::User && k.load == "none" && stock(k),
        is_b: rt_of,
        lacks: "timer tests without load on a stock kernel and its PREEMPT_RT partner",
    },
    Spec {
        paper: Paper::Dewit2024,
        id: "rt-lowers-maximum-under-load",
        says: "PREEMPT_RT lowers the maximum wake-up latency under load",
        figures: &[Figure::Worst],
        bound: Bound::Below(1.0),
        sides: ["stock", "RT"],
        is_a: loaded_stock_timer,
        is_b: rt_of,
        lacks: LOADED_TIMERS,
    },
    Spec {
        paper: Paper::Dewit2024,
        id: "stock-maximum-ten-times-rt",
        says: "Under load stock's maximum is at least ten times RT's (Dewit saw 294 times)",
        figures: &[Figure::Worst],
        bound: Bound::Below(0.1),
        sides: ["stock", "RT"],
        is_a: loaded_stock_timer,
        is_b: rt_of,
        lacks: LOADED_TIMERS,
    },
    Spec {
        paper: Paper::Dewit2024,
        id: "rt-lowers-deviation-under-load",
        says: "Under load PREEMPT_RT lowers the standard deviation of the wake-up latency (Dewit saw 122.08 and 3.25 us)",
        figures: &[Figure::Deviation],
        bound: Bound::Below(1.0),
        sides: ["stock", "RT"],
        is_a: loaded_stock_timer,
        is_b: rt_of,
        lacks: LOADED_TIMERS,
    },
    Spec {
        paper: Paper::Dewit2024,
        id: "mean-changes-less-than-maximum",
        says: "From stock to RT the maximum falls, and the mean changes by less",
        // Both ratios are below 1 just where that of the maximum is, and that of the mean is nearer to 1.
        figures: &[Figure::WorstOverMean, Figure::WorstAndMean],
        bound: Bound::Below(1.0),
        sides: ["stock", "RT"],
        is_a: loaded_stock_timer,
        is_b: rt_of,
        lacks: LOADED_TIMERS,
    },
    Spec {
        paper: Paper::VinhChau,
        id: "load-raises-jitter",
        says: "Load raises the jitter of a periodic task in user space",
        figures: &[Figure::Deviation, Figure::Worst],
        bound: Bound::Above(1.0),
        sides: ["no load", "loaded"],
        is_a: |k| k.test == Test::Periodic && k.space == Space::User && k.load == "none",
        is_b: same_but_load,
        lacks: "periodic tests in user space with load and without",
    },
    Spec {
        paper: Paper::VinhChau,
        id: "load-raises-interrupt-latency",
        says: "Load raises the worst interrupt latency",
        figures: &[Figure::Worst],
        bound: Bound::Above(1.0),
        sides: ["no load", "loaded"],
        is_a: |k| k.test == Test::Response && k.space == Space::Kernel && k.load == "none",
        is_b: same_but_load,
        lacks: "response tests in kernel space with load and without",
    },
    Spec {
        paper: Paper::VinhChau,
        id: "timer-interrupt-lowers-jitter",
        says: "A periodic task in a timer's interrupt has less jitter than one that sleeps",
        figures: &[Figure::Deviation, Figure::Worst],
        bound: Bound::Below(1.0),
        sides: ["user space", "kernel space"],
        is_a: |k| k.test == Test::Periodic && k.space == Space::User && stock(k) && !k.on_the_tick(),
        is_b: same_but_space,
        lacks: "periodic tests in user and in kernel space on a stock kernel",
    },
    Spec {
        paper: Paper::VinhChau,
        id: "high-resolution-timers-lower-jitter",
        says: "A sleep on a high-resolution timer has less jitter than one on the tick",
        figures: &[Figure::Worst],
        bound: Bound::Below(1.0),
        sides: ["highres=off", "high resolution"],
        is_a: |k| matches!(k.test, Test::Timer | Test::Periodic) && k.space == Space::User && k.on_the_tick(),
        is_b: with_high_resolution,
        lacks: "tests on a kernel with highres=off and without (lab:KERNEL+highres=off)",
    },
    Spec {
        paper: Paper::VinhChau,
        id: "fiq-lowers-latency",
        says: "A timer's fast interrupt (FIQ) is sooner at work than its IRQ",
        figures: &[Figure::Mean, Figure::Worst],
        bound: Bound::Below(1.0),
        sides: ["IRQ", "FIQ"],
        is_a: |k| k.handler == Some(Handler::Hard),
        is_b: |a, b| b.handler == Some(Handler::Fiq) && *a == RunKind { handler: a.handler, ..b.clone() },
        lacks: "timer tests in kernel space with --handler hard and --handler fiq on one kernel of 32-bit Arm",
    },
];

/// The claims of these papers that compare two kinds of runs.
pub(super) fn compared(asked: &[Paper], kinds: &Kinds<'_>) -> Vec<Claim> {
    SPECS.iter().filter(|s| asked.contains(&s.paper)).map(|s| tried(s, kinds)).collect()
}

fn tried(spec: &Spec, kinds: &Kinds<'_>) -> Claim {
    let mut pairs = Vec::new();
    for (a, of_a) in kinds.iter().filter(|(a, _)| (spec.is_a)(a)) {
        for (b, of_b) in kinds.iter().filter(|(b, _)| (spec.is_b)(a, b)) {
            pairs.extend(spec.figures.iter().map(|f| (*f, (a, of_a), (b, of_b))));
        }
    }
    let level = Level { confidence: CONFIDENCE, rows: pairs.len(), seed: SEED };
    let several = spec.figures.len() > 1;
    let held: Vec<Held> = pairs
        .into_iter()
        .map(|(figure, (a, of_a), (b, of_b))| {
            let named = if several { format!("{}, ", figure.as_str()) } else { String::new() };
            let of = format!("{named}{}", common(spec, a, b));
            hold(of, spec, figure, [of_a, of_b], level)
        })
        .collect();
    let figures: Vec<&str> = spec.figures.iter().map(|f| f.as_str()).collect();
    let [a, b] = spec.sides;
    let test = format!("{} of {b} over {a} {}", figures.join(" and "), spec.bound.words());
    let missing = if held.is_empty() { format!("there are no {}", spec.lacks) } else { String::new() };
    Claim { id: spec.id, paper: spec.paper, says: spec.says, test, answer: overall(&held), missing, held }
}

/// The answer over all comparisons: none contradicts, and all confirm.
pub(super) fn overall(held: &[Held]) -> Answer {
    let any = |answer| held.iter().any(|h| h.answer == answer);
    if any(Answer::Contradicted) {
        Answer::Contradicted
    } else if held.is_empty() || any(Answer::NotEnoughData) {
        Answer::NotEnoughData
    } else {
        Answer::Confirmed
    }
}

/// What A and B have in common, and what tells this pair from the claim's others.
fn common(spec: &Spec, a: &RunKind, b: &RunKind) -> String {
    let mut words = vec![if spec.sides == ["stock", "RT"] { a.kernel.series() } else { a.kernel.label.clone() }];
    if spec.sides == ["stock", "RT"] {
        words.extend(Some(a.kernel.added()).filter(|added| !added.is_empty()));
    }
    words.push(format!("load {}", b.load));
    if a.space == b.space {
        words.push(format!("{} {}", a.test, a.space));
    }
    words.push(format!("every {}", a.every()));
    words.push(a.scheduling.clone());
    words.push(a.model.map_or_else(|| format!("{} {}", a.machine, a.clock_words), |m| format!("{} model {m}", a.machine)));
    words.join(", ")
}

fn hold(of: String, spec: &Spec, figure: Figure, sides: [&[&PaperRun]; 2], level: Level) -> Held {
    let known = sides.map(|runs| runs.iter().filter_map(|r| figure.of(r)).collect::<Vec<f64>>());
    // A run whose worst event is not known would be left out for being bad.
    let unknown = sides.iter().map(|all| all.len()).sum::<usize>() - known.iter().map(Vec::len).sum::<usize>();
    let values = known.map(|known| known.into_iter().filter(|v| *v > 0.0).collect::<Vec<f64>>());
    let runs = [values[0].len(), values[1].len()];
    let side = |i: usize| Runs { values: &values[i], blocks: &[], step: 0.0 };
    let found = difference(side(0), side(1), level).filter(|d| d.scale == Scale::Ratio);
    let zero = sides.iter().map(|all| all.len()).sum::<usize>() - unknown - runs.iter().sum::<usize>();
    let enough = runs.iter().all(|n| *n >= FEWEST);
    let interval = found.as_ref().and_then(|d| d.interval);
    let (answer, why) = match interval {
        _ if unknown > 0 => {
            (Answer::NotEnoughData, format!("{unknown} runs do not know their {}: events without a sample", figure.as_str()))
        }
        _ if zero > 0 => {
            (Answer::NotEnoughData, format!("the {} of {zero} runs is 0 or below, of which there is no ratio", figure.as_str()))
        }
        _ if !enough => (Answer::NotEnoughData, format!("{} and {} runs: take {FEWEST} a side, better 5", runs[0], runs[1])),
        Some(ends) => match spec.bound.answer(ends) {
            Answer::NotEnoughData => (Answer::NotEnoughData, "the interval lies on both sides of the bound: take more runs".into()),
            answer => (answer, String::new()),
        },
        None => (Answer::NotEnoughData, "there is no interval".into()),
    };
    Held {
        of,
        sides: spec.sides.map(str::to_owned),
        runs,
        figures: found.as_ref().map(|d| [d.a, d.b]),
        unit: if matches!(figure, Figure::WorstOverMean) { "" } else { "ns" },
        ratio: found.as_ref().map(|d| d.estimate),
        interval: interval.filter(|_| enough),
        answer,
        why,
        verdict: worst_verdict(sides.into_iter().flatten()),
    }
}

pub(super) fn worst_verdict<'a>(runs: impl IntoIterator<Item = &'a &'a PaperRun>) -> Verdict {
    runs.into_iter().map(|r| r.verdict).max().unwrap_or(Verdict::Invalid)
}
