//! The archive's tables, the migration of older archives, and the detection of files that are not archives.

use super::error::ArchiveError;
use super::list;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, TransactionBehavior};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

/// "rtsc": marks an SQLite file as an archive of rtscope.
pub(super) const APPLICATION_ID: i64 = 0x7274_7363;

/// Step `i` migrates version `i` to version `i + 1`. A released step is never changed.
const MIGRATIONS: [&str; 6] = [
    // `json` is the record's text without its histograms, whose positions are `distribution.cut_at`; `sha256` covers the
    // whole text. The summary columns are over all distributions merged; NULL where there is no sample or too few for a
    // percentile.
    "
    CREATE TABLE run (
        key         INTEGER PRIMARY KEY,
        id          TEXT    NOT NULL UNIQUE,
        started     TEXT    NOT NULL,
        started_ns  INTEGER,
        test        TEXT    NOT NULL,
        space       TEXT    NOT NULL,
        load        TEXT    NOT NULL,
        target      TEXT    NOT NULL,
        clock       TEXT    NOT NULL,
        verdict     TEXT    NOT NULL,
        interrupted INTEGER NOT NULL,
        hostname    TEXT    NOT NULL,
        board       TEXT,
        kernel      TEXT    NOT NULL,
        preemption  TEXT    NOT NULL,
        virtualization TEXT,
        count       INTEGER NOT NULL,
        missed      INTEGER NOT NULL,
        spurious    INTEGER NOT NULL,
        overflow    INTEGER NOT NULL,
        dropped     INTEGER NOT NULL,
        min         INTEGER,
        max         INTEGER,
        mean        REAL,
        stddev      REAL,
        p50         INTEGER,
        p99         INTEGER,
        p99_9       INTEGER,
        p99_99      INTEGER,
        json        TEXT    NOT NULL,
        sha256      BLOB    NOT NULL
    ) STRICT;
    CREATE INDEX run_started ON run (started_ns DESC, key DESC);
    CREATE TABLE distribution (
        run     INTEGER NOT NULL REFERENCES run (key) ON DELETE CASCADE,
        nr      INTEGER NOT NULL,
        label   TEXT    NOT NULL,
        count   INTEGER NOT NULL,
        missed  INTEGER NOT NULL,
        min     INTEGER,
        max     INTEGER,
        mean    REAL,
        cut_at  INTEGER NOT NULL,
        PRIMARY KEY (run, nr)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE histogram (
        run     INTEGER NOT NULL,
        nr      INTEGER NOT NULL,
        hdr     BLOB    NOT NULL,
        PRIMARY KEY (run, nr),
        FOREIGN KEY (run, nr) REFERENCES distribution (run, nr) ON DELETE CASCADE
    ) STRICT;
    ",
    // Where each record came from, by the rules of `Origin::derived`, and the verdict that this allows.
    "
    ALTER TABLE run ADD COLUMN origin TEXT NOT NULL DEFAULT 'imported';
    UPDATE run SET origin = CASE
        WHEN NOT json_valid(json) THEN 'imported'
        WHEN json_extract(json, '$.source') IS NOT NULL OR target = 'import' THEN 'imported'
        WHEN json_extract(json, '$.lab') IS NOT NULL OR substr(target, 1, 4) = 'lab:' THEN 'lab'
        WHEN substr(target, 1, 5) = 'fake:' OR instr(json_extract(json, '$.instrument.what'), 'FPGA instrument, emulator') > 0 THEN 'emulator'
        ELSE 'measured'
    END;
    UPDATE run SET verdict = CASE WHEN origin = 'lab' AND clock = 'virtual' THEN 'REPEATABLE' ELSE 'INCONCLUSIVE' END
        WHERE verdict = 'VALID' AND (origin <> 'measured' OR clock <> 'host');
    ",
    // SHA-256 of the summary columns and of `sha256`: reveals a summary that was changed independently of its record
    // where only the summary is read.
    "
    ALTER TABLE run ADD COLUMN columns_sha256 BLOB;
    ",
    // What samples were (`rtscope explain`), as JSON.
    "
    CREATE TABLE explanation (
        run          INTEGER NOT NULL REFERENCES run (key) ON DELETE CASCADE,
        distribution TEXT    NOT NULL,
        at           INTEGER NOT NULL,
        json         TEXT    NOT NULL,
        PRIMARY KEY (run, distribution, at)
    ) STRICT, WITHOUT ROWID;
    ",
    // The kernel's traces of samples (`measure --trace`): as text, and as a file for trace-cmd; both zlib streams.
    "
    CREATE TABLE trace (
        run          INTEGER NOT NULL REFERENCES run (key) ON DELETE CASCADE,
        distribution TEXT    NOT NULL,
        at           INTEGER NOT NULL,
        text         BLOB    NOT NULL,
        dat          BLOB    NOT NULL,
        PRIMARY KEY (run, distribution, at)
    ) STRICT;
    ",
    // The interval asked for, ns; NULL where a record does not say, or says more than an integer of SQLite holds.
    "
    ALTER TABLE run ADD COLUMN interval INTEGER;
    UPDATE run SET interval = CASE
        WHEN NOT json_valid(json) OR typeof(json_extract(json, '$.settings.interval')) <> 'integer' THEN NULL
        WHEN json_extract(json, '$.settings.interval') > 0 THEN json_extract(json, '$.settings.interval')
    END;
    ",
];

/// Longest text or blob that is read or written, bytes: a file made by somebody else must not exhaust the memory.
const LONGEST: i32 = 256 << 20;

/// Prepares a connection for a file that nobody vouches for: nothing in its schema is executed, and pages are checked as
/// they are read.
pub(super) fn harden(db: &Connection) -> Result<(), rusqlite::Error> {
    for (option, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    ] {
        db.set_db_config(option, on)?;
    }
    db.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST)?;
    db.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    db.pragma_update(None, "cell_size_check", true)?;
    db.pragma_update(None, "mmap_size", 0)
}

