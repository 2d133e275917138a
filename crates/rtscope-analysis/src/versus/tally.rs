//! The records of a comparison of stock with RT, added one by one: figures of each kernel under each load, merged
//! exactly.

use crate::brief::{Brief, Sum};
use crate::differences::Aspects;
use crate::kernel::{KernelModel, Version, tell_apart};
use crate::replicates::{Kept, Run};
use crate::seeds::Maxima;
use crate::summary::{clock_words, time_model};
use rtscope_record::correction::Corrected;
use rtscope_record::{Clock, Record, Space, Test, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

/// What all records of a block have in common besides the kernel's series.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) clock: Clock,
    pub(super) model: Option<u32>,
    pub(super) clock_words: String,
    pub(super) space: Space,
    pub(super) machine: String,
    pub(super) arch: String,
    pub(super) test: Test,
    /// Test, space and handler in words; empty for the timer in user space.
    pub(super) what: String,
}

impl Place {
    fn of(r: &Record) -> Self {
        let (p, s) = (r.parts(), &r.parts().system);
        Self {
            clock: p.clock,
            model: time_model(r),
            clock_words: clock_words(r),
            space: p.space,
            machine: s.board.clone().or_else(|| s.cpu.model.clone()).unwrap_or_default(),
            arch: s.kernel.arch.clone(),
            test: p.test,
            what: what(r),
        }
    }
}

fn what(r: &Record) -> String {
    let p = r.parts();
    match (p.test, p.space) {
        (Test::Timer, Space::User) => String::new(),
        (Test::Timer, space) => format!("{}, {space} space", p.test),
        (_, space) => {
            let handler = p.settings.handler.map_or_else(String::new, |h| format!(", {h} handler"));
            format!("{}, {space} space{handler}", p.test)
        }
    }
}

/// What the comparison keeps of a record. It is small and can be made on any thread.
#[derive(Debug, Clone)]
pub struct VersusEntry {
    brief: Brief,
    place: Place,
    sum: Sum,
    maxima: Maxima,
    run: Option<Arc<Run>>,
}

impl VersusEntry {
    /// The entry for `r`.
    pub fn of(r: &Record) -> Self {
        // A frequency is no latency: only the id is reported.
        let sum = if r.parts().test == Test::Sustained { Sum::default() } else { Sum::of(r) };
        let run = sum.get().ok().flatten().and_then(|all| Run::of(r, Some(all), Corrected::of_record(r).as_ref())).map(Arc::new);
        Self { brief: Brief::of(r), place: Place::of(r), sum, maxima: Maxima::of(r), run }
    }
}

/// The selection while its records are added.
#[derive(Debug, Clone, Default)]
pub struct VersusTally {
    /// Ids of all records given.
    ids: BTreeSet<String>,
    /// Tests and ids of the records that are not of the test timer.
    other: Vec<(Test, String)>,
    groups: BTreeMap<(Place, KernelModel), Group>,
}

impl VersusTally {
    /// The tally of all `records`.
    pub fn of(records: &[Record]) -> Self {
        let mut all = Self::default();
        for r in records {
            all.add(VersusEntry::of(r));
        }
        all
    }

    /// Adds the next record, unless it was added before.
    pub fn add(&mut self, entry: VersusEntry) {
        let at = self.ids.len();
        if !self.ids.insert(entry.brief.id.clone()) {
            return;
        }
        if entry.place.test != Test::Timer {
            self.other.push((entry.place.test, entry.brief.id.clone()));
        }
        if entry.place.test == Test::Sustained {
            return;
        }
        let key = (entry.place.clone(), entry.brief.kernel.clone());
        self.groups.entry(key).or_insert_with(|| Group::new(at, &entry)).add(at, entry);
    }

    /// Ids of the records of tests that are `left_out`.
    pub(super) fn other(&self, left_out: impl Fn(Test) -> bool) -> Vec<String> {
        self.other.iter().filter(|(test, _)| left_out(*test)).map(|(_, id)| id.clone()).collect()
    }

