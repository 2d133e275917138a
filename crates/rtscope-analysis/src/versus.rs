//! Stock kernels against PREEMPT_RT: for each load the figures of both and the ratio stock/RT.
//!
//! Records that differ in clock (host or virtual time), in the lab's time model, in machine or in space never meet in one
//! ratio: they form separate blocks. A block holds a stock kernel and the RT kernel of the same series, or a single
//! kernel without a partner.

mod block;
mod error;
mod figures;
mod findings;
mod tally;
mod variants;

pub use crate::kernel::{KernelModel, Role};
pub use block::KernelPair;
pub use error::VersusError;
pub use figures::{Figures, LoadFigures, Overall, Ratios};
pub use tally::{VersusEntry, VersusTally};
pub use variants::{Variant, Variants, VariantsAt, settings, variants};

use crate::band::Band;
use crate::finding::Finding;
use crate::replicates::{self, Question};
use rtscope_record::{Clock, Record, Test};
use serde::Serialize;
use std::collections::BTreeSet;
use tally::{Named, Place};

/// Stock kernels against PREEMPT_RT.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Versus {
    /// Pairs first, then kernels without a partner.
    pub blocks: Vec<KernelPair>,
    /// Ranges of the ratios that pairs have in several time models.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<Band>,
    /// What the reader must beware of.
    pub findings: Vec<Finding>,
    /// What the comparison does not show.
    pub note: String,
}

/// Compares stock kernels with PREEMPT_RT. Records of other tests are left out, which a finding reports; a record that is
/// given twice counts once. The runs of one kernel under one load are merged exactly; INVALID ones only where there are
/// no others.
pub fn versus(records: &[Record]) -> Result<Versus, VersusError> {
    versus_tally(&VersusTally::of(records))
}

/// [`versus`] of records that were added one by one.
pub fn versus_tally(tally: &VersusTally) -> Result<Versus, VersusError> {
    let mut groups = tally.groups();
    groups.retain(|g| g.place.test == Test::Timer);
    if groups.is_empty() {
        return Err(VersusError::Empty);
    }
    let known: Vec<String> = groups.iter().map(|g| format!("{} (clock {})", g.kernel.label, g.place.clock_words)).collect();
    let sets = pairs(groups);
    if !sets.iter().any(|s| s.len() == 2) {
        return Err(VersusError::NoPair(known.join(", ")));
    }
    let mut found = findings::of_selection(&tally.other(|_| true), "not of the test timer");
    let mut blocks = Vec::new();
    for set in &sets {
        let block = block(set)?;
        found.extend(findings::of_block(&block, set));
        blocks.push(block);
    }
    let bands = bands(&blocks);
    found.extend(crate::band::findings(&bands));
    compare_runs(&sets, &mut blocks, &mut found);
    let once = blocks.iter().flat_map(|b| &b.loads).flat_map(|l| &l.figures).flatten().all(|f| f.runs <= 1);
    let host = blocks.iter().any(|b| b.clock == Clock::Host);
    let note = match (once, host) {
        (true, true) => "one run of each kernel and load: no interval can be given, and in host time a difference may be chance",
        (true, false) => {
            "one run of each kernel and load, of one seed: the same run gives the same figures again, another seed may give others"
        }
        (false, false) => {
            "the first tables merge the runs of one kernel and load, their maxima are the highest over the seeds; only the words of the last tables tell differences from chance"
        }
        (false, true) => {
            "the first tables merge the runs of one kernel and load; only the words of the last tables tell differences from chance"
        }
    };
    Ok(Versus { blocks, bands, findings: found, note: note.into() })
}

