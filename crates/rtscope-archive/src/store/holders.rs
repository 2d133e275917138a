//! Which processes hold a lock on the archive's files, from the kernel's table of file locks.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Process ids and names of the other processes with locks on the archive, in words for a message; writers only, if there
/// are any.
pub(super) fn describe(archive: &Path) -> String {
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let files: Vec<String> = ["", "-wal", "-shm"].iter().filter_map(|suffix| lock_key(&with_suffix(archive, suffix))).collect();
    let own = std::process::id();
    let pids = pids_in(&locks, &files);
    let mut names: Vec<String> = pids.into_iter().filter(|&pid| pid != own).map(named).collect();
    names.dedup();
    if names.is_empty() { "another process, or another connection of this one".into() } else { names.join(", ") }
}

/// `archive` with `suffix` appended to its whole name, as SQLite names companion files.
pub(super) fn with_suffix(archive: &Path, suffix: &str) -> PathBuf {
    let mut name = archive.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The file as /proc/locks identifies it: major:minor of the device in hex, and the inode.
fn lock_key(path: &Path) -> Option<String> {
    let m = fs::metadata(path).ok()?;
    let dev = m.dev();
    // glibc's layout of a 64-bit device number: 12 + 20 bits of the major number around 8 + 12 bits of the minor.
    let major = (dev >> 8 & 0xfff) | (dev >> 32 & !0xfff);
    let minor = (dev & 0xff) | (dev >> 12 & !0xff & 0xffff_ffff);
    Some(format!("{major:02x}:{minor:02x}:{}", m.ino()))
}

/// Processes with a lock on one of `files`: those with a write lock, or all where nobody has one.
fn pids_in(locks: &str, files: &[String]) -> Vec<u32> {
    // Such as `1: POSIX  ADVISORY  WRITE 1234 fe:00:5678 120 120`; a waiter has `->` after the number and holds no lock.
    let held = locks.lines().filter_map(|line| {
        let f: Vec<&str> = line.split_whitespace().collect();
        let (kind, pid, file) = (f.get(3)?, f.get(4)?, f.get(5)?);
        (f.get(1) != Some(&"->") && files.iter().any(|k| k == file)).then_some((*kind == "WRITE", pid.parse::<u32>().ok()?))
    });
    let mut held: Vec<(bool, u32)> = held.collect();
    if held.iter().any(|h| h.0) {
        held.retain(|h| h.0);
    }
    held.sort_unstable();
    held.dedup();
    held.into_iter().map(|h| h.1).collect()
}

fn named(pid: u32) -> String {
    match fs::read_to_string(format!("/proc/{pid}/comm")) {
        Ok(name) => format!("process {pid} ({})", name.trim_end()),
        Err(_) => format!("process {pid}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_table_is_read() {
        let table = "1: POSIX  ADVISORY  WRITE 812 fe:00:77 120 120\n2: -> POSIX  ADVISORY  WRITE 813 fe:00:77 120 120\n\
                     3: POSIX  ADVISORY  READ 814 fe:00:77 124 124\n4: FLOCK  ADVISORY  WRITE 815 fe:00:78 0 EOF\nnonsense\n";
        assert_eq!(pids_in(table, &["fe:00:77".into()]), [812]);
        assert_eq!(pids_in(table, &["fe:00:79".into()]), [0u32; 0]);
        assert_eq!(pids_in(&table.replace("WRITE 812", "READ 812"), &["fe:00:77".into()]), [812, 814]);
    }
}
