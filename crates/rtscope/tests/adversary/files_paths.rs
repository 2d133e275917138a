//! Files of other users: FIFOs, links, devices and squatters in place of everything that is opened.

use crate::arena;
use crate::files::{Ended, KINDS, NOBODY, as_nobody, put, shell, some_record, within};
use crate::world::{self, Said, World, codes};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::process::Stdio;
use std::time::Duration;

/// Every command that opens a given file; `@` stands for the file.
const OPENS: [&str; 22] = [
    "import @",
    "import --format json @",
    "import --format vcd --answer a @",
    "summarize @",
    "show @.json",
    "export -f json @.json",
    "report @.json -o page.html",
    "compare @.json @.json",
    "campaign run @",
    "campaign status @",
    "measure timer --target fake:@ -t1 -l 10",
    "lab kernels add x --vmlinuz @",
    "lab kernels add x --vmlinuz good --config @",
    "lab boot --vmlinuz @",
    "lab boot --vmlinuz good --config @",
    "fpga info @",
    "measure response --answer fpga:@ -l 1",
    "--archive @ list",
    "--archive @ measure timer --target fake:latencies -t1 -l 10",
    "export -f json -o @",
    "report -o @",
    "measure timer --target fake:latencies -t1 -l 10 --raw @",
];

#[test]
fn what_is_no_file_is_refused_at_once_by_every_command() {
    let w = World::new();
    some_record(&w);
    w.file("good", "no kernel, but a file");
    for kind in KINDS {
        for words in OPENS {
            // As an output, a link is replaced and not followed: another test covers that.
            if kind == "device" && ["-o @", "--raw @"].iter().any(|o| words.ends_with(o)) {
                continue;
            }
            let name = if words.contains("@.json") { "thing.json" } else { "thing" };
            let path = w.path(name);
            put(kind, &path);
            let words =
                words.replace("@.json", "thing.json").replace("fpga:@", &format!("fpga:{}", path.display())).replace('@', "thing");
            let args: Vec<&str> = words.split_whitespace().collect();
            let said = within(Duration::from_secs(60), w.command(&args));
            // If the archive can't be opened, the record is not lost but kept elsewhere.
            let told = said.err.contains("a FIFO") || said.err.contains("a device") || said.err.contains("a directory");
            let other =
                ["No such device", "ENOTTY", "Is a directory", "directory", "socket", "Inappropriate ioctl", "not a serial port"];
            assert!(matches!(said.code, Some(2 | 3)), "{kind}: {words}: {said:?}");
            assert!(told || other.iter().any(|o| said.err.contains(o)), "{kind}: {words}: {said:?}");
            let t = fs::symlink_metadata(&path).unwrap();
            assert!(!t.is_file(), "{kind}: {words}: it was replaced");
            if t.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.unwrap();
        }
    }
}

#[test]
fn settings_and_state_that_are_no_files_are_refused() {
    for kind in KINDS {
        let w = World::new();
        let id = some_record(&w);
        let try_it = |place: &str, words: &str| {
            let path = w.path(place);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let _ = fs::rename(&path, w.path("aside"));
            put(kind, &path);
            let said = within(Duration::from_secs(60), w.command(&words.split_whitespace().collect::<Vec<_>>()));
            let t = fs::symlink_metadata(&path).unwrap();
            if t.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.unwrap();
            let _ = fs::rename(w.path("aside"), &path);
            said
        };
        try_it("config/rtscope/config.toml", "list").ends_with(2).complains(&["config.toml"]);
        try_it("data/rtscope/archive.db", "list").ends_with(3).complains(&["archive.db"]);
        // SQLite would wait for these.
        try_it("data/rtscope/archive.db-journal", "list").ends_with(3).complains(&["archive.db-journal"]);
        try_it("data/rtscope/archive.db-wal", "list").ends_with(3).complains(&["archive.db-wal"]);
        try_it("data/rtscope/archive.db.spill/x.json", "list").ends_with(0).complains(&["x.json", "was not taken"]);
        // A file that can be made anew need not be readable; leftovers of another process are ignored.
        try_it("cache/rtscope/kernels/own/x/amd64/manifest.json", "lab kernels").complains(&[]);
        let plan = "name = \"p\"\ntargets = [\"fake:latencies\"]\nloads = [\"none\"]\n[[tests]]\ntest = \"timer\"\ninterval = \"1ms\"\nduration = \"10ms\"\n";
        w.file("plan.toml", plan);
        for file in ["lock", "journal.ndjson", "campaign.json"] {
            try_it(&format!("campaign/{file}"), "campaign run plan.toml --state campaign").ends_with(3).complains(&[file]);
            fs::remove_dir_all(w.path("campaign")).unwrap();
        }
        try_it("state/rtscope/journal/1-1-1.json", "measure timer --target fake:latencies -t1 -l 10").complains(&["journal entry"]);
        w.line(&format!("show {id}")).ends_with(4);
    }
}

