//! Bad input and unusable files and directories: a clear error with its exit code, and nothing lost.

use crate::world::{PROGRAM, Said, World, codes, copy_program, cpus, privileged, root, skip};
use rtscope_record::{Record, Verdict};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const NOBODY: u32 = 65534;
const MEASURE: &str = "measure timer -D 200ms --json";

/// A command as an ordinary user, with a copy of the program that this user may run; `None` if we can't become that user.
fn as_nobody(w: &World, words: &str) -> Option<Command> {
    let program = if root() {
        let open = |path: PathBuf, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        open(w.path(""), 0o755);
        for dir in ["data", "state", "config", "cache", "home", "tmp"] {
            open(w.path(dir), 0o777);
        }
        let program = w.path("rtscope");
        if !program.exists() {
            copy_program(PROGRAM, &program);
            open(program.clone(), 0o755);
        }
        program
    } else if privileged() {
        return None;
    } else {
        PROGRAM.into()
    };
    let mut c = w.command_of(&program);
    c.args(words.split_whitespace());
    if root() {
        c.uid(NOBODY).gid(NOBODY);
        let tried = w.command_of("/bin/true").uid(NOBODY).gid(NOBODY).status();
        let reaches = w.command_of(&program).arg("--version").uid(NOBODY).gid(NOBODY).output();
        if !tried.is_ok_and(|s| s.success()) || !reaches.is_ok_and(|o| o.status.success()) {
            return None;
        }
    }
    Some(c)
}

#[test]
fn without_privilege_the_verdict_says_so() {
    let w = World::new();
    let Some(mut command) = as_nobody(&w, MEASURE) else { return skip("no ordinary user can be had") };
    let said: Said = command.output().unwrap().into();
    let r = said.ends_with(4).record();
    assert_eq!(r.verdict(), Verdict::Invalid);
    let found = codes(&r);
    assert!(found.contains(&"priority-refused") || found.contains(&"memory-not-locked"), "{found:?}");
    for d in r.distributions() {
        assert!((d.count() + d.missed()).abs_diff(200) <= 1, "it measured all the same");
    }
    for code in ["priority-refused", "memory-not-locked"].iter().filter(|c| found.contains(*c)) {
        let w = r.parts().warnings.iter().find(|w| w.code == **code).unwrap();
        assert!(w.remedy.contains("limits.conf"), "{}", w.remedy);
    }
    let table: Said = as_nobody(&w, "measure timer -D 200ms").unwrap().output().unwrap().into();
    let table = table.ends_with(4).out;
    assert!(table.contains("INVALID") && table.contains("remedy:") && table.contains("limits.conf"), "{table}");
    let cyclictest: Said = as_nobody(&w, "cyclictest -q -Sp90 -m -D 1 -h 50").unwrap().output().unwrap().into();
    cyclictest.ends_with(4).complains(&["INVALID", "try:"]);
    // A limit for a real-time task can't be judged by an ordinary task.
    let asserted: Said = as_nobody(&w, "measure timer -D 200ms --assert max<1h").unwrap().output().unwrap().into();
    asserted.ends_with(4);
}

#[test]
fn what_can_not_be_asked_is_usage() {
    let w = World::new();
    let all = cpus();
    let absent = format!("-a {}", all.iter().max().unwrap() + 1);
    for (words, part) in [
        (&*absent, "is not one that this process may use"),
        ("-a 4095", "CPU 4095"),
        ("-a 0-99999999999", "not a list of CPUs"),
        ("-a ,", "not a list of CPUs"),
        ("-i 0", "interval is 0"),
        ("-i 0us", "interval is 0"),
        ("-i 999ns", "below 1us"),
        ("-i 2d", "above one day"),
        ("-i -5", "-5"),
        ("-i 1e3", "1e3"),
        ("-i 18446744073709551616", "18446744073709551616"),
        ("-D 0", "shorter than one interval"),
        ("-D 1fortnight", "fortnight"),
        ("-D 99999999999999999999h", "out of range"),
        ("--loops 0", "0 loops"),
        ("--loops -1", "-1"),
        ("--loops 5 -D 1", "cannot be used with"),
        ("-t 0", "0 threads"),
        ("-t 5000", "5000 threads"),
        ("-t 4294967296", "4294967296"),
        ("-p 0", "priority 0"),
        ("-p 100", "priority 100"),
        ("-p 256", "256"),
        ("--policy idle", "not a scheduling policy"),
        ("--load nonsense", "not a load"),
        ("--load none,", "not a load"),
        ("--load stress-ng:", "no stressor"),
        ("--load stress-ng:--timeout=5", "refused"),
        ("--target nonsense", "not a target"),
        ("--target ssh://-x", "names no machine"),
        ("--space kernel --migrate", "timer in the kernel"),
        ("--space moon", "moon"),
        ("--assert p99", "compares nothing"),
        ("--worst 99999", "99999"),
        ("-S -t 2", "cannot be used with"),
        ("--raw /no/such/dir/raw.csv", "/no/such/dir/raw.csv"),
        ("--nonsense", "--nonsense"),
        ("stray", "stray"),
    ] {
        let said = w.line(&format!("measure timer {words}"));
        assert_eq!(said.code, Some(2), "{words}: {said:?}");
        assert!(said.err.contains(part) && said.out.is_empty(), "{words}: no `{part}` in {said:?}");
        assert!(!said.err.contains("panicked"), "{said:?}");
    }
    assert!(!w.archive().exists(), "nothing was measured");
}

