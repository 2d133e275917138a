//! Locks between processes, on a file.

use crate::own::open_own;
use crate::wait::lock_patiently;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Held while something in a directory is changed; the kernel releases it with the process.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Opens the file of a lock, made with its directory where needed.
    pub fn open(file: &Path) -> io::Result<File> {
        if let Some(dir) = file.parent() {
            fs::create_dir_all(dir)?;
        }
        open_own(file)
    }

    /// Takes the lock of an open file; waits while another process has it, after telling `on_wait`, until this one is asked to end.
    pub fn wait(file: File, on_wait: impl FnOnce()) -> io::Result<Self> {
        lock_patiently(&file, on_wait)?;
        Ok(Self { file })
    }

    /// Takes the lock if nobody has it.
    pub fn try_take(file: &Path) -> Option<Self> {
        Self::hold(Self::open(file).ok()?).ok()
    }

    /// Takes the lock of an open file; `EWOULDBLOCK` when somebody has it.
    pub fn hold(file: File) -> io::Result<Self> {
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { file })
    }

    /// The file that is locked.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }
}

impl Drop for Lock {
    /// Closing alone would not do: a child that another thread has just forked holds a copy of the descriptor until it becomes its program.
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that is forked meanwhile by another thread has a copy of every descriptor until it becomes its program.
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
