//! From a plan to its runs: what each is, what it is called, and in which order they are taken.

use super::plan::Plan;
use super::test_plan::TestPlan;
use crate::target::is_lab;
use rtscope_files::digest::hex;
use rtscope_lab::vm::TimeModel;
use rtscope_record::Clock;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// One run of a campaign.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// What it is, as JSON: the same whatever else is in the plan, and wherever it stands there.
    pub(crate) key: String,
    /// Where, as `--target` takes it.
    pub target: String,
    /// Whose time its figures are in.
    pub clock: Clock,
    /// What things cost in virtual time; `None` in the time of a host.
    pub model: Option<TimeModel>,
    /// Name of the load.
    pub load: String,
    /// What is measured.
    pub test: TestPlan,
    /// From 1.
    pub repetition: u32,
    /// Seed of the lab's machine; `None` for other targets.
    pub seed: Option<u64>,
}

#[derive(Serialize)]
struct Key<'a> {
    target: &'a str,
    clock: Clock,
    /// Of a run in virtual time. Left out of the first, which has the keys that it had when there was no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<u32>,
    load: &'a str,
    test: &'a TestPlan,
    repetition: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
}

impl Run {
    /// Id of its record in the campaign with this name and digest.
    pub fn id(&self, name: &str, digest: &str) -> String {
        let mut hash = hash([digest, self.key.as_str()]);
        hash.truncate(16);
        format!("{name}-{hash}")
    }

    /// Whether nothing else may run on this machine meanwhile.
    pub(crate) fn is_exclusive(&self) -> bool {
        self.clock == Clock::Host
    }
}

impl Plan {
    /// Every run, in the order in which they are taken.
    pub fn runs(&self) -> Vec<Run> {
        expand(self)
    }

    /// What tells this campaign from another, hex: its name and its runs. Blanks, comments, the order of the lists, title and jobs are not
    /// part of it.
    pub fn digest(&self) -> String {
        let keys: BTreeSet<String> = self.runs().into_iter().map(|r| r.key).collect();
        hash(std::iter::once(self.name.as_str()).chain(keys.iter().map(String::as_str)))
    }
}

/// SHA-256 of texts, each with its length before it, hex.
pub(super) fn hash<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut sha = Sha256::new();
    for text in texts {
        sha.update((text.len() as u64).to_le_bytes());
        sha.update(text);
    }
    hex(sha.finalize())
}

/// Every run, those in virtual time first. Time models and targets alternate fastest, then tests, then loads, and repetitions slowest: what the machine drifts
/// by then falls on all targets alike.
fn expand(plan: &Plan) -> Vec<Run> {
    let mut runs = Vec::new();
    for repetition in 1..=plan.repetitions {
        for load in &plan.loads {
            for test in &plan.tests {
                let places =
                    plan.targets.iter().flat_map(|target| models(plan, target).into_iter().map(move |model| (target, model)));
                for (target, model) in places {
                    let clock = if is_lab(target) { plan.clock } else { Clock::Host };
                    // In virtual time one seed gives one result: a repetition with the same one would tell nothing.
                    let seed = is_lab(target).then(|| plan.seed.wrapping_add(u64::from(repetition - 1)));
                    let key = Key {
                        target,
                        clock,
                        model: model.map(TimeModel::number).filter(|n| *n != 1),
                        load,
                        test,
                        repetition,
                        seed,
                    };
                    // Words, numbers and lists of them always have a text.
                    let key = serde_json::to_string(&key).unwrap_or_default();
                    let (target, load, test) = (target.clone(), load.clone(), test.clone());
                    runs.push(Run { key, target, clock, model, load, test, repetition, seed });
                }
            }
        }
    }
    runs.sort_by_key(Run::is_exclusive);
    runs
}

/// The time models that a target is measured in.
fn models(plan: &Plan, target: &str) -> Vec<Option<TimeModel>> {
    if is_lab(target) && plan.clock == Clock::Virtual { plan.models.iter().copied().map(Some).collect() } else { vec![None] }
}

#[cfg(test)]
#[path = "matrix_tests.rs"]
mod tests;
