//! Converts records to rows and back: the text with the histograms cut out, each at a known position, and the summary
//! columns.

use super::error::ArchiveError;
use super::list::{self, RunSummary};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rtscope_record::{Distribution, Record, hdr};
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};
use std::path::Path;

/// A failure inside a transaction, before the archive's path is known.
pub(super) enum RowError {
    Sql(rusqlite::Error),
    Archive(ArchiveError),
}

impl From<rusqlite::Error> for RowError {
    fn from(e: rusqlite::Error) -> Self {
        Self::Sql(e)
    }
}

impl RowError {
    pub(super) fn into_archive_error(self, path: &Path) -> ArchiveError {
        match self {
            Self::Sql(e) => ArchiveError::sql(path, e),
            Self::Archive(e) => e,
        }
    }
}

/// What [`Archive::insert`](super::Archive::insert) did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inserted {
    /// The record was inserted.
    New,
    /// The identical record was there already.
    Identical,
}

/// A record ready to be written.
pub(super) struct Row<'a> {
    record: &'a Record,
    started_ns: Option<i64>,
    summary: RunSummary,
    sha256: [u8; 32],
    stripped: String,
    /// For each distribution: the position of its histogram in the remaining text, and its bytes.
    cuts: Vec<(usize, Vec<u8>)>,
}

impl<'a> Row<'a> {
    /// Checks that the record's text reads back as the identical record.
    pub(super) fn of(record: &'a Record) -> Result<Self, ArchiveError> {
        let id = record.id();
        let fault = |what: &str| ArchiveError::unrepresentable(id, what);
        let text = serde_json::to_string(record).map_err(|e| ArchiveError::unrepresentable(id, e))?;
        match serde_json::from_str::<Record>(&text) {
            Ok(back) if back == *record => {}
            Ok(_) => return Err(fault("its text reads as another record (a count above 2^63, or a figure that is not a number)")),
            Err(e) => return Err(ArchiveError::unrepresentable(id, format!("its text can't be read again: {e}"))),
        }
        crate::signature::check(record).map_err(|e| ArchiveError::unrepresentable(id, e))?;
        let mut cuts = Vec::new();
        let mut stripped = String::with_capacity(text.len());
        let mut rest = text.as_str();
        for d in record.distributions() {
            let base64 = hdr::encode(d.histogram());
            // Any match will do: inserting the same characters at the same position restores the text.
            let at = rest.find(&base64).ok_or_else(|| fault("its histogram is not in its text"))?;
            stripped.push_str(&rest[..at]);
            rest = &rest[at + base64.len()..];
            let bytes = STANDARD.decode(&base64).map_err(|_| fault("its histogram is not base64"))?;
            cuts.push((stripped.len(), bytes));
        }
        stripped.push_str(rest);
        let summary = RunSummary::of(record).map_err(|e| ArchiveError::unrepresentable(id, e))?;
        Ok(Self { record, started_ns: started_ns(record), summary, sha256: Sha256::digest(text.as_bytes()).into(), stripped, cuts })
    }
}

/// When a record started, ns since 1970; `None` where the database can't hold it.
pub(super) fn started_ns(record: &Record) -> Option<i64> {
    record.parts().started.parse::<jiff::Timestamp>().ok().and_then(|t| i64::try_from(t.as_nanosecond()).ok())
}

/// Writes a row, within the caller's transaction.
pub(super) fn insert(db: &Connection, row: &Row<'_>) -> Result<Inserted, RowError> {
    let p = row.record.parts();
    let mut there = db.prepare_cached("SELECT key, sha256 FROM run WHERE id = ?1")?;
    let there: Option<(i64, Vec<u8>)> = there.query_row([&p.id], |r| Ok((r.get(0)?, r.get(1)?))).optional()?;
    match there {
        Some((_, sha256)) if sha256 == row.sha256 => return Ok(Inserted::Identical),
        // An older version of rtscope wrote the same record with fewer keys.
        Some((key, _)) if fetch(db, key)?.record().is_ok_and(|there| there == *row.record) => return Ok(Inserted::Identical),
        Some(_) => return Err(RowError::Archive(ArchiveError::AlreadyThere(p.id.clone()))),
        None => {}
    }
    let whole = |n: u64| {
        i64::try_from(n).map_err(|_| {
            RowError::Archive(ArchiveError::unrepresentable(&p.id, format!("{n} is more than a database number holds")))
        })
    };
    let maybe = |n: Option<u64>| n.map(whole).transpose();
    let s = &row.summary;
    db.prepare_cached(
        "INSERT INTO run (id, started, started_ns, test, space, load, target, clock, verdict, interrupted, hostname, board, kernel,
                          preemption, count, missed, spurious, overflow, dropped, min, max, mean, stddev, p50, p99, p99_9, p99_99,
                          json, sha256, virtualization, origin, interval)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25,
                 ?26, ?27, ?28, ?29, ?30, ?31, ?32)",
    )?
    .execute(params![
        s.id,
        s.started,
        row.started_ns,
        s.test,
        s.space,
        s.load,
        s.target,
        s.clock,
        s.verdict,
        s.interrupted,
        s.hostname,
        s.board,
        s.kernel,
        s.preemption,
        whole(s.count)?,
        whole(s.missed)?,
        whole(s.spurious)?,
        whole(s.overflow)?,
        whole(s.dropped)?,
        maybe(s.min)?,
        maybe(s.max)?,
        s.mean,
        s.stddev,
        maybe(s.p50)?,
        maybe(s.p99)?,
        maybe(s.p99_9)?,
        maybe(s.p99_99)?,
        row.stripped,
        row.sha256.as_slice(),
        s.virtualization,
        s.origin,
        maybe(s.interval)?,
    ])?;
    let run = db.last_insert_rowid();
    for (nr, (d, (cut_at, bytes))) in row.record.distributions().iter().zip(&row.cuts).enumerate() {
        let nr = whole(nr as u64)?;
        db.prepare_cached(
            "INSERT INTO distribution (run, nr, label, count, missed, min, max, mean, cut_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            run,
            nr,
            d.label(),
            whole(d.count())?,
            whole(d.missed())?,
            maybe(d.min())?,
            maybe(d.max())?,
            d.mean(),
            whole(*cut_at as u64)?
        ])?;
        db.prepare_cached("INSERT INTO histogram (run, nr, hdr) VALUES (?1, ?2, ?3)")?.execute(params![run, nr, bytes])?;
    }
    list::seal(db, run)?;
    Ok(Inserted::New)
}

