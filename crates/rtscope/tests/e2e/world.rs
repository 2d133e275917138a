//! A home directory for each case, the program in it, and helpers that read `/proc`.

use rtscope_record::{Record, Verdict};
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The built program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_rtscope");

/// A directory that is the user's home for one case.
pub(crate) struct World {
    root: tempfile::TempDir,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Said {
    /// Exit code; `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Said {
    fn from(o: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program writes UTF-8");
        Self { code: o.status.code(), out: text(o.stdout), err: text(o.stderr) }
    }
}

impl Said {
    /// The record on standard output, checked by its own reader.
    #[track_caller]
    pub(crate) fn record(&self) -> Record {
        serde_json::from_str(self.out.trim()).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// Asserts the exit code.
    #[track_caller]
    pub(crate) fn ends_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.out, self.err);
        self
    }

    /// Asserts that it measured: exit code 0, or 4 if this user may not have a real-time priority.
    #[track_caller]
    pub(crate) fn measured(self) -> Self {
        self.ends_with(if privileged() { 0 } else { 4 })
    }

    /// Asserts that standard error holds each of `parts`.
    #[track_caller]
    pub(crate) fn complains(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.err.contains(part), "no `{part}` in: {}", self.err);
        }
        self
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self::within(tempfile::tempdir().unwrap())
    }

    /// A world on a disk, for loads: /tmp may be in memory.
    pub(crate) fn on_disk() -> Self {
        Self::within(tempfile::tempdir_in("/var/tmp").unwrap())
    }

    fn within(root: tempfile::TempDir) -> Self {
        for dir in ["data", "state", "config", "cache", "home", "tmp"] {
            fs::create_dir(root.path().join(dir)).unwrap();
        }
        Self { root }
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes a file into the world and returns its path.
    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn archive(&self) -> PathBuf {
        self.path("data/rtscope/archive.db")
    }

    /// `program` in this world: it neither sees nor touches the user's files and settings.
    pub(crate) fn command_of(&self, program: impl AsRef<OsStr>) -> Command {
        // However the tests were started, the program reacts to signals.
        let mut c = rtscope_sys::process::command(program);
        let ours = ["RTSCOPE_PROBES", "RTSCOPE_SSH_CONFIG", "RTSCOPE_SSH_PATIENCE"];
        for name in ours {
            c.env_remove(name);
        }
        for name in ["RTSCOPE_ARCHIVE", "RTSCOPE_PROBE", "RTSCOPE_CACHE", "NO_COLOR", "COLUMNS", "LINES", "TERM", "CLICOLOR_FORCE"]
        {
            c.env_remove(name);
        }
        c.env("HOME", self.path("home")).env("XDG_DATA_HOME", self.path("data")).env("XDG_STATE_HOME", self.path("state"));
        c.env("XDG_CONFIG_HOME", self.path("config")).env("XDG_CACHE_HOME", self.path("cache")).env("TMPDIR", self.path("tmp"));
        c.current_dir(self.root.path()).stdin(Stdio::null());
        c
    }

    /// The program in this world.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut c = self.command_of(PROGRAM);
        c.args(args);
        c
    }

    /// Runs the program to its end.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Said {
        said_by(&mut self.command(args))
    }

    /// Runs the program with the words of a line.
    pub(crate) fn line(&self, words: &str) -> Said {
        self.run(&words.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs the program with `input` on its standard input.
    pub(crate) fn feed<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Said {
        let mut child = self.command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut to = child.stdin.take().unwrap();
        let input = input.to_vec();
        // A program that refuses early does not read all of it.
        let writer = std::thread::spawn(move || drop(to.write_all(&input)));
        let said = child.wait_with_output().unwrap().into();
        writer.join().unwrap();
        said
    }

    /// Starts the program; its output waits in pipes.
    pub(crate) fn start(&self, words: &str) -> Child {
        let words: Vec<&str> = words.split_whitespace().collect();
        self.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The records in the archive, newest first, as the program prints them.
    pub(crate) fn records(&self) -> Vec<Record> {
        let list = self.line("list --json").ends_with(0);
        let runs: Vec<serde_json::Value> = serde_json::from_str(&list.out).unwrap();
        runs.iter().map(|r| self.line(&format!("show --json {}", r["id"].as_str().unwrap())).record()).collect()
    }
}

/// Copies a program, by another process: a file that is open for writing here while another test forks could not be run
/// (ETXTBSY).
#[track_caller]
pub(crate) fn copy_program(from: impl AsRef<OsStr>, to: &Path) {
    assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success());
}

/// How long something may take before it is said not to come: far longer than on a machine with all CPUs busy. Beside loads of other
/// tests a run of 25 s took more than 180.
const LIMIT: Duration = Duration::from_secs(600);

/// Runs `command` to its end, at most for [`LIMIT`].
#[track_caller]
pub(crate) fn said_by(command: &mut Command) -> Said {
    end_of(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

/// Waits for a started program to end, at most [`LIMIT`].
#[track_caller]
pub(crate) fn end_of(mut child: Child) -> Said {
    // Read concurrently, or a full pipe would keep the program from ending.
    let out = child.stdout.take().map(read_all);
    let err = child.stderr.take().map(read_all);
    let end = Instant::now() + LIMIT;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > end {
            child.kill().unwrap();
            panic!("still running after {LIMIT:?}: {:?}", [out, err].map(|said| said.map(std::thread::JoinHandle::join)));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let text = |reader: Option<std::thread::JoinHandle<String>>| reader.map(|r| r.join().unwrap()).unwrap_or_default();
    Said { code: status.code(), out: text(out), err: text(err) }
}

fn read_all(mut from: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    })
}

/// Waits until `found` returns something, at most [`LIMIT`].
#[track_caller]
pub(crate) fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + LIMIT;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < end, "waited {LIMIT:?} in vain for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn signal(pid: u32, signal: i32) {
    rtscope_sys::kill(i32::try_from(pid).unwrap(), signal).unwrap();
}

/// All processes as (PID, parent's PID), without those that have ended.
pub(crate) fn processes() -> Vec<(u32, u32)> {
    let pids = fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| {
        let stat = String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/stat")).ok()?).into_owned();
        let (_, rest) = stat.rsplit_once(") ")?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        Some((pid, fields.next()?.parse().ok()?)).filter(|_| !matches!(state, "Z" | "X"))
    })
    .collect()
}

