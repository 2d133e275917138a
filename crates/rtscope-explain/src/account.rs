//! The sums of an explanation: time by cause, task, function and stack, and what held the CPU, from steps in their order.

use crate::activity;
use crate::cause::{Cause, Moment};
use crate::chart::{Chart, Maker, Stack};
use crate::explanation::{FunctionShare, Hold, Share};
use std::collections::{BTreeMap, HashMap};

/// Something that ran from a point in time until the next step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// When, in the source's own units.
    pub(crate) start: u64,
    /// The task that ran.
    pub(crate) task: u64,
    /// The number of its calls.
    pub(crate) chain: usize,
    /// What was so.
    pub(crate) moment: Moment,
}

/// Steps with what is needed to name and to time them.
pub(crate) struct Steps<'a> {
    /// In the order of time.
    pub(crate) all: &'a [Step],
    /// When the last one ended, in the steps' units.
    pub(crate) end: u64,
    /// From their units to ns within the latency.
    pub(crate) since: &'a dyn Fn(u64) -> u64,
    /// The name of a task.
    pub(crate) task: &'a dyn Fn(u64) -> String,
    /// The names of calls, outermost first.
    pub(crate) calls: &'a dyn Fn(usize) -> Vec<String>,
    /// Whether something is switched off by the step before the first one where it is off, not in the calls of this one.
    pub(crate) switched_before: bool,
}

impl Steps<'_> {
    fn until(&self, i: usize) -> u64 {
        self.all.get(i + 1).map_or(self.end, |next| next.start)
    }

    /// How much of the latency step `i` is, ns.
    fn ns(&self, i: usize) -> u64 {
        self.all.get(i).map_or(0, |step| (self.since)(self.until(i)).saturating_sub((self.since)(step.start)))
    }
}

/// The sums.
pub(crate) struct Account {
    pub(crate) causes: Vec<Share>,
    pub(crate) tasks: Vec<Share>,
    pub(crate) functions: Vec<FunctionShare>,
    pub(crate) hold: Hold,
    pub(crate) chart: Chart,
    pub(crate) stacks: Vec<Stack>,
}

impl Account {
    /// Adds up all steps.
    pub(crate) fn of(steps: &Steps<'_>) -> Self {
        let mut causes: BTreeMap<Cause, u64> = BTreeMap::new();
        // By task and calls: the time, and the chart's rows.
        let mut by_stack: HashMap<(u64, usize), (u64, Vec<u32>)> = HashMap::new();
        let mut chart = Maker::default();
        for (i, step) in steps.all.iter().enumerate() {
            let ns = steps.ns(i);
            if ns == 0 {
                continue;
            }
            let cause = step.moment.cause();
            *causes.entry(cause).or_default() += ns;
            let (time, rows) = by_stack.entry((step.task, step.chain)).or_insert_with(|| {
                let calls = (steps.calls)(step.chain);
                let task = chart.name(&(steps.task)(step.task));
                (0, std::iter::once(task).chain(calls.iter().map(|name| chart.name(name))).collect())
            });
            *time += ns;
            chart.add(ns, cause, rows);
        }
        let main = causes.iter().max_by_key(|(_, ns)| **ns).map_or(Cause::User, |(c, _)| *c);
        let stacks = stacks(by_stack.iter().map(|(key, (ns, _))| (*key, *ns)), steps);
        let mut tasks: BTreeMap<String, u64> = BTreeMap::new();
        for stack in &stacks {
            *tasks.entry(stack.names.first().cloned().unwrap_or_default()).or_default() += stack.ns;
        }
        Self {
            causes: shares(causes.into_iter().map(|(c, ns)| (c.words().to_owned(), ns))),
            tasks: shares(tasks),
            functions: functions(&stacks),
            hold: hold(main, steps),
            chart: chart.finish(),
            stacks,
        }
    }
}

/// The time by task and calls, with names, the longest first.
fn stacks(times: impl Iterator<Item = ((u64, usize), u64)>, steps: &Steps<'_>) -> Vec<Stack> {
    // Tasks and functions of the same name are one: so flame graphs have it.
    let mut named: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    for ((task, chain), ns) in times {
        *named.entry(std::iter::once((steps.task)(task)).chain((steps.calls)(chain)).collect()).or_default() += ns;
    }
    let mut all: Vec<Stack> = named.into_iter().map(|(names, ns)| Stack { names, ns }).collect();
    all.sort_by_key(|s| std::cmp::Reverse(s.ns));
    all
}

/// The time by function, the longest first, without those that took nothing themselves.
fn functions(stacks: &[Stack]) -> Vec<FunctionShare> {
    let mut times: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for stack in stacks {
        let calls = stack.names.get(1..).unwrap_or_default();
        for (depth, name) in calls.iter().enumerate() {
            let (own, total) = times.entry(name).or_default();
            if depth + 1 == calls.len() {
                *own += stack.ns;
            }
            if !calls[..depth].contains(name) {
                *total += stack.ns;
            }
        }
    }
    let took = times.into_iter().filter(|(_, (own, _))| *own > 0);
    let mut all: Vec<FunctionShare> = took.map(|(name, (own, total))| FunctionShare { name: name.into(), own, total }).collect();
    all.sort_by(|a, b| b.own.cmp(&a.own).then_with(|| a.name.cmp(&b.name)));
    all
}