#[test]
fn streams_that_are_meant_are_read_and_written() {
    let w = World::new();
    some_record(&w);
    let json = w.line("show --json").ends_with(4).out;
    w.file("record.json", &json);
    let sh = |words: &str| {
        let mut c = w.command_of("bash");
        c.args(["-c", words]).env("R", world::PROGRAM).env("RTSCOPE_ARCHIVE", w.path("other.db"));
        within(Duration::from_secs(60), c)
    };
    sh("$R import <(cat record.json)").ends_with(0);
    sh("cat record.json | $R import -").ends_with(0);
    sh("cat record.json | $R import /dev/stdin").ends_with(0);
    sh("$R import - <record.json").ends_with(0);
    sh("printf 12345678 | $R summarize /dev/stdin").ends_with(0);
    sh("$R import - </dev/zero").ends_with(3).complains(&["a device"]);
    sh("$R summarize - </dev/zero").ends_with(2).complains(&["a device"]);
    sh("$R import - <.").ends_with(3).complains(&["a directory"]);
    sh("$R export -f json -o >(cat >copy); sleep 0.2; cmp -s copy record.json || [ -s copy ]").ends_with(0);
    let out = sh("$R export -f json -o /dev/stdout | head -c 1").ends_with(0).out;
    assert_eq!(out, "{");
}

#[test]
fn a_wait_for_a_stream_ends_by_a_signal() {
    let w = World::new();
    for words in ["import -", "import /dev/stdin", "summarize -"] {
        let args: Vec<&str> = words.split_whitespace().collect();
        let mut child = w.command(&args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let held = child.stdin.take();
        std::thread::sleep(Duration::from_millis(300));
        assert!(child.try_wait().unwrap().is_none(), "{words}: it waits");
        world::signal(child.id(), libc::SIGTERM);
        let said = world::end_of(child);
        assert!(said.code.is_none() || said.code == Some(130), "{words}: {said:?}");
        drop(held);
    }
}

#[test]
fn outputs_do_not_follow_links_nor_reuse_names() {
    let w = World::new();
    some_record(&w);
    let outputs = ["report -o", "export -f json -o", "measure timer --target fake:latencies -t1 -l 10 --raw", "compare --html"];
    for words in outputs {
        let precious = w.file("precious", "precious");
        let out = w.path("out");
        symlink(&precious, &out).unwrap();
        let mut args: Vec<&str> = words.split_whitespace().collect();
        args.push("out");
        if words.starts_with("compare") {
            args.extend(["latest", "latest"]);
        }
        let said = w.run(&args);
        assert!(matches!(said.code, Some(0 | 4)), "{words}: {said:?}");
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious", "{words}");
        assert!(fs::symlink_metadata(&out).unwrap().is_file(), "{words}");
        fs::remove_file(&out).unwrap();
        let left: Vec<_> = fs::read_dir(w.path("")).unwrap().flatten().map(|e| e.file_name()).collect();
        assert!(!left.iter().any(|n| n.to_string_lossy().contains(".part")), "{words}: {left:?}");
    }
    // Directories of pictures and of man pages.
    let precious = w.file("precious", "precious");
    fs::create_dir(w.path("man")).unwrap();
    symlink(&precious, w.path("man/rtscope.1")).unwrap();
    w.line("man man").ends_with(0);
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    assert!(fs::symlink_metadata(w.path("man/rtscope.1")).unwrap().is_file());
}

#[test]
fn what_another_user_puts_beside_the_archive_is_not_taken_in() {
    arena::apart(|| {
        let w = World::new();
        some_record(&w);
        let forged = w.line("show --json").out.replace("\"id\":\"2", "\"id\":\"1");
        let dir = w.path("data/rtscope/archive.db.spill");
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).unwrap();
        let path = dir.join("forged.json");
        fs::write(&path, &forged).unwrap();
        chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        symlink(&path, dir.join("link.json")).unwrap();
        let said =
            w.line("list --json").ends_with(0).complains(&["forged.json", "belongs to user 65534", "link.json", "a symbolic link"]);
        assert_eq!(serde_json::from_str::<Vec<serde_json::Value>>(&said.out).unwrap().len(), 1);
    });
}

/// Files and directories under `dir` that others could read.
fn open_to_others(dir: &std::path::Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let about = entry.metadata().unwrap();
        if about.mode() & 0o077 != 0 {
            found.push(format!("{} {:o}", entry.path().display(), about.mode() & 0o777));
        }
        if about.is_dir() {
            open_to_others(&entry.path(), found);
        }
    }
}

