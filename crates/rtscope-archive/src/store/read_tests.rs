//! Reading: work that grows only with what is selected, archives made by others, and summaries that were changed.

use super::tests::{archive, numbered};
use super::*;
use rusqlite::Connection;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many of its virtual machine's instructions SQLite executes in `work`.
fn instructions(a: &Archive, work: impl FnOnce()) -> u64 {
    let count = Arc::new(AtomicU64::new(0));
    let own = Arc::clone(&count);
    let counted = move || {
        own.fetch_add(1, Ordering::Relaxed);
        false
    };
    a.db.progress_handler(1, Some(counted));
    work();
    a.db.progress_handler(1, None::<fn() -> bool>);
    count.load(Ordering::Relaxed)
}

fn ids(a: &Archive, keys: &[Key]) -> Vec<String> {
    let mut found = Vec::new();
    a.each_record(
        keys,
        |r| r.id().to_owned(),
        |id| {
            found.push(id);
            Ok::<(), ArchiveError>(())
        },
    )
    .unwrap();
    found
}

#[test]
fn four_times_the_records_are_four_times_the_work() {
    let mut work = Vec::new();
    for n in [200, 800] {
        let (_dir, mut a) = archive();
        let records: Vec<Record> = (0..n).map(numbered).collect();
        a.insert_many(&records).unwrap();
        let names: Vec<String> = records.iter().map(|r| r.id().to_owned()).collect();
        let keys = a.keys(&Filter::default()).unwrap();
        let mut seen = 0;
        work.push([
            instructions(&a, || drop(a.list(&Filter::default()).unwrap())),
            instructions(&a, || assert_eq!(ids(&a, &keys).len() as u64, n)),
            instructions(&a, || assert!(names.iter().all(|id| a.key(id).is_ok()))),
            instructions(&a, || assert!(names.iter().all(|id| a.key(&id[..id.len() - 1]).is_ok()))),
            instructions(&a, || {
                a.each_summary(&Filter::default(), |s| s.map(|_| seen += 1)).unwrap();
            }),
            instructions(&a, || assert_eq!(a.check().unwrap().runs, n)),
        ]);
        let (done, a) = (Arc::new(AtomicU64::new(0)), &mut a);
        let own = Arc::clone(&done);
        a.db.progress_handler(1, Some(move || own.fetch_add(1, Ordering::Relaxed) == u64::MAX));
        a.remove_all(&names).unwrap();
        a.db.progress_handler(1, None::<fn() -> bool>);
        *work.last_mut().unwrap().last_mut().unwrap() += done.load(Ordering::Relaxed);
        assert_eq!((seen, a.list(&Filter::default()).unwrap().len()), (n, 0));
    }
    for (few, many) in work[0].iter().zip(&work[1]) {
        assert!(*many < few * 5, "{work:?}");
    }
}

#[test]
fn records_come_in_order_from_several_threads_and_the_first_error_ends_it() {
    let (_dir, mut a) = archive();
    let records: Vec<Record> = (0..150).map(numbered).collect();
    a.insert_many(&records).unwrap();
    let keys = a.keys(&Filter::default()).unwrap();
    let wanted: Vec<String> = records.iter().map(|r| r.id().to_owned()).collect();
    let mut sorted = ids(&a, &keys);
    assert_eq!(sorted, a.list(&Filter::default()).unwrap().iter().rev().map(|s| s.id.clone()).collect::<Vec<_>>());
    sorted.sort();
    assert_eq!(sorted, wanted);
    let mut taken = 0;
    let stopped = a.each_record(
        &keys,
        |_| (),
        |()| {
            taken += 1;
            if taken == 70 { Err(ArchiveError::Empty) } else { Ok(()) }
        },
    );
    assert!(matches!(stopped, Err(ArchiveError::Empty)) && taken == 70);
    let spoilt = records[100].id();
    a.db.execute("UPDATE run SET json = replace(json, 'local', 'locaI') WHERE id = ?1", [spoilt]).unwrap();
    let mut good = 0;
    let error = a.each_record(
        &keys,
        |_| (),
        |()| {
            good += 1;
            Ok(())
        },
    );
    assert!(matches!(error, Err(ArchiveError::Damaged { id, .. }) if id == spoilt) && good < 150);
    a.remove(records[0].id()).unwrap();
    assert!(matches!(a.each_record(&keys[..1], |_| (), |()| Ok(())), Err(ArchiveError::NotFound(_)) | Ok(())));
}

