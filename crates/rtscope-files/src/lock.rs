//! Locks between processes, on files.

use crate::own::open_own;
use crate::wait::lock_patiently;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// A lock held while something in a directory is changed; the kernel releases it when the process ends.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Opens a lock's file; makes it, and its directory, where missing.
    pub fn open(file: &Path) -> io::Result<File> {
        if let Some(dir) = file.parent() {
            fs::create_dir_all(dir)?;
        }
        open_own(file)
    }

    /// Locks an open file. While another process holds the lock, calls `on_wait` once and waits until this process is asked to
    /// end.
    pub fn wait(file: File, on_wait: impl FnOnce()) -> io::Result<Self> {
        lock_patiently(&file, on_wait)?;
        Ok(Self { file })
    }

    /// Takes the lock if it is free.
    pub fn try_take(file: &Path) -> Option<Self> {
        Self::hold(Self::open(file).ok()?).ok()
    }

    /// Locks an open file; `EWOULDBLOCK` while the lock is held elsewhere.
    pub fn hold(file: File) -> io::Result<Self> {
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { file })
    }

    /// The locked file.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }
}

impl Drop for Lock {
    /// Closing alone might not release the lock: a child that another thread has just forked holds a copy of the descriptor until
    /// its exec.
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Between fork and exec, a child of another thread holds a copy of every descriptor.
    #[test]
    fn what_is_let_go_is_free_though_a_copy_of_its_descriptor_is_open() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/lock");
        let mut first = Lock::wait(Lock::open(&path).unwrap(), || {}).unwrap();
        let copy = first.file().try_clone().unwrap();
        assert!(Lock::try_take(&path).is_none());
        drop(first);
        assert!(Lock::try_take(&path).is_some());
        drop(copy);
    }
}
