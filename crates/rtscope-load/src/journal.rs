//! The journal: what must be undone on this machine if a session can't do it itself. Written before each
//! change, read at every start.
//!
//! Each change by a running session has its own file, named by process id, start time and a number. A session
//! that ends normally removes its files. One that is killed or loses power leaves them, and [`Journal::replay`]
//! at the next start undoes what they list.

mod error;

pub use error::JournalError;

use crate::kernel_modules;
use crate::process_tree;
use crate::tracer::instance;
use crate::tuning::place::{Files, Place};
use rtscope_failure::Failure;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Prefix of the directories that the journal may remove; a token follows it.
pub(crate) const SCRATCH_PREFIX: &str = "rtscope-load-";
/// File in such a directory that repeats the token.
pub(crate) const MARKER: &str = ".rtscope-load";
/// Largest journal file that is read, bytes.
const LONGEST_ENTRY: u64 = 64 << 10;
const VERSION: u32 = 1;
/// Number of entries made by this process.
static ENTRIES: AtomicU32 = AtomicU32::new(0);

/// Something to be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undo {
    /// Remove a load's directory, after checking that it is one: right name, right marker, owned by this user, no
    /// symbolic link.
    RemoveScratch {
        /// Absolute path; its last component is the prefix followed by the token.
        path: PathBuf,
        /// What the marker file must hold.
        token: String,
    },
    /// Unload one of rtscope's kernel modules, if it is loaded with these parameters.
    UnloadModule {
        /// Its name.
        name: String,
        /// The parameters it was loaded with, such as `in=rtscope-wire/0`.
        parameters: Vec<String>,
    },
    /// Remove a tracing instance of rtscope's (`rtscope-PID`).
    RemoveInstance {
        /// Its name.
        name: String,
    },
    /// Put back a setting of the machine that a run made, unless it was set again since.
    RestoreSetting {
        /// Below which directory the kernel's files are: `/`.
        root: PathBuf,
        /// Where it is.
        place: Place,
        /// What the run set.
        set: String,
        /// What was there before.
        before: String,
    },
}

/// One file of the journal.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    version: u32,
    pid: u32,
    /// Start time of the process, ticks since boot: the process id alone may have been reused.
    start: u64,
    boot: String,
    host: String,
    /// The PID namespace that `pid` belongs to, such as `pid:[4026531836]`.
    pid_space: String,
    undo: Vec<Undo>,
}

/// What [`Journal::replay`] undid of a dead session's change, or why it could not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// What was undone or should have been, as text for the user.
    pub what: String,
    /// Why it could not be undone; `None` when it was.
    pub problem: Option<String>,
}

/// The directory of entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Journal {
    dir: PathBuf,
}

/// An entry of this session. Dropping it leaves the file in place for the next start.
#[derive(Debug)]
pub struct Entered {
    file: PathBuf,
}

