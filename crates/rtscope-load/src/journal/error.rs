//! Why the journal can't be kept.

use rtscope_failure::Problem;
use std::io;
use std::path::PathBuf;

/// Why the journal can't be kept.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Neither `XDG_STATE_HOME` nor `HOME` gives it a place.
    #[error("no place for the journal of what must be undone: set HOME or XDG_STATE_HOME to a directory")]
    NoHome,
    /// The journal could not be written.
    #[error("the journal of what must be undone can't be written at {path}: {source}; make it writable or set XDG_STATE_HOME", path = path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Problem for JournalError {
    /// Empty: the messages already contain it.
    fn remedy(&self) -> String {
        match self {
            Self::NoHome | Self::Write { .. } => String::new(),
        }
    }
}
