//! The archive's tables, how an older archive becomes one of today, and how a file that is no archive is told from one.

use super::ArchiveError;
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;

/// "rtsc": marks an SQLite file as an archive of rtscope.
pub(super) const APPLICATION_ID: i64 = 0x7274_7363;

/// Step `i` makes version `i + 1` out of version `i`. A step that has been released is never changed.
const MIGRATIONS: [&str; 1] = [
    // `json` is the record as text without its histograms, whose places are `distribution.cut_at`; `sha256` is of the whole text.
    // The summary columns are of all distributions merged; NULL where there is no sample or the count does not support a percentile.
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
];

/// The newest version known here.
pub(super) fn newest() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Refuses what is no archive or a newer one, before anything in the file is changed; then brings it up to date.
pub(super) fn prepare(db: &mut Connection, path: &Path) -> Result<(), ArchiveError> {
    let sql = |e| ArchiveError::sql(path, e);
    let number = |db: &Connection, pragma| db.pragma_query_value(None, pragma, |r| r.get::<_, i64>(0)).map_err(sql);
    let (app, version) = (number(db, "application_id")?, number(db, "user_version")?);
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_master", [], |r| r.get(0)).map_err(sql)?;
    let fresh = app == 0 && version == 0 && tables == 0;
    if !fresh && app != APPLICATION_ID {
        let what = format!("an SQLite file of another program, application id {app:#x}");
        return Err(ArchiveError::NotAnArchive { path: path.into(), what });
    }
    if version > newest() {
        return Err(ArchiveError::NewerSchema { path: path.into(), found: version, known: newest() });
    }
    // From here on the file is ours.
    db.pragma_update(None, "journal_mode", "WAL").map_err(sql)?;
    if version < newest() {
        // Another process may be migrating too: look again once the write lock is ours.
        let t = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        let version = number(&t, "user_version")?;
        for step in MIGRATIONS.iter().skip(usize::try_from(version).unwrap_or(0)) {
            t.execute_batch(step).map_err(sql)?;
        }
        t.pragma_update(None, "application_id", APPLICATION_ID).map_err(sql)?;
        t.pragma_update(None, "user_version", newest()).map_err(sql)?;
        t.commit().map_err(sql)?;
    }
    Ok(())
}
