//! What may happen to an archive from outside: locks, full disks, killed processes, a damaged log. Nothing that was
//! accepted is lost.

use super::tests::{archive, numbered};
use super::*;
use rusqlite::Connection;
use std::fs;
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn a_locked_archive_says_so_and_the_record_is_spilled_and_taken_in_later() {
    let (dir, a) = archive();
    let path = a.path().to_path_buf();
    drop(a);
    let mut a = Archive::open_with(&path, Duration::from_millis(50)).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let r = numbered(1);
    let error = a.insert(&r).unwrap_err();
    assert!(matches!(error, ArchiveError::Locked { .. }), "{error}");
    assert!(error.archive_unusable());
    let spilled = dir.path().join("spilled");
    let file = spill(&r, &spilled).unwrap();
    assert_eq!(spill(&r, &spilled).unwrap(), file, "the same record twice is one file");
    let mut p = r.clone().into_parts();
    p.load = "disk".into();
    let second = spill(&Record::new(p).unwrap(), &spilled).unwrap();
    assert_ne!(second, file, "another record under the same id does not overwrite the first");
    fs::write(spilled.join("broken.json"), "{").unwrap();
    assert_eq!(a.absorb_spilled(&spilled).unwrap().left.len(), 3, "still locked: every file stays");
    other.execute_batch("ROLLBACK").unwrap();
    let absorbed = a.absorb_spilled(&spilled).unwrap();
    assert_eq!(absorbed.imported, [r.id()]);
    assert_eq!(a.get(r.id()).unwrap(), r);
    let mut left: Vec<_> = absorbed.left.iter().map(|(p, _)| p.clone()).collect();
    left.sort();
    assert_eq!(left, [second, spilled.join("broken.json")]);
    assert!(!file.exists());
    assert_eq!(fs::read_dir(&spilled).unwrap().count(), 2, "no temporary file is left");
    assert!(a.absorb_spilled(&dir.path().join("nowhere")).unwrap().imported.is_empty());
}

#[test]
fn the_process_that_holds_the_lock_is_named() {
    let (_dir, a) = archive();
    let path = a.path().to_path_buf();
    let mut holder = child("hold", &path);
    let mut line = String::new();
    BufReader::new(holder.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let mut a = Archive::open_with(&path, Duration::from_millis(20)).unwrap();
    let error = a.insert(&numbered(1)).unwrap_err().to_string();
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(error.contains(&format!("process {} (", holder.id())), "{error}");
    a.insert(&numbered(1)).unwrap();
}

#[test]
fn a_full_disk_loses_nothing_that_was_accepted() {
    let (_dir, mut a) = archive();
    a.db.pragma_update(None, "max_page_count", 60).unwrap();
    fill(&mut a);
}

#[test]
fn a_really_full_disk_loses_nothing_that_was_accepted() {
    let dir = tempfile::tempdir().unwrap();
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=400k", "tmpfs"]).arg(dir.path()).stderr(Stdio::null()).status();
    if !mounted.is_ok_and(|s| s.success()) {
        #[allow(clippy::print_stderr)] // the reason why the test says nothing here
        {
            eprintln!("skipped: no privilege to mount a small tmpfs");
        }
        return;
    }
    let done = std::panic::catch_unwind(|| {
        let mut a = Archive::open(&dir.path().join("archive.db")).unwrap();
        fill(&mut a);
        let error = spill(&numbered(9_999), &dir.path().join("spilled"));
        // The remaining room may suffice for one small file, but half a file must not be left there.
        if let Err(e) = error {
            assert!(matches!(e, ArchiveError::DiskFull { .. }), "{e}");
        }
        for left in fs::read_dir(dir.path().join("spilled")).into_iter().flatten() {
            serde_json::from_slice::<Record>(&fs::read(left.unwrap().path()).unwrap()).unwrap();
        }
    });
    assert!(Command::new("umount").arg(dir.path()).status().unwrap().success());
    if let Err(panic) = done {
        std::panic::resume_unwind(panic);
    }
}

/// Inserts until there is no room. All accepted records must be there, and room made by removing some must be usable.
fn fill(a: &mut Archive) {
    let mut accepted = Vec::new();
    let error = loop {
        let r = numbered(accepted.len() as u64);
        match a.insert(&r) {
            Ok(_) => accepted.push(r),
            Err(e) => break e,
        }
        assert!(accepted.len() < 5_000, "it never got full");
    };
    assert!(matches!(error, ArchiveError::DiskFull { .. }), "{error}");
    assert!(error.archive_unusable() && !accepted.is_empty());
    assert_eq!(a.check().unwrap().runs, accepted.len() as u64);
    for r in &accepted {
        assert_eq!(a.get(r.id()).unwrap(), *r);
    }
}

#[test]
fn a_file_that_cannot_be_written_is_told_apart() {
    // Root may write anywhere, so use a directory that can't be created.
    assert!(matches!(
        Archive::open(Path::new("/proc/rtscope/archive.db")),
        Err(ArchiveError::Io { .. } | ArchiveError::Permission { .. })
    ));
    let (_dir, mut a) = archive();
    a.db.pragma_update(None, "query_only", true).unwrap();
    assert!(matches!(a.insert(&numbered(1)), Err(ArchiveError::Permission { .. })));
}

/// Not a test by itself: the other process of tests that need one. Environment variables tell it what to do.
#[test]
fn the_other_process() {
    let (Ok(job), Some(path)) = (std::env::var("RTSCOPE_TEST_CHILD"), std::env::var_os("RTSCOPE_TEST_ARCHIVE")) else { return };
    let mut out = std::io::stdout();
    let mut a = Archive::open(Path::new(&path)).unwrap();
    if job == "hold" {
        a.db.execute_batch("BEGIN IMMEDIATE").unwrap();
        writeln!(out, "held").unwrap();
        out.flush().unwrap();
        std::thread::sleep(Duration::from_secs(600));
    }
    for i in 0.. {
        a.insert(&numbered(i)).unwrap();
        writeln!(out, "inserted {i}").unwrap();
        out.flush().unwrap();
    }
}

fn child(job: &str, path: &Path) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store::mishap_tests::the_other_process", "--nocapture", "--quiet"])
        .env("RTSCOPE_TEST_CHILD", job)
        .env("RTSCOPE_TEST_ARCHIVE", path)
        .stdout(Stdio::piped())
        .spawn()
        .map(|mut c| {
            // Skip the test harness's own lines.
            let out = c.stdout.as_mut().unwrap();
            let mut byte = [0u8; 1];
            let mut seen = 0;
            while seen < 2 && std::io::Read::read(out, &mut byte).unwrap() == 1 {
                seen += u32::from(byte[0] == b'\n');
            }
            c
        })
        .unwrap()
}

