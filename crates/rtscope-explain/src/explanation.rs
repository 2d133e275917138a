//! The explanation of one late wake-up: milestones, and every nanosecond by cause, task and function.

use crate::activity;
use crate::cause::{Cause, Moment};
use crate::chart::{Chart, Maker, Stack};
use crate::clock::{Layout, Timekeeper};
use crate::log::{Block, Window};
use crate::stacks::{Function, Kind, NOT_LOGGED, Stacks};
use crate::symbols::{Symbols, is_kernel};
use crate::unwinder;
use rtscope_failure::Problem;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};

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

/// One late wake-up, explained. All times in ns; moments count from the timer's expiry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// From expiry to the thread's read of the clock.
    pub latency: u64,
    /// The expiry, `CLOCK_MONOTONIC` of the guest.
    pub expiry: u64,
    /// What happened when.
    pub milestones: Milestones,
    /// By cause, the longest first; they sum to the latency.
    pub causes: Vec<Share>,
    /// By task, the longest first; they sum to the latency.
    pub tasks: Vec<Share>,
    /// By function of the kernel, the longest first, without those that took nothing themselves.
    pub functions: Vec<FunctionShare>,
    /// What held the CPU for longest.
    pub hold: Hold,
    /// How many stacks, as followed from call to call, are those that the kernel's unwinder finds.
    pub unwinder: Unwinder,
    /// What ran when.
    pub chart: Chart,
    /// By task and calls, the longest first; they sum to the latency.
    #[serde(skip)]
    pub stacks: Vec<Stack>,
}

/// When what happened, ns after the expiry; `None` for what was not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Milestones {
    /// The timer's interrupt was entered.
    pub interrupt: Option<u64>,
    /// The thread was woken.
    pub woken: Option<u64>,
    /// A switch was due: the task that ran was told to give way.
    pub due: Option<u64>,
    /// The CPU was switched to the thread.
    pub switched: Option<u64>,
    /// The thread was in user space again.
    pub user: Option<u64>,
}

/// A part of the latency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Of what.
    pub name: String,
    /// How long.
    pub ns: u64,
}

/// A function's part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionShare {
    /// Its name.
    pub name: String,
    /// Itself.
    pub own: u64,
    /// With all that ran above it on its stack: what it called, and interrupts.
    pub total: u64,
}

/// Stacks held against the kernel's unwinder at sample points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Unwinder {
    /// Stacks that were compared.
    pub compared: u64,
    /// Of these, how many were the same.
    pub agreed: u64,
}

/// The cause that took most, and what held the CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// The cause.
    pub cause: Cause,
    /// How much of the latency it is.
    pub ns: u64,
    /// Its longest stretch within the latency.
    pub longest: u64,
    /// How long it was so in all, where something was switched off: maybe since long before the expiry.
    pub whole: u64,
    /// The task that ran when its longest stretch began.
    pub task: String,
    /// The calls that this began in, outermost first.
    pub from: Vec<String>,
    /// The function that most of it passed in, over all stretches.
    pub mostly: String,
    /// What these calls were about: "page fault", "system call mmap"; absent where they do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
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
}

impl Problem for ExplainError {
    fn remedy(&self) -> String {
        match self {
            Self::CutOff => "explain another sample: --worst N".into(),
            Self::NoClock | Self::NotAnchored { .. } => "report this with the record".into(),
        }
    }
}

