//! Elementary operations of a machine, one function each, so that they can be timed.

use super::check;
use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr;

/// A system call that does almost nothing (`getppid(2)`), without the C library, which might cache the result.
pub fn system_call() {
    // SAFETY: no arguments; can't fail.
    let _ = unsafe { libc::syscall(libc::SYS_getppid) };
}

/// Executes `CPUID`, which a hypervisor may have to emulate; `false` on architectures without such an instruction.
pub fn ask_processor() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every processor of this architecture has the instruction; it reads registers and touches no memory.
        #[allow(unused_unsafe)] // newer compilers treat it as safe
        let said = unsafe { core::arch::x86_64::__cpuid(0) };
        std::hint::black_box(said.eax);
        true
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Interrupts every other CPU that runs a thread of this process, and waits for them (`membarrier(2)`, expedited). Needs one call
/// of [`announce_barriers`] first.
pub fn interrupt_others() -> io::Result<()> {
    super::rt::barrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
}

/// Registers this process for [`interrupt_others`].
pub fn announce_barriers() -> io::Result<()> {
    super::rt::barrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
}

/// Sets the timer slack of this thread (`PR_SET_TIMERSLACK`): its sleeps may end up to `ns` late, so that the kernel can merge
/// wake-ups. 0 restores the default.
pub fn timer_slack(ns: u64) {
    let ns = libc::c_ulong::try_from(ns).unwrap_or(0);
    // SAFETY: one integer; touches no memory.
    let _ = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns) };
}

/// A pipe: its ends for reading and for writing.
pub fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: the kernel writes two descriptors into an array of two.
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // SAFETY: both were just opened, and nothing else owns them.
    let [read, write] = ends.map(|fd| unsafe { File::from(OwnedFd::from_raw_fd(fd)) });
    Ok((read, write))
}

/// A timer that expires every `ns`, read or not. Reading it gives the number of expirations since the last read (8 bytes).
pub fn ticking(ns: u64) -> io::Result<File> {
    // SAFETY: integers only.
    let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, and nothing else owns it.
    let file = unsafe { File::from(OwnedFd::from_raw_fd(fd)) };
    #[allow(clippy::cast_possible_wrap, clippy::cast_possible_truncation)] // a tick's seconds fit
    let every = libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ };
    let spec = libc::itimerspec { it_interval: every, it_value: every };
    // SAFETY: a descriptor that is open, a valid structure, and nowhere to write the old value to.
    check(unsafe { libc::timerfd_settime(fd, 0, &raw const spec, ptr::null_mut()) })?;
    Ok(file)
}

/// Fresh anonymous memory of this process: no page is present until it is touched.
#[derive(Debug)]
pub struct Fresh {
    at: *mut u8,
    len: usize,
}

impl Fresh {
    /// Maps `len` bytes in small pages.
    pub fn map(len: usize) -> io::Result<Self> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address of the kernel's choice; no pointer into it exists.
        let at = unsafe { libc::mmap(ptr::null_mut(), len, access, kind, -1, 0) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the mapping was just made. Huge pages would merge many faults into one.
        let _ = unsafe { libc::madvise(at, len, libc::MADV_NOHUGEPAGE) };
        Ok(Self { at: at.cast(), len })
    }

    /// Writes once to each page; `page` is the page size in bytes.
    pub fn touch(&mut self, page: usize) {
        for offset in (0..self.len).step_by(page) {
            // SAFETY: within the mapping, which only this value refers to.
            unsafe { self.at.add(offset).write_volatile(1) };
        }
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // SAFETY: this value's own mapping, which is no longer used.
        let _ = unsafe { libc::munmap(self.at.cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn each_does_what_it_says() {
        system_call();
        assert_eq!(ask_processor(), cfg!(target_arch = "x86_64"));
        // Kernels may be built without it.
        if announce_barriers().is_ok() {
            interrupt_others().unwrap();
        }
        let (mut read, mut write) = pipe().unwrap();
        write.write_all(b"x").unwrap();
        read.read_exact(&mut [0]).unwrap();
        let mut ticks = [0; 8];
        ticking(1_000_000).unwrap().read_exact(&mut ticks).unwrap();
        assert!(u64::from_ne_bytes(ticks) >= 1);
        let mut fresh = Fresh::map(1 << 20).unwrap();
        fresh.touch(4096);
    }
}
