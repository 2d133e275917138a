//! Explains a late sample by the log of all that a guest executed around it.

use crate::account::{Account, Step, Steps};
use crate::cause::Moment;
use crate::chains::Chains;
use crate::clock::{Layout, Timekeeper};
use crate::explanation::{Explanation, UnwinderAgreement};
use crate::gap::first_gap;
use crate::log::Window;
use crate::milestones::milestones;
use crate::own::{self, Own};
use crate::path::Subject;
use crate::stacks::{Kind, NOT_LOGGED, Stacks};
use crate::symbols::{Symbols, is_kernel};
use crate::unwinder;
use rtscope_failure::Problem;
use std::collections::HashSet;

/// What is asked: the sample, and what must be known of guest and kernel.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// What the sample is of.
    pub subject: Subject,
    /// The latency that the run's record says, ns; `None` if it says none, as it keeps only the worst: then what was read first.
    pub latency: Option<u64>,
    /// How long an instruction is, ns.
    pub instruction_ns: u64,
    /// The kernel's symbols.
    pub symbols: &'a Symbols,
    /// Of the logged timekeeper.
    pub layout: &'a Layout,
    /// The kernel's unwinder.
    pub unwinder: &'a unwinder::Unwinder,
}

/// Why a window gives no explanation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExplainError {
    /// The next sleep was not seen.
    #[error("the run ended before the wake-up was over")]
    CutOff,
    /// The timekeeper can't be read.
    #[error("the guest's timekeeper can't be read")]
    NoClock,
    /// The thread's clock, as computed, never showed the recorded latency.
    #[error("{whose} clock was not read {latency} ns after the {begin}: what was logged is not this sample ({seen})")]
    NotAnchored {
        /// Whose clock.
        whose: &'static str,
        /// As the record says.
        latency: u64,
        /// What times count from.
        begin: &'static str,
        /// What was seen instead.
        seen: String,
    },
    /// QEMU ran what it did not tell its plugin of.
    #[error("QEMU told its plugin nothing of {ns} ns of what ran, {when} of the timer, behind {function}")]
    Gap {
        /// How long it was.
        ns: u64,
        /// Time to the expiry, in words.
        when: String,
        /// What ran right before.
        function: String,
    },
}

impl Problem for ExplainError {
    fn remedy(&self) -> String {
        match self {
            Self::CutOff => "explain another sample: --worst N".into(),
            Self::NoClock | Self::NotAnchored { .. } => "report this with the record".into(),
            Self::Gap { .. } => {
                "measure and explain with QEMU 7.2 of Debian 12 or 10.0 of Debian 13, of which no gap is known; else report this with the record".into()
            }
        }
    }
}

/// Fails where something ran before `end` that is not in the log.
fn no_gap(window: &Window, q: &Question<'_>, expired: u64, end: u64) -> Result<(), ExplainError> {
    let Some(gap) = first_gap(&window.blocks, end, q.instruction_ns) else { return Ok(()) };
    let function = q.symbols.function(gap.after).map_or_else(|| format!("{:#x}", gap.after), |f| f.name.clone());
    let when = if gap.from < expired {
        format!("{} ns before the expiry", expired - gap.from)
    } else {
        format!("{} ns after the expiry", gap.from - expired)
    };
    Err(ExplainError::Gap { ns: gap.ns, when, function })
}

/// Explains the sample that `window` holds.
pub fn explain(window: &Window, q: &Question<'_>) -> Result<Explanation, ExplainError> {
    if !window.whole {
        return Err(ExplainError::CutOff);
    }
    let clock = Timekeeper::read(&window.timekeeper, q.layout, window.tick).ok_or(ExplainError::NoClock)?;
    let expired = clock.time_at(window.expiry);
    let mut stacks = Stacks::default();
    let (mut steps, chains, unwinder) = walk(window, q, expired, &mut stacks);
    let (read, end, latency) = anchor(window, q, &clock, &steps, &|chain| chains.goes_through(chain, q.subject.end, &stacks))?;
    no_gap(window, q, expired, end)?;
    let since = |at: u64| clock.at(at.clamp(expired, end)).saturating_sub(window.expiry).min(latency);
    let own = Own::of(window, &q.subject, &steps[read], &stacks);
    own::mark(&mut steps, &own, window, &chains, &stacks);
    let mut milestones = milestones(&steps, &stacks, &chains, &own, expired, &since);
    milestones.driven = own.driven(window, &steps, &chains, expired).map(since);
    let calls = |chain: usize| chains.calls(chain).iter().map(|f| stacks.name(*f).to_owned()).collect();
    let task = |task| task_name(window, task);
    let steps = Steps { all: &steps, end, since: &since, task: &task, calls: &calls, switched_before: true };
    let Account { causes, tasks, functions, hold, chart, stacks } = Account::of(&steps);
    Ok(Explanation {
        path: q.subject.path,
        latency,
        jitter: None,
        expiry: window.expiry,
        milestones,
        causes,
        tasks,
        functions,
        hold,
        unwinder,
        traced: None,
        chart,
        stacks,
    })
}

/// In place of a task where nothing was logged.
const UNLOGGED: u64 = 0;

fn task_name(window: &Window, task: u64) -> String {
    if task == UNLOGGED {
        return NOT_LOGGED.into();
    }
    window.tasks.get(&task).map_or_else(|| format!("task {task:#x}"), |t| format!("{}[{}]", t.comm, t.pid))
}

