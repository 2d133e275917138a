//! The state of a campaign: a directory with a lock, the campaign's name and digest, and a journal with a line for each run that
//! ended.
//!
//! A run is done when the archive has its record. The journal only adds how long a run took, and why others failed. So a power
//! cut between archive and journal loses nothing, and a truncated line is ignored.

use super::plan::CampaignPlan;
use rtscope_failure::{Fault, Problem};
use rtscope_files::Lock;
use rtscope_record::Verdict;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const VERSION: u32 = 1;
const IDENTITY: &str = "campaign.json";
const JOURNAL: &str = "journal.ndjson";
const LOCK: &str = "lock";
/// Hexadecimal digits of the digest in the directory's name.
const DIGITS: usize = 12;

/// Why a campaign's directory can't be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// It can't be read or written.
    #[error("the campaign's state can't be kept in {path}: {source}; make it writable, or name another directory with --state", path = path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// It belongs to another campaign (the request's fault).
    #[error("{dir} holds {found}, not this campaign: name another directory with --state", dir = dir.display())]
    Other {
        /// The directory.
        dir: PathBuf,
        /// What it holds.
        found: String,
    },
    /// Another process is at work on it.
    #[error("this campaign is being run by {who}: wait for it to end, or stop it (it can be taken up again)")]
    Busy {
        /// The process, if known.
        who: String,
    },
}

