//! Expands a plan into its runs: what each is, its id, and the order in which they are taken.

use super::plan::{CampaignPlan, GuestSize};
use super::test_plan::TestPlan;
use crate::ssh::is_ssh;
use crate::target::is_lab;
use rtscope_files::digest::hex;
use rtscope_lab::vm::TimeModel;
use rtscope_record::{Clock, Tuning, Who};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// One run of a campaign.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The run as JSON. It does not depend on the rest of the plan, nor on the run's place in it.
    pub(crate) key: String,
    /// Target, as `--target` takes it.
    pub target: String,
    /// Clock of the figures.
    pub clock: Clock,
    /// Time model; `None` in the host's time.
    pub model: Option<TimeModel>,
    /// Name of the load.
    pub load: String,
    /// What is measured.
    pub test: TestPlan,
    /// Number of the repetition, from 1.
    pub repetition: u32,
    /// Seed of the lab's machine; `None` for other targets.
    pub seed: Option<u64>,
    /// Its CPUs and memory.
    pub guest: GuestSize,
    /// What is set on the machine for it.
    pub tuning: Tuning,
}

#[derive(Serialize)]
struct Key<'a> {
    target: &'a str,
    clock: Clock,
    /// Number of the time model, for runs in virtual time. Omitted for model 1, so that its runs keep the keys that they had
    /// before other models existed.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<u32>,
    load: &'a str,
    test: &'a TestPlan,
    repetition: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    guest_cpus: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    guest_memory_mib: Option<u32>,
    #[serde(skip_serializing_if = "Tuning::is_empty")]
    tuning: &'a Tuning,
}

impl Run {
    /// Its target, and what is set there.
    pub fn place(&self) -> String {
        if self.tuning.is_empty() { self.target.clone() } else { format!("{} with {}", self.target, self.tuning) }
    }

    /// Id of the run's record, in the campaign with this name and digest.
    pub fn id(&self, name: &str, digest: &str) -> String {
        let mut hash = hash([digest, self.key.as_str()]);
        hash.truncate(16);
        format!("{name}-{hash}")
    }

    /// Whether its load runs on this machine: neither the target nor the DUT is another one.
    pub fn has_its_load_here(&self) -> bool {
        !is_lab(&self.target) && !is_ssh(&self.target) && !matches!(self.test.lines.dut, Some(Who::Elsewhere(_)))
    }

    /// Whether nothing else may run on this machine during the run.
    pub(crate) fn is_exclusive(&self) -> bool {
        self.clock == Clock::Host
    }
}

impl CampaignPlan {
    /// Every run, in the order in which they are taken.
    pub fn runs(&self) -> Vec<Run> {
        expand(self)
    }

    /// Identifies the campaign: a SHA-256, hex, over its name and its runs. Whitespace, comments, the order of lists, title and
    /// jobs don't change it.
    pub fn digest(&self) -> String {
        let keys: BTreeSet<String> = self.runs().into_iter().map(|r| r.key).collect();
        hash(std::iter::once(self.name.as_str()).chain(keys.iter().map(String::as_str)))
    }
}

/// SHA-256, hex, over texts, each preceded by its length.
pub(super) fn hash<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut sha = Sha256::new();
    for text in texts {
        sha.update((text.len() as u64).to_le_bytes());
        sha.update(text);
    }
    hex(sha.finalize())
}

/// Every run; those in virtual time come first. Settings, time models and targets alternate fastest, then tests, then loads; repetitions
/// change slowest. So a drift of the machine affects all targets alike.
fn expand(plan: &CampaignPlan) -> Vec<Run> {
    let mut runs = Vec::new();
    for repetition in 1..=plan.repetitions {
        for load in &plan.loads {
            for test in &plan.tests {
                let places =
                    plan.targets.iter().flat_map(|target| models(plan, target).into_iter().map(move |model| (target, model)));
                let places = places.flat_map(|(target, model)| plan.tunings.iter().map(move |tuning| (target, model, tuning)));
                for (target, model, tuning) in places {
                    let clock = if is_lab(target) { plan.clock } else { Clock::Host };
                    // In virtual time one seed gives one result: a repetition with the same seed would add nothing.
                    let seed = is_lab(target).then(|| plan.seed.wrapping_add(u64::from(repetition - 1)));
                    let guest = if is_lab(target) { plan.guest } else { GuestSize::default() };
                    let key = Key {
                        guest_cpus: guest.cpus,
                        guest_memory_mib: guest.memory_mib,
                        tuning,
                        target,
                        clock,
                        model: model.map(TimeModel::number).filter(|n| *n != 1),
                        load,
                        test,
                        repetition,
                        seed,
                    };
                    // Serialization can't fail: the key holds only words, numbers and lists of them.
                    let key = serde_json::to_string(&key).unwrap_or_default();
                    let (target, load, test, tuning) = (target.clone(), load.clone(), test.clone(), tuning.clone());
                    runs.push(Run { key, target, clock, model, load, test, repetition, seed, guest, tuning });
                }
            }
        }
    }
    runs.sort_by_key(Run::is_exclusive);
    runs
}

/// The time models in which to measure a target; `[None]` outside virtual time.
fn models(plan: &CampaignPlan, target: &str) -> Vec<Option<TimeModel>> {
    if is_lab(target) && plan.clock == Clock::Virtual { plan.models.iter().copied().map(Some).collect() } else { vec![None] }
}

#[cfg(test)]
#[path = "matrix_tests.rs"]
mod tests;
