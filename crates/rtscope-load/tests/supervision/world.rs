//! A private place for each case, and checks of what is left in it.

use rtscope_load::{Isolation, Journal, Load, LoadHandle, Reexec, StartOptions};
use rtscope_record::LoadProof;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// A case returns `None`, or why it was skipped.
pub(crate) type Case = fn(&World) -> Option<String>;

/// Runs the cases that the command line names, each in its own place, or lists them.
pub(crate) fn run(cases: &[(&str, Case)]) -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let wanted: Vec<&String> = args.iter().filter(|a| !a.starts_with('-')).collect();
    let mut failed = 0;
    let mut out = std::io::stdout();
    for (name, case) in cases {
        if args.iter().any(|a| a == "--list") {
            let _ = writeln!(out, "{name}: test");
            continue;
        }
        if !wanted.is_empty() && !wanted.iter().any(|w| name.contains(w.as_str())) {
            continue;
        }
        let begin = std::time::Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| case(&World::new())));
        let word = match result {
            Ok(None) => "ok".to_owned(),
            Ok(Some(why)) => format!("skipped: {why}"),
            Err(_) => {
                failed += 1;
                "FAILED".to_owned()
            }
        };
        let _ = writeln!(out, "test {name} ... {word} ({:.1} s)", begin.elapsed().as_secs_f64());
    }
    ExitCode::from(u8::from(failed > 0))
}

/// A directory on a disk for loads, and a journal.
pub(crate) struct World {
    root: tempfile::TempDir,
    names_before: String,
    links_before: BTreeSet<String>,
}

fn said(program: &str, args: &[&str]) -> String {
    let out = Command::new(program).args(args).output();
    out.map_or_else(|_| String::new(), |o| String::from_utf8_lossy(&o.stdout).into_owned())
}

fn links() -> BTreeSet<String> {
    let names = fs::read_dir("/sys/class/net").unwrap().flatten();
    names.map(|e| e.file_name().to_string_lossy().into_owned()).collect()
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            root: tempfile::tempdir_in("/var/tmp").unwrap(),
            names_before: said("ip", &["netns", "list"]),
            links_before: links(),
        }
    }

    pub(crate) fn dir(&self) -> PathBuf {
        let dir = self.root.path().canonicalize().unwrap().join("work");
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    pub(crate) fn journal(&self) -> Journal {
        Journal::at(self.root.path().join("journal"))
    }

    pub(crate) fn options(&self, isolation: Isolation) -> StartOptions {
        options(&self.dir(), self.journal(), isolation)
    }

    pub(crate) fn start(&self, load: &str, isolation: Isolation) -> LoadHandle {
        Load::parse(load).unwrap().start(&self.options(isolation)).unwrap().unwrap()
    }

    /// Starts another process, which starts the load.
    pub(crate) fn spawn_driver(&self, load: &str, isolation: Isolation) -> Child {
        let number = match isolation {
            Isolation::Namespaces => "0",
            Isolation::UserNamespace => "1",
            Isolation::ProcessTree => "2",
        };
        Command::new(std::env::current_exe().unwrap())
            .args(["__driver", load, number])
            .arg(self.dir())
            .arg(self.journal().dir())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Like [`Self::spawn_driver`], and waits until the load is up. Also returns the process id of its supervisor.
    pub(crate) fn driver(&self, load: &str, isolation: Isolation) -> (Child, u32) {
        let mut child = self.spawn_driver(load, isolation);
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let supervisor = line.trim().parse().unwrap_or_else(|_| panic!("the driver said `{line}`"));
        (child, supervisor)
    }

    /// Processes of the loads in this world: those that work in its directory, and stages of this program.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let dir = self.dir();
        let own = std::env::current_exe().unwrap();
        let mine = |pid: u32| {
            let cwd = fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|d| d.starts_with(&dir));
            let stage = fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|e| e == own) && pid != std::process::id();
            cwd || stage
        };
        pids().into_iter().filter(|&p| mine(p)).collect()
    }

    /// Those of them whose name begins with `name`.
    pub(crate) fn named(&self, name: &str) -> Vec<u32> {
        self.processes().into_iter().filter(|p| comm(*p).starts_with(name)).collect()
    }

    pub(crate) fn wait_for_no_process(&self) {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            let names: Vec<String> = left.iter().map(|p| format!("{p} {}", comm(*p))).collect();
            assert!(Instant::now() < end, "left behind: {names:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Asserts that no process, network link, named network namespace or file is left.
    pub(crate) fn assert_nothing_left(&self) {
        self.wait_for_no_process();
        assert_eq!(links(), self.links_before);
        assert_eq!(said("ip", &["netns", "list"]), self.names_before);
        assert_eq!(files(&self.dir()), Vec::<PathBuf>::new());
        assert_eq!(files(self.journal().dir()), Vec::<PathBuf>::new());
    }

    /// Lets the journal undo what a kill prevented, then asserts that nothing is left.
    pub(crate) fn assert_nothing_left_after_replay(&self) {
        self.wait_for_no_process();
        let replayed = self.journal().replay();
        assert!(replayed.iter().all(|r| r.problem.is_none()), "{replayed:?}");
        self.assert_nothing_left();
    }
}

pub(crate) fn files(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).map_or_else(|_| Vec::new(), |d| d.flatten().map(|e| e.path()).collect())
}

fn pids() -> Vec<u32> {
    fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect()
}

fn comm(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

pub(crate) fn kill(pid: u32, signal: i32) {
    rtscope_sys::kill(i32::try_from(pid).unwrap(), signal).unwrap();
}

fn options(dir: &Path, journal: Journal, isolation: Isolation) -> StartOptions {
    StartOptions {
        reexec: Reexec::this_program("__load").unwrap(),
        cpus: 2,
        dir: Some(dir.into()),
        journal,
        isolation,
        up_timeout: Duration::from_secs(60),
        stop_timeout: Duration::from_secs(30),
        stop: rtscope_load::StopHandle::new(),
    }
}

/// Starts a load, prints its supervisor's process id, and sleeps until it is killed.
pub(crate) fn driver(args: &[String]) -> ExitCode {
    let isolation = [Isolation::Namespaces, Isolation::UserNamespace, Isolation::ProcessTree][args[1].parse::<usize>().unwrap()];
    let options = options(Path::new(&args[2]), Journal::at(&args[3]), isolation);
    let handle = Load::parse(&args[0]).unwrap().start(&options).unwrap().unwrap();
    let mut out = std::io::stdout();
    writeln!(out, "{}", handle.supervisor_pid()).unwrap();
    out.flush().unwrap();
    std::thread::sleep(Duration::from_secs(3600));
    ExitCode::SUCCESS
}

/// Codes of the warnings that `proof` gives, except that other programs use the CPUs: that is not the supervisor's fault.
pub(crate) fn codes(proof: &LoadProof) -> Vec<String> {
    rtscope_record::load::warnings(proof).into_iter().map(|w| w.code).filter(|c| c != "load-crowded").collect()
}

/// Why loads can't be tested here.
pub(crate) fn lacking() -> Option<String> {
    let missing = Load::parse("full").unwrap().missing_tools();
    (!missing.is_empty()).then(|| format!("{} not installed", missing.join(" and ")))
}

/// The highest figure of this name in a proof.
pub(crate) fn figure(proof: &LoadProof, name: &str) -> f64 {
    proof.processes.iter().filter_map(|p| p.achieved.get(name)).copied().fold(0.0, f64::max)
}