fn shares(of: impl IntoIterator<Item = (String, u64)>) -> Vec<Share> {
    let mut all: Vec<Share> = of.into_iter().map(|(name, ns)| Share { name, ns }).collect();
    all.sort_by(|a, b| b.ns.cmp(&a.ns).then_with(|| a.name.cmp(&b.name)));
    all
}

/// Functions that only switch something off for their callers.
fn is_helper(name: &str) -> bool {
    ["_raw_", "__raw_", "local_irq", "__local_bh", "preempt_", "native_", "rt_spin_", "queued_", "__pfx_"]
        .iter()
        .any(|p| name.starts_with(p))
}

/// What the cause `cause` was: its longest stretch, and what held the CPU through all of it.
fn hold(cause: Cause, steps: &Steps<'_>) -> Hold {
    let all = steps.all;
    let mut own: HashMap<usize, u64> = HashMap::new();
    let (mut total, mut longest, mut begun) = (0, (0, 0, 0), None);
    for (i, step) in all.iter().enumerate() {
        let ns = steps.ns(i);
        if step.moment.cause() != cause {
            begun = None;
            continue;
        }
        // What passed before the expiry is no part of a stretch.
        if ns == 0 {
            continue;
        }
        let first = *begun.get_or_insert(i);
        total += ns;
        let stretch = (steps.since)(steps.until(i)).saturating_sub((steps.since)(all[first].start));
        if stretch > longest.0 {
            longest = (stretch, first, i);
        }
        *own.entry(step.chain).or_default() += ns;
    }
    let (_, mut first, mut last) = longest;
    let seen = first;
    // It may have been so long before the timer expired; and interrupts that are handled meanwhile are in the midst of it.
    while first > 0 && cause.holds_at(&all[first - 1].moment) {
        first -= 1;
    }
    let held = all.iter().enumerate().skip(last + 1).take_while(|(_, s)| cause.holds_at(&s.moment));
    if let Some((later, _)) = held.filter(|(_, s)| s.moment.cause() == cause).last() {
        last = later;
    }
    let begun = all.get(first).map_or(steps.end, |s| s.start);
    let whole = total.max(steps.until(last).min(steps.end).saturating_sub(begun));
    let back = usize::from(cause.is_switched_off() && steps.switched_before);
    let began = all.get(first.saturating_sub(back));
    let mut from = began.map_or_else(Vec::new, |b| (steps.calls)(b.chain));
    // A softirq's first calls do not tell yet which one it is.
    let about = all.get(seen).filter(|_| cause == Cause::Softirq).map_or_else(|| from.clone(), |s| (steps.calls)(s.chain));
    let activity = activity::of(about.iter().map(String::as_str));
    while from.len() > 1 && from.last().is_some_and(|name| is_helper(name)) {
        from.pop();
    }
    let task = began.map_or_else(String::new, |b| (steps.task)(b.task));
    let within = if cause == Cause::Softirq { within(&own, steps) } else { String::new() };
    Hold { cause, ns: total, longest: longest.0, whole, task, from, mostly: mostly(&own, steps), within, activity }
}

/// Where the kernel handles softirqs (`__do_softirq` until 6.9): what it calls is a softirq's own.
const SOFTIRQS: [&str; 2] = ["handle_softirqs", "__do_softirq"];

/// The innermost function of softirqs that nine tenths of their time passed in, of the times by calls; empty if there is none.
fn within(times: &HashMap<usize, u64>, steps: &Steps<'_>) -> String {
    let of_softirq = |chain: usize| {
        let mut calls = (steps.calls)(chain);
        let begins = calls.iter().rposition(|name| SOFTIRQS.contains(&name.as_str())).map_or(0, |at| at + 1);
        calls.split_off(begins)
    };
    let mut all: Vec<(Vec<String>, u64)> = times.iter().map(|(chain, ns)| (of_softirq(*chain), *ns)).collect();
    let total: u64 = times.values().sum();
    let mut found = String::new();
    for depth in 0.. {
        let mut named: BTreeMap<&str, u64> = BTreeMap::new();
        for (calls, ns) in &all {
            if let Some(name) = calls.get(depth) {
                *named.entry(name).or_default() += ns;
            }
        }
        let Some((name, _)) = named.into_iter().find(|(_, ns)| ns * 10 >= total * 9) else { break };
        found = name.to_owned();
        all.retain(|(calls, _)| calls.get(depth) == Some(&found));
    }
    found
}

/// The innermost function that most time passed in, of the times by calls.
fn mostly(times: &HashMap<usize, u64>, steps: &Steps<'_>) -> String {
    let mut named: BTreeMap<String, u64> = BTreeMap::new();
    for (chain, ns) in times {
        if let Some(leaf) = (steps.calls)(*chain).pop() {
            *named.entry(leaf).or_default() += ns;
        }
    }
    named.into_iter().max_by_key(|(_, ns)| *ns).map(|(name, _)| name).unwrap_or_default()
}
