//! Facts about the machine and this process that only system calls tell: `uname`, resource limits, the timers' resolution.

use super::check;
use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;

/// The answer of `uname(2)`, without the operating system's name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Uname {
    /// Host name.
    pub nodename: String,
    /// Kernel release, `uname -r`.
    pub release: String,
    /// Kernel version, `uname -v`: build number, `SMP`, preemption model, date.
    pub version: String,
    /// Machine, `uname -m`.
    pub machine: String,
}

/// Names of the kernel, the machine and the host. Fails only with a broken C library.
pub fn uname() -> io::Result<Uname> {
    let mut names = MaybeUninit::<libc::utsname>::zeroed();
    // SAFETY: the pointer is valid for one utsname, all of whose bytes are initialized by zeroing.
    let names = unsafe {
        check(libc::uname(names.as_mut_ptr()))?;
        names.assume_init()
    };
    // SAFETY: the kernel ends every field with a NUL, and a zeroed one has them anyway.
    let text = |field: &[libc::c_char]| unsafe { CStr::from_ptr(field.as_ptr()) }.to_string_lossy().into_owned();
    Ok(Uname {
        nodename: text(&names.nodename),
        release: text(&names.release),
        version: text(&names.version),
        machine: text(&names.machine),
    })
}

/// The resource limits that rtscope needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// `RLIMIT_MEMLOCK`, bytes of locked memory.
    LockedMemory,
    /// `RLIMIT_RTPRIO`, the highest real-time priority.
    RtPriority,
}

/// The soft limit of this process; `None` means unlimited.
pub fn limit(of: Limit) -> io::Result<Option<u64>> {
    let resource = match of {
        Limit::LockedMemory => libc::RLIMIT_MEMLOCK,
        Limit::RtPriority => libc::RLIMIT_RTPRIO,
    };
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is valid for one rlimit.
    check(unsafe { libc::getrlimit(resource, &raw mut limit) })?;
    #[allow(clippy::useless_conversion)] // 32 bits on armv7
    let soft = u64::from(limit.rlim_cur);
    Ok(if limit.rlim_cur == libc::RLIM_INFINITY { None } else { Some(soft) })
}

/// Resolution of timers on `CLOCK_MONOTONIC`, ns: 1 with high-resolution timers, otherwise the length of a tick.
pub fn timer_resolution_ns() -> io::Result<u64> {
    let mut ts = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the pointer is valid for one timespec, initialized by zeroing.
    let ts = unsafe {
        check(libc::clock_getres(libc::CLOCK_MONOTONIC, ts.as_mut_ptr()))?;
        ts.assume_init()
    };
    #[allow(clippy::useless_conversion)] // 32 bits on armv7
    let (sec, nsec) = (u64::try_from(ts.tv_sec).unwrap_or(0), u64::try_from(ts.tv_nsec).unwrap_or(0));
    Ok(sec.saturating_mul(1_000_000_000).saturating_add(nsec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_names_itself_as_in_proc() {
        let names = uname().unwrap();
        let proc = |name: &str| std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap().trim_end().to_owned();
        assert_eq!(names.release, proc("osrelease"));
        assert_eq!(names.version, proc("version"));
        assert_eq!(names.nodename, proc("hostname"));
    }

    #[test]
    fn limits_are_those_in_proc() {
        let text = std::fs::read_to_string("/proc/self/limits").unwrap();
        for (of, name) in [(Limit::LockedMemory, "Max locked memory"), (Limit::RtPriority, "Max realtime priority")] {
            let line = text.lines().find(|l| l.starts_with(name)).unwrap();
            let soft = line[name.len()..].split_whitespace().next().unwrap();
            assert_eq!(limit(of).unwrap(), if soft == "unlimited" { None } else { Some(soft.parse().unwrap()) }, "{name}");
        }
    }

    #[test]
    fn a_timer_has_a_resolution() {
        let ns = timer_resolution_ns().unwrap();
        assert!((1..=10_000_000).contains(&ns), "{ns}");
    }
}
