//! The four papers that rtscope reproduces: their tables with one's own runs beside the published figures, and their claims held
//! against one's own runs.

mod bounds;
mod claims;
mod conditions;
mod figures;
mod paper;
mod run;
mod tables;

pub use claims::{Answer, Claim, Held};
pub use conditions::OtherCondition;
pub use figures::{LoadHistogram, LoadSamples, PaperFigure, PaperFigureError, figures};
pub use paper::Paper;
pub use run::{PaperRun, RunKind};
pub use tables::{PaperRow, Pooled, Table};

use crate::reference::{ReferenceError, all};
use rtscope_record::Fingerprint;
use serde::Serialize;

/// A paper beside one's own runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PaperBesideRuns {
    /// The paper.
    pub paper: Paper,
    /// Authors, title and place.
    pub source: &'static str,
    /// On what, how and how long its figures were measured.
    pub conditions: &'static str,
    /// The same of one's own runs, a line for each kind of them.
    pub own_conditions: Vec<String>,
    /// What of them is another than the paper's.
    pub differences: Vec<OtherCondition>,
    /// Its tables.
    pub tables: Vec<Table>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Papers {
    /// The papers that were asked for.
    pub papers: Vec<PaperBesideRuns>,
    /// Their claims.
    pub claims: Vec<Claim>,
    /// Runs that count.
    pub runs: usize,
    /// Runs that do not: INVALID or interrupted.
    pub left_out: usize,
    /// Of all figures of these runs, to the last bucket: the same runs in virtual time have it again on any machine.
    pub fingerprint: Fingerprint,
}

/// Holds one's own runs against the papers. A run that is given twice, or is another again bit by bit, counts once; INVALID runs and
/// interrupted ones do not count.
pub fn papers(asked: &[Paper], runs: &[PaperRun]) -> Result<Papers, ReferenceError> {
    let published = all()?;
    let kinds = run::kinds(runs);
    let beside = |paper: Paper| PaperBesideRuns {
        paper,
        source: paper.source(),
        conditions: paper.conditions(),
        own_conditions: conditions::own(paper, &kinds),
        differences: conditions::others(paper, &kinds),
        tables: tables::tables(paper, &published, &kinds),
    };
    let left_out = run::left_out(runs);
    let counted: Vec<&PaperRun> = kinds.values().flatten().copied().collect();
    Ok(Papers {
        papers: asked.iter().copied().map(beside).collect(),
        claims: every_claim(asked, &kinds, left_out),
        runs: counted.len(),
        left_out,
        fingerprint: Fingerprint::of_runs(counted.iter().map(|r| (r.id.as_str(), r.fingerprint))),
    })
}

/// The claims of these papers in the order of the papers, and of a paper's own text.
fn every_claim(asked: &[Paper], kinds: &claims::Kinds<'_>, left_out: usize) -> Vec<Claim> {
    let mut all = claims::compared(asked, kinds);
    if asked.contains(&Paper::Adam2021) {
        all.extend([bounds::margin(kinds), bounds::frequency(kinds), bounds::majority(Paper::Adam2021, kinds)]);
    }
    if asked.contains(&Paper::Balci2017) {
        all.push(bounds::majority(Paper::Balci2017, kinds));
    }
    // Stable: of each paper the comparisons first, then its bounds.
    all.sort_by_key(|c| c.paper);
    for claim in all.iter_mut().filter(|c| left_out > 0 && !c.missing.is_empty()) {
        claim.missing += &format!(" that count: {left_out} runs are INVALID or were interrupted");
    }
    all
}

#[cfg(test)]
#[path = "papers_tests.rs"]
mod tests;
