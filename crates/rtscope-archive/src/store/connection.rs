//! An open archive: how it is created and opened, and the transactions and checks that its operations share.

use super::error::ArchiveError;
use super::rows::RowError;
use super::schema;
use rtscope_files::Replacement;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

/// How long to wait for another process's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Archives up to this size, bytes, are read in full on every opening (about 0.1 s for each 50 MB). For larger ones
/// [`Archive::check`] does that on request; in any case each record is checked when it is read.
const QUICK_CHECK_UP_TO: i64 = 64 << 20;

/// Where a database file states its write and read format versions; 2 means write-ahead log (SQLite's file format,
/// 1.3.3).
const MODES: std::ops::Range<usize> = 18..20;
const WRITE_AHEAD: u8 = 2;

/// An open archive.
#[derive(Debug)]
pub struct Archive {
    pub(super) db: Connection,
    pub(super) path: PathBuf,
}

/// Creates an archive at `path` if there is no file. It appears complete: no other process sees one that is half made.
fn make(path: &Path) -> Result<(), ArchiveError> {
    if fs::symlink_metadata(path).is_ok() {
        return Ok(());
    }
    let sql = |e| ArchiveError::sql(path, e);
    let mut db = Connection::open_in_memory().map_err(sql)?;
    schema::prepare(&mut db, path, true)?;
    let mut bytes = db.serialize("main").map_err(sql)?.to_vec();
    // Write-ahead from the beginning: if two processes switch a file to it at once, SQLite refuses one of them without
    // waiting.
    if let Some(modes) = bytes.get_mut(MODES) {
        modes.fill(WRITE_AHEAD);
    }
    let made = Replacement::new(path, 0o600).and_then(|mut file| {
        file.write_all(&bytes)?;
        file.commit_new()
    });
    match made {
        // Another process created it first.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done.map_err(|e| ArchiveError::io(path, "making the archive", e)),
    }
}

/// Opens a hardened connection: nothing that the file's schema contains is executed.
fn open(path: &Path, flags: OpenFlags, patience: Duration) -> Result<Connection, ArchiveError> {
    let sql = |e| ArchiveError::sql(path, e);
    // No URI, since a file name may hold any character.
    let db = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(sql)?;
    db.busy_timeout(patience).map_err(sql)?;
    schema::harden(&db).map_err(sql)?;
    Ok(db)
}

/// Refuses a FIFO in place of any of SQLite's files, and a link in place of a companion file: SQLite would wait for the
/// former and follow the latter.
fn plain(path: &Path) -> Result<(), ArchiveError> {
    // If the name is a link, the companion files are next to the target.
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let beside = |end: &str| {
        let mut name = real.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    for (path, follow) in
        [(path.to_path_buf(), true), (beside("-journal"), false), (beside("-wal"), false), (beside("-shm"), false)]
    {
        let checked = rtscope_files::check_file(&path, follow);
        checked.or_else(|e| match e.kind() {
            // SQLite reports it better.
            io::ErrorKind::InvalidInput => Err(ArchiveError::NotAnArchive { path, what: e.to_string() }),
            _ => Ok(()),
        })?;
    }
    Ok(())
}

impl Archive {
    /// Opens the archive at `path`; it is created, with its directories, if it does not exist, and migrated if it is
    /// older.
    ///
    /// A file that is not an archive of rtscope, or is one of a newer version, is refused and left unchanged.
    pub fn open(path: &Path) -> Result<Self, ArchiveError> {
        Self::open_with(path, BUSY_TIMEOUT)
    }

    /// Opens the existing archive at `path`; it is migrated if it is older.
    pub fn open_existing(path: &Path) -> Result<Self, ArchiveError> {
        Self::connect(path, BUSY_TIMEOUT, false)
    }

    /// [`Archive::open`] with another limit for waiting on locks of other processes.
    pub fn open_with(path: &Path, patience: Duration) -> Result<Self, ArchiveError> {
        Self::connect(path, patience, true)
    }

    fn connect(path: &Path, patience: Duration, create: bool) -> Result<Self, ArchiveError> {
        if !create && fs::metadata(path).is_err_and(|e| matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
        {
            return Err(ArchiveError::Missing { path: path.into() });
        }
        if let Some(dir) = path.parent().filter(|d| create && !d.as_os_str().is_empty()) {
            fs::create_dir_all(dir).map_err(|e| ArchiveError::io(dir, "making the archive's directory", e))?;
        }
        plain(path)?;
        if create {
            make(path)?;
        }
        let sql = |e| ArchiveError::sql(path, e);
        let create_too = if create { OpenFlags::SQLITE_OPEN_CREATE } else { OpenFlags::empty() };
        let mut db = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE | create_too, patience)?;
        schema::prepare(&mut db, path, create)?;
        db.pragma_update(None, "foreign_keys", true).map_err(sql)?;
        db.pragma_update(None, "synchronous", "FULL").map_err(sql)?;
        let archive = Self { db, path: path.into() };
        let pages = archive.number("page_count")?.saturating_mul(archive.number("page_size")?);
        if pages <= QUICK_CHECK_UP_TO {
            archive.pragma_check("quick_check")?;
        }
        Ok(archive)
    }

    /// Path of the archive.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks the database's structure on a connection of its own.
    pub(super) fn check_structure(path: &Path) -> Result<(), ArchiveError> {
        let other = Self { db: open(path, OpenFlags::SQLITE_OPEN_READ_WRITE, BUSY_TIMEOUT)?, path: path.into() };
        other.pragma_check("integrity_check")?;
        let orphans = other.db.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |r| r.get(0));
        let orphans: i64 = orphans.map_err(|e| other.sql(e))?;
        if orphans > 0 {
            return Err(ArchiveError::Corrupt { path: path.into(), what: format!("{orphans} rows belong to no run") });
        }
        Ok(())
    }

    pub(super) fn in_transaction<T>(&mut self, work: impl FnOnce(&Connection) -> Result<T, RowError>) -> Result<T, ArchiveError> {
        let path = self.path.clone();
        let raise = |e: RowError| e.into_archive_error(&path);
        // Immediate: the write lock is taken (and waited for) at the start, not half way through.
        let t = self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(|e| ArchiveError::sql(&path, e))?;
        let done = work(&t).map_err(raise)?;
        t.commit().map_err(|e| ArchiveError::sql(&path, e))?;
        Ok(done)
    }

    pub(super) fn pragma_check(&self, pragma: &str) -> Result<(), ArchiveError> {
        let mut found = Vec::new();
        let done = self.db.pragma_query(None, pragma, |r| {
            found.push(r.get::<_, String>(0)?);
            Ok(())
        });
        done.map_err(|e| self.sql(e))?;
        if found == ["ok"] {
            return Ok(());
        }
        found.truncate(3);
        Err(ArchiveError::Corrupt { path: self.path.clone(), what: found.join("; ") })
    }

    pub(super) fn number(&self, pragma: &str) -> Result<i64, ArchiveError> {
        self.db.pragma_query_value(None, pragma, |r| r.get(0)).map_err(|e| self.sql(e))
    }

    pub(super) fn sql(&self, error: rusqlite::Error) -> ArchiveError {
        ArchiveError::sql(&self.path, error)
    }

    pub(super) fn raise(&self, error: RowError) -> ArchiveError {
        error.into_archive_error(&self.path)
    }
}
