//! Why the journal can't be kept.

use std::io;
use std::path::PathBuf;

/// Why the journal can't be kept.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Neither `XDG_STATE_HOME` nor `HOME` says where it may live.
    #[error("no place for the journal of what must be undone: set HOME or XDG_STATE_HOME to a directory")]
    NoHome,
    /// It could not be written.
    #[error("the journal of what must be undone can't be written at {path}: {source}; make it writable or set XDG_STATE_HOME", path = path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}
