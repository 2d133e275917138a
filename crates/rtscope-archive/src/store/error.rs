//! Errors of the archive, distinguished by what the user can do about them.

use super::holders;
use rtscope_failure::Problem;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why the archive could not do what was requested. Nothing is half done after any of these.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// Another connection prevents the archive from being written or opened for longer than the busy timeout.
    #[error("{}: the archive is locked by {holders}: wait for it to end or stop it, then try again", path.display())]
    Locked {
        /// The archive.
        path: PathBuf,
        /// The processes that hold the lock, as far as the kernel tells: ids and names.
        holders: String,
    },
    /// The file is damaged.
    #[error(
        "{}: the archive is damaged ({what}): move it away, save what can be read by `sqlite3 {} .recover | sqlite3 new.db`, and give the new file its name",
        path.display(), path.display()
    )]
    Corrupt {
        /// The archive.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// The device is full, or a quota is reached.
    #[error("{}: no room left for the archive: free some space or name an archive elsewhere", path.display())]
    DiskFull {
        /// The archive.
        path: PathBuf,
    },
    /// The archive can't be written or opened.
    #[error("{}: the archive can't be opened for writing ({what}): mend the permissions or name an archive elsewhere", path.display())]
    Permission {
        /// The archive.
        path: PathBuf,
        /// What the system said.
        what: String,
    },
    /// The file is not an archive of rtscope.
    #[error("{}: not an rtscope archive ({what}): name another file", path.display())]
    NotAnArchive {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        what: String,
    },
    /// There is no file.
    #[error("{}: there is no archive: name another one with --archive, or measure or import something into it first", path.display())]
    Missing {
        /// Where it would be.
        path: PathBuf,
    },
    /// Its schema has tables, views, triggers or indices that are not rtscope's, or that were changed.
    #[error(
        "{}: {what}: it was made or changed by another program, and such a file may do anything when it is read; save what is needed of it by \
         `sqlite3` and `rtscope import`, or name another archive",
        path.display()
    )]
    ForeignSchema {
        /// The file.
        path: PathBuf,
        /// What is foreign in it.
        what: String,
    },
    /// Written by a newer rtscope.
    #[error("{}: the archive has version {found}, this rtscope knows up to {known}: use a newer rtscope", path.display())]
    NewerSchema {
        /// The archive.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
    /// No run has an id with this prefix.
    #[error("no run `{0}` in the archive: `rtscope list` shows what there is")]
    NotFound(String),
    /// The archive holds no run at all.
    #[error("the archive is empty: measure or import something first")]
    Empty,
    /// Several ids have this prefix.
    #[error("`{prefix}` is the beginning of {count} ids, among them {}: write more of it", examples.join(", "))]
    Ambiguous {
        /// The prefix.
        prefix: String,
        /// How many ids have it.
        count: u64,
        /// A few of them.
        examples: Vec<String>,
    },
    /// The archive holds a different record with this id.
    #[error("the archive already holds another record with the id {0}: remove that one first, or give this one another id")]
    AlreadyThere(String),
    /// The record can't be written in a form that reads back identically.
    #[error("the record {id} can't be archived: {what}")]
    Unrepresentable {
        /// Its id.
        id: String,
        /// What stands in the way.
        what: String,
    },
    /// What is stored under this id is no longer the record that was inserted.
    #[error(
        "the record {id} is damaged in the archive: {what}; the other records are not affected (`rtscope remove {id}` takes it out)"
    )]
    Damaged {
        /// Its id.
        id: String,
        /// What was found.
        what: String,
    },
    /// A file operation next to the database failed.
    #[error("{}: {what}: {error}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was being done.
        what: &'static str,
        /// What the system said.
        error: io::Error,
    },
    /// Any other error of SQLite.
    #[error("{}: SQLite: {error}", path.display())]
    Sql {
        /// The archive.
        path: PathBuf,
        /// What it said.
        error: rusqlite::Error,
    },
}

impl Problem for ArchiveError {
    fn remedy(&self) -> String {
        match self {
            // The message already says what to do.
            Self::Locked { .. }
            | Self::Corrupt { .. }
            | Self::DiskFull { .. }
            | Self::Permission { .. }
            | Self::NotAnArchive { .. }
            | Self::Missing { .. }
            | Self::ForeignSchema { .. }
            | Self::NewerSchema { .. }
            | Self::NotFound(_)
            | Self::Empty
            | Self::Ambiguous { .. }
            | Self::AlreadyThere(_)
            | Self::Damaged { .. } => String::new(),
            Self::Unrepresentable { .. } => "report this, with the record's JSON".into(),
            Self::Io { .. } => "look after the disk (`dmesg | tail`), or name an archive elsewhere with --archive".into(),
            Self::Sql { .. } => "see whether it is sound by `rtscope verify`, and report this if it is".into(),
        }
    }
}

impl ArchiveError {
    /// Whether the archive can't take any record now, so that a record to be inserted must be spilled to a file.
    pub fn archive_unusable(&self) -> bool {
        !matches!(self, Self::NotFound(_) | Self::Empty | Self::Ambiguous { .. } | Self::AlreadyThere(_) | Self::Damaged { .. })
    }

    pub(super) fn io(path: &Path, what: &'static str, error: io::Error) -> Self {
        let path = path.to_path_buf();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::Permission { path, what: format!("{what}: {error}") }
            }
            _ => Self::Io { path, what, error },
        }
    }

    pub(super) fn sql(path: &Path, error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as C;
        let owned = path.to_path_buf();
        let rusqlite::Error::SqliteFailure(code, text) = &error else { return Self::Sql { path: owned, error } };
        let what = text.clone().unwrap_or_else(|| code.to_string());
        match code.code {
            C::DatabaseBusy | C::DatabaseLocked => Self::Locked { path: owned, holders: holders::describe(path) },
            C::DatabaseCorrupt => Self::Corrupt { path: owned, what },
            C::NotADatabase => {
                Self::NotAnArchive { path: owned, what: "it is no SQLite file, or its first page is damaged".into() }
            }
            C::DiskFull => Self::DiskFull { path: owned },
            // The write-ahead log's shared-memory file could not grow, or there was no room to write a page.
            C::SystemIoFailure if code.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE => Self::DiskFull { path: owned },
            // A short read: the file ends before the pages that its header promises.
            C::SystemIoFailure if code.extended_code == rusqlite::ffi::SQLITE_IOERR_SHORT_READ => {
                Self::Corrupt { path: owned, what }
            }
            C::ReadOnly | C::CannotOpen | C::PermissionDenied | C::AuthorizationForStatementDenied => {
                Self::Permission { path: owned, what }
            }
            _ => Self::Sql { path: owned, error },
        }
    }

    pub(super) fn unrepresentable(id: &str, what: impl fmt::Display) -> Self {
        Self::Unrepresentable { id: id.into(), what: what.to_string() }
    }

    pub(super) fn damaged(id: &str, what: impl fmt::Display) -> Self {
        Self::Damaged { id: id.into(), what: what.to_string() }
    }
}

/// Why a spilled file was left where it is.
#[derive(Debug, thiserror::Error)]
pub enum SpillError {
    /// It can't be read.
    #[error("it can't be read: {0}")]
    Io(#[from] io::Error),
    /// It is not a valid record.
    #[error("it holds no record: {0}")]
    Json(#[from] serde_json::Error),
    /// The archive refused it.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

impl Problem for SpillError {
    fn remedy(&self) -> String {
        match self {
            Self::Io(_) => "make it readable, or move it away".into(),
            Self::Json(_) => "move it away".into(),
            Self::Archive(e) => e.remedy(),
        }
    }
}
