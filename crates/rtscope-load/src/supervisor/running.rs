//! One running tool of a load: its process, its files, and whether it is at work yet.

use crate::process_tree::Process;
use crate::tools::tool::{Paths, Seen, Tool};
use rtscope_record::{LoadProcess, LoadWorkers};
use rtscope_sys as sys;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// How much of the end of a log is kept, bytes.
const TAIL: u64 = 2048;
/// How much of a log and of a file of figures is read, bytes: iperf3 -P 128 writes some 150 kB, stress-ng --all less.
const LOG_READ: u64 = 4 << 20;
const FIGURES_READ: u64 = 16 << 20;

/// The tool's files.
#[derive(Debug, Clone)]
pub(super) struct Files {
    /// Text output, for people.
    log: PathBuf,
    /// Machine-readable figures.
    figures: PathBuf,
    /// The tool's own directory.
    dir: PathBuf,
}

impl Files {
    /// Makes the directory for tool `number`.
    pub(super) fn make(scratch: &Path, number: usize) -> io::Result<Self> {
        let dir = scratch.join(number.to_string());
        fs::create_dir(&dir)?;
        Ok(Self { log: scratch.join(format!("{number}.log")), figures: scratch.join(format!("{number}.figures")), dir })
    }

    /// Where the tool may write.
    pub(super) fn paths(&self) -> Paths<'_> {
        Paths { figures: &self.figures, dir: &self.dir }
    }
}

/// A tool that was started.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) tool: &'static dyn Tool,
    pub(super) pid: u32,
    pub(super) ended: Option<ExitStatus>,
    pub(super) early: bool,
    /// What its arguments leave out, by name, with the reason.
    pub(super) left_out: BTreeMap<String, String>,
    /// The tool is at work once this many of its processes are.
    least_workers: u32,
    /// The kernel's figures of the tool just before it was told to end.
    seen: BTreeMap<String, f64>,
    /// What was seen of its workers until then.
    pub(super) workers: Vec<LoadWorkers>,
    command: Vec<String>,
    files: Files,
}

impl Running {
    /// Runs `start`; messages and records show `command` instead. The process dies with this one.
    pub(super) fn start(
        tool: &'static dyn Tool,
        least_workers: u32,
        command: Vec<String>,
        mut start: Command,
        files: Files,
    ) -> io::Result<Self> {
        let log = File::create(&files.log)?;
        let out = if tool.prints_figures() { File::create(&files.figures)? } else { log.try_clone()? };
        start.stdin(Stdio::null()).stdout(out).stderr(log).current_dir(&files.dir).env("LC_ALL", "C");
        sys::process::die_with_spawner(&mut start, libc::SIGKILL);
        let pid = start.spawn()?.id();
        let (seen, workers) = (BTreeMap::new(), Vec::new());
        let left_out = BTreeMap::new();
        Ok(Self { tool, pid, ended: None, early: false, left_out, least_workers, seen, workers, command, files })
    }

    /// The command line, for messages.
    pub(super) fn name(&self) -> String {
        self.command.join(" ")
    }

    /// Notes the kernel's figures of the tool just before it is told to end: the proof if the tool then leaves no
    /// figures of its own.
    pub(super) fn look(&mut self, processes: &[Process]) {
        if self.ended.is_some() {
            return;
        }
        if let Some((name, value)) = self.tool.account(&self.among(processes)) {
            self.seen.insert(name.into(), value);
        }
    }

    /// Why it is not at work yet; `None` when it is.
    pub(super) fn not_at_work(&self, processes: &[Process]) -> Option<String> {
        self.tool.not_at_work(&self.among(processes))
    }

    fn among<'a>(&self, processes: &'a [Process]) -> Seen<'a> {
        Seen { pid: self.pid, workers: self.least_workers, processes }
    }

    /// How the tool ended and its last output, for messages.
    pub(super) fn last_words(&self) -> String {
        let how = self.ended.map_or_else(|| "still running".to_owned(), |s| s.to_string());
        let said = self.complaint();
        if said.is_empty() { how } else { format!("{how}: {said}") }
    }

    fn figures(&self) -> String {
        head(&self.files.figures, FIGURES_READ)
    }

    fn complaint(&self) -> String {
        let mut said = tail(&self.files.log);
        if let Some(error) = self.tool.said(&self.figures()).error {
            said = if said.is_empty() { error } else { format!("{error}\n{said}") };
        }
        said
    }

    /// What [`Self::look`] noted.
    pub(super) fn seen(&self) -> LoadProcess {
        LoadProcess {
            command: self.command.clone(),
            died_early: self.early,
            achieved: self.seen.clone(),
            left_out: self.left_out.clone(),
            workers: self.workers.clone(),
            ..LoadProcess::default()
        }
    }

    /// What the tool achieved, once it has ended.
    pub(super) fn done(&self) -> LoadProcess {
        let mut achieved = self.tool.said(&self.figures()).achieved;
        let exit_code = self.ended.and_then(|s| s.code());
        let wrong = self.early || achieved.is_empty() || !self.tool.ends_with(exit_code);
        achieved.extend(self.seen.clone());
        let by_itself = self.tool.left_out(&head(&self.files.log, LOG_READ));
        LoadProcess {
            command: self.command.clone(),
            exit_code,
            signal: self.ended.and_then(|s| s.signal()),
            died_early: self.early,
            achieved,
            left_out: self.left_out.clone().into_iter().chain(by_itself).collect(),
            workers: self.workers.clone(),
            stderr: if wrong { self.complaint() } else { String::new() },
        }
    }
}

/// The first `most` bytes of a file; nothing if it cannot be read.
fn head(file: &Path, most: u64) -> String {
    let mut text = Vec::new();
    let read = File::open(file).and_then(|f| f.take(most).read_to_end(&mut text));
    read.map_or_else(|_| String::new(), |_| String::from_utf8_lossy(&text).into_owned())
}

/// The last lines of a log, without the tool's figures.
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
