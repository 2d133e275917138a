//! Why a load can't be used.

use crate::journal::JournalError;
use rtscope_failure::{Fault, Problem, did_you_mean, meant};
use std::io;
use std::path::PathBuf;

/// Why a load can't be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// No load has this name.
    #[error("`{name}` is not a load: use {known}")]
    Unknown {
        /// As given.
        name: String,
        /// The known names, for the message.
        known: String,
    },
    /// An argument of `NAME:ARGS` is refused.
    #[error("{tool} argument `{word}` is refused: {reason}")]
    Argument {
        /// The tool.
        tool: &'static str,
        /// The refused argument, or all of them.
        word: String,
        /// Why.
        reason: &'static str,
    },
    /// A tool is not installed.
    #[error("the load `{load}` needs {tool}, which is not installed: apt-get install {tool}")]
    Missing {
        /// Name of the load.
        load: String,
        /// Name of the tool, and of its package.
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
    /// Not enough free space for what the load writes.
    #[error(
        "the load `{load}` may write {need_mib} MiB, but {path} has {free_mib} MiB left: free some, or choose another with --load-dir",
        path = path.display()
    )]
    DiskFull {
        /// Name of the load.
        load: String,
        /// Where.
        path: PathBuf,
        /// Free space that is needed, MiB.
        need_mib: u64,
        /// Free space that there is, MiB.
        free_mib: u64,
    },
    /// The journal can't be kept, so that cleaning up after a crash is not assured.
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
    /// It was told to end during the start. Nothing of it is left running.
    #[error("ended while the load started; nothing was measured")]
    Interrupted,
    /// It did not come up. Nothing of it is left running.
    #[error("the load `{load}` did not start: {message}")]
    Start {
        /// Name of the load.
        load: String,
        /// What failed, with the tool's own words.
        message: String,
        /// What to do.
        remedy: String,
    },
}

impl Problem for LoadError {
    fn remedy(&self) -> String {
        match self {
            Self::Unknown { name, known } => {
                const LISTED: &str = "`rtscope loads` lists them";
                let known = || known.split(", ").flat_map(|k| k.split(" or "));
                let tools = || known().filter_map(|k| k.strip_suffix(":ARGS"));
                match name.split_once(':').and_then(|(tool, args)| Some((meant(tool, tools())?, args))) {
                    Some((tool, args)) => format!("did you mean `{tool}:{args}`? {LISTED}"),
                    None => did_you_mean(name, known(), LISTED),
                }
            }
            Self::Argument { .. } => "rtscope loads".into(),
            // These messages already contain the remedy.
            Self::Missing { .. } | Self::Directory { .. } | Self::DiskFull { .. } => String::new(),
            Self::Journal(e) => e.remedy(),
            Self::Supervisor { .. } => "is the program there, and may it be executed? Install it again".into(),
            Self::Interrupted => "start it again".into(),
            Self::Start { remedy, .. } => remedy.clone(),
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Unknown { .. } | Self::Argument { .. } => Fault::Usage,
            Self::Journal(e) => e.fault(),
            Self::Interrupted => Fault::Interrupted,
            Self::Missing { .. }
            | Self::Directory { .. }
            | Self::DiskFull { .. }
            | Self::Supervisor { .. }
            | Self::Start { .. } => Fault::Machine,
        }
    }
}