#[test]
fn what_is_kept_is_private_whatever_the_umask_and_what_was_asked_for_has_the_users() {
    let measure = "measure timer -a 0 -l 20 -i 1ms --policy other --load calculation --quiet --raw samples.bin";
    // With the last one nobody but root can use a directory that he has made.
    let all = ["000", "022", "077", "777"];
    for umask in &all[..if world::root() { 4 } else { 3 }] {
        let w = World::new();
        let run = |line: &str| {
            let script = format!("umask {umask}; cd \"$0\"; exec {} {line}", world::PROGRAM);
            let out: Said = w.command_of("sh").args(["-c", &script]).arg(w.path("")).output().unwrap().into();
            assert!(matches!(out.code, Some(0 | 4)), "umask {umask}: {line}: {out:?}");
        };
        for line in [measure, "key generate --name me", "report last=1 -o page.html --svg pictures/all", "man pages"] {
            run(line);
        }
        let mut found = Vec::new();
        for kept in ["data", "config", "state", "cache", "home"] {
            open_to_others(&w.path(kept), &mut found);
        }
        assert_eq!(found, [""; 0], "umask {umask}");
        assert!(w.path("data/rtscope/archive.db").exists() && w.path("config/rtscope/key").exists());
        let users = 0o777 & !u32::from_str_radix(umask, 8).unwrap();
        let mode = |name: &str| fs::metadata(w.path(name)).unwrap().mode() & 0o777;
        if *umask != "777" {
            assert_eq!(["pictures", "pictures/all", "pages"].map(mode), [users; 3], "umask {umask}");
        }
        assert_eq!(["samples.bin", "page.html"].map(mode), [users & 0o666; 2], "umask {umask}");
    }
}

#[test]
fn a_place_for_lines_that_is_somebody_elses_is_refused() {
    let words = "measure response --stimulus soft:a --answer soft:b -l 5 -i 100ms --no-save";
    arena::apart(|| {
        let w = World::new();
        let place = "/dev/shm/rtscope-0";
        let squats = [
            (format!("mkdir -m 777 {place} && chown {NOBODY} {place}"), "belongs to user 65534"),
            (format!("mkdir -m 777 {place}"), "mode 777"),
            (format!("mkdir -m 700 /dev/shm/x && ln -s x {place}"), "a symbolic link"),
            (format!("mkfifo {place}"), "a FIFO"),
            (format!("touch {place}"), "where a directory is expected"),
            (format!("mkdir -m 700 {place} && mkfifo {place}/line-a"), "a FIFO"),
            (format!("mkdir -m 700 {place} && ln -s /etc/passwd {place}/line-a"), "a symbolic link"),
            (format!("mkdir -m 700 {place} && touch {place}/line-a && chown {NOBODY} {place}/line-a"), "belongs to user 65534"),
        ];
        for (squat, why) in squats {
            shell(&squat);
            let said = within(Duration::from_secs(60), w.command(&words.split_whitespace().collect::<Vec<_>>()));
            assert!(matches!(said.code, Some(2 | 3)), "{squat}: {said:?}");
            said.complains(&[why]);
            shell(&format!("rm -rf {place} /dev/shm/x"));
        }
        assert_eq!(fs::read_to_string("/etc/passwd").unwrap().lines().next().unwrap().split(':').next(), Some("root"));
        w.line(words).measured();
        let made = fs::metadata(place).unwrap();
        assert_eq!((made.uid(), made.mode() & 0o777), (0, 0o700));
    });
}

#[test]
fn another_user_can_not_drive_ones_line() {
    arena::apart(|| {
        let w = World::new();
        // The attacker owns a home, and the program is where the attacker can run it.
        fs::set_permissions(w.path(""), fs::Permissions::from_mode(0o777)).unwrap();
        world::copy_program(world::PROGRAM, &w.path("rtscope"));
        for dir in ["data", "state", "config", "cache", "home", "tmp"] {
            fs::set_permissions(w.path(dir), fs::Permissions::from_mode(0o777)).unwrap();
        }
        let program = w.path("rtscope");
        let attack = ["dut", "periodic", "--out", "soft:b", "--semi-period", "1ms", "--priority", "0", "-D", "20s"];
        let Some(mut theirs) = as_nobody(&w, program.to_str().unwrap(), &attack) else { return };
        let theirs = Ended(theirs.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
        world::wait_for("the other user's line", || fs::metadata(format!("/dev/shm/rtscope-{NOBODY}/line-b")).ok());
        let words = "measure response --stimulus soft:a --answer soft:b -l 40 -i 50ms --no-save --json";
        let record = w.line(words).measured().record();
        for d in record.distributions() {
            assert_eq!(d.spurious(), 0, "{}: {:?}", d.label(), codes(&record));
        }
        // Nor can they reach our line through its file.
        shell("mkdir -p -m 700 /dev/shm/rtscope-0 && touch /dev/shm/rtscope-0/line-z");
        let mut peek = as_nobody(&w, "sh", &["-c", "cat /dev/shm/rtscope-0/line-z || ls /dev/shm/rtscope-0"]).unwrap();
        assert!(!peek.stderr(Stdio::null()).status().unwrap().success());
        drop(theirs);
    });
}
