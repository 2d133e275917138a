//! The archive: a single SQLite file that holds every record, lists them by their summaries and gives them back bit for
//! bit.
//!
//! A record is stored as its JSON text without the histograms; these are in a table of their own, as HdrHistogram V2
//! (compressed, without base64). Summary columns serve the listings. On reading, the SHA-256 of the whole text is
//! checked, and the text is parsed by the code that refuses counts which do not add up. Commits are synced to the disk
//! (`synchronous = FULL`, write-ahead log), so that what [`Archive::insert`] has accepted survives SIGKILL and a power
//! cut.

mod connection;
mod error;
mod explanations;
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
mod traces;

pub use connection::Archive;
pub use error::{ArchiveError, SpillError};
pub use explanations::KeptExplanation;
pub use list::{Filter, RunSummary};
pub use read::Key;
pub use rows::Inserted;
pub use spill::{Absorbed, spill};
pub use traces::KeptTrace;

use rtscope_record::Record;
use rusqlite::OptionalExtension;
use std::panic::resume_unwind;
use std::thread;

/// Records per commit of [`Archive::insert_many`].
const BATCH: usize = 256;

/// The result of a successful [`Archive::check`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sound {
    /// Number of records.
    pub runs: u64,
    /// The signed records, oldest first: id and public key. Each signature holds.
    pub signed: Vec<(String, String)>,
}

impl Archive {
    /// Reads everything: the database's structure, indices and references, and at the same time every record with its
    /// checksum, counts and signature.
    ///
    /// Returns the first fault found; a fault of the database's structure is returned before any of a record.
    pub fn check(&self) -> Result<Sound, ArchiveError> {
        let path = &self.path;
        thread::scope(|scope| {
            let structure = scope.spawn(|| Self::check_structure(path));
            let records = self.check_records();
            structure.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            records
        })
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

    /// Inserts a record, completely or not at all; it is on the disk when this returns.
    pub fn insert(&mut self, record: &Record) -> Result<Inserted, ArchiveError> {
        let row = rows::Row::of(record)?;
        let done = self.in_transaction(|db| rows::insert(db, &row))?;
        Ok(done)
    }

    /// Inserts many records, a few hundred per commit; returns how many were new. On an error, the batches committed
    /// before it stay.
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

    /// The record with this id, or the only one whose id starts with it.
    pub fn get(&self, id_or_prefix: &str) -> Result<Record, ArchiveError> {
        self.fetch(self.key(id_or_prefix)?)?.record()
    }

    /// The record with the latest start.
    pub fn latest(&self) -> Result<Record, ArchiveError> {
        self.fetch(self.latest_key()?)?.record()
    }

    /// The run with the latest start.
    pub fn latest_key(&self) -> Result<Key, ArchiveError> {
        self.keys(&Filter { limit: Some(1), ..Filter::default() })?.pop().ok_or(ArchiveError::Empty)
    }

    /// The runs that match `filter`, newest first.
    pub fn list(&self, filter: &Filter) -> Result<Vec<RunSummary>, ArchiveError> {
        let mut all = Vec::new();
        self.each_summary(filter, |summary| {
            all.push(summary?);
            Ok::<(), ArchiveError>(())
        })?;
        Ok(all)
    }

    /// Removes the record with this id, or the only one whose id starts with it; returns its id.
    pub fn remove(&mut self, id_or_prefix: &str) -> Result<String, ArchiveError> {
        Ok(self.remove_all(&[id_or_prefix])?.remove(0))
    }

    /// Removes the records with all these ids or prefixes, or none of them; returns their ids.
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

    /// The run with this id, or the only one whose id starts with it.
    pub fn key(&self, id_or_prefix: &str) -> Result<Key, ArchiveError> {
        self.resolve(id_or_prefix).map(|(key, _)| key)
    }

    /// The run with exactly this id, if there is one.
    pub fn exact(&self, id: &str) -> Result<Option<Key>, ArchiveError> {
        let mut statement = self.db.prepare_cached("SELECT key FROM run WHERE id = ?1").map_err(|e| self.sql(e))?;
        statement.query_row([id], |r| Ok(Key(r.get(0)?))).optional().map_err(|e| self.sql(e))
    }

    fn resolve(&self, prefix: &str) -> Result<(Key, String), ArchiveError> {
        // No character sorts above U+10FFFF, so these bounds hold every id with this prefix, and the index is used. LIKE
        // would treat `%` and `_` as wildcards and ignore case.
        let end = format!("{prefix}\u{10ffff}");
        let mut some = self
            .db
            .prepare_cached("SELECT key, id FROM run WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 4")
            .map_err(|e| self.sql(e))?;
        let some = some.query_map([prefix, &end], |r| Ok((Key(r.get(0)?), r.get::<_, String>(1)?))).and_then(Iterator::collect);
        let mut some: Vec<(Key, String)> = some.map_err(|e| self.sql(e))?;
        // In sorted order, an exact match is the first of the ids with this prefix.
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
}
