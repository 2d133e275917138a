//! What was so from one line of a trace to the next.
//!
//! A line shows its own moment: whether interrupts or preemption were off, which task ran, which function was entered. What was so
//! until the next line follows from both: a function that is entered with interrupts off was called by one that had switched them off.

use super::line::{Flags, Level, Line, What};
use crate::account::Step;
use crate::cause::{Cause, INTERRUPTS_ON, Moment};
use crate::cause::{IN_BOTTOM_HALVES_OFF, IN_PREEMPTION_OFF, NO_SWITCH_DUE, SERVING_SOFTIRQ};
use std::collections::HashMap;

/// Calls that are followed at most: what a kernel's stack holds is fewer.
const DEEPEST: usize = 128;

/// The scheduler's own functions.
const SCHEDULER: [&str; 8] = [
    "__schedule",
    "schedule",
    "schedule_idle",
    "schedule_rtlock",
    "preempt_schedule",
    "preempt_schedule_common",
    "preempt_schedule_irq",
    "preempt_schedule_notrace",
];

/// How the functions begin that enter and leave hard interrupts, before the kernel counts one and after.
const INTERRUPT: [&str; 9] = [
    "sysvec_",
    "asm_sysvec_",
    "common_interrupt",
    "irq_enter",
    "irq_exit",
    "__irq_exit_rcu",
    "el1_interrupt",
    "el0_interrupt",
    "handle_irq",
];

/// All calls that were seen, each chain of them once.
#[derive(Default)]
pub(crate) struct Calls {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    chains: Vec<Vec<u32>>,
    known: HashMap<Vec<u32>, usize>,
}

impl Calls {
    fn name(&mut self, name: &str) -> u32 {
        if let Some(&n) = self.numbers.get(name) {
            return n;
        }
        let n = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), n);
        n
    }

    fn chain(&mut self, chain: Vec<u32>) -> usize {
        if let Some(&n) = self.known.get(&chain) {
            return n;
        }
        self.chains.push(chain.clone());
        self.known.insert(chain, self.chains.len() - 1);
        self.chains.len() - 1
    }

    /// The names of chain `n`, outermost first.
    pub(crate) fn of(&self, n: usize) -> Vec<String> {
        self.chains.get(n).map_or_else(Vec::new, |c| c.iter().map(|f| self.names[*f as usize].clone()).collect())
    }
}

/// Who is on the CPU's stacks.
#[derive(Default)]
struct Stacks {
    tasks: HashMap<u32, Vec<u32>>,
    soft: Vec<u32>,
    hard: Vec<u32>,
}

impl Stacks {
    fn of(&mut self, level: Level, task: u32) -> &mut Vec<u32> {
        match level {
            Level::Task => self.tasks.entry(task).or_default(),
            Level::Soft => &mut self.soft,
            Level::Hard => &mut self.hard,
        }
    }

    /// Back to `caller`: all that it called has returned.
    fn back_to(&mut self, level: Level, task: u32, caller: u32) {
        let stack = self.of(level, task);
        match stack.iter().rposition(|f| *f == caller) {
            Some(at) => stack.truncate(at + 1),
            None => *stack = vec![caller],
        }
    }

    fn enter(&mut self, level: Level, task: u32, function: u32) {
        let stack = self.of(level, task);
        if stack.len() < DEEPEST {
            stack.push(function);
        }
    }

    /// Leaves all that is above `level`.
    fn only(&mut self, level: Level) {
        if level < Level::Hard {
            self.hard.clear();
        }
        if level < Level::Soft {
            self.soft.clear();
        }
    }

    /// All calls at `level`, the interrupted ones below it included.
    fn calls(&self, level: Level, task: u32) -> Vec<u32> {
        let mut all = self.tasks.get(&task).cloned().unwrap_or_default();
        for (above, stack) in [(Level::Soft, &self.soft), (Level::Hard, &self.hard)] {
            if level >= above {
                // What calls the first function of a softirq is in the task still.
                let again = usize::from(stack.first().is_some_and(|first| all.last() == Some(first)));
                all.extend(&stack[again..]);
            }
        }
        all
    }
}

