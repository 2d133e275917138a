//! All kernels of a selection in one table, each against a base: what a preemption model, a parameter of the command line or a setting of
//! the machine changes.

use super::error::VersusError;
use super::figures::Figures;
use super::findings;
use super::tally::{Named, VersusTally};
use crate::finding::Finding;
use crate::kernel::KernelModel;
use crate::replicates::{self, LoadRuns, Question};
use serde::Serialize;

/// Kernels beside each other, place by place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Variants {
    /// One for each clock, time model, space, machine and architecture that has more than one kernel.
    pub places: Vec<VariantsAt>,
    /// What the reader must beware of.
    pub findings: Vec<Finding>,
}

/// The kernels of one place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VariantsAt {
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

/// The kernels of timer records. The base is the first whose label contains `base`; without one, the first stock kernel without
/// parameters and settings, else the first stock kernel, else the first. Fails where no place has two kernels.
pub fn variants(tally: &VersusTally, base: Option<&str>) -> Result<Variants, VersusError> {
    let groups = tally.groups();
    if groups.is_empty() {
        return Err(VersusError::Empty);
    }
    let mut sets: Vec<Vec<Named<'_>>> = Vec::new();
    let first = groups[0].kernel.label.clone();
    for g in groups {
        match sets.iter_mut().find(|s| s[0].place == g.place) {
            Some(set) => set.push(g),
            None => sets.push(vec![g]),
        }
    }
    sets.retain(|s| s.len() > 1);
    if sets.is_empty() {
        return Err(VersusError::OneKernel(first));
    }
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
    let mut questions = Vec::new();
    for set in &sets {
        for load in loads(set) {
            for g in &set[1..] {
                if let (Some(a), Some(b)) = (set[0].under(load), g.under(load)) {
                    questions.push(Question { load: load.into(), model: g.place.model, sides: [&a.replicates, &b.replicates] });
                }
            }
        }
    }
    let answers = replicates::answers(&questions);
    let mut found = findings::of_selection(&tally.other);
    found.extend(replicates::findings(&answers, &questions, ["the base", "another kernel"]));
    let mut answers = answers.into_iter();
    let mut places = Vec::new();
    for set in &sets {
        let mut rows = Vec::new();
        for load in loads(set) {
            for (i, g) in set.iter().enumerate() {
                let Some(under) = g.under(load) else { continue };
                let error = |error| VersusError::Merge { kernel: g.kernel.label.clone(), load: load.into(), error };
                let runs = if i > 0 && set[0].under(load).is_some() { answers.next() } else { None };
                rows.push(Variant {
                    load: load.into(),
                    kernel: g.kernel.clone(),
                    figures: Figures::of(under).map_err(error)?,
                    runs,
                });
            }
        }
        let place = &set[0].place;
        let (clock_words, machine, arch) = (place.clock_words.clone(), place.machine.clone(), place.arch.clone());
        places.push(VariantsAt { clock_words, machine, arch, base: set[0].kernel.clone(), rows });
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
