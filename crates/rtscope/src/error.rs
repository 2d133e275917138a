//! Exit codes, and what a build leaves out.

use rtscope_failure::Fault;
use std::process::ExitCode;

/// Exit codes of the command line; the manual lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Code {
    /// Done and passed.
    Done,
    /// An assertion failed.
    Assertion,
    /// The request was wrong.
    Usage,
    /// Could not measure, read or write.
    Failed,
    /// Measured, but the verdict is not good enough.
    Verdict,
    /// Interrupted; partial results are kept.
    Interrupted,
    /// A program that was run for the user ended with this.
    Own(u8),
}

impl Code {
    /// The number.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Assertion => 1,
            Self::Usage => 2,
            Self::Failed => 3,
            Self::Verdict => 4,
            Self::Interrupted => 130,
            Self::Own(code) => code,
        }
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code.number())
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

/// For what a feature of the build would bring and this build leaves out.
#[cfg(not(all(feature = "live", feature = "parquet")))]
pub(crate) fn left_out(what: &str) -> rtscope_failure::Failure {
    rtscope_failure::Failure::usage(
        format!("this program was built without {what}, for a quick first look"),
        "`./x build` makes the whole one, target/release/rtscope; the packages have it too",
    )
}
