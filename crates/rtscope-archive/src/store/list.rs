//! Listings of the archive, made from the summary columns alone.

use rtscope_record::{Distribution, DistributionError, Record, Test};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Row, params_from_iter};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::time::SystemTime;

/// Which runs to list. An empty filter passes all.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only this test: `timer`, `response` ...
    pub test: Option<String>,
    /// Only this load.
    pub load: Option<String>,
    /// Only this target.
    pub target: Option<String>,
    /// Only kernels whose release contains this text.
    pub kernel: Option<String>,
    /// Only runs of this campaign: their ids are its name, a hyphen and 16 hexadecimal digits.
    pub campaign: Option<String>,
    /// Only runs that started at this moment or later.
    pub since: Option<SystemTime>,
    /// Only runs that started before this moment.
    pub until: Option<SystemTime>,
    /// At most this many runs: the newest.
    pub limit: Option<u32>,
}

impl Filter {
    /// Whether it restricts nothing.
    pub(super) fn passes_all(&self) -> bool {
        let Self { test, load, target, kernel, campaign, since, until, limit } = self;
        [test, load, target, kernel, campaign].iter().all(|t| t.is_none()) && since.is_none() && until.is_none() && limit.is_none()
    }
}

/// One line of a listing: a run with all its distributions merged. Times in ns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    /// Its id.
    pub id: String,
    /// Start of the run, RFC 3339 in UTC.
    pub started: String,
    /// What was measured.
    pub test: String,
    /// Where the task ran.
    pub space: String,
    /// Name of the load.
    pub load: String,
    /// Interval asked for, ns: the settings' `interval`. `None` where it is not known.
    pub interval: Option<u64>,
    /// Where the probe ran.
    pub target: String,
    /// Whose time the figures are in.
    pub clock: String,
    /// Where it came from: measured, lab, emulator or imported.
    pub origin: String,
    /// The verdict: whether the figures may be trusted.
    pub verdict: String,
    /// The run was ended before its planned end.
    pub interrupted: bool,
    /// Host name.
    pub hostname: String,
    /// Board, where known.
    pub board: Option<String>,
    /// Kernel release.
    pub kernel: String,
    /// Preemption model.
    pub preemption: String,
    /// The virtual machine or container it was measured in, if any.
    pub virtualization: Option<String>,
    /// Samples taken.
    pub count: u64,
    /// Missed events.
    pub missed: u64,
    /// Edges that answer no stimulus.
    pub spurious: u64,
    /// Samples above the range of an imported histogram.
    pub overflow: u64,
    /// Samples taken and lost.
    pub dropped: u64,
    /// Lowest sample, ns.
    pub min: Option<u64>,
    /// Highest sample, ns.
    pub max: Option<u64>,
    /// Mean, ns.
    pub mean: Option<f64>,
    /// Standard deviation, ns.
    pub stddev: Option<f64>,
    /// Median, ns.
    pub p50: Option<u64>,
    /// 99th percentile, ns.
    pub p99: Option<u64>,
    /// 99.9th percentile, ns.
    #[serde(rename = "p99.9")]
    pub p99_9: Option<u64>,
    /// 99.99th percentile, ns.
    #[serde(rename = "p99.99")]
    pub p99_99: Option<u64>,
}

impl RunSummary {
    /// The summary of a record, as the archive keeps it.
    pub fn of(record: &Record) -> Result<Self, DistributionError> {
        let p = record.parts();
        let all = match record.merged()? {
            Some(all) => all,
            None => Distribution::from_samples("all", &[], 0)?,
        };
        let percentile = |text: &str| text.parse().ok().and_then(|q| all.value_at(q));
        Ok(Self {
            id: p.id.clone(),
            started: p.started.clone(),
            test: p.test.to_string(),
            space: p.space.to_string(),
            load: p.load.clone(),
            // 0: an import that does not say. More than a database number holds is no interval either.
            interval: Some(p.settings.interval.0).filter(|&ns| ns > 0 && i64::try_from(ns).is_ok()),
            target: p.target.clone(),
            clock: p.clock.to_string(),
            origin: record.origin().to_string(),
            verdict: record.verdict().to_string(),
            interrupted: p.interrupted,
            hostname: p.system.hostname.clone(),
            board: p.system.board.clone(),
            kernel: p.system.kernel.release.clone(),
            preemption: p.system.kernel.preemption.as_str().into(),
            virtualization: p.system.virtualization.clone(),
            count: all.count(),
            missed: all.missed(),
            spurious: all.spurious(),
            overflow: all.overflow(),
            dropped: all.dropped(),
            min: all.min(),
            max: all.max(),
            mean: all.mean(),
            stddev: all.stddev(),
            p50: percentile("p50"),
            p99: percentile("p99"),
            p99_9: percentile("p99.9"),
            p99_99: percentile("p99.99"),
        })
    }
}

