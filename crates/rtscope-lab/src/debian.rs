//! Debian packages for guests of any architecture, by an apt with directories, lists and status of its own: the host's packages and
//! architectures are never touched, and no root is needed.

mod apt;
pub(crate) mod control;

pub(crate) use apt::Apt;
pub use apt::{DebianError, Package};
pub(crate) use control::{Paragraph, upstream};

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Held while something in the cache is changed; the kernel releases it with the process.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock `file`, made with its directory where needed; waits while another process has it, after telling `on_step`.
    pub(crate) fn take(file: &Path, on_step: &mut dyn FnMut(&str)) -> io::Result<Self> {
        let lock = open(file)?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            on_step("waiting for another rtscope that is at it");
            flock(&lock, FlockOperation::LockExclusive)?;
        }
        Ok(Self { _file: lock })
    }

    /// Takes the lock if nobody has it.
    pub(crate) fn try_take(file: &Path) -> Option<Self> {
        let lock = open(file).ok()?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).ok().map(|()| Self { _file: lock })
    }
}

fn open(file: &Path) -> io::Result<File> {
    if let Some(dir) = file.parent() {
        fs::create_dir_all(dir)?;
    }
    File::options().write(true).create(true).truncate(false).open(file)
}

/// A size for people: `101.5 MB`.
pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
