//! A virtual machine's temporary files on the host: in memory if there is room, removed with the machine or by
//! the next start.

use rtscope_load::process_tree;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const PREFIX: &str = "rtscope-vm-";

/// A private directory. Dropping this removes it.
pub(super) struct Dir(PathBuf);

impl Dir {
    /// Makes a directory, and removes those of killed processes.
    pub(super) fn new() -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let pid = std::process::id();
        let start = process_tree::start_time(pid).unwrap_or(0);
        let make = |root: &Path| loop {
            let path = root.join(format!("{PREFIX}{pid}-{start}-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        };
        // In memory if possible, so that the mailbox never waits for a disk.
        let (memory, disk) = (Path::new("/dev/shm"), std::env::temp_dir());
        [memory, &disk].into_iter().for_each(sweep);
        make(memory).or_else(|_| make(&disk))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes this user's directories whose process is gone.
fn sweep(root: &Path) {
    let own = fs::metadata("/proc/self").map(|m| m.uid()).ok();
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|n| n.strip_prefix(PREFIX)) else { continue };
        let mut parts = rest.split('-').map(str::parse::<u64>);
        let (Some(Ok(pid)), Some(Ok(start))) = (parts.next(), parts.next()) else { continue };
        let gone = u32::try_from(pid).is_ok_and(|pid| process_tree::start_time(pid) != Some(start));
        let ours = entry.metadata().is_ok_and(|m| m.is_dir() && Some(m.uid()) == own);
        if gone && ours {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_goes_with_its_owner_and_a_dead_ones_by_the_next_start() {
        let dir = Dir::new().unwrap();
        let root = dir.path().parent().unwrap().to_path_buf();
        // No process has this number: the kernel's highest is 2^22.
        let dead = root.join(format!("{PREFIX}4294967295-1-0"));
        fs::create_dir(&dead).unwrap();
        fs::write(dead.join("mailbox"), "x").unwrap();
        let path = dir.path().to_path_buf();
        let second = Dir::new().unwrap();
        assert!(!dead.exists() && path.exists());
        assert_ne!(second.path(), path);
        drop(dir);
        assert!(!path.exists());
    }
}
