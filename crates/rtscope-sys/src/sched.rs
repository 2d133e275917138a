//! Scheduling of any thread: policy, affinity and timer slack; timers that wake a thread; time asleep; SIGCONT.

use super::check;
use super::mask::cpu_mask;
use rtscope_record::Policy;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The kernel's `struct sched_attr`, version 0 (48 bytes): `include/uapi/linux/sched/types.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

const _: () = assert!(size_of::<SchedAttr>() == 48);

/// Scheduling that a thread is to get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WantedScheduling {
    /// Policy.
    pub policy: Policy,
    /// 1 to 99 for FIFO and RR.
    pub priority: u8,
    /// DEADLINE: run time in each period, and the period, ns. The deadline equals the period.
    pub share: (u64, u64),
    /// Whether the thread's children start as ordinary tasks.
    pub reset_on_fork: bool,
}

/// Sets the scheduling of the thread `tid` (0: the caller). `EPERM` without privilege, `EBUSY` if the bandwidth for deadline tasks
/// is used up.
///
/// A raw `sched_setattr`: musl has no working `sched_setscheduler`.
pub fn set(tid: u32, wanted: &WantedScheduling) -> io::Result<()> {
    let number = match wanted.policy {
        Policy::Fifo => libc::SCHED_FIFO,
        Policy::Rr => libc::SCHED_RR,
        Policy::Other => libc::SCHED_OTHER,
        Policy::Deadline => libc::SCHED_DEADLINE,
    };
    let (runtime, period) = if wanted.policy == Policy::Deadline { wanted.share } else { (0, 0) };
    let attr = SchedAttr {
        size: 48,
        policy: u32::try_from(number).unwrap_or(0),
        flags: if wanted.reset_on_fork { libc::SCHED_FLAG_RESET_ON_FORK as u64 } else { 0 },
        nice: 0,
        priority: if wanted.policy.has_priority() { wanted.priority.into() } else { 0 },
        runtime,
        deadline: period,
        period,
    };
    // SAFETY: the attribute is valid for its stated size and only read.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, tid, &raw const attr, 0) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Policy (the kernel's number) and priority of the thread `tid` (0: the caller). `ESRCH` if it has ended.
pub fn get(tid: u32) -> io::Result<(u32, u32)> {
    let mut attr = SchedAttr::default();
    // SAFETY: the kernel writes at most the stated number of bytes into the attribute.
    let result = unsafe { libc::syscall(libc::SYS_sched_getattr, tid, &raw mut attr, size_of::<SchedAttr>(), 0) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok((attr.policy, attr.priority)) }
}

/// CPUs that the thread `tid` (0: the caller) may run on, ascending.
pub fn affinity(tid: u32) -> io::Result<Vec<u32>> {
    let mut mask = [0u64; 128];
    // SAFETY: the mask is valid for the stated number of bytes; the kernel writes at most that many.
    let bytes = unsafe { libc::syscall(libc::SYS_sched_getaffinity, tid, size_of_val(&mask), mask.as_mut_ptr()) };
    if bytes < 0 {
        return Err(io::Error::last_os_error());
    }
    let all = u32::try_from(mask.len() * 64).unwrap_or(0);
    Ok((0..all).filter(|&cpu| mask[cpu as usize / 64] >> (cpu % 64) & 1 == 1).collect())
}

/// Sets the CPUs on which the thread `tid` may run.
pub fn allow(tid: u32, cpus: &[u32]) -> io::Result<()> {
    let mask = cpu_mask(cpus);
    // SAFETY: the mask is valid for the stated number of bytes and only read.
    let result = unsafe { libc::syscall(libc::SYS_sched_setaffinity, tid, size_of_val(&mask[..]), mask.as_ptr()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Timer slack of the calling thread, ns (`prctl(PR_GET_TIMERSLACK)`).
pub fn timer_slack() -> io::Result<u64> {
    // SAFETY: takes no further arguments and touches no memory.
    let ns = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
    u64::try_from(ns).map_err(|_| io::Error::last_os_error())
}

/// How long the machine has been suspended since boot: `CLOCK_BOOTTIME` minus `CLOCK_MONOTONIC`, ns.
pub fn slept() -> u64 {
    let read = |clock| {
        let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is valid for one timespec; an unknown clock leaves it as it is.
        unsafe { libc::clock_gettime(clock, &raw mut ts) };
        #[allow(clippy::useless_conversion)] // 32 bits on armv7
        let (sec, nsec) = (u64::try_from(ts.tv_sec).unwrap_or(0), u64::try_from(ts.tv_nsec).unwrap_or(0));
        sec.saturating_mul(1_000_000_000).saturating_add(nsec)
    };
    let monotonic = read(libc::CLOCK_MONOTONIC);
    read(libc::CLOCK_BOOTTIME).saturating_sub(monotonic)
}

/// A timer on `CLOCK_MONOTONIC` that wakes a waiting thread and that any thread can postpone meanwhile (`timerfd_create(2)`).
#[derive(Debug)]
pub struct Alarm(OwnedFd);

impl Alarm {
    /// A timer that is not armed.
    pub fn new() -> io::Result<Self> {
        // SAFETY: flags only; the descriptor is new and ours.
        unsafe {
            let fd = libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC | libc::TFD_NONBLOCK);
            if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(Self(OwnedFd::from_raw_fd(fd))) }
        }
    }

    /// Arms the timer for `at`, ns; 0 disarms it. Replaces any earlier setting.
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)] // a u64 of ns has fewer than 2^35 seconds
    pub fn set(&self, at: u64) -> io::Result<()> {
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let value = libc::timespec { tv_sec: (at / 1_000_000_000) as libc::time_t, tv_nsec: (at % 1_000_000_000) as libc::c_long };
        let spec = libc::itimerspec { it_interval: zero, it_value: value };
        // SAFETY: a descriptor that is ours and a valid structure that is only read.
        check(unsafe { libc::timerfd_settime(self.0.as_raw_fd(), libc::TFD_TIMER_ABSTIME, &raw const spec, std::ptr::null_mut()) })
    }

    /// Waits until the timer expires.
    pub fn wait(&self) -> io::Result<()> {
        let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: valid for one entry.
        if unsafe { libc::poll(&raw mut poll, 1, -1) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut times = [0u8; 8];
        // SAFETY: the buffer has the eight bytes that the kernel writes; an alarm that was postponed meanwhile gives EAGAIN.
        unsafe { libc::read(self.0.as_raw_fd(), times.as_mut_ptr().cast(), 8) };
        Ok(())
    }
}

/// Reports whether the process was sent SIGCONT, which all its threads must have blocked (`signalfd(2)`).
#[derive(Debug)]
pub struct Continued(OwnedFd);

impl Continued {
    /// Blocks SIGCONT in this thread and all that it starts. A stopped process still continues.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the set is fully initialized by zeroing and the calls below; the descriptor is new and ours.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGCONT);
            let result = libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            if result != 0 {
                return Err(io::Error::from_raw_os_error(result));
            }
            let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(Self(OwnedFd::from_raw_fd(fd))) }
        }
    }

    /// Whether SIGCONT came since the last call.
    pub fn came(&self) -> bool {
        let mut room = [0u8; 128];
        // SAFETY: the buffer is valid for its length, which is that of one `signalfd_siginfo`.
        unsafe { libc::read(self.0.as_raw_fd(), room.as_mut_ptr().cast(), room.len()) > 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rt;
    use std::time::Duration;

    #[test]
    fn a_thread_is_told_from_outside() {
        let (say, hear) = std::sync::mpsc::channel();
        let (end, until) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            say.send(rt::tid()).unwrap();
            let _: Result<(), _> = until.recv();
        });
        let tid = hear.recv().unwrap();
        assert_eq!(get(tid).unwrap(), (0, 0));
        let before = affinity(tid).unwrap();
        assert_eq!(before, rt::allowed_cpus().unwrap());
        allow(tid, &before[..1]).unwrap();
        assert_eq!(affinity(tid).unwrap(), before[..1]);
        let wanted = WantedScheduling { policy: Policy::Fifo, priority: 3, share: (0, 0), reset_on_fork: false };
        if set(tid, &wanted).is_ok() {
            assert_eq!(get(tid).unwrap(), (1, 3));
        }
        drop(end);
        other.join().unwrap();
        assert!(get(0).is_ok() && get(u32::MAX >> 1).is_err());
    }

    #[test]
    fn an_alarm_goes_off_and_is_put_off() {
        let alarm = Alarm::new().unwrap();
        let start = rt::now();
        alarm.set(start + 1_000_000).unwrap();
        alarm.set(start + 30_000_000).unwrap();
        alarm.wait().unwrap();
        assert!(rt::now() >= start + 30_000_000);
    }

    #[test]
    fn slack_is_what_the_process_has() {
        let ns = timer_slack().unwrap();
        assert!(ns > 0, "{ns}");
    }

    #[test]
    fn a_stop_is_noticed_by_its_end() {
        std::thread::spawn(|| {
            let continued = Continued::new().unwrap();
            assert!(!continued.came());
            // Sent to this thread alone: in other threads of this process the signal is not blocked, and they would take it.
            // SAFETY: integers only.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), rt::tid(), libc::SIGCONT) };
            std::thread::sleep(Duration::from_millis(1));
            assert!(continued.came() && !continued.came());
        })
        .join()
        .unwrap();
    }
}