impl Journal {
    /// The journal in `dir`. The directory is made with the first entry.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// The user's journal: `$XDG_STATE_HOME/rtscope/journal`, else `~/.local/state/rtscope/journal`; for root
    /// without a home directory (a system service), `/var/lib/rtscope/journal`.
    pub(crate) fn of_user() -> Result<Self, JournalError> {
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let root = || fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0).then(|| PathBuf::from("/var/lib"));
        let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|h| h.join(".local/state"))).or_else(root);
        state.map(|s| Self::at(s.join("rtscope/journal"))).ok_or(JournalError::NoHome)
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Records what must be undone if this process can't do it itself. The entry is on disk when this returns.
    pub fn enter(&self, undo: Vec<Undo>) -> Result<Entered, JournalError> {
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |source| JournalError::Write { path, source }
        };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir).map_err(failed(&self.dir))?;
        let own = Whereabouts::here().map_err(failed(Path::new("/proc")))?;
        let pid = std::process::id();
        let start =
            process_tree::start_time(pid).ok_or_else(|| failed(Path::new("/proc"))(io::Error::from(io::ErrorKind::NotFound)))?;
        let entry = Entry { version: VERSION, pid, start, boot: own.boot, host: own.host, pid_space: own.pid_space, undo };
        // A session may have several entries: for its load, for its modules.
        let number = ENTRIES.fetch_add(1, Ordering::Relaxed);
        let file = self.dir.join(format!("{pid}-{start}-{number}.json"));
        let unfinished = file.with_extension("new");
        let text = serde_json::to_vec(&entry).map_err(io::Error::from).map_err(failed(&file))?;
        let write = || -> io::Result<()> {
            let mut out = rtscope_files::fresh(&unfinished)?;
            out.write_all(&text)?;
            out.sync_all()?;
            fs::rename(&unfinished, &file)?;
            fs::File::open(&self.dir)?.sync_all()
        };
        write().map_err(failed(&file))?;
        Ok(Entered { file })
    }

    /// Undoes what dead sessions left behind. An entry is removed once all of it is undone; one that can't be
    /// undone stays and is reported each time. Entries from other machines, other PID namespaces and later versions
    /// are left alone.
    pub fn replay(&self) -> Vec<Replayed> {
        let (Ok(files), Ok(here)) = (fs::read_dir(&self.dir), Whereabouts::here()) else { return Vec::new() };
        let mut report = Vec::new();
        for file in files.flatten().map(|f| f.path()).filter(|p| p.extension().is_some_and(|e| e == "json")) {
            let entry = match read(&file) {
                Ok(entry) => entry,
                Err(problem) => {
                    let what = format!("journal entry {}", file.display());
                    report.push(Replayed { what, problem: Some(format!("{problem}; look at it, then remove it")) });
                    continue;
                }
            };
            if entry.version != VERSION || !here.is_dead(&entry) {
                continue;
            }
            let before = report.len();
            report.extend(entry.undo.iter().filter_map(|undo| undo.carry_out(entry.boot == here.boot)));
            if report[before..].iter().all(|r| r.problem.is_none()) {
                // Another instance may have removed the file already.
                let _ = fs::remove_file(&file);
            }
        }
        report
    }
}

impl Entered {
    /// Removes the entry, now that all of it is undone.
    pub fn close(self) {
        // If this fails, the next start finds nothing to undo and removes the file itself.
        let _ = fs::remove_file(&self.file);
    }
}

fn read(file: &Path) -> Result<Entry, String> {
    let size = fs::symlink_metadata(file).map_err(|e| e.to_string())?;
    if !size.is_file() || size.uid() != rtscope_files::me() {
        return Err("this is not a journal entry".into());
    }
    let text = rtscope_files::read(file, LONGEST_ENTRY).map_err(|e| format!("this is not a journal entry: {e}"))?;
    serde_json::from_slice(&text).map_err(|e| format!("it can't be read: {e}"))
}

/// The machine, boot and PID namespace of this process.
struct Whereabouts {
    boot: String,
    host: String,
    pid_space: String,
}

impl Whereabouts {
    fn here() -> io::Result<Self> {
        let line = |path: &str| fs::read_to_string(path).map(|s| s.trim().to_owned());
        Ok(Self {
            boot: line("/proc/sys/kernel/random/boot_id")?,
            host: line("/proc/sys/kernel/hostname")?,
            pid_space: fs::read_link("/proc/self/ns/pid")?.to_string_lossy().into_owned(),
        })
    }

    /// Whether the session of `entry` is known to have ended; `false` when in doubt.
    fn is_dead(&self, entry: &Entry) -> bool {
        if entry.host != self.host {
            return false; // a home directory shared between machines
        }
        if entry.boot != self.boot {
            return true;
        }
        entry.pid_space == self.pid_space && process_tree::start_time(entry.pid) != Some(entry.start)
    }
}

impl Undo {
    /// Returns `None` when there was nothing left to undo.
    fn carry_out(&self, same_boot: bool) -> Option<Replayed> {
        let (path, token) = match self {
            Self::RemoveScratch { path, token } => (path, token),
            // No module, instance or setting survives a reboot.
            Self::UnloadModule { name, parameters } => return if same_boot { unload(name, parameters) } else { None },
            Self::RemoveInstance { name } => return if same_boot { remove_instance(name) } else { None },
            Self::RestoreSetting { root, place, set, before } => {
                return if same_boot { restore(root, place, set, before) } else { None };
            }
        };
        let what = format!("removed {}, left by a load whose rtscope was killed", path.display());
        match remove_scratch(path, token) {
            Ok(true) => Some(Replayed { what, problem: None }),
            Ok(false) => None,
            Err(problem) => Some(Replayed { what: format!("directory {}", path.display()), problem: Some(problem) }),
        }
    }
}

