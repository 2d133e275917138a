//! The archive: one SQLite file with every record, found by its summary and given back bit for bit.
//!
//! A record is kept as its JSON text without the histograms, which lie in a table of their own as HdrHistogram V2 (compressed, without
//! base64), beside summary columns for listings. The SHA-256 of the whole text is checked on reading, and the text is read by the same
//! code that refuses counts that do not add up. Commits are synced to the disk (`synchronous = FULL`, write-ahead log), so that what
//! [`Archive::insert`] has accepted survives SIGKILL and a power cut.

mod error;
mod holders;
mod list;
mod rows;
mod schema;
mod spill;
#[cfg(test)]
mod tests;

pub use error::{ArchiveError, SpillError};
pub use list::{Filter, RunSummary};
pub use spill::{Absorbed, spill};

use rtscope_record::Record;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long another process's lock is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Larger archives are not read in full on every opening (about 0.1 s for each 50 MB): [`Archive::check`] does that on request,
/// and every record is checked when it is read.
const QUICK_CHECK_UP_TO: i64 = 64 << 20;
/// Records in one commit of [`Archive::insert_many`].
const BATCH: usize = 256;

/// An open archive.
#[derive(Debug)]
pub struct Archive {
    db: Connection,
    path: PathBuf,
}

/// What [`Archive::insert`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inserted {
    /// It is in the archive now.
    New,
    /// The very same record was there already.
    Identical,
}

impl Archive {
    /// Opens the archive at `path`, made with its directories if need be and brought up to date if it is older.
    ///
    /// A file that is no archive of rtscope, or one of a newer version, is refused and left unchanged.
    pub fn open(path: &Path) -> Result<Self, ArchiveError> {
        Self::open_with(path, PATIENCE)
    }

