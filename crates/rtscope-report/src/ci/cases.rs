//! Test cases: what a run was held to, and what became of it. They fail closed: nothing passes that was not shown.

use super::statistics::{shown, statistics};
use crate::ReportError;
use rtscope_analysis::Evaluation;
use rtscope_record::{Effect, Record, Verdict};

/// What became of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaseOutcome {
    /// It holds.
    Passed,
    /// It does not hold, or is not shown.
    Failed(String),
    /// It could not be judged: the record is INVALID.
    Error(String),
    /// It says nothing for a conclusion: the record is INCONCLUSIVE.
    Skipped(String),
}

/// A case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// What is held, such as `verdict` or `p99.9<80us`.
    pub name: String,
    /// What became of it.
    pub outcome: CaseOutcome,
    /// What else is to be read, line by line; may be empty.
    pub output: String,
}

/// The cases of one run, or of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suite {
    /// Such as `rtscope.timer full`.
    pub name: String,
    /// How long the run took, ns.
    pub elapsed_ns: u64,
    /// Names and values of what it is a suite of: the run's id, its kernel.
    pub properties: Vec<(String, String)>,
    /// The cases.
    pub cases: Vec<Case>,
}

/// The suite of a record: its verdict with all figures, then each limit that it was held to.
pub fn suite(record: &Record, held: &[Evaluation]) -> Result<Suite, ReportError> {
    let p = record.parts();
    let figures = statistics(record)?;
    let line = |s: &super::Statistic| format!("{} {} {}{}\n", s.label, s.name, shown(s), if s.is_time { " us" } else { "" });
    let warned = |effect: Effect| {
        let all = p.warnings.iter().filter(|w| w.effect == effect);
        all.map(|w| format!("{}: {}", w.code, w.message)).collect::<Vec<_>>().join("; ")
    };
    let verdict = Case {
        name: "verdict".into(),
        outcome: match record.verdict() {
            Verdict::Valid | Verdict::Repeatable => CaseOutcome::Passed,
            Verdict::Inconclusive => CaseOutcome::Skipped(format!("INCONCLUSIVE: {}", warned(Effect::Inconclusive))),
            Verdict::Invalid => CaseOutcome::Error(format!("INVALID: {}", warned(Effect::Invalid))),
        },
        output: figures.iter().map(line).collect(),
    };
    let limit = |e: &Evaluation| Case {
        name: e.assertion.clone(),
        outcome: if e.outcome == rtscope_analysis::Outcome::Pass {
            CaseOutcome::Passed
        } else {
            CaseOutcome::Failed(format!("{}: {}", e.outcome.as_str(), e.text))
        },
        output: e.text.clone(),
    };
    let mut properties: Vec<(String, String)> = [
        ("id", record.id()),
        ("target", p.target.as_str()),
        ("kernel", p.system.kernel.release.as_str()),
        ("preemption", p.system.kernel.preemption.as_str()),
        ("clock", rtscope_analysis::clock_words(record).as_str()),
        ("verdict", record.verdict().as_str()),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .into();
    properties.retain(|p| !p.1.is_empty());
    Ok(Suite {
        name: format!("rtscope.{} {}", p.test, p.load),
        elapsed_ns: p.elapsed_ns,
        properties,
        cases: std::iter::once(verdict).chain(held.iter().filter(|e| e.record == record.id()).map(limit)).collect(),
    })
}
