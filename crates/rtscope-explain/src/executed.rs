//! Explains a late wake-up by the log of all that a guest executed around it.

use crate::account::{Account, Step, Steps};
use crate::cause::Moment;
use crate::clock::{Layout, Timekeeper};
use crate::explanation::{Explanation, Milestones, UnwinderAgreement};
use crate::gap::first_gap;
use crate::log::Window;
use crate::stacks::{Function, Kind, NOT_LOGGED, Stacks};
use crate::symbols::{Symbols, is_kernel};
use crate::unwinder;
use rtscope_failure::Problem;
use std::collections::{HashMap, HashSet};

/// What is asked: the sample, and what must be known of guest and kernel.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The latency that the run's record says, ns; `None` if it says none, as it keeps only the worst: then what the thread read first.
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
    #[error("the thread did not read its clock {latency} ns after the expiry: what was logged is not this sample ({seen})")]
    NotAnchored {
        /// As the record says.
        latency: u64,
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

/// Calls that lead somewhere, as a number: the same ones are kept once.
#[derive(Default)]
struct Chains {
    numbers: HashMap<Vec<Function>, usize>,
    all: Vec<Vec<Function>>,
}

impl Chains {
    fn number(&mut self, chain: &[Function]) -> usize {
        if let Some(&n) = self.numbers.get(chain) {
            return n;
        }
        self.all.push(chain.to_vec());
        self.numbers.insert(chain.to_vec(), self.all.len() - 1);
        self.all.len() - 1
    }
}

/// Explains the sample that `window` holds.
pub fn explain(window: &Window, q: &Question<'_>) -> Result<Explanation, ExplainError> {
    if !window.whole {
        return Err(ExplainError::CutOff);
    }
    let clock = Timekeeper::read(&window.timekeeper, q.layout, window.tick).ok_or(ExplainError::NoClock)?;
    let expired = clock.time_at(window.expiry);
    let (end, latency) = anchor(window, q.latency, &clock)?;
    if let Some(gap) = first_gap(&window.blocks, end, q.instruction_ns) {
        let function = q.symbols.function(gap.after).map_or_else(|| format!("{:#x}", gap.after), |f| f.name.clone());
        let when = if gap.from < expired {
            format!("{} ns before the expiry", expired - gap.from)
        } else {
            format!("{} ns after the expiry", gap.from - expired)
        };
        return Err(ExplainError::Gap { ns: gap.ns, when, function });
    }
    let mut stacks = Stacks::default();
    let (steps, chains, unwinder) = walk(window, q, expired, &mut stacks);
    let since = |at: u64| clock.at(at.clamp(expired, end)).saturating_sub(window.expiry).min(latency);
    let milestones = milestones(&steps, &stacks, &chains, expired, &since);
    let calls = |chain: usize| chains.all[chain].iter().map(|f| stacks.name(*f).to_owned()).collect();
    let task = |task| task_name(window, task);
    let steps = Steps { all: &steps, end, since: &since, task: &task, calls: &calls, switched_before: true };
    let Account { causes, tasks, functions, hold, chart, stacks } = Account::of(&steps);
    Ok(Explanation {
        latency,
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

/// When the thread read the clock by which the sample was taken, and the latency: the read that shows the recorded latency, else the
/// first one.
fn anchor(window: &Window, latency: Option<u64>, clock: &Timekeeper) -> Result<(u64, u64), ExplainError> {
    let own = window.clock_reads.iter().filter(|r| r.task == window.thread && !is_kernel(r.pc));
    let reads = own.map(|r| clock.ticked(r.at));
    let late: Vec<(u64, i128)> = reads.map(|at| (at, i128::from(clock.at(at)) - i128::from(window.expiry))).collect();
    let is_it = |late: i128| latency.map_or(late >= 0, |latency| late == i128::from(latency));
    if let Some((at, late)) = late.iter().find(|(_, late)| is_it(*late)) {
        return Ok((*at, u64::try_from(*late).unwrap_or_default()));
    }
    let after: Vec<String> = late.iter().filter(|(_, late)| *late >= 0).take(3).map(|(_, late)| format!("{late} ns")).collect();
    let seen = if after.is_empty() { "no read was seen".into() } else { format!("reads after {}", after.join(", ")) };
    Err(ExplainError::NotAnchored { latency: latency.unwrap_or_default(), seen })
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
            let moment = Moment { unlogged: true, ..Moment::default() };
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
        if leaf == Some(Kind::InterruptEntry) && steps.last().is_none_or(|before| chains.all[before.chain].last() != chain.last()) {
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
            unlogged: false,
            expired: interrupted,
            own_task: block.task == window.thread && !other_cpu,
            other_cpu,
            idle: window.tasks.get(&block.task).is_some_and(|t| t.pid == 0),
            user: !is_kernel(block.pc),
            // Who gives way at the end of an interrupt is in the scheduler; who is interrupted in the scheduler is not.
            interrupt: interrupt.is_some() && interrupt > scheduler,
            scheduler: scheduler.is_some() && scheduler > interrupt,
            preempt: block.preempt,
            flags: block.flags,
        };
        steps.push(Step { start, task: block.task, chain: calls, moment });
    }
    (steps, chains, unwinder)
}

fn milestones(steps: &[Step], stacks: &Stacks, chains: &Chains, expired: u64, since: &dyn Fn(u64) -> u64) -> Milestones {
    let leaf = |s: &Step| chains.all[s.chain].last().map_or("", |f| stacks.name(*f));
    let after = || steps.iter().filter(|s| s.start >= expired && !s.moment.other_cpu);
    let at = |s: Option<&Step>| s.map(|s| since(s.start));
    let interrupt = after().find(|s| s.moment.expired);
    let from = interrupt.map_or(u64::MAX, |s| s.start);
    let switched = after().find(|s| s.start >= from && s.moment.own_task && !s.moment.interrupt);
    let until = switched.map_or(u64::MAX, |s| s.start);
    // The last one before the switch: timers of other tasks may expire with it.
    let woken = after().rfind(|s| s.start >= from && s.start < until && leaf(s) == "hrtimer_wakeup");
    let awake = woken.map_or(u64::MAX, |s| s.start);
    let due = after().find(|s| s.start >= awake && s.start < until && s.moment.preempt >> 31 == 0);
    let user = after().find(|s| s.start >= until && s.moment.own_task && s.moment.user);
    Milestones { interrupt: at(interrupt), woken: at(woken), due: at(due), switched: at(switched), user: at(user) }
}

#[cfg(test)]
#[path = "executed_tests.rs"]
mod tests;