/// Unloads a module if it is one of rtscope's and is loaded with these parameters; `None` otherwise.
fn unload(name: &str, parameters: &[String]) -> Option<Replayed> {
    let here = Path::new("/sys/module").join(name);
    if !kernel_modules::ALL.contains(&name) || !here.exists() {
        return None;
    }
    // Ignore `in` and `out`: a chip named by its device is loaded by its label, so the name of the line proves nothing.
    let same = |p: &String| {
        let (name, value) = p.split_once('=').unwrap_or((p, ""));
        let now = fs::read_to_string(here.join("parameters").join(name)).unwrap_or_default();
        ["in", "out"].contains(&name) || now.trim() == value
    };
    if !parameters.iter().all(same) {
        return None;
    }
    let problem = kernel_modules::remove(name).err().map(|e| Failure::from(e).in_one());
    let what = if problem.is_none() { "unloaded the" } else { "the" };
    Some(Replayed { what: format!("{what} kernel module {name}, left by a run whose rtscope was killed"), problem })
}

/// Removes a tracing instance if it is named as ours are and is still there; `None` otherwise.
fn remove_instance(name: &str) -> Option<Replayed> {
    let what = format!("the tracing instance {name}, left by a run that was killed");
    match instance::remove(name) {
        Ok(true) => Some(Replayed { what: format!("removed {what}"), problem: None }),
        Ok(false) => None,
        Err(e) => Some(Replayed { what, problem: Some(e.to_string()) }),
    }
}

/// Puts a setting back; `None` where something else was set since.
fn restore(root: &Path, place: &Place, set: &str, before: &str) -> Option<Replayed> {
    match Files::below(root).put_back(place, set, before) {
        Ok(true) => Some(Replayed { what: format!("put {place} back to {before}, left by a run that was killed"), problem: None }),
        Ok(false) => None,
        Err(e) => {
            let what = format!("{place}, which was {before} before a run that was killed");
            Some(Replayed { what, problem: Some(e.to_string()) })
        }
    }
}

/// Removes a load's directory if it passes every check; `Ok(false)` when it does not exist.
pub(crate) fn remove_scratch(path: &Path, token: &str) -> Result<bool, String> {
    let named = path.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_prefix(SCRATCH_PREFIX)) == Some(token);
    let plain = token.len() >= 16 && token.bytes().all(|b| b.is_ascii_hexdigit());
    if !path.is_absolute() || !named || !plain || path.components().any(|c| c == std::path::Component::ParentDir) {
        return Err("it is not named as a load's directory is; left alone".into());
    }
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(e.to_string()),
    };
    let own = fs::metadata("/proc/self").map_err(|e| e.to_string())?.uid();
    if !found.is_dir() || found.uid() != own {
        return Err("it is not a directory of ours; left alone".into());
    }
    let marker = path.join(MARKER);
    let marked = fs::symlink_metadata(&marker).is_ok_and(|m| m.is_file() && m.len() == token.len() as u64)
        && rtscope_files::read(&marker, LONGEST_ENTRY).is_ok_and(|m| m == token.as_bytes());
    let bare = fs::read_dir(path).is_ok_and(|mut d| d.next().is_none()); // killed between making it and marking it
    if !marked && !bare {
        return Err("it does not carry our mark; left alone".into());
    }
    // Processes of the load may still be ending and writing, so retry for a while. The marker goes last, so that an
    // interrupted removal can be resumed.
    let mut last = None;
    for _ in 0..50 {
        match remove_all(path) {
            Ok(()) => return Ok(true),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(true),
            Err(e) => last = Some(e),
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    Err(last.map_or_else(String::new, |e| e.to_string()))
}

fn remove_all(path: &Path) -> io::Result<()> {
    for item in fs::read_dir(path)? {
        let item = item?;
        if item.file_name() == MARKER {
            continue;
        }
        // Neither `file_type` nor `remove_dir_all` follows links.
        if item.file_type()?.is_dir() { fs::remove_dir_all(item.path())? } else { fs::remove_file(item.path())? }
    }
    match fs::remove_file(path.join(MARKER)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    fs::remove_dir(path)
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