/// What is known of the wake-up before its steps are made.
pub(crate) struct Known {
    /// The thread.
    pub(crate) thread: u32,
    /// When its timer's interrupt was entered, ns of the trace's clock.
    pub(crate) interrupt: u64,
    /// Until when the thread was not asleep yet, ns; 0 if it was asleep.
    pub(crate) asleep: u64,
    /// The trace has functions, not only events.
    pub(crate) functions: bool,
}

/// The level of a line. The first and last functions of an interrupt are entered while it is not counted as one.
pub(crate) fn level(line: &Line<'_>) -> Level {
    let entry = |name: &str| INTERRUPT.iter().any(|p| name.starts_with(p));
    match line.what {
        What::Function { name, caller } if entry(name) || entry(caller) => Level::Hard,
        _ => line.flags.level,
    }
}

/// Functions that switch something on again: what was off when they were entered is on when they return.
fn releases(name: &str) -> bool {
    ["_raw_spin_unlock", "_raw_read_unlock", "_raw_write_unlock", "rt_spin_unlock", "__local_bh_enable", "preempt_schedule"]
        .iter()
        .any(|p| name.starts_with(p))
}

/// The level after a line: events tell of ends.
fn level_after(line: &Line<'_>) -> Level {
    if line.is("local_timer_exit") || line.is("irq_handler_exit") {
        return if line.flags.in_softirq { Level::Soft } else { Level::Task };
    }
    if line.is("softirq_exit") { Level::Task } else { level(line) }
}

/// The steps between `lines`, from the first on, and their calls.
pub(crate) fn steps(lines: &[Line<'_>], known: &Known) -> (Vec<Step>, Calls) {
    let mut walk = Walk { known, calls: Calls::default(), stacks: Stacks::default() };
    let mut steps: Vec<Step> = Vec::with_capacity(lines.len());
    for (i, line) in lines.iter().enumerate() {
        let step = walk.step(line, lines.get(i + 1));
        // None begins before the one before.
        let start = steps.last().map_or(step.start, |last| step.start.max(last.start));
        steps.push(Step { start, ..step });
    }
    (steps, walk.calls)
}

/// What is switched off from one line to the next.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
struct Off {
    irqs: bool,
    bottom_halves: bool,
    preemption: bool,
}

impl Off {
    fn of(flags: Flags) -> Self {
        Self { irqs: flags.irqs_off, bottom_halves: flags.bottom_halves_off, preemption: flags.depth > 0 }
    }

    fn or(self, other: Self) -> Self {
        Self {
            irqs: self.irqs || other.irqs,
            bottom_halves: self.bottom_halves || other.bottom_halves,
            preemption: self.preemption || other.preemption,
        }
    }
}

/// What a line itself shows to be off after it.
fn own(line: &Line<'_>) -> Off {
    match line.what {
        What::Function { name, .. } if !releases(name) => Off::of(line.flags),
        // An interrupt's end shows what was off when it came; other events have locks of their own.
        What::Event { .. } if level_after(line) < level(line) => Off { preemption: line.flags.depth > 0, ..Off::default() },
        _ => Off::default(),
    }
}

struct Walk<'a> {
    known: &'a Known,
    calls: Calls,
    stacks: Stacks,
}

