//! Why a load can't be had.

use crate::journal::JournalError;
use std::io;
use std::path::PathBuf;

/// Why a load can't be had.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Not a name of a load.
    #[error("`{name}` is not a load: use {known}")]
    Unknown {
        /// As given.
        name: String,
        /// Names that there are.
        known: String,
    },
    /// An argument of `NAME:ARGS` is refused.
    #[error("{tool} argument `{word}` is refused: {reason}")]
    Argument {
        /// The tool.
        tool: &'static str,
        /// The word, or all of them.
        word: String,
        /// Why.
        reason: &'static str,
    },
    /// A tool is not installed.
    #[error("the load `{load}` needs {tool}, which is not installed: apt-get install {tool}")]
    Missing {
        /// Name of the load.
        load: String,
        /// Name of tool and package.
        tool: &'static str,
    },
    /// The directory for the load's files can't be used.
    #[error("the load can't use the directory {path}: {reason}; choose another with --load-dir", path = path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Too little room for what the load writes.
    #[error(
        "the load `{load}` may write {need_mib} MiB, but {path} has {free_mib} MiB left: free some, or choose another with --load-dir",
        path = path.display()
    )]
    DiskFull {
        /// Name of the load.
        load: String,
        /// Where.
        path: PathBuf,
        /// MiB wanted free.
        need_mib: u64,
        /// MiB free.
        free_mib: u64,
    },
    /// Cleaning up after a crash could not be assured.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The supervisor can't be started.
    #[error("the load's supervisor {program} can't be started: {source}", program = program.display())]
    Supervisor {
        /// Which program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It was ended while it started. Nothing of it is left running.
    #[error("interrupted while the load started; nothing was measured")]
    Interrupted,
    /// It did not come up. Nothing of it is left running.
    #[error("the load `{load}` did not start: {message}; {remedy}")]
    Start {
        /// Name of the load.
        load: String,
        /// What failed, with what the tool said.
        message: String,
        /// What to do.
        remedy: String,
    },
}

impl LoadError {
    /// The request was wrong (exit code 2), not the machine (exit code 3).
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Unknown { .. } | Self::Argument { .. })
    }
}
