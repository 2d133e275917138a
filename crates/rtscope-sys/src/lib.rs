//! The boundary to the kernel: every unsafe call of the project, each behind a safe function that names the system call and its
//! errors. Uses `record` for scheduling policies.
#![allow(unsafe_code)] // the only crate that may
#![cfg_attr(test, allow(clippy::disallowed_methods))] // programs that a test starts may inherit any signal settings

pub mod costs;
pub mod entry;
pub mod host;
pub mod machine;
pub mod mapped;
mod mask;
pub mod memory;
pub mod module_devices;
pub mod process;
pub mod rt;
pub mod sched;
pub mod shared;
pub mod signals;
pub mod tty;
pub mod wire_device;

use std::io;

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has the kernel send `signal` to this process when its parent thread ends (`prctl(PR_SET_PDEATHSIG)`).
pub fn die_with_parent(signal: i32) -> io::Result<()> {
    let signal = libc::c_ulong::try_from(signal).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: PR_SET_PDEATHSIG takes one integer and touches no memory.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) })
}

/// Makes orphaned descendants children of this process (`prctl(PR_SET_CHILD_SUBREAPER)`).
pub fn adopt_orphans() -> io::Result<()> {
    // SAFETY: PR_SET_CHILD_SUBREAPER takes one integer and touches no memory.
    check(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1 as libc::c_ulong) })
}

/// Moves this process (and, for a PID namespace, its future children) into new namespaces (`unshare(2)`); `flags` are `CLONE_NEW*`.
pub fn unshare(flags: i32) -> io::Result<()> {
    // SAFETY: no memory is passed; with namespace flags only, nothing of the caller's address space changes.
    check(unsafe { libc::unshare(flags) })
}

/// Sends `signal` to `pid`; a negative `pid` is a process group.
pub fn kill(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: integers only.
    check(unsafe { libc::kill(pid, signal) })
}

/// Reads and discards up to 512 bytes from `fd`; returns how many, 0 at the end of the file.
pub fn read_some(fd: i32) -> io::Result<usize> {
    let mut room = [0u8; 512];
    // SAFETY: the buffer is valid for its length; the kernel writes at most that many bytes.
    let n = unsafe { libc::read(fd, room.as_mut_ptr().cast(), room.len()) };
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// Whether the pipe `fd` is at its end. Discards up to 512 waiting bytes. This distinguishes a driver that has ended from one that
/// only wrote.
pub fn ended(fd: i32) -> bool {
    read_some(fd).is_ok_and(|n| n == 0)
}
