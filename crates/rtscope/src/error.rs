//! Exit codes.

use rtscope_failure::Fault;
use std::process::ExitCode;

/// Exit codes of the command line; the manual lists them.
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
    /// Measured, but the verdict is not good enough.
    Verdict = 4,
    /// Interrupted; partial results are kept.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// The only place where a fault becomes an exit code.
impl From<Fault> for Code {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Usage => Self::Usage,
            Fault::Machine => Self::Failed,
            Fault::Interrupted => Self::Interrupted,
        }
    }
}