/// Nanoseconds since 1970, clamped to the database's integers.
fn nanos(t: SystemTime) -> i64 {
    match t.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(d) => i64::try_from(d.as_nanos()).unwrap_or(i64::MAX),
        Err(e) => i64::try_from(e.duration().as_nanos()).map_or(i64::MIN, |n| -n),
    }
}

/// The summary columns, in the order that [`summary`] reads them.
const COLUMNS: &str =
    "id, started, test, space, load, target, clock, verdict, interrupted, hostname, board, kernel, preemption, count, missed,
     spurious, overflow, dropped, min, max, mean, stddev, p50, p99, p99_9, p99_99, virtualization, origin, interval";

/// Columns after the summary. The checksum, the last but one, covers all columns before it.
const REST: &str = "started_ns, sha256, columns_sha256, key";

/// The SQL statement that finds the runs of `filter`, newest first, and its parameters.
fn statement(filter: &Filter) -> (String, Vec<Value>) {
    let text = |t: &Option<String>| t.clone().map(Value::Text);
    let moment = |t: Option<SystemTime>| t.map(|t| Value::Integer(nanos(t)));
    let conditions = [
        ("test = ?", text(&filter.test)),
        ("load = ?", text(&filter.load)),
        ("target = ?", text(&filter.target)),
        ("instr(kernel, ?) > 0", text(&filter.kernel)),
        ("id GLOB '*-????????????????' AND substr(id, 1, length(id) - 17) = ?", text(&filter.campaign)),
        ("started_ns >= ?", moment(filter.since)),
        ("started_ns < ?", moment(filter.until)),
    ];
    let (asked, mut values): (Vec<&str>, Vec<Value>) = conditions.into_iter().filter_map(|(c, v)| Some((c, v?))).unzip();
    let wanted = if asked.is_empty() { "1".to_owned() } else { asked.join(" AND ") };
    values.push(Value::Integer(filter.limit.map_or(-1, i64::from)));
    let sql = format!("SELECT {COLUMNS}, {REST} FROM run WHERE {wanted} ORDER BY started_ns DESC, key DESC LIMIT ?");
    (sql, values)
}

/// A run found by a filter.
pub(super) struct Found {
    pub(super) key: i64,
    pub(super) summary: RunSummary,
    pub(super) started_ns: Option<i64>,
    /// The columns are unchanged since they were written with the record.
    pub(super) sound: bool,
}

/// Gives `each` the runs that match `filter`, one at a time, newest first.
pub(super) fn each<E: From<rusqlite::Error>>(
    db: &Connection,
    filter: &Filter,
    mut each: impl FnMut(Found) -> Result<(), E>,
) -> Result<(), E> {
    let (sql, values) = statement(filter);
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    while let Some(row) = rows.next()? {
        each(found(row)?)?;
    }
    Ok(())
}

