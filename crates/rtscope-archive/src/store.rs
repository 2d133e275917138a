//! The archive: one SQLite file with every record, found by its summary and given back bit for bit.
//!
//! A record is kept as its JSON text without the histograms, which lie in a table of their own as HdrHistogram V2 (compressed, without
//! base64), beside summary columns for listings. The SHA-256 of the whole text is checked on reading, and the text is read by the same
//! code that refuses counts that do not add up. Commits are synced to the disk (`synchronous = FULL`, write-ahead log), so that what
//! [`Archive::insert`] has accepted survives SIGKILL and a power cut.

mod error;
mod holders;
mod list;
#[cfg(test)]
mod mishap_tests;
mod read;
#[cfg(test)]
mod read_tests;
mod rows;
mod schema;
mod spill;
#[cfg(test)]
mod tests;

pub use error::{ArchiveError, SpillError};
pub use list::{Filter, RunSummary};
pub use read::Key;
pub use spill::{Absorbed, spill};

use rtscope_files::Beside;
use rtscope_record::Record;
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior};
use std::io::Write as _;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io, thread};

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

/// What [`Archive::check`] found sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sound {
    /// Number of records.
    pub runs: u64,
    /// Of those that are signed, oldest first: id and public key. Each signature holds.
    pub signed: Vec<(String, String)>,
}

/// What [`Archive::insert`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inserted {
    /// It is in the archive now.
    New,
    /// The very same record was there already.
    Identical,
}

/// Puts a new archive at `path` where there is nothing, whole: no other process finds one that is still being made.
fn make(path: &Path) -> Result<(), ArchiveError> {
    if fs::symlink_metadata(path).is_ok() {
        return Ok(());
    }
    let sql = |e| ArchiveError::sql(path, e);
    let mut db = Connection::open_in_memory().map_err(sql)?;
    schema::prepare(&mut db, path, true)?;
    let bytes = db.serialize("main").map_err(sql)?;
    let made = Beside::new(path, 0o600).and_then(|mut file| {
        file.write_all(&bytes)?;
        file.commit_new()
    });
    match made {
        // Another process was quicker.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done.map_err(|e| ArchiveError::io(path, "making the archive", e)),
    }
}

/// A connection that does what rtscope asks of it, and nothing that the file asks for.
fn open(path: &Path, flags: OpenFlags, patience: Duration) -> Result<Connection, ArchiveError> {
    let sql = |e| ArchiveError::sql(path, e);
    // No URI: a file name may hold any character.
    let db = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(sql)?;
    db.busy_timeout(patience).map_err(sql)?;
    schema::harden(&db).map_err(sql)?;
    Ok(db)
}

/// Refuses what SQLite would wait for, or follow elsewhere: a FIFO or link in place of its files.
fn plain(path: &Path) -> Result<(), ArchiveError> {
    // Beside the file itself, where its name is a link.
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
            // SQLite says it better.
            io::ErrorKind::InvalidInput => Err(ArchiveError::NotAnArchive { path, what: e.to_string() }),
            _ => Ok(()),
        })?;
    }
    Ok(())
}

impl Archive {
    /// Opens the archive at `path`, made with its directories if need be and brought up to date if it is older.
    ///
    /// A file that is no archive of rtscope, or one of a newer version, is refused and left unchanged.
    pub fn open(path: &Path) -> Result<Self, ArchiveError> {
        Self::open_with(path, PATIENCE)
    }

    /// Opens the archive at `path`, which must be there; it is brought up to date if it is older.
    pub fn open_existing(path: &Path) -> Result<Self, ArchiveError> {
        Self::connect(path, PATIENCE, false)
    }

    /// [`Archive::open`] with another patience for locks of other processes.
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

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads everything: the database's own structure, indices and references, and at the same time every record with its checksum, counts
    /// and signature.
    ///
    /// The first fault found is the error; one of the database's structure comes before those of records.
    pub fn check(&self) -> Result<Sound, ArchiveError> {
        let path = &self.path;
        thread::scope(|scope| {
            let structure = scope.spawn(|| Self::check_structure(path));
            let records = self.check_records();
            structure.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            records
        })
    }

