//! One tool of a load: its process, its files, and whether it does work yet.

use crate::load::achieved;
use crate::process_tree::{self, Process};
use rtscope_probe::sys;
use rtscope_record::{LoadProcess, LoadWorkers};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// How much of a log is kept, bytes.
const TAIL: u64 = 2048;
/// CPU time after which the workers of a stress-ng are at work, ns.
const AT_WORK_NS: u64 = 20_000_000;
/// Bytes after which an iperf3 client is at work.
const AT_WORK_BYTES: u64 = 1 << 20;

/// What it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Role {
    /// stress-ng with so many workers, or more.
    StressNg { workers: u32 },
    /// The sending end of iperf3.
    Client,
    /// The receiving end of iperf3.
    Server,
}

/// Where its files are.
#[derive(Debug, Clone)]
pub(super) struct Files {
    /// What it says to people.
    log: PathBuf,
    /// What it says to programs.
    pub(super) figures: PathBuf,
    /// A directory of its own.
    pub(super) dir: PathBuf,
}

impl Files {
    /// Makes the directory for the tool of this number.
    pub(super) fn make(scratch: &Path, number: usize) -> io::Result<Self> {
        let dir = scratch.join(number.to_string());
        fs::create_dir(&dir)?;
        Ok(Self { log: scratch.join(format!("{number}.log")), figures: scratch.join(format!("{number}.figures")), dir })
    }
}

/// A tool that was started.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) role: Role,
    pub(super) pid: u32,
    pub(super) ended: Option<ExitStatus>,
    pub(super) early: bool,
    /// What the kernel said of it when it was told to end.
    seen: BTreeMap<String, f64>,
    /// What was seen of its workers until then.
    pub(super) workers: Vec<LoadWorkers>,
    command: Vec<String>,
    files: Files,
}

impl Tool {
    /// Starts `command`. It dies with this process.
    pub(super) fn start(role: Role, command: Vec<String>, mut start: Command, files: Files) -> io::Result<Self> {
        let log = File::create(&files.log)?;
        // stress-ng writes its figures itself, and its errors to standard output.
        let out = if matches!(role, Role::StressNg { .. }) { log.try_clone()? } else { File::create(&files.figures)? };
        start.stdin(Stdio::null()).stdout(out).stderr(log).current_dir(&files.dir).env("LC_ALL", "C");
        sys::process::die_with_spawner(&mut start, libc::SIGKILL);
        let pid = start.spawn()?.id();
        Ok(Self { role, pid, ended: None, early: false, seen: BTreeMap::new(), workers: Vec::new(), command, files })
    }

    /// For messages.
    pub(super) fn name(&self) -> String {
        self.command.join(" ")
    }

    /// Takes down what the kernel says it has done, just before it is told to end: proof of a tool that then leaves no figures of its own.
    pub(super) fn look(&mut self, processes: &[Process]) {
        if self.ended.is_some() {
            return;
        }
        let (name, value) = match self.role {
            Role::StressNg { .. } => {
                let own = processes.iter().filter(|p| p.pid == self.pid);
                let ns: u64 = process_tree::descendants(processes, self.pid).into_iter().chain(own).map(process_tree::cpu_ns).sum();
                ("stress-ng.cpu_seconds", ns as f64 / 1e9)
            }
            Role::Client => ("iperf3.bytes_written", process_tree::bytes_written(self.pid).unwrap_or(0) as f64),
            Role::Server => return,
        };
        self.seen.insert(name.into(), value);
    }

    /// Why it is not at work yet; `None` when it is.
    pub(super) fn not_at_work(&self, processes: &[Process]) -> Option<String> {
        match self.role {
            Role::StressNg { workers } => {
                let mut total: u64 = 0;
                let mut running = 0;
                for worker in process_tree::descendants(processes, self.pid).into_iter().filter(|p| !p.ended) {
                    let cpu = process_tree::cpu_ns(worker);
                    total = total.saturating_add(cpu);
                    running += u32::from(cpu > 0);
                }
                let at_work = running >= workers && total >= AT_WORK_NS;
                (!at_work).then(|| format!("{running} of {workers} workers have run, for {} ms of CPU time", total / 1_000_000))
            }
            Role::Client => {
                let bytes = process_tree::bytes_written(self.pid).unwrap_or(0);
                (bytes < AT_WORK_BYTES).then(|| format!("it has sent {bytes} bytes"))
            }
            Role::Server => None,
        }
    }

    /// How it ended and what it said last, for messages.
    pub(super) fn last_words(&self) -> String {
        let how = self.ended.map_or_else(|| "still running".to_owned(), |s| s.to_string());
        let said = self.complaint();
        if said.is_empty() { how } else { format!("{how}: {said}") }
    }

    fn figures(&self) -> String {
        // Bounded: iperf3 -P 128 writes some 150 kB.
        let mut text = Vec::new();
        let read = File::open(&self.files.figures).and_then(|f| f.take(16 << 20).read_to_end(&mut text));
        read.map_or_else(|_| String::new(), |_| String::from_utf8_lossy(&text).into_owned())
    }

    fn complaint(&self) -> String {
        let mut said = tail(&self.files.log);
        if !matches!(self.role, Role::StressNg { .. }) {
            if let Some(error) = achieved::iperf3(&self.figures(), self.side()).error {
                said = if said.is_empty() { error } else { format!("{error}\n{said}") };
            }
        }
        said
    }

    fn side(&self) -> &'static str {
        if self.role == Role::Server { "sum_received" } else { "sum_sent" }
    }

    /// What was taken down by [`Self::look`].
    pub(super) fn seen(&self) -> LoadProcess {
        LoadProcess {
            command: self.command.clone(),
            died_early: self.early,
            achieved: self.seen.clone(),
            workers: self.workers.clone(),
            ..LoadProcess::default()
        }
    }

    /// What it did, once it has ended.
    pub(super) fn done(&self) -> LoadProcess {
        let mut achieved = match self.role {
            Role::StressNg { .. } => achieved::stress_ng(&self.figures()),
            Role::Client | Role::Server => achieved::iperf3(&self.figures(), self.side()).achieved,
        };
        let exit_code = self.ended.and_then(|s| s.code());
        let stress_ng = matches!(self.role, Role::StressNg { .. });
        // An interrupted iperf3 exits with 1 and says that it was interrupted.
        let wrong = self.early || achieved.is_empty() || (stress_ng && exit_code != Some(0));
        achieved.extend(self.seen.clone());
        LoadProcess {
            command: self.command.clone(),
            exit_code,
            signal: self.ended.and_then(|s| s.signal()),
            died_early: self.early,
            achieved,
            workers: self.workers.clone(),
            stderr: if wrong { self.complaint() } else { String::new() },
        }
    }
}

/// The last lines of a log, the tool's figures left out.
fn tail(log: &Path) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> =
        text.lines().filter(|l| !l.contains(" metrc: ") && !l.contains(" info: ") && !l.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(8)..].join("\n")
}