pub(crate) fn children(pid: u32) -> Vec<u32> {
    processes().into_iter().filter(|(_, parent)| *parent == pid).map(|(pid, _)| pid).collect()
}

pub(crate) fn descendants(pid: u32) -> Vec<u32> {
    let all = processes();
    let (mut found, mut next) = (Vec::new(), vec![pid]);
    while let Some(parent) = next.pop() {
        let own: Vec<u32> = all.iter().filter(|p| p.1 == parent).map(|p| p.0).collect();
        found.extend(&own);
        next.extend(own);
    }
    found
}

/// The probe of a running `rtscope`, once each of its measuring threads has slept and woken up several times: on a busy machine
/// it may take a while from their start to their first sample.
#[track_caller]
pub(crate) fn probe_of(rtscope: u32) -> u32 {
    wait_for("the probe's measuring threads", || find_probe(rtscope))
}

pub(crate) fn find_probe(rtscope: u32) -> Option<u32> {
    children(rtscope).into_iter().find(|&c| {
        let sleeps = measuring_sleeps(c);
        !sleeps.is_empty() && sleeps.iter().all(|&n| n >= 8)
    })
}

/// How often each measuring thread of a probe went to sleep.
fn measuring_sleeps(probe: u32) -> Vec<u64> {
    let tasks = fs::read_dir(format!("/proc/{probe}/task")).into_iter().flatten().flatten();
    let status = tasks.filter_map(|t| fs::read_to_string(t.path().join("status")).ok());
    let figure = |status: &str, key: &str| status.lines().find_map(|l| Some(l.strip_prefix(key)?.trim().to_owned()));
    let measuring = status.filter(|s| figure(s, "Name:").is_some_and(|n| n.starts_with("rts-")));
    measuring.filter_map(|s| figure(&s, "voluntary_ctxt_switches:")?.parse().ok()).collect()
}

/// Whether this process may have a real-time priority and lock its memory: root with its capabilities.
pub(crate) fn privileged() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let effective = status.lines().find_map(|l| l.strip_prefix("CapEff:")).unwrap().trim();
    let bits = u64::from_str_radix(effective, 16).unwrap();
    // CAP_IPC_LOCK 14, CAP_SYS_NICE 23 (linux/capability.h)
    bits & (1 << 14) != 0 && bits & (1 << 23) != 0
}

/// Whether the tests run as root.
pub(crate) fn root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Prints that a case was left out, and why; for use as `return skip(..)`.
#[allow(clippy::print_stderr)] // the test runner shows it
pub(crate) fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

/// Whether a program is installed.
pub(crate) fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]).any(|d| d.join(program).is_file())
}

/// Codes of a record's warnings.
pub(crate) fn codes(r: &Record) -> Vec<&str> {
    r.parts().warnings.iter().map(|w| w.code.as_str()).collect()
}

/// Asserts that the counts of every distribution add up to the grid points that passed.
#[track_caller]
pub(crate) fn adds_up(r: &Record, points: impl Fn(usize) -> u64) {
    for (i, d) in r.distributions().iter().enumerate() {
        let passed = d.count() + d.missed();
        assert_eq!(Some(passed), d.parts().expected, "{}", d.label());
        assert!(passed.abs_diff(points(i)) <= 1, "{}: {passed} points passed, not {}", d.label(), points(i));
        assert_eq!((d.overflow(), d.dropped(), d.spurious()), (0, 0, 0));
    }
    if privileged() {
        assert!(r.verdict() < Verdict::Invalid || codes(r).contains(&"fake"), "{:?}", codes(r));
    }
}

/// CPUs that this process may use.
pub(crate) fn cpus() -> Vec<u32> {
    rtscope_sys::rt::allowed_cpus().unwrap()
}
