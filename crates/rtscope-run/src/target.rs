//! Where a probe runs. Every target takes a plan and gives back events and a record.

use rtscope_load::StopHandle;
use rtscope_probe::protocol::{Event, Plan};
use rtscope_record::{Record, RecordError};
use std::io;

/// Whether a target of this name is one of the lab's virtual machines.
pub fn is_lab(target: &str) -> bool {
    target.starts_with("lab:")
}

/// Why there is no record.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The plan can't be carried out as it stands (usage, exit code 2).
    #[error("{message}; {remedy}")]
    Usage {
        /// What is wrong with it.
        message: String,
        /// What to ask for instead.
        remedy: String,
    },
    /// The probe could not measure.
    #[error("{message}; {remedy}")]
    Probe {
        /// What failed.
        message: String,
        /// What to do.
        remedy: String,
    },
    /// The probe can't be started.
    #[error("the probe {program} can't be started: {source}")]
    Start {
        /// Which program.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// The probe said something that is not an event.
    #[error("the probe said something that is not an event: `{line}` ({reason}); probe and rtscope must be of one version")]
    Garbled {
        /// What it said, shortened.
        line: String,
        /// Why it is none.
        reason: String,
    },
    /// The probe ended without a record.
    #[error("the probe ended without a record ({how}){progress}{said}")]
    Ended {
        /// How it ended.
        how: String,
        /// How far it was, when it had begun: `, after 1.5s and 3000 samples`.
        progress: String,
        /// Its last words, after `; it said: `.
        said: String,
    },
    /// Reading from or writing to the probe failed.
    #[error("talking to the probe failed: {0}")]
    Pipe(#[from] io::Error),
    /// It was ended before anything was measured.
    #[error("ended before anything was measured")]
    Interrupted,
    /// The record it sent is of another run, or does not hold together.
    #[error("the probe sent a record that can't be used: {0}")]
    Record(String),
}

impl From<RecordError> for TargetError {
    fn from(e: RecordError) -> Self {
        Self::Record(e.to_string())
    }
}

impl TargetError {
    /// The request was wrong (exit code 2), not the machine (exit code 3).
    pub(crate) fn is_usage(&self) -> bool {
        matches!(self, Self::Usage { .. })
    }
}

/// Something that can run a probe.
pub trait Target {
    /// Carries out `plan`, passes on every event but the last, and returns the record. `stop` ends it early with a partial record.
    fn run(&self, plan: &Plan, stop: &StopHandle, on_event: &mut dyn FnMut(&Event)) -> Result<Record, TargetError>;
}
