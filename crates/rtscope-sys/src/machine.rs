//! Operations that need root or depend on the processor: mounts, kernel modules, restart; the time counter and `CPUID`.

use super::check;
use super::process::c_path;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

/// Mounts a file system of type `kind` on `target`. `from` is the device, or a name where there is none; `options` are the file
/// system's own.
pub fn mount(kind: &str, from: &Path, target: &Path, options: &str) -> io::Result<()> {
    let c_string = |text: &str| CString::new(text).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput));
    let (kind, options) = (c_string(kind)?, c_string(options)?);
    let (from, target) = (c_path(from)?, c_path(target)?);
    // SAFETY: four valid C strings; the data of these file systems are text.
    check(unsafe { libc::mount(from.as_ptr(), target.as_ptr(), kind.as_ptr(), 0, options.as_ptr().cast()) })
}

/// Mounts a file system of type `kind` nowhere: it is reached through the returned descriptor, such as by `/proc/PID/fd/N`, and ends with
/// it (`fsopen(2)`, `fsconfig(2)`, `fsmount(2)`; Linux 5.2).
pub fn mount_nowhere(kind: &str) -> io::Result<OwnedFd> {
    // Of include/uapi/linux/mount.h.
    const FSCONFIG_CMD_CREATE: libc::c_uint = 6;
    const CLOEXEC: libc::c_uint = 1;
    let kind = CString::new(kind).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let descriptor = |result: libc::c_long| {
        let fd = i32::try_from(result).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
        // SAFETY: a descriptor that the kernel has just made, which nobody else owns.
        Ok::<_, io::Error>(unsafe { OwnedFd::from_raw_fd(fd) })
    };
    // SAFETY: a valid C string, which the kernel copies.
    let context = descriptor(unsafe { libc::syscall(libc::SYS_fsopen, kind.as_ptr(), CLOEXEC) })?;
    let none = std::ptr::null::<libc::c_char>();
    // SAFETY: a descriptor that lives through the call; this command takes no strings.
    let made = unsafe { libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), FSCONFIG_CMD_CREATE, none, none, 0) };
    if made != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that lives through the call, and flags.
    descriptor(unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), CLOEXEC, 0) })
}

/// Loads the kernel module in `file` with `parameters` such as `delay_us=100` (`finit_module(2)`). `EEXIST` if it is loaded
/// already.
pub fn load_module(file: &Path, parameters: &[String]) -> io::Result<()> {
    let parameters = CString::new(parameters.join(" ")).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let file = File::open(file)?;
    // SAFETY: a descriptor that lives through the call and a valid C string; the kernel copies both.
    let result = unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), parameters.as_ptr(), 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Unloads the kernel module `name` (`delete_module(2)`).
pub fn unload_module(name: &str) -> io::Result<()> {
    let name = CString::new(name).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: a valid C string and flags.
    let result = unsafe { libc::syscall(libc::SYS_delete_module, name.as_ptr(), libc::O_NONBLOCK) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The processor's time counter in ns. Arm states its frequency; x86's is assumed to count nanoseconds, as in QEMU with
/// instruction-counted time. 0 on other architectures.
pub fn counter_ns() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads a counter, which Linux lets every process read unless configured otherwise.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(target_arch = "aarch64")]
    {
        let (count, frequency): (u64, u64);
        // SAFETY: reads two registers, which Linux lets every process read; the barrier keeps the first read in its place.
        unsafe { core::arch::asm!("isb", "mrs {}, cntvct_el0", "mrs {}, cntfrq_el0", out(reg) count, out(reg) frequency) };
        count_to_ns(count, frequency)
    }
    #[cfg(target_arch = "arm")]
    {
        let (low, high, frequency): (u32, u32, u32);
        // SAFETY: as for 64 bits.
        unsafe {
            core::arch::asm!(
                "isb",
                "mrrc p15, 1, {}, {}, c14",
                "mrc p15, 0, {}, c14, c0, 0",
                out(reg) low,
                out(reg) high,
                out(reg) frequency
            );
        }
        count_to_ns(u64::from(high) << 32 | u64::from(low), u64::from(frequency))
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "arm")))]
    0
}

#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
fn count_to_ns(count: u64, frequency: u64) -> u64 {
    u64::try_from(u128::from(count) * 1_000_000_000 / u128::from(frequency.max(1))).unwrap_or(u64::MAX)
}

/// The leaves and subleaves of `CPUID` with the registers (indices of EAX, EBX, ECX, EDX) that describe model and features,
/// without those that differ between CPUs of one machine.
#[cfg(target_arch = "x86_64")]
const FEATURES: [(u32, u32, &[usize]); 10] = [
    (0, 0, &[1, 2, 3]),
    (1, 0, &[0, 2, 3]),
    (6, 0, &[0]),
    (7, 0, &[1, 2, 3]),
    (7, 1, &[0]),
    (0xd, 1, &[0]),
    (0x8000_0001, 0, &[2, 3]),
    (0x8000_0007, 0, &[3]),
    (0x8000_0008, 0, &[1]),
    (0x8000_000a, 0, &[3]),
];

/// Model and features of the processor: registers of `CPUID` by leaf, subleaf and name, such as `7.0.ebx`. Empty on other
/// architectures.
pub fn features() -> Vec<(String, u32)> {
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
    let mut found = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every processor of this architecture has the instruction; it reads registers and touches no memory.
        #[allow(unused_unsafe)] // newer compilers treat it as safe
        let ask = |leaf: u32, subleaf: u32| unsafe { core::arch::x86_64::__cpuid_count(leaf, subleaf) };
        for (leaf, subleaf, registers) in FEATURES {
            // For a leaf above the highest, the processor would return data of the highest one.
            if leaf > ask(leaf & 0x8000_0000, 0).eax {
                continue;
            }
            let said = ask(leaf, subleaf);
            let values = [("eax", said.eax), ("ebx", said.ebx), ("ecx", said.ecx), ("edx", said.edx)];
            found.extend(registers.iter().map(|&r| (format!("{leaf:x}.{subleaf}.{}", values[r].0), values[r].1)));
        }
    }
    found
}

/// Restarts the machine at once, without shutting down (`reboot(2)`). Returns only on failure.
pub fn restart() -> io::Error {
    // SAFETY: takes a command and touches no memory.
    unsafe { libc::reboot(libc::RB_AUTOBOOT) };
    io::Error::last_os_error()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_goes_on() {
        let before = counter_ns();
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(counter_ns() > before);
    }
}