#[test]
fn what_a_run_measured_is_told_by_its_summary_unless_that_was_changed() {
    let (_dir, mut a) = archive();
    a.insert(&numbered(1)).unwrap();
    let key = a.latest_key().unwrap();
    let timer = rtscope_record::Test::Timer;
    let found = |a: &Archive, filter| a.keys_and_tests(&filter).unwrap();
    assert_eq!(a.test(key).unwrap(), timer);
    assert_eq!(found(&a, Filter::default()), [(key, Some(timer))]);
    assert_eq!(found(&a, Filter { test: Some("timer".into()), ..Filter::default() }), [(key, Some(timer))]);
    // Sealed, but by a version that knew more tests.
    a.db.execute("UPDATE run SET test = 'unheard-of'", []).unwrap();
    super::list::seal(&a.db, key.0).unwrap();
    assert_eq!(a.test(key).unwrap(), timer);
    assert_eq!(found(&a, Filter::default()), [(key, None)]);
    a.db.execute("UPDATE run SET test = 'response'", []).unwrap();
    assert_eq!(a.test(key).unwrap(), timer);
    assert!(a.keys_and_tests(&Filter::default()).is_err());
    a.db.execute("UPDATE run SET json = 'x'", []).unwrap();
    assert!(a.test(key).is_err());
}

#[test]
fn what_is_selected_stays_while_others_write() {
    let (_dir, mut a) = archive();
    a.insert_many(&(0..3).map(numbered).collect::<Vec<_>>()).unwrap();
    let mut other = Archive::open(a.path()).unwrap();
    let seen = a.frozen(|| {
        let keys = a.keys(&Filter::default())?;
        other.remove(numbered(1).id())?;
        other.insert(&numbered(7))?;
        Ok::<_, ArchiveError>((ids(&a, &keys).len(), a.list(&Filter::default())?.len()))
    });
    assert_eq!(seen.unwrap(), (3, 3));
    assert!(a.key(numbered(7).id()).is_ok() && a.key(numbered(1).id()).is_err());
}

#[test]
fn a_summary_that_was_changed_is_noticed_where_only_it_is_read() {
    for change in [
        "max = 1",
        "verdict = 'VALID', interrupted = 0",
        "load = 'none of these'",
        "mean = NULL",
        "started_ns = 0",
        "sha256 = zeroblob(32)",
        "columns_sha256 = NULL",
        "id = 'x'",
    ] {
        let (_dir, mut a) = archive();
        a.insert_many(&(0..3).map(numbered).collect::<Vec<_>>()).unwrap();
        let spoilt = numbered(1);
        a.db.execute(&format!("UPDATE run SET {change} WHERE id = ?1"), [spoilt.id()]).unwrap();
        let (mut sound, mut damaged) = (Vec::new(), 0);
        a.each_summary(&Filter::default(), |s| {
            match s {
                Ok(s) => sound.push(s.id),
                Err(ArchiveError::Damaged { .. }) => damaged += 1,
                Err(e) => return Err(e),
            }
            Ok(())
        })
        .unwrap();
        assert_eq!((sound.len(), damaged), (2, 1), "{change}");
        assert!(matches!(a.list(&Filter::default()), Err(ArchiveError::Damaged { .. })), "{change}");
        assert!(matches!(a.check(), Err(ArchiveError::Damaged { .. })), "{change}");
        if !change.contains("sha256 = z") && !change.starts_with("id") {
            assert_eq!(a.get(spoilt.id()).unwrap(), spoilt, "{change}: the record itself is whole");
        }
    }
    // The checksum is forged too: only the record reveals the change.
    let (_dir, mut a) = archive();
    a.insert(&numbered(1)).unwrap();
    a.db.execute("UPDATE run SET max = 1", []).unwrap();
    list::seal_all(&a.db).unwrap();
    assert_eq!(a.list(&Filter::default()).unwrap()[0].max, Some(1));
    assert!(matches!(a.check(), Err(ArchiveError::Damaged { .. })));
    a.db.execute("DELETE FROM run", []).unwrap();
    a.insert(&numbered(1)).unwrap();
    a.db.execute("UPDATE distribution SET missed = 77 WHERE nr = 1", []).unwrap();
    assert!(matches!(a.check(), Err(ArchiveError::Damaged { what, .. }) if what.contains("distributions")));
}

