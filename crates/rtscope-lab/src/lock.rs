//! Locks between processes, on a file: for the cache, and for a campaign's directory.

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Held while something in a directory is changed; the kernel releases it with the process.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock `file`, made with its directory where needed; waits while another process has it, after telling `on_step`, until
    /// this one is asked to end.
    pub(crate) fn take(file: &Path, on_step: &mut dyn FnMut(&str)) -> io::Result<Self> {
        let hint =
            |e: io::Error| io::Error::new(e.kind(), format!("{e}; make the cache writable, or name another: RTSCOPE_CACHE=DIR"));
        let lock = open(file).map_err(hint)?;
        rtscope_files::lock_patiently(&lock, || on_step("waiting for another rtscope that is at it"))?;
        Ok(Self { file: lock })
    }

    /// Takes the lock if nobody has it.
    pub(crate) fn try_take(file: &Path) -> Option<Self> {
        Self::hold(open(file).ok()?).ok()
    }

    /// Takes the lock of an open file; `EWOULDBLOCK` when somebody has it.
    pub(crate) fn hold(file: File) -> io::Result<Self> {
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { file })
    }

    /// The file that is locked.
    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }
}

impl Drop for Lock {
    /// Closing alone would not do: a child that another thread has just forked holds a copy of the descriptor until it becomes its program.
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

fn open(file: &Path) -> io::Result<File> {
    if let Some(dir) = file.parent() {
        fs::create_dir_all(dir)?;
    }
    rtscope_files::open_own(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that is forked meanwhile by another thread has a copy of every descriptor until it becomes its program.
    #[test]
    fn what_is_let_go_is_free_though_a_copy_of_its_descriptor_is_open() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/lock");
        let mut first = Lock::take(&path, &mut |_| {}).unwrap();
        let copy = first.file().try_clone().unwrap();
        assert!(Lock::try_take(&path).is_none());
        drop(first);
        assert!(Lock::try_take(&path).is_some());
        drop(copy);
    }
}