/// The stored rows of one record.
pub(super) struct Fetched {
    id: String,
    stripped: String,
    sha256: Vec<u8>,
    /// For each distribution: the position of its histogram, and its bytes.
    pieces: Vec<(i64, Option<Vec<u8>>)>,
}

/// Reads the rows of the record with this key.
pub(super) fn fetch(db: &Connection, key: i64) -> Result<Fetched, RowError> {
    let found = db
        .prepare_cached("SELECT id, json, sha256 FROM run WHERE key = ?1")?
        .query_row([key], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
        .optional()?;
    let Some((id, stripped, sha256)) = found else {
        return Err(RowError::Archive(ArchiveError::NotFound("which was removed meanwhile".into())));
    };
    let mut statement = db.prepare_cached(
        "SELECT d.cut_at, h.hdr FROM distribution d LEFT JOIN histogram h ON h.run = d.run AND h.nr = d.nr WHERE d.run = ?1 ORDER BY d.nr",
    )?;
    let pieces = statement.query_map([key], |r| Ok((r.get(0)?, r.get(1)?)))?.collect::<Result<_, _>>()?;
    Ok(Fetched { id, stripped, sha256, pieces })
}

impl Fetched {
    /// The record, fully checked.
    pub(super) fn record(self) -> Result<Record, ArchiveError> {
        self.record_by(&mut String::new())
    }

    /// The record, fully checked; its text is reassembled in `text`.
    pub(super) fn record_by(self, text: &mut String) -> Result<Record, ArchiveError> {
        let damaged = |what: &str| ArchiveError::damaged(&self.id, what);
        text.clear();
        text.reserve(self.stripped.len() * 2);
        let mut done = 0;
        for (at, bytes) in &self.pieces {
            let bytes = bytes.as_ref().ok_or_else(|| damaged("one of its histograms is missing"))?;
            let piece = usize::try_from(*at).ok().and_then(|at| Some((at, self.stripped.get(done..at)?)));
            let (at, piece) = piece.ok_or_else(|| damaged("a histogram's place lies outside its text"))?;
            text.push_str(piece);
            STANDARD.encode_string(bytes, text);
            done = at;
        }
        text.push_str(self.stripped.get(done..).ok_or_else(|| damaged("its text is cut short"))?);
        if Sha256::digest(text.as_bytes()).as_slice() != self.sha256 {
            return Err(damaged("its checksum does not match"));
        }
        let record: Record = serde_json::from_str(text).map_err(|e| damaged(&e.to_string()))?;
        crate::signature::check(&record).map_err(|e| damaged(&e.to_string()))?;
        if record.id() == self.id { Ok(record) } else { Err(damaged("it is the record of another run")) }
    }
}

/// The values that the rows of a record must have besides its text.
pub(super) struct Rows {
    pub(super) id: String,
    pub(super) summary: Option<RunSummary>,
    pub(super) started_ns: Option<i64>,
    pub(super) distributions: Vec<Columns>,
    /// The public key of its signature.
    pub(super) key: Option<String>,
}

/// Columns of a distribution: label, count, missed, lowest, highest, mean.
pub(super) type Columns = (String, u64, u64, Option<u64>, Option<u64>, Option<f64>);

impl Rows {
    pub(super) fn of(record: &Record) -> Self {
        let columns = |d: &Distribution| (d.label().to_owned(), d.count(), d.missed(), d.min(), d.max(), d.mean());
        Self {
            id: record.id().into(),
            summary: RunSummary::of(record).ok(),
            started_ns: started_ns(record),
            distributions: record.distributions().iter().map(columns).collect(),
            key: record.parts().signature.as_ref().map(|s| s.key.clone()),
        }
    }
}

/// The columns of the distributions of the record with this key.
pub(super) fn distributions(db: &Connection, key: i64) -> Result<Vec<Columns>, rusqlite::Error> {
    let mut statement =
        db.prepare_cached("SELECT label, count, missed, min, max, mean FROM distribution WHERE run = ?1 ORDER BY nr")?;
    let row = |r: &rusqlite::Row<'_>| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?, r.get(5)?));
    statement.query_map([key], row)?.collect()
}
