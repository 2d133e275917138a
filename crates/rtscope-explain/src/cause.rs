//! Why the task did not run: one word for each moment between the timer's expiry and the sample.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What kept the thread from running, or ran for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The thread was not asleep yet when its timer expired; what kept it from its sleep was before the log began.
    NotAsleep,
    /// The timer had expired before the log began.
    NotLogged,
    /// The timer interrupt was on its way: the timer of the hardware is set to whole ticks, and an interrupt comes between two blocks.
    Delivery,
    /// Interrupts were switched off.
    InterruptsOff,
    /// An interrupt was handled: the timer's own, or another one.
    HardInterrupt,
    /// A softirq ran.
    Softirq,
    /// Bottom halves were switched off, and with them preemption.
    BottomHalvesOff,
    /// Preemption was switched off.
    PreemptionOff,
    /// The kernel was busy for another task, and its preemption model does not let go there.
    NotPreemptible,
    /// The scheduler.
    Scheduling,
    /// Another task ran that did not have to give way.
    OtherTask,
    /// The CPU left its idle loop.
    Idle,
    /// Another CPU of the guest ran: the lab simulates them in turns.
    OtherCpu,
    /// The thread of an interrupt, which hands what the interrupt was about to the task.
    InterruptThread,
    /// The thread itself, on its way from the sleep to user space.
    #[default]
    Return,
    /// The task itself, on its way to user space from where it waited for an edge.
    ReturnFromWait,
    /// The thread itself, in user space, until it read the clock.
    User,
    /// The task itself, in the system call that drives its line.
    Call,
    /// The task in the kernel itself: the callback of a timer, or the handler of an interrupt.
    KernelTask,
}

impl Cause {
    /// All of them, in the order of a wake-up.
    pub const ALL: [Self; 19] = [
        Self::NotAsleep,
        Self::NotLogged,
        Self::Delivery,
        Self::InterruptsOff,
        Self::HardInterrupt,
        Self::Softirq,
        Self::BottomHalvesOff,
        Self::PreemptionOff,
        Self::NotPreemptible,
        Self::OtherTask,
        Self::Idle,
        Self::OtherCpu,
        Self::Scheduling,
        Self::InterruptThread,
        Self::Return,
        Self::ReturnFromWait,
        Self::User,
        Self::Call,
        Self::KernelTask,
    ];

    /// Whether somebody switched something off, from some point on.
    pub(crate) fn is_switched_off(self) -> bool {
        matches!(self, Self::InterruptsOff | Self::BottomHalvesOff | Self::PreemptionOff)
    }

    /// Whether what this cause switches off is off at a moment, or a softirq runs. Interrupts that are handled meanwhile do not end it.
    pub(crate) fn holds_at(self, m: &Moment) -> bool {
        let interrupt = m.interrupt || m.preempt & INTERRUPT != 0;
        !m.other_cpu
            && match self {
                Self::InterruptsOff => m.interrupts_off(),
                Self::BottomHalvesOff => interrupt || m.preempt & BOTTOM_HALVES != 0,
                Self::PreemptionOff => interrupt || m.preempt & PREEMPT != 0,
                Self::Softirq => m.preempt & SERVING_SOFTIRQ != 0,
                _ => false,
            }
    }

    /// In a table.
    pub fn words(self) -> &'static str {
        match self {
            Self::NotAsleep => "not asleep yet",
            Self::NotLogged => "not logged",
            Self::Delivery => "timer interrupt on its way",
            Self::InterruptsOff => "interrupts off",
            Self::HardInterrupt => "hard interrupt",
            Self::Softirq => "softirq",
            Self::BottomHalvesOff => "bottom halves off",
            Self::PreemptionOff => "preemption off",
            Self::NotPreemptible => "kernel not preemptible here",
            Self::Scheduling => "scheduling",
            Self::OtherTask => "another task",
            Self::Idle => "leaving idle",
            Self::OtherCpu => "another CPU's turn",
            Self::InterruptThread => "the interrupt's thread",
            Self::Return => "return from the sleep",
            Self::ReturnFromWait => "return from the wait",
            Self::User => "user space",
            Self::Call => "the task's system call",
            Self::KernelTask => "the task in the kernel",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words())
    }
}

/// What is known of a moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moment {
    /// What a moment is called that was before the log began.
    pub(crate) unlogged: Option<Cause>,
    /// Whether the timer's interrupt has come.
    pub(crate) expired: bool,
    /// Whether the measured task runs, on its CPU.
    pub(crate) own_task: bool,
    /// What its time in the kernel is.
    pub(crate) own_kernel: Cause,
    /// Whether the measured task is code of the kernel, and this is it.
    pub(crate) kernel_task: bool,
    /// Whether the thread of an interrupt runs on the task's behalf.
    pub(crate) handed: bool,
    /// Whether another CPU of the guest runs.
    pub(crate) other_cpu: bool,
    /// Whether the idle task runs.
    pub(crate) idle: bool,
    /// Whether it is code of user space.
    pub(crate) user: bool,
    /// Whether the calls lead through an interrupt's entry.
    pub(crate) interrupt: bool,
    /// Whether they lead through the scheduler.
    pub(crate) scheduler: bool,
    /// `preempt_count`.
    pub(crate) preempt: u32,
    /// EFLAGS.
    pub(crate) flags: u32,
}

