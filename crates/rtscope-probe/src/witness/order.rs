//! The order to the witness of a run.

use crate::protocol::ProbePlan;
use rtscope_record::{Policy, Settings};

/// What to witness.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WitnessOrder {
    /// The measured CPUs, including the DUT's.
    pub cpus: Vec<u32>,
    /// Tasks on these CPUs at or above this policy and priority are rivals; `None`: there are no rivals, as for a
    /// hard interrupt.
    pub ours: Option<(Policy, u8)>,
    /// Planned duration of the run, ns.
    pub planned: Option<u64>,
    /// The grid's interval, ns, if all CPUs share one.
    pub grid: Option<u64>,
    /// Look only before and after the run, for a guest in virtual time: every look would take time from its only
    /// CPU, and nothing reaches it from outside.
    pub ends_only: bool,
}

impl WitnessOrder {
    /// This order, adapted to `plan`: without progress reports, which would cost the guest time, there are no looks
    /// during the run either.
    #[must_use]
    pub fn for_plan(self, plan: &ProbePlan) -> Self {
        Self { ends_only: plan.progress_ms == 0, ..self }
    }

    /// The order for the timer test.
    pub fn of(s: &Settings, allowed: &[u32]) -> Self {
        let cpus = if s.cpus.is_empty() { allowed } else { &s.cpus };
        let mut cpus: Vec<u32> = cpus.iter().copied().take(if s.migrate { usize::MAX } else { s.threads as usize }).collect();
        cpus.sort_unstable();
        cpus.dedup();
        let below = if s.priority_descends { u8::try_from(s.threads.saturating_sub(1)).unwrap_or(u8::MAX) } else { 0 };
        let priority = if s.policy.has_priority() { s.priority.saturating_sub(below).max(1) } else { 0 };
        let grid = (s.distance.0 == 0 && s.start_offset.0 == 0).then_some(s.interval.0);
        Self { cpus, ours: Some((s.policy, priority)), planned: s.duration.map(|d| d.0), grid, ends_only: false }
    }
}