/// The objects of a schema: kind, name, table and SQL text of each.
type Schema = BTreeSet<[String; 4]>;

/// Reads all objects of the schema; white space in their SQL text is normalized.
fn objects(db: &Connection) -> Result<Schema, rusqlite::Error> {
    // The tables of ANALYZE are only statistics for the planner.
    let mut all = db.prepare(
        "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master WHERE name NOT IN ('sqlite_stat1', 'sqlite_stat4')",
    )?;
    let row = |r: &rusqlite::Row<'_>| {
        let sql = r.get::<_, String>(3)?.split_whitespace().collect::<Vec<_>>().join(" ");
        // A column added later has no blanks before it.
        let sql = [" ,", ", ", " )", ") ", " (", "( "].into_iter().fold(sql, |sql, blank| sql.replace(blank, blank.trim()));
        Ok([r.get(0)?, r.get(1)?, r.get(2)?, sql])
    };
    all.query_map([], row)?.collect()
}

/// The schemas of all versions, starting with that of an empty file; computed once.
fn of_versions() -> Result<Vec<Schema>, rusqlite::Error> {
    static MADE: OnceLock<Vec<Schema>> = OnceLock::new();
    if let Some(made) = MADE.get() {
        return Ok(made.clone());
    }
    let own = Connection::open_in_memory()?;
    let mut made = vec![BTreeSet::new()];
    for step in MIGRATIONS {
        own.execute_batch(step)?;
        made.push(objects(&own)?);
    }
    Ok(MADE.get_or_init(|| made).clone())
}

/// Describes what differs between the schema of an archive of this version and the expected one; `None` where nothing
/// does.
fn foreign(db: &Connection, version: i64) -> Result<Option<String>, rusqlite::Error> {
    let own = usize::try_from(version).ok().and_then(|v| of_versions().map(|all| all.get(v).cloned()).transpose()).transpose()?;
    let (own, found) = (own.unwrap_or_default(), objects(db)?);
    let described = |[kind, name, table, _]: &[String; 4]| match kind.as_str() {
        "table" | "view" => format!("the {kind} `{name}`"),
        _ => format!("the {kind} `{name}` on `{table}`"),
    };
    let what = match (found.difference(&own).next(), own.difference(&found).next()) {
        (Some(more), Some(less)) if more[..2] == less[..2] => format!("{} is not as rtscope makes it", described(more)),
        (Some(more), _) => format!("{} is not rtscope's", described(more)),
        (None, Some(less)) => format!("{} is missing", described(less)),
        (None, None) => return Ok(None),
    };
    Ok(Some(what))
}

/// The newest version known here.
pub(super) fn newest() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Refuses a file that is not an archive, is a newer one, or has a foreign schema, before anything in it is changed; then
/// migrates it. With `create`, an empty file becomes an archive.
pub(super) fn prepare(db: &mut Connection, path: &Path, create: bool) -> Result<(), ArchiveError> {
    let sql = |e| ArchiveError::sql(path, e);
    let number = |db: &Connection, pragma| db.pragma_query_value(None, pragma, |r| r.get::<_, i64>(0)).map_err(sql);
    let (app, version) = (number(db, "application_id")?, number(db, "user_version")?);
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_master", [], |r| r.get(0)).map_err(sql)?;
    let fresh = app == 0 && version == 0 && tables == 0;
    if !fresh && app != APPLICATION_ID {
        let what = format!("an SQLite file of another program, application id {app:#x}");
        return Err(ArchiveError::NotAnArchive { path: path.into(), what });
    }
    if fresh && !create {
        return Err(ArchiveError::NotAnArchive { path: path.into(), what: "it is empty".into() });
    }
    if version > newest() {
        return Err(ArchiveError::NewerSchema { path: path.into(), found: version, known: newest() });
    }
    if !fresh {
        if let Some(what) = foreign(db, version).map_err(sql)? {
            return Err(ArchiveError::ForeignSchema { path: path.into(), what });
        }
    }
    // From here on the file may be changed.
    db.pragma_update(None, "journal_mode", "WAL").map_err(sql)?;
    if version < newest() {
        // Another process may be migrating it too: read the version again once the write lock is ours.
        let t = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        let version = number(&t, "user_version")?;
        for step in MIGRATIONS.iter().skip(usize::try_from(version).unwrap_or(0)) {
            t.execute_batch(step).map_err(sql)?;
        }
        // The steps may have changed the summary columns of existing runs.
        list::seal_all(&t).map_err(sql)?;
        t.pragma_update(None, "application_id", APPLICATION_ID).map_err(sql)?;
        t.pragma_update(None, "user_version", newest()).map_err(sql)?;
        t.commit().map_err(sql)?;
    }
    Ok(())
}
