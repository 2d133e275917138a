//! CPU sets in the kernel's format.

use std::io;

/// The kernel's bit mask for these CPUs.
pub(super) fn cpu_mask(cpus: &[u32]) -> Vec<u64> {
    let words = cpus.iter().max().map_or(1, |&c| c as usize / 64 + 1);
    let mut mask = vec![0u64; words];
    for &cpu in cpus {
        // The kernel reads native words; little-endian machines and 64-bit big-endian ones agree on this layout.
        mask[cpu as usize / 64] |= 1 << (cpu % 64);
    }
    mask
}

/// Restricts the calling thread to the CPUs of `mask`. Allocates nothing.
pub(super) fn set_affinity(mask: &[u64]) -> io::Result<()> {
    // SAFETY: the mask is valid for the stated number of bytes and only read; 0 is the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(mask), mask.as_ptr()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
