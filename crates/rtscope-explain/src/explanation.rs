//! The explanation of one late sample: milestones, and every nanosecond by cause, task and function.

use crate::cause::Cause;
use crate::chart::{Chart, Stack};
use crate::path::Path;
use serde::{Deserialize, Serialize};

/// One late sample, explained. All times in ns; moments count from the timer's expiry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// From where to where it goes; absent: from a thread's timer to its read of the clock.
    #[serde(default, skip_serializing_if = "Path::is_usual")]
    pub path: Path,
    /// From expiry to the read of the clock that ends it.
    pub latency: u64,
    /// Of a wave's edge: how much later it came after the edge before than it should have, which is what the record says. The
    /// edge before was late by the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<u64>,
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
    pub unwinder: UnwinderAgreement,
    /// It was read from the kernel's own trace, taken with this; absent if from the log of all that was executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traced: Option<Means>,
    /// What ran when.
    pub chart: Chart,
    /// By task and calls, the longest first; they sum to the latency.
    #[serde(skip)]
    pub stacks: Vec<Stack>,
}

/// What a kernel's trace was taken with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Means {
    /// The function tracer, and events.
    Functions,
    /// Events only: the kernel has no function tracer, or does not let it be used.
    Events,
}

impl Means {
    /// In a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::Functions => "the function tracer and events",
            Self::Events => "events only",
        }
    }
}

/// When what happened, ns after the expiry; `None` for what was not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Milestones {
    /// The timer's interrupt was entered.
    pub interrupt: Option<u64>,
    /// The stimulus was driven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driven: Option<u64>,
    /// The task in the kernel was called: a timer's callback, or an interrupt's handler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<u64>,
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
pub struct UnwinderAgreement {
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
    /// How long it was so in all, where something was switched off or a softirq ran: maybe since long before the expiry.
    pub whole: u64,
    /// The task that ran when its longest stretch began.
    pub task: String,
    /// The calls that this began in, outermost first.
    pub from: Vec<String>,
    /// The function that most of it passed in, over all stretches.
    pub mostly: String,
    /// Of softirqs: the innermost function that nine tenths of it passed in, with what that called. Empty if it is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub within: String,
    /// What these calls were about: "page fault", "system call mmap"; absent where they do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
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
            // Events alone name no functions.
            _ if h.mostly.is_empty() => String::new(),
            Some(from) if *from != h.mostly && h.cause.is_switched_off() => format!(", from {from} on, mostly in {}", h.mostly),
            _ if !h.within.is_empty() && h.within != h.mostly => format!(", in {}, mostly in {}", h.within, h.mostly),
            _ => format!(", in {}", h.mostly),
        };
        let whom = h.activity.as_ref().map_or_else(|| h.task.clone(), |activity| format!("{}, {activity}", h.task));
        let long = us(h.ns);
        let whole = if h.whole > h.ns { format!("{}, {long} of it in this latency", us(h.whole)) } else { long.clone() };
        let what = match h.cause {
            Cause::InterruptsOff => format!("interrupts were off for {whole}{place} ({whom})"),
            Cause::HardInterrupt => format!("interrupts were handled for {long}{place}"),
            Cause::Softirq => format!("softirqs ran for {whole}{place} ({whom})"),
            Cause::BottomHalvesOff => format!("bottom halves were off for {whole}{place} ({whom})"),
            Cause::PreemptionOff => format!("preemption was off for {whole}{place} ({whom})"),
            Cause::NotPreemptible => format!("the kernel could not be preempted for {long}{place} ({whom})"),
            Cause::NotLogged => format!("what ran for {long} after the {} was not logged", self.path.begins()),
            Cause::NotAsleep => {
                format!("the thread was not asleep yet when its timer expired, for {long}: what kept it was not logged")
            }
            Cause::OtherTask => format!("another task ran for {long}{place} ({whom})"),
            cause if place.is_empty() => format!("{cause} took {long} ({whom})"),
            cause => format!("{cause} took {long}{place}"),
        };
        // What else counts: at least a fifth of it.
        let others = self.causes.iter().skip(1).filter(|c| c.ns * 5 >= self.latency);
        let others: Vec<String> = others.map(|c| format!("{} {}", c.name, us(c.ns))).collect();
        let also = if others.is_empty() { String::new() } else { format!("; besides {}", others.join(", ")) };
        let late = match self.jitter {
            Some(jitter) => format!("{} after its grid point, {} later than the edge before", us(self.latency), us(jitter)),
            None => us(self.latency),
        };
        format!("{late}: {what}{also}.")
    }
}

fn us(ns: u64) -> String {
    format!("{}.{:03} us", ns / 1000, ns % 1000)
}