    /// The groups in the order of their first records, their kernels by names that tell those of one place apart.
    pub(super) fn groups(&self) -> Vec<Named<'_>> {
        let all: Vec<&Group> = self.groups.values().collect();
        let mut groups = Vec::new();
        // Sorted by place.
        for at_one_place in all.chunk_by(|a, b| a.place == b.place) {
            let mut kernels: Vec<KernelModel> = at_one_place.iter().map(|g| g.kernel.clone()).collect();
            tell_apart(&mut kernels);
            groups.extend(at_one_place.iter().zip(kernels).map(|(&group, kernel)| Named { group, kernel }));
        }
        groups.sort_unstable_by_key(|g| g.at);
        groups
    }
}

/// A group of a selection. No two kernels at one place have the same name.
#[derive(Debug, Clone)]
pub(super) struct Named<'a> {
    group: &'a Group,
    pub(super) kernel: KernelModel,
}

impl Deref for Named<'_> {
    type Target = Group;

    fn deref(&self) -> &Group {
        self.group
    }
}

/// The records of one kernel at one [`Place`].
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) place: Place,
    pub(super) version: Version,
    kernel: KernelModel,
    pub(super) virtual_machine: bool,
    /// How many records of the selection came before the first of this group.
    at: usize,
    loads: BTreeMap<String, UnderLoad>,
}

impl Group {
    fn new(at: usize, first: &VersusEntry) -> Self {
        let (place, kernel) = (first.place.clone(), first.brief.kernel.clone());
        Self { place, version: Version::of(&kernel.release), kernel, virtual_machine: false, at, loads: BTreeMap::new() }
    }

    fn add(&mut self, at: usize, entry: VersusEntry) {
        self.virtual_machine |= entry.brief.virtual_machine;
        match self.loads.get_mut(&entry.brief.load) {
            Some(there) => there.add(&entry),
            None => {
                let mut first = UnderLoad { at, sound: Runs::default(), invalid: Runs::default(), replicates: Kept::default() };
                first.add(&entry);
                self.loads.insert(entry.brief.load, first);
            }
        }
    }

    /// Its loads, in the order of their first records.
    pub(super) fn loads(&self) -> Vec<&str> {
        let mut loads: Vec<(usize, &str)> = self.loads.iter().map(|(name, l)| (l.at, name.as_str())).collect();
        loads.sort_unstable();
        loads.into_iter().map(|l| l.1).collect()
    }

    pub(super) fn under(&self, load: &str) -> Option<&UnderLoad> {
        self.loads.get(load)
    }
}

/// The records of a group under one load.
#[derive(Debug, Clone)]
pub(super) struct UnderLoad {
    /// How many records of the selection came before the first of these.
    at: usize,
    sound: Runs,
    invalid: Runs,
    /// All runs by themselves, INVALID ones too.
    pub(super) replicates: Kept,
}

impl UnderLoad {
    fn add(&mut self, entry: &VersusEntry) {
        if let Some(run) = &entry.run {
            self.replicates.push(run);
        }
        if entry.brief.verdict != Verdict::Invalid {
            self.sound.add(entry);
        } else if self.sound.ids.is_empty() {
            self.invalid.add(entry);
        } else {
            self.invalid.ids.push(entry.brief.id.clone());
        }
    }

    /// The records that are merged: INVALID ones only where there are no others.
    pub(super) fn merged(&self) -> &Runs {
        if self.sound.ids.is_empty() { &self.invalid } else { &self.sound }
    }

    /// Ids of the records that are not merged.
    pub(super) fn left_out(&self) -> &[String] {
        if self.sound.ids.is_empty() { &[] } else { &self.invalid.ids }
    }
}

/// Records merged exactly.
#[derive(Debug, Clone, Default)]
pub(super) struct Runs {
    pub(super) ids: Vec<String>,
    /// The worst verdict.
    pub(super) verdict: Option<Verdict>,
    pub(super) interrupted: bool,
    pub(super) aspects: Aspects,
    pub(super) sum: Sum,
    pub(super) maxima: Maxima,
}

impl Runs {
    fn add(&mut self, entry: &VersusEntry) {
        self.ids.push(entry.brief.id.clone());
        self.verdict = self.verdict.max(Some(entry.brief.verdict));
        self.interrupted |= entry.brief.interrupted;
        self.aspects.add(&entry.brief.aspects);
        self.sum.add(&entry.sum, 1);
        self.maxima.add(&entry.maxima);
    }
}
