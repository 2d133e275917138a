//! What of the steps is the measured task itself: a thread, a callback of the kernel, or the handler of an interrupt.

use crate::account::Step;
use crate::cause::{Cause, INTERRUPT, SERVING_SOFTIRQ};
use crate::chains::Chains;
use crate::log::Window;
use crate::path::{Path, Subject};
use crate::stacks::{Function, Kind, Stacks};
use crate::symbols::is_kernel;

/// The measured task.
pub(crate) struct Own {
    path: Path,
    /// The task as the scheduler has it; `None` if it is code that runs in interrupts.
    pub(crate) task: Option<u64>,
    /// What its time in the kernel is, before it was in user space.
    kernel: Cause,
    function: Option<Function>,
    driver: Option<Function>,
}

impl Own {
    /// Whose sample it is that ended with `end`.
    pub(crate) fn of(window: &Window, subject: &Subject, end: &Step, stacks: &Stacks) -> Self {
        let in_interrupt = end.moment.preempt & (INTERRUPT | SERVING_SOFTIRQ) != 0;
        let task = match subject.path {
            Path::WakeUp => Some(window.thread),
            _ => Some(end.task).filter(|_| !in_interrupt),
        };
        let kernel = match subject.path {
            Path::Answer if is_of_interrupt(window, end.task) => Cause::InterruptThread,
            Path::Answer => Cause::ReturnFromWait,
            Path::Callback => Cause::Softirq,
            Path::Edge if subject.task.is_some() => Cause::Softirq,
            Path::Edge | Path::WakeUp => Cause::Return,
        };
        let number = |start: Option<u64>| start.and_then(|start| stacks.at(start));
        Self { path: subject.path, task, kernel, function: number(subject.task), driver: number(subject.driver) }
    }

    /// When the clock was read first, from `expired` on, by what drives the stimulus.
    pub(crate) fn driven(&self, window: &Window, steps: &[Step], chains: &Chains, expired: u64) -> Option<u64> {
        let driver = self.driver?;
        let before = steps.len() - window.blocks.len();
        let is_driven = |block: usize| steps.get(before + block).is_some_and(|s| chains.calls(s.chain).contains(&driver));
        let mut reads = window.clock_reads.iter().filter(|r| r.at >= expired && is_kernel(r.pc));
        reads.find(|r| is_driven(r.block)).map(|r| r.at)
    }

    /// Whether the task is woken by what a step was in the midst of.
    pub(crate) fn is_woken_by(&self, step: &Step, chains: &Chains, stacks: &Stacks) -> bool {
        let calls = chains.calls(step.chain);
        let leaf = calls.last().map_or("", |f| stacks.name(*f));
        match self.path {
            Path::WakeUp => leaf == "hrtimer_wakeup",
            Path::Edge if self.function.is_none() => leaf == "hrtimer_wakeup",
            Path::Answer => {
                leaf.starts_with("try_to_wake_up") && (step.moment.handed || self.driver.is_some_and(|f| calls.contains(&f)))
            }
            Path::Callback | Path::Edge => leaf.starts_with("try_to_wake_up"),
        }
    }
}

/// Whether a task is the thread of an interrupt.
fn is_of_interrupt(window: &Window, task: u64) -> bool {
    window.tasks.get(&task).is_some_and(|t| t.comm.starts_with("irq/"))
}

/// Marks in all steps what of them is the measured task.
pub(crate) fn mark(steps: &mut [Step], own: &Own, window: &Window, chains: &Chains, stacks: &Stacks) {
    let mut was_user = false;
    for step in steps {
        let m = &mut step.moment;
        if m.unlogged.is_some() || m.other_cpu {
            continue;
        }
        m.own_task = own.task == Some(step.task);
        m.handed = own.path == Path::Answer && !m.own_task && is_of_interrupt(window, step.task);
        was_user = m.own_task && (was_user || m.user);
        m.own_kernel = if was_user && own.path != Path::WakeUp { Cause::Call } else { own.kernel };
        let calls = chains.calls(step.chain);
        let interrupted = calls.iter().rposition(|f| Kind::is_interrupt(stacks.kind(*f)));
        let task = own.function.and_then(|task| calls.iter().rposition(|f| *f == task));
        m.kernel_task = task.is_some() && task > interrupted;
    }
}