impl Walk<'_> {
    fn step(&mut self, line: &Line<'_>, next: Option<&Line<'_>>) -> Step {
        self.enter(line);
        let task = line.switched_to().unwrap_or(line.pid);
        let next = next.filter(|n| n.pid == task);
        let after = level_after(line);
        // The functions of an interrupt do not show its end: then what it interrupted goes on.
        let resumed = next.map(level).filter(|next| self.known.functions && *next < after);
        let at = resumed.unwrap_or(after);
        let own = if resumed.is_some() { Off::default() } else { own(line) };
        let off = own.or(next.map_or_else(Off::default, |n| self.shown(n, at)));
        self.stacks.only(at);
        // Who is shown by the next line to have switched something off is who calls the function that is entered there.
        if let Some((What::Function { caller, .. }, Level::Task)) = next.filter(|_| off != own).map(|n| (n.what, level(n))) {
            let caller = self.calls.name(caller);
            self.stacks.back_to(at, task, caller);
        }
        let chain = self.stacks.calls(at, task);
        let moment = Moment {
            unlogged: (task == self.known.thread && line.at < self.known.asleep).then_some(Cause::NotAsleep),
            expired: line.at >= self.known.interrupt,
            own_task: task == self.known.thread,
            idle: task == 0,
            interrupt: at == Level::Hard,
            scheduler: at == Level::Task && self.schedules(&chain, line, off),
            preempt: preempt(at, off, line.flags.due && line.switched_to().is_none()),
            flags: if off.irqs { 0 } else { INTERRUPTS_ON },
            ..Moment::default()
        };
        Step { start: line.at, task: u64::from(task), chain: self.calls.chain(chain), moment }
    }

    /// Takes a line's function, or what an event tells of interrupts, onto the stack.
    fn enter(&mut self, line: &Line<'_>) {
        let at = level(line);
        self.stacks.only(at);
        match line.what {
            What::Function { name, caller } => {
                let (name, caller) = (self.calls.name(name), self.calls.name(caller));
                self.stacks.back_to(at, line.pid, caller);
                self.stacks.enter(at, line.pid, name);
            }
            What::Event { .. } if self.known.functions => {}
            What::Event { name, .. } => {
                let (base, what) = match name {
                    "local_timer_entry" => (true, Some("local timer interrupt".to_owned())),
                    "irq_handler_entry" => (true, line.field("name").map(|name| format!("interrupt {name}"))),
                    "softirq_entry" => {
                        (true, line.field("[action").map(|action| format!("softirq {}", action.trim_end_matches(']'))))
                    }
                    "hrtimer_expire_entry" => (false, line.field("function").map(str::to_owned)),
                    "hrtimer_expire_exit" => {
                        self.stacks.of(at, line.pid).truncate(1);
                        (false, None)
                    }
                    _ => (false, None),
                };
                if base {
                    self.stacks.of(at, line.pid).clear();
                }
                if let Some(what) = what.filter(|_| at > Level::Task) {
                    let what = self.calls.name(&what);
                    self.stacks.enter(at, line.pid, what);
                }
            }
        }
    }

    /// What the next line shows to have been off before it, at `at`.
    fn shown(&self, next: &Line<'_>, at: Level) -> Off {
        let f = next.flags;
        // Interrupts come whatever is off but interrupts, and switch these off themselves.
        if level(next) == Level::Hard && at < Level::Hard {
            let begins = self.known.functions || next.is("local_timer_entry") || next.is("irq_handler_entry");
            return Off { preemption: begins && f.depth > 0, ..Off::default() };
        }
        match next.what {
            What::Function { .. } if level(next) == at => Off::of(f),
            _ => Off::default(),
        }
    }

    /// Whether the scheduler runs. Events do not show it: then it is the scheduler that is at work where a switch is due and nothing is
    /// seen that forbids it.
    fn schedules(&self, chain: &[u32], line: &Line<'_>, off: Off) -> bool {
        if self.known.functions {
            chain.iter().any(|f| SCHEDULER.contains(&self.calls.names[*f as usize].as_str()))
        } else {
            line.flags.due && off == Off::default() && line.switched_to().is_none()
        }
    }
}

/// `preempt_count` as x86 has it.
fn preempt(at: Level, off: Off, due: bool) -> u32 {
    let parts = [
        (off.preemption, IN_PREEMPTION_OFF),
        (off.bottom_halves, IN_BOTTOM_HALVES_OFF),
        (at == Level::Soft, SERVING_SOFTIRQ),
        (!due, NO_SWITCH_DUE),
    ];
    parts.into_iter().filter(|(is, _)| *is).fold(0, |all, (_, part)| all | part)
}
