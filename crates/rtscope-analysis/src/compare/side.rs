//! One side of a comparison, built record by record: its description, and its figures merged exactly for each load.

use super::error::CompareError;
use super::metrics::Figures;
use crate::brief::{Brief, Sum};
use crate::differences::{Aspects, note};
use crate::edges::merged_figures;
use crate::finding::{Finding, NAMED, finding, first_of};
use crate::replicates::{Kept, Run};
use crate::summary::time_model;
use rtscope_record::correction::Corrected;
use rtscope_record::{Record, Test, Verdict};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many of the worst samples are kept when records are merged.
const WORST: usize = 32;

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

/// What a side keeps of a record. It is small and can be made on any thread; for a test over lines it holds the whole
/// record, which may have to be compared with that of a second instrument.
#[derive(Debug, Clone)]
pub struct Entry {
    brief: Brief,
    model: Option<u32>,
    merged: Merged,
}

impl Entry {
    /// The entry for `r`.
    pub fn of(r: &Record) -> Self {
        Self { brief: Brief::of(r), model: time_model(r), merged: Merged::of(r) }
    }
}

/// A side of a comparison while its records are added.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Ids with verdicts, in the order given.
    runs: Vec<(String, Verdict)>,
    kernels: BTreeSet<String>,
    preemption: BTreeSet<String>,
    clocks: BTreeSet<String>,
    virtual_machine: bool,
    interrupted: bool,
    pub(super) aspects: Aspects,
    pub(super) models: BTreeSet<Option<u32>>,
    loads: BTreeMap<String, UnderLoad>,
}

impl Tally {
    /// The tally of all `records`.
    pub fn of(records: &[Record]) -> Self {
        let mut all = Self::default();
        for r in records {
            all.add(Entry::of(r));
        }
        all
    }

    /// Adds the next record.
    pub fn add(&mut self, entry: Entry) {
        let Entry { brief, model, merged } = entry;
        note(&mut self.kernels, &brief.kernel.release);
        note(&mut self.preemption, &brief.kernel.preemption);
        note(&mut self.clocks, &brief.clock_words);
        self.virtual_machine |= brief.virtual_machine;
        self.interrupted |= brief.interrupted;
        self.aspects.add(&brief.aspects);
        self.models.insert(model);
        match self.loads.get_mut(&brief.load) {
            Some(there) => there.add(model, &merged),
            None => {
                self.loads.insert(brief.load, UnderLoad::new(self.runs.len(), model, merged));
            }
        }
        self.runs.push((brief.id, brief.verdict));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Its loads, in the order of their first records.
    pub(super) fn loads(&self) -> Vec<&str> {
        let mut loads: Vec<(usize, &str)> = self.loads.iter().map(|(name, l)| (l.at, name.as_str())).collect();
        loads.sort_unstable();
        loads.into_iter().map(|l| l.1).collect()
    }

    pub(super) fn has(&self, load: &str) -> bool {
        self.loads.contains_key(load)
    }

    /// The records under `load` that `pick` selects; `None` where there are none.
    pub(super) fn under(&self, load: &str, pick: Pick) -> Option<&Merged> {
        let there = self.loads.get(load)?;
        match pick {
            Pick::Any => Some(&there.any),
            Pick::In(model) if there.apart.is_empty() => (model == there.first).then_some(&there.any),
            Pick::In(model) => there.apart.get(&model),
        }
    }

    pub(super) fn side(&self) -> Side {
        let all = |set: &BTreeSet<String>| set.iter().cloned().collect();
        Side {
            ids: self.runs.iter().map(|r| r.0.clone()).collect(),
            kernels: all(&self.kernels),
            preemption: all(&self.preemption),
            clocks: all(&self.clocks),
            virtual_machine: self.virtual_machine,
            verdict: self.runs.iter().map(|r| r.1).max().unwrap_or(Verdict::Invalid),
        }
    }
}

/// Which records are merged.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pick {
    /// All.
    Any,
    /// Those in one time model; `None` for those in host time.
    In(Option<u32>),
}

/// The records of a side under one load.
#[derive(Debug, Clone)]
struct UnderLoad {
    /// How many records of the side came before the first of these.
    at: usize,
    any: Merged,
    /// The time model of the first record.
    first: Option<u32>,
    /// The records of each time model, where there are several.
    apart: BTreeMap<Option<u32>, Merged>,
}

impl UnderLoad {
    fn new(at: usize, model: Option<u32>, merged: Merged) -> Self {
        Self { at, any: merged, first: model, apart: BTreeMap::new() }
    }

    fn add(&mut self, model: Option<u32>, merged: &Merged) {
        if self.apart.is_empty() && model != self.first {
            self.apart.insert(self.first, self.any.clone());
        }
        if !self.apart.is_empty() {
            match self.apart.get_mut(&model) {
                Some(there) => there.add(merged),
                None => {
                    self.apart.insert(model, merged.clone());
                }
            }
        }
        self.any.add(merged);
    }
}

