//! All kernels of a selection in one table, each against a base: what a preemption model, a parameter of the command line or a setting of
//! the machine changes.

use super::error::VersusError;
use super::figures::Figures;
use super::findings;
use super::tally::{Named, Place, VersusTally};
use crate::differences::differences;
use crate::finding::Finding;
use crate::kernel::KernelModel;
use crate::replicates::{self, LoadRuns, Question};
use rtscope_record::{Record, Space, Test};
use serde::Serialize;

/// Kernels beside each other, place by place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Variants {
    /// One for each test, clock, time model, space, machine and architecture that has more than one kernel.
    pub places: Vec<VariantsAt>,
    /// What the reader must beware of.
    pub findings: Vec<Finding>,
}

/// The kernels of one place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VariantsAt {
    /// The test: of timer, response and periodic.
    pub test: Test,
    /// Where the task ran.
    pub space: Space,
    /// Both and the handler in words; empty for the timer in user space.
    #[serde(skip)]
    pub what: String,
    /// Clock and machine in words.
    pub clock_words: String,
    /// Machine; may be empty.
    pub machine: String,
    /// Architecture.
    pub arch: String,
    /// The kernel that the others are held against.
    pub base: KernelModel,
    /// A row for each kernel under each load; load by load, the base first.
    pub rows: Vec<Variant>,
}

/// A kernel under a load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Variant {
    /// The load.
    pub load: String,
    /// The kernel.
    pub kernel: KernelModel,
    /// Its runs merged.
    pub figures: Figures,
    /// Its whole runs against those of the base; `None` for the base itself, and where the base has no runs under this load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<LoadRuns>,
}

impl Variants {
    /// Whether the kernels of any place differ in parameters of the command line, or in what was set on its machine.
    pub fn has_settings(&self) -> bool {
        self.places.iter().any(|p| differ(p.rows.iter().map(|row| &row.kernel)))
    }
}

/// The kernels of records of one test each. The base is the first whose label contains `base`; without one, the first stock kernel without
/// parameters and settings, else the first stock kernel, else the first. Fails where no place has two kernels.
pub fn variants(tally: &VersusTally, base: Option<&str>) -> Result<Variants, VersusError> {
    let groups = tally.groups();
    let Some(first) = groups.first().map(|g| g.kernel.label.clone()) else { return Err(VersusError::Empty) };
    let sets = sets(groups, base)?;
    if sets.is_empty() { Err(VersusError::OneKernel(first)) } else { beside(tally, &sets) }
}

/// What parameters of the command line and settings change: the [`variants`] at those places whose runs differ in them; `None` where there is no
/// such place.
pub fn settings(records: &[Record]) -> Result<Option<Variants>, VersusError> {
    let tally = VersusTally::of(records);
    let mut sets = sets(tally.groups(), None)?;
    sets.retain(|set| differ(set.iter().map(|g| &g.kernel)));
    if sets.is_empty() { Ok(None) } else { beside(&tally, &sets).map(Some) }
}

/// Whether kernels differ in their parameters, or in what was set.
fn differ<'a>(kernels: impl IntoIterator<Item = &'a KernelModel>) -> bool {
    let mut settings = kernels.into_iter().map(|k| (&k.parameters, &k.tuning));
    settings.next().is_some_and(|first| settings.any(|other| other != first))
}

/// The kernels of each place that has several, the base first.
fn sets<'a>(groups: Vec<Named<'a>>, base: Option<&str>) -> Result<Vec<Vec<Named<'a>>>, VersusError> {
    let mut sets: Vec<Vec<Named<'_>>> = Vec::new();
    for g in groups {
        match sets.iter_mut().find(|s| s[0].place == g.place) {
            Some(set) => set.push(g),
            None => sets.push(vec![g]),
        }
    }
    sets.retain(|s| s.len() > 1);
    for set in &mut sets {
        set.sort_by_key(|g| (g.kernel.role, g.version.clone(), g.kernel.parameters.clone(), g.kernel.tuning.clone()));
        let named = |g: &Named<'_>| base.is_some_and(|b| g.kernel.label.contains(b));
        let plain = |g: &Named<'_>| g.kernel.role == crate::kernel::Role::Stock && g.kernel.is_plain();
        let first = set.iter().position(named).or_else(|| set.iter().position(plain)).unwrap_or(0);
        if let (Some(b), false) = (base, set.iter().any(named)) {
            return Err(VersusError::NoBase(b.into(), set.iter().map(|g| g.kernel.label.clone()).collect::<Vec<_>>().join(", ")));
        }
        let base = set.remove(first);
        set.insert(0, base);
    }
    Ok(sets)
}

/// The kernels of each set beside its base: all intervals hold together.
fn beside(tally: &VersusTally, sets: &[Vec<Named<'_>>]) -> Result<Variants, VersusError> {
    let mut questions = Vec::new();
    for set in sets {
        for load in loads(set) {
            for g in &set[1..] {
                if let (Some(a), Some(b)) = (set[0].under(load), g.under(load)) {
                    questions.push(Question { load: load.into(), model: g.place.model, sides: [&a.replicates, &b.replicates] });
                }
            }
        }
    }
    let answers = replicates::answers(&questions);
    let mut found = findings::of_selection(&tally.other(|test| test == Test::Sustained), "of the test sustained");
    found.extend(replicates::findings(&answers, &questions, ["the base", "another kernel"]));
    let mut answers = answers.into_iter();
    let mut places = Vec::new();
    for set in sets {
        let mut rows = Vec::new();
        for load in loads(set) {
            for (i, g) in set.iter().enumerate() {
                let Some(under) = g.under(load) else { continue };
                let error = |error| VersusError::Merge { kernel: g.kernel.label.clone(), load: load.into(), error };
                let base = set[0].under(load).filter(|_| i > 0);
                let runs = base.and_then(|_| answers.next());
                let apart = base.map(|b| differences(&b.merged().aspects, &under.merged().aspects, ["the base", &g.kernel.label]));
                // What is set differs on purpose; under several loads a difference is told once.
                for f in apart.into_iter().flatten().filter(|f| f.code != "tuning-differs") {
                    if !found.contains(&f) {
                        found.push(f);
                    }
                }
                rows.push(Variant {
                    load: load.into(),
                    kernel: g.kernel.clone(),
                    figures: Figures::of(under).map_err(error)?,
                    runs,
                });
            }
        }
        let Place { clock_words, machine, arch, test, space, what, .. } = set[0].place.clone();
        places.push(VariantsAt { test, space, what, clock_words, machine, arch, base: set[0].kernel.clone(), rows });
    }
    Ok(Variants { places, findings: found })
}

/// The loads of a set, in the order of their first records.
fn loads<'a>(set: &'a [Named<'_>]) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for load in set.iter().flat_map(|g| g.loads()) {
        if !all.contains(&load) {
            all.push(load);
        }
    }
    all
}