#[test]
fn an_archive_with_a_schema_of_somebody_else_is_refused_and_left_alone() {
    for (foreign, named) in [
        ("CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; END", "trigger `t` on `run`"),
        ("CREATE VIEW v AS SELECT randomblob(1000000000) FROM run", "view `v`"),
        ("CREATE VIRTUAL TABLE s USING fts5(x)", "table `s"),
        ("CREATE TABLE extra (x)", "table `extra`"),
        ("CREATE INDEX i ON run (abs(max))", "index `i` on `run`"),
        ("DROP INDEX run_started", "index `run_started` on `run` is missing"),
        (
            "ALTER TABLE run ADD COLUMN loud TEXT GENERATED ALWAYS AS (load || load) VIRTUAL",
            "table `run` is not as rtscope makes it",
        ),
        ("ALTER TABLE run RENAME TO real; CREATE VIEW run AS SELECT * FROM real", "`real`"),
    ] {
        let (_dir, mut a) = archive();
        a.insert(&numbered(1)).unwrap();
        let path = a.path().to_path_buf();
        drop(a);
        let db = Connection::open(&path).unwrap();
        if db.execute_batch(foreign).is_err() {
            // This SQLite was built without such tables.
            assert!(foreign.contains("VIRTUAL TABLE"), "{foreign}");
            continue;
        }
        db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        drop(db);
        let before = fs::read(&path).unwrap();
        for opened in [Archive::open(&path), Archive::open_existing(&path)] {
            let error = opened.unwrap_err();
            let text = error.to_string();
            assert!(matches!(error, ArchiveError::ForeignSchema { .. }) && text.contains(named), "{foreign}: {text}");
        }
        assert_eq!(fs::read(&path).unwrap(), before, "{foreign}");
    }
    // The planner's own tables are not foreign.
    let (_dir, a) = archive();
    a.db.execute_batch("ANALYZE").unwrap();
    assert!(Archive::open(a.path()).is_ok());
}

#[test]
fn only_what_is_to_write_makes_an_archive() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("none/archive.db");
    assert!(matches!(Archive::open_existing(&path), Err(ArchiveError::Missing { .. })));
    assert!(matches!(Archive::open_existing(&dir.path().join("x")), Err(ArchiveError::Missing { .. })));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    let empty = dir.path().join("empty.db");
    fs::write(&empty, "").unwrap();
    assert!(matches!(Archive::open_existing(&empty), Err(ArchiveError::NotAnArchive { what, .. }) if what.contains("empty")));
    assert_eq!(fs::read(&empty).unwrap(), b"");
    drop(Archive::open(&empty).unwrap());
    assert_eq!(Archive::open_existing(&empty).unwrap().check().unwrap().runs, 0);
}

#[test]
fn an_older_archive_gets_its_checksums() {
    let (_dir, mut a) = archive();
    a.insert(&numbered(1)).unwrap();
    a.db.execute_batch(
        "DROP TABLE trace; DROP TABLE explanation; ALTER TABLE run DROP COLUMN interval; ALTER TABLE run DROP COLUMN columns_sha256; PRAGMA user_version = 2",
    )
    .unwrap();
    let path = a.path().to_path_buf();
    drop(a);
    let a = Archive::open(&path).unwrap();
    assert_eq!((a.list(&Filter::default()).unwrap().len(), a.check().unwrap().runs), (1, 1));
}

/// A process that looks while another one creates the archive sees none, or a complete one.
#[test]
fn half_an_archive_is_never_found() {
    for _ in 0..50 {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/archive.db");
        std::thread::scope(|scope| {
            let makers = [(); 2].map(|()| scope.spawn(|| Archive::open(&path).map(|_| ())));
            let opened = loop {
                match Archive::open_existing(&path) {
                    Err(ArchiveError::Missing { .. }) => {}
                    opened => break opened,
                }
            };
            opened.unwrap();
            for maker in makers {
                maker.join().unwrap().unwrap();
            }
        });
        let left: Vec<_> = std::fs::read_dir(path.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert!(left.iter().all(|n| n.to_string_lossy().starts_with("archive.db")), "{left:?}");
    }
}