#[test]
fn sigkill_in_the_middle_of_inserting_loses_nothing_that_was_accepted() {
    for wait_for in [1, 7, 23] {
        let (_dir, a) = archive();
        let path = a.path().to_path_buf();
        drop(a);
        let mut inserter = child("insert", &path);
        let mut accepted = Vec::new();
        let mut lines = BufReader::new(inserter.stdout.take().unwrap()).lines();
        for line in lines.by_ref() {
            accepted.extend(line.unwrap().strip_prefix("inserted ").map(|i| i.parse::<u64>().unwrap()));
            if accepted.len() == wait_for {
                inserter.kill().unwrap();
            }
        }
        inserter.wait().unwrap();
        assert!(accepted.len() >= wait_for);
        let a = Archive::open(&path).unwrap();
        assert!(a.check().unwrap().runs >= accepted.len() as u64);
        for i in accepted {
            assert_eq!(a.get(numbered(i).id()).unwrap(), numbered(i));
        }
    }
}

#[test]
fn a_damaged_write_ahead_log_is_cut_where_it_is_damaged() {
    let (dir, mut a) = archive();
    for i in 0..20 {
        a.insert(&numbered(i)).unwrap();
    }
    let copy = dir.path().join("copy.db");
    for (suffix, spoil) in [("", false), ("-wal", true)] {
        let to = holders::with_suffix(&copy, suffix);
        fs::copy(holders::with_suffix(a.path(), suffix), &to).unwrap();
        if spoil {
            let mut f = fs::OpenOptions::new().write(true).open(&to).unwrap();
            let middle = f.metadata().unwrap().len() / 2;
            f.seek(SeekFrom::Start(middle)).unwrap();
            f.write_all(&[0xa5; 64]).unwrap();
        }
    }
    let cut = Archive::open(&copy).unwrap();
    let kept = cut.check().unwrap().runs;
    assert!(kept < 20, "the damaged half can't be there");
    for i in 0..kept {
        assert_eq!(cut.get(numbered(i).id()).unwrap(), numbered(i));
    }
}