/// Gives `each` all runs, oldest first: the key, and the test or, where the columns were changed since they were written,
/// the id as an error.
pub(super) fn each_key<E: From<rusqlite::Error>>(
    db: &Connection,
    mut each: impl FnMut(i64, Result<Option<Test>, String>) -> Result<(), E>,
) -> Result<(), E> {
    let mut statement = db.prepare_cached(&format!("SELECT {COLUMNS}, {REST} FROM run ORDER BY started_ns, key"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let test = if is_sound(row)? {
            Ok(row.get_ref("test")?.as_str().ok().and_then(|test| test.parse().ok()))
        } else {
            Err(row.get("id")?)
        };
        each(row.get("key")?, test)?;
    }
    Ok(())
}

/// The run with this key.
pub(super) fn one(db: &Connection, key: i64) -> Result<Found, rusqlite::Error> {
    db.prepare_cached(&format!("SELECT {COLUMNS}, {REST} FROM run WHERE key = ?1"))?.query_row([key], found)
}

/// Reads a row of [`COLUMNS`] and [`REST`].
fn found(row: &Row<'_>) -> Result<Found, rusqlite::Error> {
    let count = row.as_ref().column_count();
    Ok(Found { key: row.get(count - 1)?, summary: summary(row)?, started_ns: row.get(count - 4)?, sound: is_sound(row)? })
}

/// Whether the columns of a row of [`COLUMNS`] and [`REST`] are unchanged since they were written with the record.
fn is_sound(row: &Row<'_>) -> Result<bool, rusqlite::Error> {
    let place = row.as_ref().column_count() - 2;
    let kept: Option<Vec<u8>> = row.get(place)?;
    Ok(kept.is_some_and(|kept| digest(row, place).is_ok_and(|own| own.as_slice() == kept)))
}

/// Stores the checksum of the summary columns of the run with this key.
pub(super) fn seal(db: &Connection, key: i64) -> Result<(), rusqlite::Error> {
    let sql = format!("SELECT {COLUMNS}, {REST} FROM run WHERE key = ?1");
    let digest = db.prepare_cached(&sql)?.query_row([key], |row| digest(row, row.as_ref().column_count() - 2))?;
    db.prepare_cached("UPDATE run SET columns_sha256 = ?1 WHERE key = ?2")?.execute((digest.as_slice(), key)).map(|_| ())
}

/// [`seal`] for all runs.
pub(super) fn seal_all(db: &Connection) -> Result<(), rusqlite::Error> {
    let keys: Vec<i64> = db.prepare("SELECT key FROM run")?.query_map([], |r| r.get(0))?.collect::<Result<_, _>>()?;
    keys.into_iter().try_for_each(|key| seal(db, key))
}

/// SHA-256 of the first `count` values of a row, including their types and lengths.
fn digest(row: &Row<'_>, count: usize) -> Result<[u8; 32], rusqlite::Error> {
    let mut sha256 = Sha256::new();
    for i in 0..count {
        let (kind, bytes): (u8, &[u8]) = match row.get_ref(i)? {
            ValueRef::Null => (0, &[]),
            ValueRef::Integer(n) => (1, &n.to_le_bytes()),
            ValueRef::Real(x) => (2, &x.to_bits().to_le_bytes()),
            ValueRef::Text(text) => (3, text),
            ValueRef::Blob(blob) => (4, blob),
        };
        sha256.update([kind]);
        sha256.update((bytes.len() as u64).to_le_bytes());
        sha256.update(bytes);
    }
    Ok(sha256.finalize().into())
}

fn summary(r: &Row<'_>) -> Result<RunSummary, rusqlite::Error> {
    Ok(RunSummary {
        id: r.get(0)?,
        started: r.get(1)?,
        test: r.get(2)?,
        space: r.get(3)?,
        load: r.get(4)?,
        target: r.get(5)?,
        clock: r.get(6)?,
        verdict: r.get(7)?,
        interrupted: r.get(8)?,
        hostname: r.get(9)?,
        board: r.get(10)?,
        kernel: r.get(11)?,
        preemption: r.get(12)?,
        count: r.get(13)?,
        missed: r.get(14)?,
        spurious: r.get(15)?,
        overflow: r.get(16)?,
        dropped: r.get(17)?,
        min: r.get(18)?,
        max: r.get(19)?,
        mean: r.get(20)?,
        stddev: r.get(21)?,
        p50: r.get(22)?,
        p99: r.get(23)?,
        p99_9: r.get(24)?,
        p99_99: r.get(25)?,
        virtualization: r.get(26)?,
        origin: r.get(27)?,
        interval: r.get(28)?,
    })
}