impl Problem for StateError {
    /// The messages contain the remedy.
    fn remedy(&self) -> String {
        match self {
            Self::Io { .. } | Self::Other { .. } | Self::Busy { .. } => String::new(),
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Other { .. } => Fault::Usage,
            Self::Io { .. } | Self::Busy { .. } => Fault::Machine,
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum RunOutcome {
    /// Its record is in the archive.
    Done {
        /// Verdict of the record.
        verdict: Verdict,
    },
    /// Nothing could be measured.
    Failed {
        /// The reason.
        reason: String,
    },
}

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalLine {
    /// Key of the run.
    pub(crate) key: String,
    /// Id of the run's record.
    pub(crate) id: String,
    /// How long the run took, ms of wall time.
    pub wall_ms: u64,
    /// How it ended.
    #[serde(flatten)]
    pub outcome: RunOutcome,
}

/// The last line of each run, by the id of its record.
pub type Past = BTreeMap<String, JournalLine>;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Identity {
    version: u32,
    name: String,
    digest: String,
}

impl Identity {
    fn of(plan: &CampaignPlan) -> Self {
        Self { version: VERSION, name: plan.name.clone(), digest: plan.digest() }
    }
}

/// A campaign's directory, held by this process.
#[derive(Debug)]
pub struct State {
    past: Past,
    journal: File,
    path: PathBuf,
    retry: bool,
    /// Held until dropped.
    _lock: Lock,
}

/// Directory for the state of `plan`, in rtscope's data directory `data`.
pub fn directory(data: &Path, plan: &CampaignPlan) -> PathBuf {
    let mut digest = plan.digest();
    digest.truncate(DIGITS);
    data.join("campaigns").join(format!("{}-{digest}", plan.name))
}

/// The runs that ended, and the process at work on the campaign, if any. Changes nothing. A missing directory counts as empty.
pub fn look(dir: &Path, plan: &CampaignPlan) -> Result<(Past, Option<String>), StateError> {
    if !identified(dir, plan)? {
        return Ok((Past::new(), None));
    }
    let busy = match rtscope_files::open(&dir.join(LOCK)) {
        // A shared lock: two callers of this function must not take each other for the process at work.
        Ok(lock) => match flock(&lock, FlockOperation::NonBlockingLockShared).and_then(|()| flock(&lock, FlockOperation::Unlock)) {
            Ok(()) => None,
            Err(_) => Some(holder(dir)),
        },
        Err(_) => None,
    };
    let path = dir.join(JOURNAL);
    match rtscope_files::read(&path, rtscope_files::SMALL) {
        Ok(bytes) => Ok((read(&bytes).0, busy)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok((Past::new(), busy)),
        Err(source) => Err(StateError::Io { path, source }),
    }
}

impl State {
    /// Takes `dir` for the campaign of `plan`; creates it if needed. Refused if it belongs to another campaign, or another
    /// process is at work on it.
    pub fn open(dir: &Path, plan: &CampaignPlan) -> Result<Self, StateError> {
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |source| StateError::Io { path, source }
        };
        fs::create_dir_all(dir).map_err(failed(dir))?;
        let lock_path = dir.join(LOCK);
        let mut lock = match Lock::hold(rtscope_files::open_own(&lock_path).map_err(failed(&lock_path))?) {
            Ok(lock) => lock,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Err(StateError::Busy { who: holder(dir) }),
            Err(e) => return Err(failed(&lock_path)(e)),
        };
        let told = lock.file().set_len(0).and_then(|()| writeln!(lock.file(), "{}", std::process::id()));
        told.map_err(failed(&lock_path))?;
        if !identified(dir, plan)? {
            identify(dir, plan).map_err(failed(&dir.join(IDENTITY)))?;
        }
        let path = dir.join(JOURNAL);
        let mut journal = rtscope_files::open_own(&path).map_err(failed(&path))?;
        let size = journal.metadata().map_err(failed(&path))?.len();
        if size > rtscope_files::SMALL {
            return Err(failed(&path)(io::Error::from(io::ErrorKind::FileTooLarge)));
        }
        let mut bytes = Vec::new();
        journal.read_to_end(&mut bytes).map_err(failed(&path))?;
        let (past, whole) = read(&bytes);
        // A truncated last line would spoil the next one.
        let end = journal.set_len(whole).and_then(|()| journal.seek(SeekFrom::Start(whole)));
        end.and_then(|_| journal.sync_all()).and_then(|()| sync_directory(dir)).map_err(failed(&path))?;
        Ok(Self { past, journal, path, retry: true, _lock: lock })
    }

    /// Leaves out runs that failed before, in place of taking them again.
    #[must_use]
    pub fn without_failed(mut self) -> Self {
        self.retry = false;
        self
    }

    /// Whether a run is to be taken again because it failed before.
    pub(crate) fn retries(&self, id: &str) -> bool {
        self.retry || !matches!(self.past.get(id), Some(JournalLine { outcome: RunOutcome::Failed { .. }, .. }))
    }

    /// The runs that ended so far.
    pub(crate) fn past(&self) -> &Past {
        &self.past
    }

    /// Appends a line to the journal; it is on the disk when this returns.
    pub(crate) fn append(&mut self, entry: JournalLine) -> Result<(), StateError> {
        let write = |journal: &mut File| -> io::Result<()> {
            let mut line = serde_json::to_vec(&entry)?;
            line.push(b'\n');
            journal.write_all(&line)?;
            journal.sync_data()
        };
        write(&mut self.journal).map_err(|source| StateError::Io { path: self.path.clone(), source })?;
        self.past.insert(entry.id.clone(), entry);
        Ok(())
    }
}

/// Reads the journal; also returns how many of its bytes are whole lines. Unreadable lines are skipped: the archive knows which
/// runs are done.
fn read(bytes: &[u8]) -> (Past, u64) {
    let whole = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
    let lines = bytes[..whole].split(|&b| b == b'\n');
    let entries = lines.filter_map(|line| serde_json::from_slice::<JournalLine>(line).ok());
    (entries.map(|e| (e.id.clone(), e)).collect(), whole as u64)
}

/// Whether the directory has an identity file. An error if it belongs to another campaign or to something else.
fn identified(dir: &Path, plan: &CampaignPlan) -> Result<bool, StateError> {
    let other = |found: String| StateError::Other { dir: dir.into(), found };
    let text = match rtscope_files::read(&dir.join(IDENTITY), rtscope_files::SMALL) {
        Ok(text) => text,
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            // No identity: foreign files in the directory mean that it is not a campaign's.
            let strange = |name: &std::ffi::OsStr| ![LOCK, JOURNAL, IDENTITY_PART].iter().any(|n| name == *n);
            let stranger = fs::read_dir(dir).ok().and_then(|d| d.flatten().map(|e| e.file_name()).find(|n| strange(n)));
            return stranger.map_or(Ok(false), |n| Err(other(format!("`{}`", n.to_string_lossy()))));
        }
        Err(source) => return Err(StateError::Io { path: dir.join(IDENTITY), source }),
    };
    match serde_json::from_slice::<Identity>(&text) {
        Ok(found) if found == Identity::of(plan) => Ok(true),
        Ok(found) => Err(other(format!("the campaign `{}` ({:.DIGITS$})", found.name, found.digest))),
        Err(e) => Err(other(format!("a {IDENTITY} that can't be read ({e})"))),
    }
}

const IDENTITY_PART: &str = "campaign.json.part";

fn identify(dir: &Path, plan: &CampaignPlan) -> io::Result<()> {
    let part = dir.join(IDENTITY_PART);
    let mut file = rtscope_files::fresh(&part)?;
    serde_json::to_writer(&mut file, &Identity::of(plan))?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    fs::rename(&part, dir.join(IDENTITY))?;
    sync_directory(dir)
}

fn sync_directory(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

fn holder(dir: &Path) -> String {
    let pid = rtscope_files::read_text(&dir.join(LOCK), rtscope_files::SMALL).ok().and_then(|t| t.trim().parse::<u32>().ok());
    pid.map_or_else(|| "another rtscope".into(), |pid| format!("process {pid}"))
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