/// The step that read the clock by which the sample was taken, when, and the latency: the read that shows the recorded latency, else
/// the first one. `ends` says whether calls lead through where that read is made.
fn anchor(
    window: &Window,
    q: &Question<'_>,
    clock: &Timekeeper,
    steps: &[Step],
    ends: &dyn Fn(usize) -> bool,
) -> Result<(usize, u64, u64), ExplainError> {
    // A step more where the log began late.
    let step = |block: usize| block + steps.len() - window.blocks.len();
    let is_own = |task: u64, pc: u64, block: usize| match q.subject.end {
        None => task == window.thread && !is_kernel(pc),
        Some(_) => is_kernel(pc) && steps.get(step(block)).is_some_and(|s| ends(s.chain)),
    };
    let own = window.clock_reads.iter().filter(|r| r.block < window.blocks.len() && is_own(r.task, r.pc, r.block));
    let late = |at: u64| i128::from(clock.at(at)) - i128::from(window.expiry);
    let late: Vec<(usize, u64, i128)> =
        own.map(|r| (step(r.block), clock.ticked(r.at))).map(|(step, at)| (step, at, late(at))).collect();
    let is_it = |late: i128| q.latency.map_or(late >= 0, |latency| late == i128::from(latency));
    if let Some((step, at, late)) = late.iter().find(|(.., late)| is_it(*late)) {
        return Ok((*step, *at, u64::try_from(*late).unwrap_or_default()));
    }
    let after: Vec<String> = late.iter().filter(|(.., late)| *late >= 0).take(3).map(|(.., late)| format!("{late} ns")).collect();
    let seen = if after.is_empty() { "no read was seen".into() } else { format!("reads after {}", after.join(", ")) };
    let whose = if q.subject.end.is_some() { "the kernel's" } else { "the thread's" };
    Err(ExplainError::NotAnchored { whose, latency: q.latency.unwrap_or_default(), begin: q.subject.path.begins(), seen })
}

/// All blocks with their calls and what they were.
fn walk(window: &Window, q: &Question<'_>, expired: u64, stacks: &mut Stacks) -> (Vec<Step>, Chains, UnwinderAgreement) {
    let mut chains = Chains::default();
    let mut chain = Vec::new();
    let mut steps: Vec<Step> = Vec::with_capacity(window.blocks.len());
    let (mut interrupted, mut entered) = (false, 0);
    let (mut unwinder, mut known) = (UnwinderAgreement::default(), HashSet::new());
    let mut samples = window.samples.iter().peekable();
    for (i, block) in window.blocks.iter().enumerate() {
        // None begins before the one before: so the parts sum to the latency, always.
        let start = block.end.saturating_sub(u64::from(block.insns).saturating_mul(q.instruction_ns));
        if steps.is_empty() && start > expired {
            chain.clear();
            chain.push(stacks.unlogged());
            let moment = Moment { unlogged: Some(q.subject.unlogged()), ..Moment::default() };
            steps.push(Step { start: expired, task: UNLOGGED, chain: chains.number(&chain), moment });
        }
        let start = steps.last().map_or(start, |last| start.max(last.start));
        let own = window.tasks.get(&block.task).map_or(block.sp, |t| t.stack);
        let sample = samples
            .next_if(|s| s.before <= i)
            .map(|s| (s, q.unwinder.unwind(s, q.symbols)))
            .filter(|(_, callers)| !callers.frames.is_empty());
        // What was on the stack of a task before it was first seen.
        let first = sample.as_ref().is_some_and(|(s, _)| known.insert(s.task));
        if let Some((s, callers)) = sample.as_ref().filter(|_| first) {
            stacks.seed(callers, s.sp, q.symbols);
        }
        stacks.enter(block.pc, block.sp, own, q.symbols, &mut chain);
        if let Some((s, callers)) = sample.filter(|_| !first) {
            let agrees = stacks.agrees(&callers, s.sp, q.symbols);
            unwinder = UnwinderAgreement { compared: unwinder.compared + 1, agreed: unwinder.agreed + u64::from(agrees) };
            if !agrees && callers.whole {
                stacks.seed(&callers, s.sp, q.symbols);
                stacks.enter(block.pc, block.sp, own, q.symbols, &mut chain);
            }
        }
        let last = |is: fn(Kind) -> bool| chain.iter().rposition(|&f| is(stacks.kind(f)));
        let (interrupt, scheduler) = (last(Kind::is_interrupt), last(|kind| kind == Kind::Scheduler));
        let other_cpu = block.cpu != window.cpu;
        let calls = chains.number(&chain);
        let leaf = chain.last().map(|&f| stacks.kind(f));
        if leaf == Some(Kind::InterruptEntry) && steps.last().is_none_or(|before| chains.calls(before.chain).last() != chain.last())
        {
            entered = steps.len();
        }
        if start >= expired && !other_cpu && last(|kind| kind == Kind::TimerEntry).is_some() {
            interrupted = true;
        }
        if start >= expired && !interrupted && !other_cpu && leaf == Some(Kind::TimerHandler) {
            interrupted = true;
            steps[entered..].iter_mut().filter(|s| s.start >= expired).for_each(|s| s.moment.expired = true);
        }
        let moment = Moment {
            unlogged: None,
            expired: interrupted,
            other_cpu,
            idle: window.tasks.get(&block.task).is_some_and(|t| t.pid == 0),
            user: !is_kernel(block.pc),
            // Who gives way at the end of an interrupt is in the scheduler; who is interrupted in the scheduler is not.
            interrupt: interrupt.is_some() && interrupt > scheduler,
            scheduler: scheduler.is_some() && scheduler > interrupt,
            preempt: block.preempt,
            flags: block.flags,
            ..Moment::default()
        };
        steps.push(Step { start, task: block.task, chain: calls, moment });
    }
    (steps, chains, unwinder)
}

#[cfg(test)]
#[path = "executed_tests.rs"]
mod tests;
