//! Where a probe runs. Every target takes a plan and returns events and a record.

use rtscope_failure::{Failure, Fault, Problem};
use rtscope_load::StopHandle;
use rtscope_probe::protocol::{Event, ProbePlan};
use rtscope_record::{Record, RecordError};
use std::io;

/// Whether a target of this name is a virtual machine of the lab.
pub fn is_lab(target: &str) -> bool {
    target.starts_with("lab:")
}

/// Why there is no record.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The plan can't be carried out as it is (usage, exit code 2).
    #[error("{message}")]
    Usage {
        /// What is wrong with it.
        message: String,
        /// What to ask for instead.
        remedy: String,
    },
    /// The probe could not measure.
    #[error("{message}")]
    Probe {
        /// What failed.
        message: String,
        /// What to do.
        remedy: String,
    },
    /// The probe can't be started.
    #[error("the probe {program} can't be started: {source}")]
    Start {
        /// The program.
        program: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The probe said something that is not an event.
    #[error("the probe said something that is not an event: `{line}` ({reason}); probe and rtscope must be of one version")]
    Garbled {
        /// What it said, shortened.
        line: String,
        /// Why it is not an event.
        reason: String,
    },
    /// The probe ended without a record.
    #[error("the probe ended without a record ({how}){progress}{said}")]
    Ended {
        /// How it ended.
        how: String,
        /// How far it was, if it had begun: `, after 1.5s and 3000 samples`.
        progress: String,
        /// Its last words, with `; it said: ` before them.
        said: String,
    },
    /// Reading from or writing to the probe failed.
    #[error("talking to the probe failed: {0}")]
    Pipe(#[from] io::Error),
    /// It was ended before anything was measured.
    #[error("ended before anything was measured")]
    Interrupted,
    /// The record belongs to another run, or does not add up.
    #[error("the probe sent a record that can't be used: {0}")]
    Record(String),
}

impl Problem for TargetError {
    fn remedy(&self) -> String {
        match self {
            Self::Usage { remedy, .. } | Self::Probe { remedy, .. } => remedy.clone(),
            Self::Start { .. } => "is the program there, and may it be executed? $RTSCOPE_PROBE names another".into(),
            // The message contains the remedy.
            Self::Garbled { .. } => String::new(),
            Self::Ended { .. } => "measure again; does the kernel's log say why? `dmesg | tail`".into(),
            Self::Pipe(_) => "measure again; was the probe ended by somebody else?".into(),
            Self::Interrupted => "start it again".into(),
            Self::Record(_) => "probe and rtscope must be of one version".into(),
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Usage { .. } => Fault::Usage,
            Self::Interrupted => Fault::Interrupted,
            Self::Probe { .. }
            | Self::Start { .. }
            | Self::Garbled { .. }
            | Self::Ended { .. }
            | Self::Pipe(_)
            | Self::Record(_) => Fault::Machine,
        }
    }
}

/// Failures that the probe reports.
impl From<Failure> for TargetError {
    fn from(Failure { message, remedy, fault }: Failure) -> Self {
        match fault {
            Fault::Usage => Self::Usage { message, remedy },
            Fault::Machine => Self::Probe { message, remedy },
            Fault::Interrupted => Self::Interrupted,
        }
    }
}

impl From<RecordError> for TargetError {
    fn from(e: RecordError) -> Self {
        Self::Record(e.to_string())
    }
}

/// Something that can run a probe.
pub trait Target {
    /// Carries out `plan`, passes on every event but the last, and returns the record. `stop` ends it early, with a partial
    /// record.
    fn run(&self, plan: &ProbePlan, stop: &StopHandle, on_event: &mut dyn FnMut(&Event)) -> Result<Record, TargetError>;
}