/// Parts of `preempt_count` (include/linux/preempt.h; arch/x86/include/asm/preempt.h: its highest bit is clear when a switch is due).
const PREEMPT: u32 = 0xff;
pub(crate) const SERVING_SOFTIRQ: u32 = 0x100;
const BOTTOM_HALVES: u32 = 0xfe00;
pub(crate) const INTERRUPT: u32 = 0xff_0000;
pub(crate) const NO_SWITCH_DUE: u32 = 1 << 31;
/// Of EFLAGS: interrupts are on.
pub(crate) const INTERRUPTS_ON: u32 = 1 << 9;
/// Preemption, and bottom halves, switched off once.
pub(crate) const IN_PREEMPTION_OFF: u32 = 1;
pub(crate) const IN_BOTTOM_HALVES_OFF: u32 = 0x200;

impl Moment {
    pub(crate) fn interrupts_off(&self) -> bool {
        self.flags & INTERRUPTS_ON == 0
    }

    pub(crate) fn cause(&self) -> Cause {
        let interrupt = self.interrupt || self.preempt & INTERRUPT != 0;
        if let Some(unlogged) = self.unlogged {
            unlogged
        } else if self.other_cpu {
            Cause::OtherCpu
        } else if self.kernel_task {
            Cause::KernelTask
        } else if interrupt && !self.user {
            Cause::HardInterrupt
        } else if !self.expired {
            if self.interrupts_off() { Cause::InterruptsOff } else { Cause::Delivery }
        } else if self.scheduler {
            Cause::Scheduling
        } else if self.own_task {
            if self.user { Cause::User } else { self.own_kernel }
        } else if self.handed {
            Cause::InterruptThread
        } else if self.user {
            Cause::OtherTask
        } else if self.preempt & SERVING_SOFTIRQ != 0 {
            Cause::Softirq
        } else if self.interrupts_off() {
            Cause::InterruptsOff
        } else if self.preempt & BOTTOM_HALVES != 0 {
            Cause::BottomHalvesOff
        } else if self.idle {
            Cause::Idle
        } else if self.preempt & PREEMPT != 0 {
            Cause::PreemptionOff
        } else if self.preempt & NO_SWITCH_DUE == 0 {
            Cause::NotPreemptible
        } else {
            Cause::OtherTask
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_moment_has_one_cause() {
        let m = Moment {
            unlogged: None,
            expired: true,
            own_task: false,
            own_kernel: Cause::Return,
            kernel_task: false,
            handed: false,
            other_cpu: false,
            idle: false,
            user: false,
            interrupt: false,
            scheduler: false,
            preempt: NO_SWITCH_DUE,
            flags: INTERRUPTS_ON,
        };
        let preempt = |preempt| Moment { preempt, ..m }.cause();
        assert_eq!(m.cause(), Cause::OtherTask);
        assert_eq!(preempt(0), Cause::NotPreemptible);
        assert_eq!(preempt(1), Cause::PreemptionOff);
        assert_eq!(preempt(0x200), Cause::BottomHalvesOff);
        assert_eq!(preempt(0x301), Cause::Softirq);
        assert_eq!(preempt(0x1_0001), Cause::HardInterrupt);
        assert_eq!(Moment { flags: 0, ..m }.cause(), Cause::InterruptsOff);
        assert_eq!(Moment { idle: true, preempt: 0, ..m }.cause(), Cause::Idle);
        assert_eq!(Moment { user: true, ..m }.cause(), Cause::OtherTask);
        assert_eq!(Moment { scheduler: true, flags: 0, preempt: 2, ..m }.cause(), Cause::Scheduling);
        assert_eq!(Moment { other_cpu: true, ..m }.cause(), Cause::OtherCpu);
        assert_eq!(Moment { own_task: true, ..m }.cause(), Cause::Return);
        assert_eq!(Moment { own_task: true, user: true, ..m }.cause(), Cause::User);
        assert_eq!(Moment { own_task: true, own_kernel: Cause::Call, ..m }.cause(), Cause::Call);
        assert_eq!(Moment { kernel_task: true, interrupt: true, ..m }.cause(), Cause::KernelTask);
        assert_eq!(Moment { handed: true, flags: 0, ..m }.cause(), Cause::InterruptThread);
        assert_eq!(Moment { unlogged: Some(Cause::NotAsleep), ..m }.cause(), Cause::NotAsleep);
        let before = Moment { expired: false, ..m };
        assert_eq!(before.cause(), Cause::Delivery);
        assert_eq!(Moment { flags: 0, ..before }.cause(), Cause::InterruptsOff);
        assert_eq!(Moment { flags: 0, interrupt: true, ..before }.cause(), Cause::HardInterrupt);
    }
}