    /// By a connection of its own.
    fn check_structure(path: &Path) -> Result<(), ArchiveError> {
        let other = Self { db: open(path, OpenFlags::SQLITE_OPEN_READ_WRITE, PATIENCE)?, path: path.into() };
        other.pragma_check("integrity_check")?;
        let orphans = other.db.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |r| r.get(0));
        let orphans: i64 = orphans.map_err(|e| other.sql(e))?;
        if orphans > 0 {
            return Err(ArchiveError::Corrupt { path: path.into(), what: format!("{orphans} rows belong to no run") });
        }
        Ok(())
    }

    fn check_records(&self) -> Result<Sound, ArchiveError> {
        self.frozen(|| {
            let keys = self.keys(&Filter::default())?;
            let mut next = keys.iter();
            let mut signed = Vec::new();
            self.each_record(
                &keys,
                |record| rows::Rows::of(&record),
                |rows| {
                    let Some(key) = next.next() else { return Ok(()) };
                    let kept = list::one(&self.db, key.0).map_err(|e| self.sql(e))?;
                    if !kept.sound || rows.summary.as_ref() != Some(&kept.summary) || rows.started_ns != kept.started_ns {
                        return Err(ArchiveError::damaged(&rows.id, "its summary is not that of its record"));
                    }
                    if rows::distributions(&self.db, key.0).map_err(|e| self.sql(e))? != rows.distributions {
                        return Err(ArchiveError::damaged(&rows.id, "the summary of its distributions is not that of its record"));
                    }
                    signed.extend(rows.key.map(|key| (rows.id, key)));
                    Ok(())
                },
            )?;
            Ok(Sound { runs: keys.len() as u64, signed })
        })
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
        self.fetch(self.key(id_or_prefix)?)?.record()
    }

    /// The record that started last.
    pub fn latest(&self) -> Result<Record, ArchiveError> {
        self.fetch(self.latest_key()?)?.record()
    }

    /// The run that started last.
    pub fn latest_key(&self) -> Result<Key, ArchiveError> {
        self.keys(&Filter { limit: Some(1), ..Filter::default() })?.pop().ok_or(ArchiveError::Empty)
    }

    /// The runs that pass `filter`, newest first.
    pub fn list(&self, filter: &Filter) -> Result<Vec<RunSummary>, ArchiveError> {
        let mut all = Vec::new();
        self.each_summary(filter, |summary| {
            all.push(summary?);
            Ok::<(), ArchiveError>(())
        })?;
        Ok(all)
    }

    /// Removes the record with this id, or the only one whose id starts like this; returns its id.
    pub fn remove(&mut self, id_or_prefix: &str) -> Result<String, ArchiveError> {
        Ok(self.remove_all(&[id_or_prefix])?.remove(0))
    }

    /// Removes the records of all these ids or their beginnings, or none of them; returns their ids.
    pub fn remove_all<S: AsRef<str>>(&mut self, ids: &[S]) -> Result<Vec<String>, ArchiveError> {
        let found = ids.iter().map(|id| self.resolve(id.as_ref())).collect::<Result<Vec<_>, _>>()?;
        self.in_transaction(|db| {
            let mut delete = db.prepare_cached("DELETE FROM run WHERE id = ?1")?;
            for (_, id) in &found {
                delete.execute([id])?;
            }
            Ok(())
        })?;
        Ok(found.into_iter().map(|(_, id)| id).collect())
    }

    /// The run with this id, or the only one whose id starts like this.
    pub fn key(&self, id_or_prefix: &str) -> Result<Key, ArchiveError> {
        self.resolve(id_or_prefix).map(|(key, _)| key)
    }

    /// The run with exactly this id, if there is one.
    pub fn exact(&self, id: &str) -> Result<Option<Key>, ArchiveError> {
        let mut statement = self.db.prepare_cached("SELECT key FROM run WHERE id = ?1").map_err(|e| self.sql(e))?;
        statement.query_row([id], |r| Ok(Key(r.get(0)?))).optional().map_err(|e| self.sql(e))
    }

    fn resolve(&self, prefix: &str) -> Result<(Key, String), ArchiveError> {
        // No character is above the last one, so these bounds hold every id that starts like this, and an index finds them. LIKE would take
        // `%` and `_` for wildcards and ignore case.
        let end = format!("{prefix}\u{10ffff}");
        let mut some = self
            .db
            .prepare_cached("SELECT key, id FROM run WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 4")
            .map_err(|e| self.sql(e))?;
        let some = some.query_map([prefix, &end], |r| Ok((Key(r.get(0)?), r.get::<_, String>(1)?))).and_then(Iterator::collect);
        let mut some: Vec<(Key, String)> = some.map_err(|e| self.sql(e))?;
        // In order, the id itself is the first of those that start with it.
        match some.as_slice() {
            [] => return Err(ArchiveError::NotFound(prefix.into())),
            [first, ..] if first.1 == prefix => return Ok(some.swap_remove(0)),
            [_] if !prefix.is_empty() => return Ok(some.swap_remove(0)),
            _ => {}
        }
        let mut count = self.db.prepare_cached("SELECT count(*) FROM run WHERE id >= ?1 AND id < ?2").map_err(|e| self.sql(e))?;
        let count = count.query_row([prefix, &end], |r| r.get(0)).map_err(|e| self.sql(e))?;
        let examples = some.into_iter().take(3).map(|(_, id)| id).collect();
        Err(ArchiveError::Ambiguous { prefix: prefix.into(), count, examples })
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