#[test]
fn files_that_are_none_are_refused_and_change_nothing() {
    let w = World::new();
    let fixture = |name: &str| {
        fs::read_to_string(format!("{}/../rtscope-archive/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    };
    let record = w.line("measure timer -D 100ms --json --no-save").record();
    let json = serde_json::to_string(&record).unwrap();
    let table = fixture("a24-smp.txt");
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("empty", Vec::new()),
        ("blank", b" \n\n".to_vec()),
        ("words", b"these are no figures\n".to_vec()),
        ("bytes", (0..=255).collect()),
        ("zeros", vec![0; 100_000]),
        ("cut.txt", table.as_bytes()[..table.len() / 2].to_vec()),
        ("cut.json", json.as_bytes()[..json.len() / 2].to_vec()),
        ("cut-cyclictest.json", fixture("a24.json").as_bytes()[..400].to_vec()),
        ("count.txt", table.replacen("000187", "000188", 1).into_bytes()),
        ("version.json", json.replacen("rtscope-record/1", "rtscope-record/9", 1).into_bytes()),
        ("verdict.json", json.replacen("\"verdict\":\"", "\"verdict\":\"X", 1).into_bytes()),
        ("count.json", json.replacen("\"count\":", "\"count\":1", 1).into_bytes()),
        ("number.json", b"99999999999999999999999999999999".to_vec()),
        ("deep.json", b"[".repeat(200_000)),
        ("null.json", b"null".to_vec()),
        ("list.json", b"[]".to_vec()),
    ];
    for (name, bytes) in cases {
        let path = w.file(name, &bytes);
        let path = path.to_str().unwrap();
        let said = w.run(&["import", path]);
        assert!(said.code == Some(3) && said.err.starts_with("rtscope: error: ") && said.err.contains(name), "{name}: {said:?}");
        assert!(said.out.is_empty());
        assert_eq!(w.feed(&["import", "-"], &bytes).code, Some(3), "{name}");
        if Path::new(name).extension().is_some_and(|e| e == "json") {
            let said = w.run(&["show", path]);
            assert!(matches!(said.code, Some(2 | 3)) && said.err.contains(name), "{name}: {said:?}");
        }
    }
    for path in ["no-such-file", "/", "/proc/self/mem"] {
        let said = w.run(&["import", path]);
        assert!(matches!(said.code, Some(2 | 3)) && said.err.contains(path), "{said:?}");
    }
    assert_eq!(w.records().len(), 0, "nothing of any of them");
    // A bad file among good ones: the files before it stay imported, and the error names it.
    w.file("good.txt", &table);
    w.line("import good.txt words good.txt").ends_with(3).complains(&["words"]);
    assert_eq!(w.records().len(), 1);
}

/// The record in the file that the error message names.
#[track_caller]
fn kept_in(said: &Said) -> (PathBuf, Record) {
    let path = said.err.split_once("the record is kept in ").and_then(|(_, rest)| rest.split_once("; `rtscope import`")).unwrap().0;
    (path.into(), serde_json::from_slice(&fs::read(path).unwrap()).unwrap())
}

/// The only record that was spilled into `dir`.
#[track_caller]
fn spilled(dir: &Path) -> (PathBuf, Record) {
    let files: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    let files: Vec<&PathBuf> = files.iter().filter(|p| p.extension().is_some_and(|e| e == "json")).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    (files[0].clone(), serde_json::from_slice(&fs::read(files[0]).unwrap()).unwrap())
}

#[test]
fn a_corrupt_archive_costs_no_record() {
    for damage in [0, 4096, 20_000] {
        let w = World::new();
        let first = w.line(MEASURE).measured().record();
        let mut bytes = fs::read(w.archive()).unwrap();
        let end = bytes.len().min(damage + 3000);
        bytes[damage.min(end)..end].fill(0xa5);
        for extra in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{extra}", w.archive().display()));
        }
        fs::write(w.archive(), &bytes).unwrap();
        let said = w.line(MEASURE).ends_with(3).complains(&["archive.db", "the record is kept in"]);
        let record = said.record();
        let spill = w.path("data/rtscope/archive.db.spill");
        assert_eq!(spilled(&spill).1, record);
        for words in ["list", "show", "verify"] {
            w.line(words).ends_with(3).complains(&["archive.db"]);
        }
        assert_eq!(fs::read(w.archive()).unwrap(), bytes, "a damaged archive is left for its owner to mend");
        // The user moves the archive away: the next run takes the spilled record in.
        fs::rename(w.archive(), w.path("damaged.db")).unwrap();
        let said = w.line(MEASURE).measured();
        said.record();
        let kept = w.records();
        assert!(kept.contains(&record) && kept.len() == 2 && !kept.contains(&first), "{}", kept.len());
        assert_eq!(fs::read_dir(&spill).unwrap().count(), 0);
    }
}

#[test]
fn a_file_that_is_no_archive_is_left_alone() {
    let w = World::new();
    let letter = w.file("letter.txt", "Dear reader,\n".repeat(500));
    let before = fs::read(&letter).unwrap();
    for words in ["list", MEASURE] {
        let args: Vec<&str> = words.split_whitespace().chain(["--archive", "letter.txt"]).collect();
        w.run(&args).ends_with(3).complains(&["letter.txt"]);
        assert_eq!(fs::read(&letter).unwrap(), before);
    }
    assert_eq!(w.line("list --archive data").ends_with(3).complains(&["directory"]).out, "");
}

#[test]
fn a_locked_archive_costs_no_record() {
    let w = World::new();
    w.line(MEASURE).measured();
    let lock = rusqlite::Connection::open(w.archive()).unwrap();
    lock.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let record = w.line(MEASURE).ends_with(3).complains(&["the archive is locked by", "the record is kept in"]).record();
    assert_eq!(spilled(&w.path("data/rtscope/archive.db.spill")).1, record);
    lock.execute_batch("ROLLBACK").unwrap();
    drop(lock);
    w.line("list").ends_with(0).complains(&["taken into the archive from an earlier run", record.id()]);
    assert!(w.records().contains(&record) && w.records().len() == 2);
}

/// A small file system in memory, unmounted when dropped.
struct Small(PathBuf);

impl Small {
    fn new(w: &World, size: &str) -> Option<Self> {
        let dir = w.path("small");
        fs::create_dir(&dir).unwrap();
        let options = format!("size={size},mode=0777");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(&dir).output();
        mounted.is_ok_and(|o| o.status.success()).then_some(Self(dir))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_file_system_costs_no_record() {
    // One too small for any archive, and one that fills up later.
    for (size, fill) in [("64k", false), ("2m", true)] {
        let w = World::new();
        let Some(small) = Small::new(&w, size) else { return skip("no tmpfs can be mounted here (needs root)") };
        let archive = small.0.join("archive.db");
        let run = |words: &str| -> Said {
            let words: Vec<&str> = words.split_whitespace().collect();
            w.command(&words).env("RTSCOPE_ARCHIVE", &archive).output().unwrap().into()
        };
        if fill {
            run(MEASURE).measured();
            let mut ballast = fs::File::create(small.0.join("ballast")).unwrap();
            while std::io::Write::write_all(&mut ballast, &[1; 4096]).is_ok() {}
        }
        let said = run(MEASURE).ends_with(3).complains(&["no room left"]);
        let (record, (file, kept)) = (said.record(), kept_in(&said));
        assert_eq!(kept, record);
        if fill {
            fs::remove_file(small.0.join("ballast")).unwrap();
            let said = run(&format!("import {}", file.display())).ends_with(0);
            assert_eq!(said.out.trim(), record.id());
            assert_eq!(run("list --json").out.matches("\"id\"").count(), 2, "what was there before is whole");
            run("verify").ends_with(0);
        }
        // Writing other results fails with a clear error too.
        let report = format!("report {} -o {}", file.display(), small.0.join("page.html").display());
        if !fill {
            run(&report).ends_with(3).complains(&["No space left"]);
            assert!(!small.0.join("page.html").exists());
        }
    }
}

#[test]
fn raw_samples_that_do_not_fit_are_told() {
    let w = World::new();
    let said = w.line("measure timer -D 300ms --json --raw /dev/full").ends_with(3);
    let said = said.complains(&["/dev/full", "the raw samples are incomplete"]);
    assert_eq!(w.records(), [said.record()], "the record itself is kept");
}

#[test]
fn a_directory_that_can_not_be_written_costs_no_record() {
    let w = World::new();
    let Some(mut command) = as_nobody(&w, MEASURE) else { return skip("no ordinary user can be had") };
    fs::set_permissions(w.path("data"), fs::Permissions::from_mode(0o555)).unwrap();
    let said: Said = command.output().unwrap().into();
    let said = said.ends_with(3).complains(&["data", "the record is kept in"]);
    assert_eq!(spilled(&w.path("tmp")).1, said.record());
    fs::set_permissions(w.path("data"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_record_that_fits_nowhere_is_printed() {
    let w = World::new();
    let Some(mut command) = as_nobody(&w, "measure timer -D 200ms") else { return skip("no ordinary user can be had") };
    for dir in ["data", "tmp"] {
        fs::set_permissions(w.path(dir), fs::Permissions::from_mode(0o555)).unwrap();
    }
    let said: Said = command.output().unwrap().into();
    let said = said.ends_with(3).complains(&["could not be written anywhere"]);
    let line = said.out.lines().find(|l| l.starts_with('{')).unwrap();
    let r: Record = serde_json::from_str(line).unwrap();
    assert!(r.distributions().iter().all(|d| d.count() > 0));
    for dir in ["data", "tmp"] {
        fs::set_permissions(w.path(dir), fs::Permissions::from_mode(0o755)).unwrap();
    }
}
