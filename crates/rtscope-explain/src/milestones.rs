//! What happened when, from the timer's expiry on.

use crate::account::Step;
use crate::chains::Chains;
use crate::explanation::Milestones;
use crate::own::Own;
use crate::stacks::Stacks;

/// The milestones that follow from steps in which `own` is marked; `since` turns their times into ns after the expiry.
pub(crate) fn milestones(
    steps: &[Step],
    stacks: &Stacks,
    chains: &Chains,
    own: &Own,
    expired: u64,
    since: &dyn Fn(u64) -> u64,
) -> Milestones {
    let after = || steps.iter().filter(|s| s.start >= expired && !s.moment.other_cpu);
    let at = |s: Option<&Step>| s.map(|s| since(s.start));
    let interrupt = after().find(|s| s.moment.expired);
    let from = interrupt.map_or(u64::MAX, |s| s.start);
    let called = after().find(|s| s.moment.kernel_task);
    let mut milestones = Milestones { interrupt: at(interrupt), called: at(called), ..Milestones::default() };
    if own.task.is_none() {
        return milestones;
    }
    let switched = after().find(|s| s.start >= from && s.moment.own_task && !s.moment.interrupt);
    let until = switched.map_or(u64::MAX, |s| s.start);
    // The last one before the switch: timers of other tasks may expire with it.
    let woken = after().rfind(|s| s.start >= from && s.start < until && own.is_woken_by(s, chains, stacks));
    let awake = woken.map_or(u64::MAX, |s| s.start);
    let due = after().find(|s| s.start >= awake && s.start < until && s.moment.preempt >> 31 == 0);
    let user = after().find(|s| s.start >= until && s.moment.own_task && s.moment.user);
    (milestones.woken, milestones.due, milestones.switched, milestones.user) = (at(woken), at(due), at(switched), at(user));
    milestones
}