    /// [`Archive::open`] with another patience for locks of other processes.
    pub fn open_with(path: &Path, patience: Duration) -> Result<Self, ArchiveError> {
        if let Some(dir) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
            fs::create_dir_all(dir).map_err(|e| ArchiveError::io(dir, "making the archive's directory", e))?;
        }
        if path.is_dir() {
            return Err(ArchiveError::NotAnArchive { path: path.into(), what: "a directory".into() });
        }
        let sql = |e| ArchiveError::sql(path, e);
        // No URI: a file name may hold any character.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut db = Connection::open_with_flags(path, flags).map_err(sql)?;
        db.busy_timeout(patience).map_err(sql)?;
        schema::prepare(&mut db, path)?;
        db.pragma_update(None, "foreign_keys", true).map_err(sql)?;
        db.pragma_update(None, "synchronous", "FULL").map_err(sql)?;
        let archive = Self { db, path: path.into() };
        let pages = archive.number("page_count")?.saturating_mul(archive.number("page_size")?);
        if pages <= QUICK_CHECK_UP_TO {
            archive.pragma_check("quick_check")?;
        }
        Ok(archive)
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads everything: the database's own structure, indices and references, then every record with its checksum and counts.
    ///
    /// Returns the number of records. The first fault found is the error.
    pub fn check(&self) -> Result<u64, ArchiveError> {
        self.pragma_check("integrity_check")?;
        let orphans: i64 =
            self.db.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |r| r.get(0)).map_err(|e| self.sql(e))?;
        if orphans > 0 {
            return Err(ArchiveError::Corrupt { path: self.path.clone(), what: format!("{orphans} rows belong to no run") });
        }
        let listed = self.list(&Filter::default())?;
        for summary in &listed {
            let record = rows::get(&self.db, &summary.id).map_err(|e| self.raise(e))?;
            if RunSummary::of(&record).ok().as_ref() != Some(summary) {
                return Err(ArchiveError::damaged(&summary.id, "its summary is not that of its record"));
            }
        }
        Ok(listed.len() as u64)
    }

    /// Puts a record in, all of it or nothing, on the disk when this returns.
    pub fn insert(&mut self, record: &Record) -> Result<Inserted, ArchiveError> {
        let row = rows::Row::of(record)?;
        let done = self.in_transaction(|db| rows::insert(db, &row))?;
        Ok(done)
    }

    /// Puts many records in, a few hundred in one commit; returns how many were new. On an error, whole batches before it stay in.
    pub fn insert_many<'a>(&mut self, records: impl IntoIterator<Item = &'a Record>) -> Result<u64, ArchiveError> {
        let mut records = records.into_iter().peekable();
        let mut new = 0;
        while records.peek().is_some() {
            let batch = records.by_ref().take(BATCH).map(rows::Row::of).collect::<Result<Vec<_>, _>>()?;
            let done = self.in_transaction(|db| batch.iter().map(|row| rows::insert(db, row)).collect::<Result<Vec<_>, _>>())?;
            new += done.iter().filter(|&&i| i == Inserted::New).count() as u64;
        }
        Ok(new)
    }

    /// The record with this id, or the only one whose id starts like this.
    pub fn get(&self, id_or_prefix: &str) -> Result<Record, ArchiveError> {
        let id = self.resolve(id_or_prefix)?;
        rows::get(&self.db, &id).map_err(|e| self.raise(e))
    }

    /// The record that started last.
    pub fn latest(&self) -> Result<Record, ArchiveError> {
        let last = self.list(&Filter { limit: Some(1), ..Filter::default() })?;
        let Some(last) = last.first() else { return Err(ArchiveError::Empty) };
        rows::get(&self.db, &last.id).map_err(|e| self.raise(e))
    }

    /// The runs that pass `filter`, newest first.
    pub fn list(&self, filter: &Filter) -> Result<Vec<RunSummary>, ArchiveError> {
        list::list(&self.db, filter).map_err(|e| self.sql(e))
    }

    /// Removes the record with this id, or the only one whose id starts like this; returns its id.
    pub fn remove(&mut self, id_or_prefix: &str) -> Result<String, ArchiveError> {
        let id = self.resolve(id_or_prefix)?;
        self.in_transaction(|db| db.execute("DELETE FROM run WHERE id = ?1", [&id]).map_err(rows::RowError::from))?;
        Ok(id)
    }

    fn resolve(&self, prefix: &str) -> Result<String, ArchiveError> {
        let ids = self.ids(prefix)?;
        if let Some(exact) = ids.iter().find(|id| *id == prefix) {
            return Ok(exact.clone());
        }
        match ids.len() {
            0 => Err(ArchiveError::NotFound(prefix.into())),
            1 if !prefix.is_empty() => Ok(ids.into_iter().take(1).collect()),
            n => {
                Err(ArchiveError::Ambiguous { prefix: prefix.into(), count: n as u64, examples: ids.into_iter().take(3).collect() })
            }
        }
    }

    fn ids(&self, prefix: &str) -> Result<Vec<String>, ArchiveError> {
        // substr compares every character as it is; LIKE would take `%` and `_` for wildcards and ignore case.
        let mut statement = self
            .db
            .prepare_cached("SELECT id FROM run WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id")
            .map_err(|e| self.sql(e))?;
        let ids = statement.query_map([prefix], |r| r.get(0)).and_then(Iterator::collect);
        ids.map_err(|e| self.sql(e))
    }

    fn in_transaction<T>(&mut self, work: impl FnOnce(&Connection) -> Result<T, rows::RowError>) -> Result<T, ArchiveError> {
        let path = self.path.clone();
        let raise = |e: rows::RowError| e.into_archive_error(&path);
        // Immediate: the write lock is taken (and waited for) at the start, not in the middle of the work.
        let t = self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(|e| ArchiveError::sql(&path, e))?;
        let done = work(&t).map_err(raise)?;
        t.commit().map_err(|e| ArchiveError::sql(&path, e))?;
        Ok(done)
    }

    fn pragma_check(&self, pragma: &str) -> Result<(), ArchiveError> {
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

    fn number(&self, pragma: &str) -> Result<i64, ArchiveError> {
        self.db.pragma_query_value(None, pragma, |r| r.get(0)).map_err(|e| self.sql(e))
    }

    fn sql(&self, error: rusqlite::Error) -> ArchiveError {
        ArchiveError::sql(&self.path, error)
    }

    fn raise(&self, error: rows::RowError) -> ArchiveError {
        error.into_archive_error(&self.path)
    }
}