/// Functions that only switch something off for their callers.
fn is_helper(name: &str) -> bool {
    ["_raw_", "__raw_", "local_irq", "__local_bh", "preempt_", "native_", "rt_spin_", "queued_", "__pfx_"]
        .iter()
        .any(|p| name.starts_with(p))
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

/// A block with its place in time and what it was.
struct Step {
    start: u64,
    block: Block,
    chain: usize,
    moment: Moment,
}

/// Explains the sample that `window` holds.
pub fn explain(window: &Window, q: &Question<'_>) -> Result<Explanation, ExplainError> {
    if !window.whole {
        return Err(ExplainError::CutOff);
    }
    let clock = Timekeeper::read(&window.timekeeper, q.layout, window.tick).ok_or(ExplainError::NoClock)?;
    let expired = clock.time_at(window.expiry);
    let (end, latency) = anchor(window, q.latency, &clock)?;
    let mut stacks = Stacks::default();
    let (steps, chains, unwinder) = walk(window, q, expired, &mut stacks);
    let since = |at: u64| clock.at(at.clamp(expired, end)).saturating_sub(window.expiry).min(latency);
    let milestones = milestones(&steps, &stacks, &chains, window, expired, &since);
    let mut causes: BTreeMap<Cause, u64> = BTreeMap::new();
    let mut functions: HashMap<Function, (u64, u64)> = HashMap::new();
    // By task and calls: the time, and the chart's rows.
    let mut by_stack: HashMap<(u64, usize), (u64, Vec<u32>)> = HashMap::new();
    let mut chart = Maker::default();
    for (i, step) in steps.iter().enumerate() {
        let until = steps.get(i + 1).map_or(end, |next| next.start);
        let ns = since(until) - since(step.start);
        if ns == 0 {
            continue;
        }
        *causes.entry(step.moment.cause()).or_default() += ns;
        let chain = &chains.all[step.chain];
        let (time, rows) = by_stack.entry((step.block.task, step.chain)).or_insert_with(|| {
            let calls = chain.iter().map(|f| stacks.name(*f));
            let task = chart.name(&task_name(window, step.block.task));
            (0, std::iter::once(task).chain(calls.map(|name| chart.name(name))).collect())
        });
        *time += ns;
        chart.add(ns, step.moment.cause(), rows);
        for (depth, function) in chain.iter().enumerate() {
            let (own, total) = functions.entry(*function).or_default();
            if depth + 1 == chain.len() {
                *own += ns;
            }
            if !chain[..depth].contains(function) {
                *total += ns;
            }
        }
    }
    let mut functions: Vec<FunctionShare> = functions
        .into_iter()
        .filter(|(_, (own, _))| *own > 0)
        .map(|(f, (own, total))| FunctionShare { name: stacks.name(f).to_owned(), own, total })
        .collect();
    functions.sort_by(|a, b| b.own.cmp(&a.own).then_with(|| a.name.cmp(&b.name)));
    let mut tasks: BTreeMap<String, u64> = BTreeMap::new();
    for ((task, _), (ns, _)) in &by_stack {
        *tasks.entry(task_name(window, *task)).or_default() += ns;
    }
    let main = causes.iter().max_by_key(|(_, ns)| **ns).map_or(Cause::User, |(c, _)| *c);
    let hold = hold(main, &steps, &stacks, &chains, window, end, &since);
    Ok(Explanation {
        latency,
        expiry: window.expiry,
        milestones,
        causes: shares(causes.into_iter().map(|(c, ns)| (c.words().to_owned(), ns))),
        tasks: shares(tasks),
        functions,
        hold,
        unwinder,
        chart: chart.finish(),
        stacks: whole_stacks(by_stack, window, &stacks, &chains),
    })
}

/// The time by task and calls, with names.
fn whole_stacks(times: HashMap<(u64, usize), (u64, Vec<u32>)>, window: &Window, stacks: &Stacks, chains: &Chains) -> Vec<Stack> {
    // Tasks and functions of the same name are one: so flame graphs have it.
    let mut named: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    for ((task, chain), (ns, _)) in times {
        let calls = chains.all[chain].iter().map(|f| stacks.name(*f).to_owned());
        *named.entry(std::iter::once(task_name(window, task)).chain(calls).collect()).or_default() += ns;
    }
    let mut all: Vec<Stack> = named.into_iter().map(|(names, ns)| Stack { names, ns }).collect();
    all.sort_by_key(|s| std::cmp::Reverse(s.ns));
    all
}

fn shares(of: impl IntoIterator<Item = (String, u64)>) -> Vec<Share> {
    let mut all: Vec<Share> = of.into_iter().map(|(name, ns)| Share { name, ns }).collect();
    all.sort_by(|a, b| b.ns.cmp(&a.ns).then_with(|| a.name.cmp(&b.name)));
    all
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
fn walk(window: &Window, q: &Question<'_>, expired: u64, stacks: &mut Stacks) -> (Vec<Step>, Chains, Unwinder) {
    let mut chains = Chains::default();
    let mut chain = Vec::new();
    let mut steps: Vec<Step> = Vec::with_capacity(window.blocks.len());
    let (mut interrupted, mut entered) = (false, 0);
    let (mut unwinder, mut known) = (Unwinder::default(), HashSet::new());
    let mut samples = window.samples.iter().peekable();
    for (i, block) in window.blocks.iter().enumerate() {
        // None begins before the one before: so the parts sum to the latency, always.
        let start = block.end.saturating_sub(u64::from(block.insns).saturating_mul(q.instruction_ns));
        if steps.is_empty() && start > expired {
            chain.clear();
            chain.push(stacks.unlogged());
            let moment = Moment { unlogged: true, ..Moment::default() };
            let block = Block { task: UNLOGGED, ..*block };
            steps.push(Step { start: expired, block, chain: chains.number(&chain), moment });
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
            unwinder = Unwinder { compared: unwinder.compared + 1, agreed: unwinder.agreed + u64::from(agrees) };
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
        steps.push(Step { start, block: *block, chain: calls, moment });
    }
    (steps, chains, unwinder)
}

fn milestones(
    steps: &[Step],
    stacks: &Stacks,
    chains: &Chains,
    window: &Window,
    expired: u64,
    since: &dyn Fn(u64) -> u64,
) -> Milestones {
    let leaf = |s: &Step| chains.all[s.chain].last().map_or("", |&f| stacks.name(f));
    let after = || steps.iter().filter(|s| s.start >= expired && !s.moment.other_cpu);
    let at = |s: Option<&Step>| s.map(|s| since(s.start));
    let interrupt = after().find(|s| s.moment.expired);
    let from = interrupt.map_or(u64::MAX, |s| s.start);
    let switched = after().find(|s| s.start >= from && s.moment.own_task && !s.moment.interrupt);
    let until = switched.map_or(u64::MAX, |s| s.start);
    // The last one before the switch: timers of other tasks may expire with it.
    let woken = after().rfind(|s| s.start >= from && s.start < until && leaf(s) == "hrtimer_wakeup");
    let awake = woken.map_or(u64::MAX, |s| s.start);
    let due = after().find(|s| s.start >= awake && s.start < until && s.block.preempt >> 31 == 0);
    let user = after().find(|s| s.start >= until && s.block.task == window.thread && s.moment.user);
    Milestones { interrupt: at(interrupt), woken: at(woken), due: at(due), switched: at(switched), user: at(user) }
}

/// What the cause `cause` was: its longest stretch, and what held the CPU through all of it.
fn hold(
    cause: Cause,
    steps: &[Step],
    stacks: &Stacks,
    chains: &Chains,
    window: &Window,
    end: u64,
    since: &dyn Fn(u64) -> u64,
) -> Hold {
    let until = |i: usize| steps.get(i + 1).map_or(end, |next| next.start);
    let mut own: HashMap<Function, u64> = HashMap::new();
    let (mut total, mut longest, mut begun) = (0, (0, 0, 0), None);
    for (i, step) in steps.iter().enumerate() {
        let ns = since(until(i)) - since(step.start);
        if step.moment.cause() != cause {
            begun = None;
            continue;
        }
        let first = *begun.get_or_insert(i);
        total += ns;
        let stretch = since(until(i)) - since(steps[first].start);
        if stretch > longest.0 {
            longest = (stretch, first, i);
        }
        if let Some(&leaf) = chains.all[step.chain].last() {
            *own.entry(leaf).or_default() += ns;
        }
    }
    let (_, mut first, mut last) = longest;
    // It may have been so long before the timer expired; and interrupts that are handled meanwhile are in the midst of it.
    while first > 0 && cause.holds_at(&steps[first - 1].moment) {
        first -= 1;
    }
    let held = steps.iter().enumerate().skip(last + 1).take_while(|(_, s)| cause.holds_at(&s.moment));
    if let Some((later, _)) = held.filter(|(_, s)| s.moment.cause() == cause).last() {
        last = later;
    }
    let begun = steps.get(first).map_or(end, |s| s.start);
    let whole = total.max(until(last).min(end).saturating_sub(begun));
    let mostly = own.iter().max_by_key(|(f, ns)| (**ns, stacks.name(**f).to_owned())).map(|(f, _)| stacks.name(*f).to_owned());
    // The block before switched it off: one jump earlier it was on.
    let began = steps.get(if cause.is_switched_off() { first.saturating_sub(1) } else { first });
    let chain = began.map_or(&[][..], |b| &chains.all[b.chain]);
    let activity = activity::of(chain.iter().map(|&f| stacks.name(f)));
    let mut from: Vec<String> = chain.iter().map(|&f| stacks.name(f).to_owned()).collect();
    while from.len() > 1 && from.last().is_some_and(|name| is_helper(name)) {
        from.pop();
    }
    let task = began.map_or_else(String::new, |b| task_name(window, b.block.task));
    Hold { cause, ns: total, longest: longest.0, whole, task, from, mostly: mostly.unwrap_or_default(), activity }
}

impl Explanation {
    /// Whether it adds up: it may come from a file that somebody else wrote.
    pub fn is_sound(&self) -> bool {
        let sum = |all: &[Share]| all.iter().try_fold(0u64, |sum, s| sum.checked_add(s.ns));
        sum(&self.causes) == Some(self.latency) && sum(&self.tasks) == Some(self.latency) && self.chart.is_sound(self.latency)
    }

    /// The answer in one sentence.
    pub fn sentence(&self) -> String {
        let h = &self.hold;
        let place = match h.from.last() {
            Some(from) if *from != h.mostly && h.cause.is_switched_off() => format!("from {from} on, mostly in {}", h.mostly),
            _ => format!("in {}", h.mostly),
        };
        let whom = h.activity.as_ref().map_or_else(|| h.task.clone(), |activity| format!("{}, {activity}", h.task));
        let long = us(h.ns);
        let whole = if h.whole > h.ns { format!("{}, {long} of it in this latency", us(h.whole)) } else { long.clone() };
        let what = match h.cause {
            Cause::InterruptsOff => format!("interrupts were off for {whole}, {place} ({whom})"),
            Cause::HardInterrupt => format!("interrupts were handled for {long}, {place}"),
            Cause::Softirq => format!("softirqs ran for {long}, {place} ({whom})"),
            Cause::BottomHalvesOff => format!("bottom halves were off for {whole}, {place} ({whom})"),
            Cause::PreemptionOff => format!("preemption was off for {whole}, {place} ({whom})"),
            Cause::NotPreemptible => {
                format!("the kernel could not be preempted for {long}, {place} ({whom})")
            }
            Cause::NotAsleep => {
                format!("the thread was not asleep yet when its timer expired, for {long}: what kept it was not logged")
            }
            Cause::OtherTask => format!("another task ran for {long}, {place} ({whom})"),
            cause => format!("{cause} took {long}, {place}"),
        };
        // What else counts: at least a fifth of it.
        let others = self.causes.iter().skip(1).filter(|c| c.ns * 5 >= self.latency);
        let others: Vec<String> = others.map(|c| format!("{} {}", c.name, us(c.ns))).collect();
        let also = if others.is_empty() { String::new() } else { format!("; besides {}", others.join(", ")) };
        format!("{}: {what}{also}.", us(self.latency))
    }
}

fn us(ns: u64) -> String {
    format!("{}.{:03} us", ns / 1000, ns % 1000)
}

#[cfg(test)]
#[path = "explanation_tests.rs"]
mod tests;
