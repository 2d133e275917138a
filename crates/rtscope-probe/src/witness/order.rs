//! What is to be witnessed of a run.

use crate::protocol::Plan;
use rtscope_record::{Policy, Settings};

/// What is to be witnessed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Order {
    /// The measured CPUs, and those of the device under test.
    pub cpus: Vec<u32>,
    /// Tasks that come before or beside this policy and priority on these CPUs are rivals; `None`: none do, as in a hard interrupt.
    pub ours: Option<(Policy, u8)>,
    /// How long the run is to take, ns.
    pub planned: Option<u64>,
    /// The grid's interval, ns, where the CPUs have one in common.
    pub grid: Option<u64>,
    /// Looks only before and after, and none meanwhile: for a guest in virtual time, which has one CPU that every look would be taken from, and
    /// which nobody reaches from outside.
    pub ends_only: bool,
}

impl Order {
    /// This order as `plan` wants it: where progress is not to be told, since that would cost the guest, looks would cost it as well.
    #[must_use]
    pub fn for_plan(self, plan: &Plan) -> Self {
        Self { ends_only: plan.progress_ms == 0, ..self }
    }

    /// That of the timer test.
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
