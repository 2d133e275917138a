//! The source of a snapshot: the root of a file system, and facts that need system calls.

use rtscope_sys::{host, rt};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Limit for texts that are read whole, bytes; anything beyond it is ignored.
const LONGEST: u64 = 256 * 1024;

/// What system calls say about the machine and this process. It is separate, so that a snapshot of a test tree
/// needs no real machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemCallFacts {
    /// `uname(2)`.
    pub uname: host::Uname,
    /// Resolution of timers on `CLOCK_MONOTONIC`, ns.
    pub timer_resolution_ns: Option<u64>,
    /// Soft `RLIMIT_MEMLOCK`, bytes; `None` for unlimited.
    pub memlock: Option<u64>,
    /// Soft `RLIMIT_RTPRIO`.
    pub rtprio: u64,
    /// CPUs that this thread may run on.
    pub allowed: Vec<u32>,
    /// The process whose threads are left out of the real-time tasks: our own.
    pub pid: u32,
}

impl SystemCallFacts {
    /// The facts about this machine and process. A limit that can't be read counts as 0.
    pub fn of_this_process() -> Self {
        Self {
            uname: host::uname().unwrap_or_default(),
            timer_resolution_ns: host::timer_resolution_ns().ok(),
            memlock: host::limit(host::Limit::LockedMemory).unwrap_or(Some(0)),
            rtprio: host::limit(host::Limit::RtPriority).map_or(0, |limit| limit.unwrap_or(u64::MAX)),
            allowed: rt::allowed_cpus().unwrap_or_default(),
            pid: std::process::id(),
        }
    }
}

/// A file system's root, with the matching facts.
#[derive(Debug, Clone)]
pub struct Root {
    dir: PathBuf,
    /// What system calls tell.
    pub facts: SystemCallFacts,
}

impl Root {
    /// This machine.
    pub fn of_this_machine() -> Self {
        Self::at("/", SystemCallFacts::of_this_process())
    }

    /// A directory tree that looks like a machine's root, with the matching facts.
    pub fn at(dir: impl Into<PathBuf>, facts: SystemCallFacts) -> Self {
        Self { dir: dir.into(), facts }
    }

    /// Where the absolute path `path` is in this tree.
    pub fn path(&self, path: &str) -> PathBuf {
        self.dir.join(path.trim_start_matches('/'))
    }

    /// Whether there is something at `path`.
    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// The first `longest` bytes at most; `None` if the file can't be read. After an error nothing is returned,
    /// because half a value is a wrong value.
    pub fn bytes(&self, path: &str, longest: u64) -> Option<Vec<u8>> {
        let file = fs::File::open(self.path(path)).ok()?;
        let mut bytes = Vec::new();
        file.take(longest).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// The result of a single read of up to 2 KiB. That is all of a task's short files, for a third of the system
    /// calls of [`Self::text`]; there may be thousands of tasks.
    pub fn line(&self, path: &str) -> Option<String> {
        let mut room = [0u8; 2048];
        let read = fs::File::open(self.path(path)).ok()?.read(&mut room).ok()?;
        Some(String::from_utf8_lossy(&room[..read]).into_owned())
    }

    /// The text at `path`, with control characters other than line breaks, tabs and NULs replaced: anybody can
    /// choose the names of tasks and devices, and they end up on terminals.
    pub fn text(&self, path: &str) -> Option<String> {
        let bytes = self.bytes(path, LONGEST)?;
        let clean = |c: char| if c.is_control() && c != '\n' && c != '\t' && c != '\0' { '?' } else { c };
        Some(String::from_utf8_lossy(&bytes).chars().map(clean).collect())
    }

    /// The text at `path` as one value, without surrounding white space or NULs; `None` also when nothing is left.
    pub fn value(&self, path: &str) -> Option<String> {
        let text = self.text(path)?;
        let value = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        if value.is_empty() { None } else { Some(value.replace(['\0', '\n'], " ")) }
    }

    /// The number at `path`, decimal.
    pub fn number<T: std::str::FromStr>(&self, path: &str) -> Option<T> {
        self.value(path)?.parse().ok()
    }

    /// Names in the directory `path`, sorted so that `cpu10` comes after `cpu9`.
    pub fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(path)) else { return Vec::new() };
        let mut names: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_by_cached_key(|name| (numbered(name).map(|(stem, n)| (stem.to_owned(), n)), name.clone()));
        names
    }

    /// Numbers `n` for which the directory `path` has an entry `{stem}{n}`, ascending.
    pub fn numbers(&self, path: &str, stem: &str) -> Vec<u32> {
        self.numbers_in(path, stem, "")
    }

    /// Numbers `n` for which the directory `path` has an entry `{stem}{n}{tail}`, ascending.
    pub fn numbers_in(&self, path: &str, stem: &str, tail: &str) -> Vec<u32> {
        let Ok(entries) = fs::read_dir(self.path(path)) else { return Vec::new() };
        let number = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_prefix(stem)?.strip_suffix(tail)?.parse().ok();
        let mut numbers: Vec<u32> = entries.flatten().filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Whether the mode of `path` lets anybody write. Root may always write, but the kernel marks files that can't
    /// be set at all.
    pub fn settable(&self, path: &str) -> bool {
        fs::metadata(self.path(path)).is_ok_and(|meta| !meta.permissions().readonly())
    }

    /// Whether this process may open `path` for writing. Nothing is written.
    pub fn can_write(&self, path: &str) -> bool {
        fs::OpenOptions::new().write(true).open(self.path(path)).is_ok()
    }

    /// Whether `path` is a directory.
    pub fn is_dir(&self, path: &str) -> bool {
        Path::is_dir(&self.path(path))
    }
}

/// Splits `cpu12` into `("cpu", 12)`.
fn numbered(name: &str) -> Option<(&str, u64)> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    Some((stem, name[stem.len()..].parse().ok()?))
}