/// Whole runs as replicates, for the pairs among the blocks: all intervals hold together.
fn compare_runs(sets: &[Vec<Named<'_>>], blocks: &mut [KernelPair], found: &mut Vec<Finding>) {
    let (mut questions, mut of_block) = (Vec::new(), Vec::new());
    for (i, set) in sets.iter().enumerate() {
        let [stock, rt] = set.as_slice() else { continue };
        for load in stock.loads() {
            let (Some(a), Some(b)) = (stock.under(load), rt.under(load)) else { continue };
            questions.push(Question { load: load.into(), model: stock.place.model, sides: [&a.replicates, &b.replicates] });
            of_block.push(i);
        }
    }
    let all = replicates::answers(&questions);
    found.extend(replicates::findings(&all, &questions, ["stock", "RT"]));
    for (i, answer) in of_block.into_iter().zip(all) {
        blocks[i].runs.push(answer);
    }
}

/// The range of the ratios of pairs that differ only in their time model.
fn bands(blocks: &[KernelPair]) -> Vec<Band> {
    type Of = fn(&Ratios) -> Option<f64>;
    const METRICS: [(&str, Of); 4] = [("mean", |r| r.mean), ("p99", |r| r.p99), ("p99.9", |r| r.p99_9), ("max", |r| r.max)];
    let pairs: Vec<&KernelPair> = blocks.iter().filter(|b| b.is_pair() && b.model.is_some()).collect();
    let same =
        |a: &KernelPair, b: &KernelPair| (&a.kernels, &a.arch, &a.machine, a.space) == (&b.kernels, &b.arch, &b.machine, b.space);
    let mut found = Vec::new();
    for (i, first) in pairs.iter().enumerate() {
        if pairs[..i].iter().any(|b| same(b, first)) {
            continue;
        }
        let of = format!("{} {}", first.series, first.arch);
        let alike: Vec<&&KernelPair> = pairs.iter().filter(|b| same(b, first)).collect();
        for load in &first.loads {
            for (metric, ratio) in METRICS {
                let in_model = |b: &&&KernelPair| {
                    let of_load = b.loads.iter().find(|l| l.load == load.load)?;
                    Some((b.model?, of_load.ratios.as_ref().and_then(ratio)))
                };
                found.extend(Band::new(of.trim(), &load.load, metric, alike.iter().filter_map(in_model)));
            }
        }
    }
    found
}

/// Pairs stock kernels with their RT partners: pairs first, then kernels without a partner; older series before newer
/// ones.
fn pairs(mut groups: Vec<Named<'_>>) -> Vec<Vec<Named<'_>>> {
    groups.sort_by(|a, b| (&a.place, &a.version, a.kernel.role).cmp(&(&b.place, &b.version, b.kernel.role)));
    let (mut stock, mut rest): (Vec<_>, Vec<_>) = groups.into_iter().partition(|g| g.kernel.role == Role::Stock);
    let (mut found, mut alone) = (Vec::new(), Vec::new());
    // Identical versions are paired first, so that a series leaves over only kernels that have no exact partner.
    for exact in [true, false] {
        let mut left = Vec::new();
        for s in stock {
            let partner = rest.iter().position(|r| {
                let series = s.version.series().is_some() && s.version.series() == r.version.series();
                r.kernel.role == Role::Rt
                    && r.place == s.place
                    && r.kernel.parameters == s.kernel.parameters
                    && r.kernel.tuning == s.kernel.tuning
                    && series
                    && (!exact || r.version == s.version)
            });
            match partner {
                Some(i) => found.push(vec![s, rest.remove(i)]),
                None => left.push(s),
            }
        }
        stock = left;
    }
    alone.extend(stock.into_iter().chain(rest).map(|g| vec![g]));
    found.sort_by(|a, b| (&a[0].place, &a[0].version).cmp(&(&b[0].place, &b[0].version)));
    found.extend(alone);
    found
}

fn block(set: &[Named<'_>]) -> Result<KernelPair, VersusError> {
    let first = &set[0];
    let mut seen = BTreeSet::new();
    let loads = set.iter().flat_map(|g| g.loads()).filter(|&load| seen.insert(load));
    let mut rows = Vec::new();
    for load in loads {
        let figures = set
            .iter()
            .map(|g| {
                let error = |error| VersusError::Merge { kernel: g.kernel.label.clone(), load: load.into(), error };
                g.under(load).map(Figures::of).transpose().map_err(error)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let ratios = match figures.as_slice() {
            [Some(stock), Some(rt)] => Ratios::of(stock, rt),
            _ => None,
        };
        rows.push(LoadFigures { load: load.into(), figures, ratios });
    }
    let Place { clock, model, clock_words, space, machine, arch, .. } = first.place.clone();
    Ok(KernelPair {
        series: first.kernel.series(),
        arch,
        machine,
        space,
        clock,
        model,
        clock_words,
        virtual_machine: first.virtual_machine,
        kernels: set.iter().map(|g| g.kernel.clone()).collect(),
        overall: Overall::of(&rows),
        loads: rows,
        runs: Vec::new(),
    })
}

#[cfg(test)]
#[path = "versus_tests.rs"]
mod tests;
