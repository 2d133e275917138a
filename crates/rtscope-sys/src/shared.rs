//! A page of memory shared between processes, and waiting for it to change: the basis of software lines.

use super::check;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Number of edges that the page keeps.
pub const SLOTS: usize = 256;

/// The shared page. Only atomics: another process may write to it at any time, and every bit pattern is valid.
#[repr(C)]
#[derive(Debug)]
pub struct Page {
    /// Shows that the page was set up, and its layout.
    pub magic: AtomicU64,
    /// Number of edges so far.
    pub head: AtomicU64,
    /// Changes with every edge; the futex that readers wait on.
    pub bell: AtomicU32,
    reserved: AtomicU32,
    /// The last edges: time in ns, shifted left by one, and the new level.
    pub edges: [AtomicU64; SLOTS],
}

/// Size of the page, bytes.
pub const BYTES: usize = size_of::<Page>();

const _: () = assert!(BYTES == 24 + 8 * SLOTS);

/// A [`Page`] mapped from a file.
#[derive(Debug)]
pub struct Shared {
    page: *const Page,
}

// SAFETY: the mapping belongs to the process, not to a thread, and everything in it is atomic.
unsafe impl Send for Shared {}

impl Shared {
    /// Maps the start of `file`, after extending it to the size of a [`Page`]. The file must not be shortened while it is mapped.
    pub fn map(file: &File) -> io::Result<Self> {
        if file.metadata()?.len() < BYTES as u64 {
            file.set_len(BYTES as u64)?;
        }
        // SAFETY: no address is asked for, so nothing mapped before is touched; the mapping outlives the descriptor.
        let page = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                file.as_raw_fd(),
                0,
            )
        };
        if page == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Self { page: page.cast() }) }
    }

    /// The mapped page.
    pub fn page(&self) -> &Page {
        // SAFETY: a mapping of that size, aligned to a page, that lives as long as `self`; any bits are valid atomics.
        unsafe { &*self.page }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: exactly what `map` mapped; nothing borrows from it.
        unsafe { libc::munmap(self.page.cast_mut().cast(), BYTES) };
    }
}

/// Wakes all waiters of `bell`, in any process.
pub fn ring(bell: &AtomicU32) {
    // SAFETY: the address is that of a live atomic; waking writes nothing.
    unsafe { libc::syscall(libc::SYS_futex, bell.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// Waits until `bell` is rung, at most until `deadline` (`CLOCK_MONOTONIC`, ns). Returns at once if `bell` no longer holds `seen`;
/// may return early.
pub fn wait(bell: &AtomicU32, seen: u32, deadline: u64) {
    if bell.load(Relaxed) != seen {
        return;
    }
    // This system call takes two longs on every machine, whatever the C library's time_t is.
    #[allow(clippy::cast_possible_wrap, clippy::cast_possible_truncation)] // monotonic seconds fit
    let until = [(deadline / 1_000_000_000) as libc::c_long, (deadline % 1_000_000_000) as libc::c_long];
    // SAFETY: the address is that of a live atomic, the time is valid through the call; with FUTEX_WAIT_BITSET it is absolute, on
    // CLOCK_MONOTONIC.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            bell.as_ptr(),
            libc::FUTEX_WAIT_BITSET,
            seen,
            until.as_ptr(),
            std::ptr::null::<u32>(),
            libc::FUTEX_BITSET_MATCH_ANY,
        )
    };
}

/// A lock on one byte of a file. It belongs to the open file, not to the process; the kernel releases it when the last descriptor
/// is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteLock {
    /// No other lock on the byte.
    Exclusive,
    /// Other shared locks are possible.
    Shared,
    /// Releases the lock.
    Free,
}

fn flock(kind: ByteLock, byte: i64) -> libc::flock {
    let kind = match kind {
        ByteLock::Exclusive => libc::F_WRLCK,
        ByteLock::Shared => libc::F_RDLCK,
        ByteLock::Free => libc::F_UNLCK,
    };
    // SAFETY: integers only, for which zero is valid.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    #[allow(clippy::cast_possible_truncation)] // the constants are below 3
    {
        lock.l_type = kind as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        lock.l_start = byte as libc::off_t;
    }
    lock.l_len = 1;
    lock
}

/// Sets the lock on `byte`, without waiting. `EAGAIN` or `EACCES` if another open file's lock conflicts.
pub fn lock(file: &File, kind: ByteLock, byte: i64) -> io::Result<()> {
    let lock = flock(kind, byte);
    // SAFETY: a descriptor that lives through the call, and a valid structure that is only read.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) })
}

/// Whether another open file has a lock on `byte` that prevents an exclusive one.
pub fn is_locked(file: &File, byte: i64) -> io::Result<bool> {
    let mut lock = flock(ByteLock::Exclusive, byte);
    // SAFETY: a descriptor that lives through the call, and a valid structure, which the kernel fills.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) })?;
    Ok(i32::from(lock.l_type) != libc::F_UNLCK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rt::now;
    use std::sync::atomic::Ordering::SeqCst;

    #[test]
    fn a_bell_is_heard_through_another_mapping_and_silence_ends() {
        let file = tempfile::tempfile().unwrap();
        let (a, b) = (Shared::map(&file).unwrap(), Shared::map(&file).unwrap());
        let end = now() + 5_000_000;
        while now() < end {
            wait(&a.page().bell, 0, end);
        }
        let ringer = std::thread::spawn(move || {
            b.page().bell.store(1, SeqCst);
            ring(&b.page().bell);
        });
        while a.page().bell.load(SeqCst) == 0 {
            wait(&a.page().bell, 0, now() + 60_000_000_000);
        }
        ringer.join().unwrap();
    }

    #[test]
    fn a_byte_has_one_owner_or_several_that_share() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let open = || std::fs::OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path).unwrap();
        let (a, b) = (open(), open());
        lock(&a, ByteLock::Exclusive, 0).unwrap();
        assert!(lock(&b, ByteLock::Exclusive, 0).is_err() && is_locked(&b, 0).unwrap() && !is_locked(&b, 1).unwrap());
        lock(&a, ByteLock::Shared, 1).unwrap();
        lock(&b, ByteLock::Shared, 1).unwrap();
        drop(a);
        lock(&b, ByteLock::Exclusive, 0).unwrap();
        assert!(!is_locked(&b, 1).unwrap());
    }
}
