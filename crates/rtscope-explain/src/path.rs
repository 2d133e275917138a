//! What a sample is of: from where to where it goes, and the words for that.

use crate::cause::Cause;
use serde::{Deserialize, Serialize};

/// From where to where a sample goes. It begins when a timer expires, on the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// From a thread's timer to its read of the clock.
    #[default]
    WakeUp,
    /// From a timer of the kernel to its callback's read of the clock.
    Callback,
    /// From when a stimulus was due to the answer's edge.
    Answer,
    /// From a point of a wave's grid to the wave's edge.
    Edge,
}

impl Path {
    /// Whether it is the one that explanations without a path are of.
    #[allow(clippy::trivially_copy_pass_by_ref)] // required by serde
    pub(crate) fn is_usual(&self) -> bool {
        *self == Self::WakeUp
    }

    /// The heading of a chart.
    pub fn title(self) -> &'static str {
        match self {
            Self::WakeUp => "What ran, from the timer's expiry to the wake-up",
            Self::Callback => "What ran, from the timer's expiry to its callback",
            Self::Answer => "What ran, from the stimulus to the answer",
            Self::Edge => "What ran, from the grid point to the edge",
        }
    }

    /// What times count from.
    pub fn begins(self) -> &'static str {
        match self {
            Self::WakeUp | Self::Callback => "expiry",
            Self::Answer => "stimulus",
            Self::Edge => "grid point",
        }
    }

    /// The last milestone.
    pub fn ends(self) -> &'static str {
        match self {
            Self::WakeUp | Self::Callback => "clock read",
            Self::Answer => "answer",
            Self::Edge => "edge",
        }
    }

    /// Who waits for it.
    pub fn task(self) -> &'static str {
        if self == Self::WakeUp { "thread" } else { "task" }
    }
}

/// What a sample is of: its path, and the functions of kernel modules that it goes through, as their addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Subject {
    /// From where to where it goes.
    pub path: Path,
    /// In which function the clock is read that ends it; `None`: in the thread's own code in user space.
    pub end: Option<u64>,
    /// What drives the stimulus.
    pub driver: Option<u64>,
    /// The task, if it is a callback or a handler.
    pub task: Option<u64>,
}

impl Subject {
    /// What it is if its timer expired before the log began: a thread that sleeps was not asleep yet.
    pub(crate) fn unlogged(&self) -> Cause {
        let sleeps = self.path == Path::WakeUp || (self.path == Path::Edge && self.task.is_none());
        if sleeps { Cause::NotAsleep } else { Cause::NotLogged }
    }
}
