//! Exit codes, and failures that say what failed and what to do.

use std::process::ExitCode;

/// Exit codes of the command line (the manual lists them).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Code {
    /// Done and passed.
    Done = 0,
    /// An assertion failed.
    Assertion = 1,
    /// The request was wrong.
    Usage = 2,
    /// Could not measure, read or write.
    Failed = 3,
    /// Measured, but the verdict does not stand.
    Verdict = 4,
    /// Interrupted; partial results are kept.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// Why a command ended without its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Exit code.
    pub code: Code,
    /// What failed.
    pub message: String,
    /// What to do about it; may be empty.
    pub remedy: String,
}

impl Failure {
    /// The request was wrong.
    pub(crate) fn usage(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { code: Code::Usage, message: message.into(), remedy: remedy.into() }
    }

    /// The machine could not do it.
    pub(crate) fn failed(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { code: Code::Failed, message: message.into(), remedy: remedy.into() }
    }
}

impl From<rtscope_archive::ArchiveError> for Failure {
    fn from(e: rtscope_archive::ArchiveError) -> Self {
        Self::failed(e.to_string(), "")
    }
}

impl From<rtscope_record::DistributionError> for Failure {
    fn from(e: rtscope_record::DistributionError) -> Self {
        Self::failed(format!("the distributions can't be merged: {e}"), "choose fewer records")
    }
}