/// Records merged exactly.
#[derive(Debug, Clone)]
pub(super) struct Merged {
    pub(super) runs: usize,
    /// The time model of the first record, where it comes from the lab.
    pub(super) model: Option<u32>,
    sum: Sum,
    view: View,
    /// The runs by themselves.
    pub(super) replicates: Kept,
    /// The records themselves, where all are of the same test over lines.
    lines: Option<Vec<Arc<Record>>>,
}

impl Merged {
    fn of(r: &Record) -> Self {
        let sum = Sum::of(r);
        let measured = matches!(sum.get(), Ok(Some(d)) if d.count() > 0);
        let view = if measured { Corrected::of_record(r) } else { None };
        Self {
            runs: 1,
            model: r.parts().lab.as_ref().and_then(|_| time_model(r)),
            replicates: Kept::one(Run::of(r, sum.get().ok().flatten(), view.as_ref())),
            view: if measured { view.map_or(View::Spoiled, View::Known) } else { View::Nothing },
            sum,
            lines: matches!(r.parts().test, Test::Response | Test::Periodic).then(|| vec![Arc::new(r.clone())]),
        }
    }

    fn add(&mut self, later: &Self) {
        self.runs += later.runs;
        self.sum.add(&later.sum, WORST);
        self.view.add(&later.view);
        self.replicates.extend(&later.replicates);
        self.lines = match (self.lines.take(), &later.lines) {
            (Some(mut own), Some(more)) if own[0].parts().test == more[0].parts().test => {
                own.extend(more.iter().cloned());
                Some(own)
            }
            _ => None,
        };
    }

    /// The records themselves, where all are of the same test over lines.
    pub(super) fn lines(&self) -> Option<Vec<&Record>> {
        self.lines.as_ref().map(|all| all.iter().map(AsRef::as_ref).collect())
    }

    /// Their figures; `load` and `side` are for the error message.
    pub(super) fn figures(&self, load: &str, side: &'static str) -> Result<Figures<'_>, CompareError> {
        let error = |error| CompareError::Merge { side, load: load.into(), error };
        let all = self.sum.get().map_err(error)?;
        let waves = self.lines().filter(|all| all[0].parts().test == Test::Periodic);
        let jitter = waves.map(|all| merged_figures(&all)).transpose().map_err(error)?.map(|both| both.0);
        Ok(Figures { all, jitter, corrected: if let View::Known(c) = &self.view { Some(c) } else { None } })
    }
}

/// The corrected view of all that was measured.
#[derive(Debug, Clone, Default)]
enum View {
    /// Nothing was measured.
    #[default]
    Nothing,
    /// The corrected view is known.
    Known(Corrected),
    /// One record has no corrected view, so there is none for all together.
    Spoiled,
}

impl View {
    fn add(&mut self, later: &Self) {
        *self = match (std::mem::take(self), later) {
            (Self::Spoiled, _) | (_, Self::Spoiled) => Self::Spoiled,
            (own, Self::Nothing) => own,
            (Self::Nothing, more) => more.clone(),
            (Self::Known(own), Self::Known(more)) => own.with(more).map_or(Self::Spoiled, Self::Known),
        };
    }
}

/// Findings about each side on its own.
pub(super) fn sides(a: &Tally, b: &Tally) -> Vec<Finding> {
    let mut found = Vec::new();
    for (side, name) in [(a, "A"), (b, "B")] {
        for (verdict, code, why) in [
            (Verdict::Invalid, "side-invalid", "its figures mean something else than they say"),
            (Verdict::Inconclusive, "side-inconclusive", "its figures hold for that run only"),
        ] {
            let ids: Vec<&str> = side.runs.iter().filter(|r| r.1 == verdict).map(|r| r.0.as_str()).collect();
            if let Some(first) = ids.first() {
                let message = format!("{name} holds {verdict} runs ({}): {why}", first_of(&ids, NAMED));
                found.push(finding(code, message, format!("see the warnings: rtscope show {first}")));
            }
        }
        if side.virtual_machine {
            let words = side.clocks.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            found.push(finding(
                "virtual-machine",
                format!("{name} was measured in a virtual machine ({words}): its figures say little about real hardware"),
                "measure on the board itself",
            ));
        }
        if side.interrupted {
            found.push(finding("interrupted", format!("{name} holds a run that was ended early"), "repeat it to its end"));
        }
    }
    let ids: BTreeSet<&str> = a.runs.iter().map(|r| r.0.as_str()).collect();
    let shared: Vec<&str> = b.runs.iter().map(|r| r.0.as_str()).filter(|id| ids.contains(id)).collect();
    if !shared.is_empty() {
        found.push(finding("same-run", format!("A and B both hold {}", first_of(&shared, NAMED)), "select different runs"));
    }
    found
}
