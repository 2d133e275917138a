//! Real-time scheduling, locked memory, the clock and the absolute sleep.

use super::check;
use super::mask::{cpu_mask, set_affinity};
use super::sched::{self, WantedScheduling};
use super::signals::{is_from_terminal, is_ignored};
use rtscope_record::Policy;
use std::io;
use std::mem::MaybeUninit;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A time on `CLOCK_MONOTONIC` in the kernel's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instant {
    /// Whole seconds.
    pub sec: i64,
    /// Nanoseconds, below one second.
    pub nsec: i64,
}

const SEC: u64 = 1_000_000_000;

impl Instant {
    /// From nanoseconds since the clock's epoch.
    #[inline]
    #[allow(clippy::cast_possible_wrap)] // a u64 of ns has fewer than 2^35 seconds
    pub fn from_ns(ns: u64) -> Self {
        Self { sec: (ns / SEC) as i64, nsec: (ns % SEC) as i64 }
    }
}

/// `CLOCK_MONOTONIC` now, ns. Read through the vDSO, so without a system call on common machines.
#[inline]
pub fn now() -> u64 {
    let mut ts = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the pointer is valid for one timespec, which the call fills; CLOCK_MONOTONIC always exists.
    let ts = unsafe {
        libc::clock_gettime(libc::CLOCK_MONOTONIC, ts.as_mut_ptr());
        ts.assume_init()
    };
    #[allow(clippy::cast_sign_loss, clippy::useless_conversion)] // monotonic time is not negative; 32 bits on armv7
    {
        i64::from(ts.tv_sec) as u64 * 1_000_000_000 + i64::from(ts.tv_nsec) as u64
    }
}

/// The errno in the return value of a raw system call (0: none). An errno is below 4096, so the cast loses nothing.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline]
#[allow(clippy::cast_possible_truncation)]
fn errno(result: i64) -> i32 {
    -(result as i32)
}

/// Sleeps until `at` on `CLOCK_MONOTONIC`. Returns 0 or the errno (`EINTR` if a signal was handled).
///
/// A raw system call: the C library's wrapper is a cancellation point and costs more instructions than the rest of the loop.
#[inline]
pub fn sleep_until(at: Instant) -> i32 {
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
    {
        let ts = [at.sec, at.nsec];
        let result: i64;
        // SAFETY: clock_nanosleep reads one timespec (two 64-bit integers here) and, with TIMER_ABSTIME, writes nothing; the
        // kernel clobbers rcx and r11 only.
        unsafe {
            core::arch::asm!(
                "syscall",
                inlateout("rax") libc::SYS_clock_nanosleep => result,
                in("rdi") libc::CLOCK_MONOTONIC,
                in("rsi") libc::TIMER_ABSTIME,
                in("rdx") ts.as_ptr(),
                in("r10") 0usize,
                lateout("rcx") _,
                lateout("r11") _,
                options(nostack, readonly),
            );
        }
        errno(result)
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ts = [at.sec, at.nsec];
        let result: i64;
        // SAFETY: clock_nanosleep reads one timespec (two 64-bit integers here) and, with TIMER_ABSTIME, writes nothing.
        unsafe {
            core::arch::asm!(
                "svc 0",
                in("x8") libc::SYS_clock_nanosleep,
                inlateout("x0") i64::from(libc::CLOCK_MONOTONIC) => result,
                in("x1") libc::TIMER_ABSTIME,
                in("x2") ts.as_ptr(),
                in("x3") 0usize,
                options(nostack, readonly),
            );
        }
        errno(result)
    }
    #[cfg(not(any(all(target_arch = "x86_64", target_pointer_width = "64"), target_arch = "aarch64")))]
    {
        #[allow(clippy::cast_possible_truncation)] // 32-bit time_t; monotonic seconds fit
        let ts = libc::timespec { tv_sec: at.sec as libc::time_t, tv_nsec: at.nsec as libc::c_long };
        // SAFETY: reads one timespec; with TIMER_ABSTIME the last argument is unused.
        unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const ts, std::ptr::null_mut()) }
    }
}

/// Limits the allocator to one arena without padding: each further arena would lock 132 KiB for its thread, and the padding 128
/// KiB.
pub fn one_arena() {
    #[cfg(target_env = "gnu")]
    // SAFETY: integers only.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_TOP_PAD, 0);
    }
}

/// Locks all present and future memory of this process (`mlockall`), after returning the allocator's free top to the system.
pub fn lock_memory() -> io::Result<()> {
    #[cfg(target_env = "gnu")]
    // SAFETY: an integer only; memory in use is not affected.
    unsafe {
        libc::malloc_trim(0);
    }
    // SAFETY: flags only.
    check(unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) })
}

/// Thread id of the caller.
pub fn tid() -> u32 {
    // SAFETY: no arguments, can't fail.
    u32::try_from(unsafe { libc::syscall(libc::SYS_gettid) }).unwrap_or(0)
}

/// Copies this process' own memory from the address `at` on: what another thread is writing to, as the kernel finds it. Returns how many
/// bytes could be read. `ENOSYS` from a kernel without `CONFIG_CROSS_MEMORY_ATTACH`.
pub fn read_own_memory(at: usize, into: &mut [u8]) -> io::Result<usize> {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: std::ptr::without_provenance_mut(at), iov_len: into.len() };
    let own = libc::pid_t::try_from(std::process::id()).map_err(io::Error::other)?;
    // SAFETY: the kernel writes at most `into.len()` bytes to `into`, and it checks the other address itself (EFAULT).
    let read = unsafe { libc::process_vm_readv(own, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// Pins the calling thread to one CPU.
pub fn pin(cpu: u32) -> io::Result<()> {
    pin_to(&[cpu])
}

/// Restricts the calling thread to these CPUs. `EINVAL` if none of them exists.
pub fn pin_to(cpus: &[u32]) -> io::Result<()> {
    set_affinity(&cpu_mask(cpus))
}

/// CPUs that the calling thread may run on, ascending.
pub fn allowed_cpus() -> io::Result<Vec<u32>> {
    let mut mask = vec![0u64; 1024];
    // SAFETY: the mask is valid for the stated number of bytes; the kernel writes at most that many.
    let bytes = unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, mask.len() * 8, mask.as_mut_ptr()) };
    if bytes < 0 {
        return Err(io::Error::last_os_error());
    }
    let words = (0u32..).step_by(64).zip(mask).filter(|&(_, word)| word != 0);
    Ok(words.flat_map(|(first, word)| (first..first + 64).filter(move |cpu| word >> (cpu - first) & 1 == 1)).collect())
}

/// Sets `policy` and `priority` of the calling thread. For DEADLINE, `period_ns` is period and deadline, and the runtime is a
/// tenth of it. `EPERM` without privilege or a sufficient `RLIMIT_RTPRIO`.
pub fn set_policy(policy: Policy, priority: u8, period_ns: u64) -> io::Result<()> {
    let share = ((period_ns / 10).max(2048), period_ns);
    sched::set(0, &WantedScheduling { policy, priority, share, reset_on_fork: false })
}

/// Waits until the kernel has done its deferred work on the caller's CPU, through an RCU grace period (`membarrier(2)`), since RCU
/// callbacks run in order. Setting up a run reads hundreds of files, whose kernel data is freed later in a softirq that a kernel
/// without full preemption does not interrupt: in the lab under a busy load, up to 115 us of the first half second. Takes some 10
/// to 50 ms; returns at once where the kernel does not support it (`nohz_full`).
pub fn settle() {
    let _ = barrier(libc::MEMBARRIER_CMD_GLOBAL);
}

/// `membarrier(2)` with `command`.
pub(super) fn barrier(command: libc::c_int) -> io::Result<()> {
    // SAFETY: integers only.
    let result = unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// How a thread comes before ordinary tasks without starving them where it waits for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Precedence {
    /// FIFO priority 1.
    Fifo,
    /// An ordinary task with nice -20.
    Nice,
}

impl Precedence {
    /// What suits this machine now. FIFO 1, but on a single CPU on which nothing lets ordinary tasks run beside real-time ones (the
    /// fair server is off, or in older kernels RT throttling): there a real-time thread that reaps a child or looks up one in /proc
    /// while an ordinary task is in the middle of clearing away what /proc kept of it spins for ever (`shrink_dcache_parent` in the
    /// `fs/dcache.c` of Linux 6.12).
    pub(super) fn here() -> Self {
        Self::of(Path::new("/"))
    }

    fn of(root: &Path) -> Self {
        let number = |path: &str| std::fs::read_to_string(root.join(path)).ok()?.trim().parse::<i64>().ok();
        let single = std::fs::read_to_string(root.join("sys/devices/system/cpu/online")).is_ok_and(|cpus| cpus.trim() == "0");
        let share = number("sys/kernel/debug/sched/fair_server/cpu0/runtime").map(|ns| ns > 0);
        let throttled = || number("proc/sys/kernel/sched_rt_runtime_us").map(|us| us >= 0);
        if single && !share.or_else(throttled).unwrap_or(true) { Self::Nice } else { Self::Fifo }
    }

    /// Gives it to the calling thread. Makes system calls only, so that it may stand between fork and exec.
    pub(super) fn take(self) -> io::Result<()> {
        let (policy, priority) = if self == Self::Fifo { (Policy::Fifo, 1) } else { (Policy::Other, 0) };
        sched::set(0, &WantedScheduling { policy, priority, share: (0, 0), reset_on_fork: true })?;
        if self == Self::Fifo {
            return Ok(());
        }
        // SAFETY: integers only; on Linux, process 0 is the calling thread.
        check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) })
    }
}

/// Puts the calling thread above all ordinary tasks and below every other real-time task, at FIFO priority 1, so that a load of
/// hundreds of processes can't starve its supervision; only where that could stop the machine (a single CPU without
/// fair server or RT throttling), at nice -20. Children are ordinary again. `EPERM` without privilege.
pub fn come_before_ordinary_tasks() -> io::Result<()> {
    Precedence::here().take()
}

/// Touches `BYTES` bytes of the stack below the caller, so that the loop takes no page fault there.
#[inline(never)]
pub fn prefault_stack<const BYTES: usize>() {
    let mut room = MaybeUninit::<[u8; BYTES]>::uninit();
    let start = room.as_mut_ptr().cast::<u8>();
    for at in (0..BYTES).step_by(1024) {
        // SAFETY: `at` is within the array; a volatile store keeps the touch from being optimized away.
        unsafe { start.add(at).write_volatile(0) };
    }
}

extern "C" fn wake(_: libc::c_int) {}

/// Installs a handler for SIGUSR2 that does nothing, so that the signal interrupts a thread's system call.
pub fn install_wake() -> io::Result<()> {
    // SAFETY: the structure is fully initialized by zeroing and the line below; the handler does nothing.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = wake as *const () as usize;
        check(libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut()))
    }
}

/// Installs the handler of [`install_wake`], unblocks all signals but SIGINT, SIGTERM and SIGHUP, and blocks these three in this
/// thread and all that it starts, so that only [`Signals`] receives them. An ignored SIGHUP stays ignored (nohup).
pub fn prepare_signals() -> io::Result<Signals> {
    install_wake()?;
    let hang_up = (!is_ignored(libc::SIGHUP)).then_some(libc::SIGHUP);
    // SAFETY: the set is fully initialized by zeroing and the calls below.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in [libc::SIGINT, libc::SIGTERM].into_iter().chain(hang_up) {
            libc::sigaddset(&raw mut set, signal);
        }
        let result = libc::pthread_sigmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
        if result != 0 {
            return Err(io::Error::from_raw_os_error(result));
        }
        let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Signals { fd, heard: AtomicBool::new(false), driven: false })
    }
}

/// Receives SIGINT, SIGTERM and SIGHUP; can wait for them and for the driver's pipe at once.
#[derive(Debug)]
pub struct Signals {
    fd: libc::c_int,
    heard: AtomicBool,
    driven: bool,
}

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// The time-out passed.
    Timeout,
    /// A signal asked the process to end. Every later wait returns this at once.
    Signal,
    /// The driver closed its end of the pipe or wrote to it.
    Input,
}

impl Signals {
    /// If `driven`, ignores signals from the terminal (Ctrl-C, hang-up): the driver gets them as well and decides. A driver that
    /// ignores them goes on, and so must its probe.
    #[must_use]
    pub fn of_the_driver(mut self, driven: bool) -> Self {
        self.driven = driven;
        self
    }

    /// Waits for a signal, for `input` (a file descriptor, negative for none) to be readable or closed, or for `timeout_ms`. A
    /// signal that is left to the driver ends the wait like a time-out.
    pub fn wait(&self, input: i32, timeout_ms: i32) -> Woken {
        if self.heard.load(Relaxed) {
            return Woken::Signal;
        }
        let mut fds = [
            libc::pollfd { fd: self.fd, events: libc::POLLIN, revents: 0 },
            libc::pollfd { fd: input, events: libc::POLLIN, revents: 0 },
        ];
        // SAFETY: the array is valid for two entries.
        let n = unsafe { libc::poll(fds.as_mut_ptr(), 2, timeout_ms) };
        match n {
            n if n > 0 && fds[0].revents != 0 => self.take(),
            n if n > 0 => Woken::Input,
            _ => Woken::Timeout,
        }
    }

    /// Reads all pending signals.
    fn take(&self) -> Woken {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        loop {
            // SAFETY: room for one structure, which the kernel fills completely or not at all.
            let n = unsafe { libc::read(self.fd, info.as_mut_ptr().cast(), size_of::<libc::signalfd_siginfo>()) };
            if usize::try_from(n).is_ok_and(|n| n == size_of::<libc::signalfd_siginfo>()) {
                // SAFETY: the kernel has filled it.
                let info = unsafe { info.assume_init() };
                let terminal = i32::try_from(info.ssi_signo).is_ok_and(|s| s != libc::SIGTERM) && is_from_terminal(info.ssi_code);
                if !(self.driven && terminal) {
                    self.heard.store(true, Relaxed);
                }
            } else if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return if self.heard.load(Relaxed) { Woken::Signal } else { Woken::Timeout };
            }
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours and closed once.
        unsafe { libc::close(self.fd) };
    }
}

/// Interrupts the sleep of this process's thread `tid`.
pub fn wake_thread(tid: u32) {
    // SAFETY: integers only; for a thread that has ended the call fails with ESRCH, which is harmless.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, libc::SIGUSR2) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_never_ends_early() {
        for ahead in [0, 1_000, 2_000_000] {
            let at = now() + ahead;
            assert_eq!(sleep_until(Instant::from_ns(at)), 0);
            assert!(now() >= at);
        }
    }

    #[test]
    fn a_bad_time_is_an_errno() {
        assert_eq!(sleep_until(Instant { sec: 1, nsec: -1 }), libc::EINVAL);
    }

    #[test]
    fn fifo_only_where_something_lets_ordinary_tasks_run() {
        let (server, throttling) = ("sys/kernel/debug/sched/fair_server/cpu0/runtime", "proc/sys/kernel/sched_rt_runtime_us");
        for (cpus, share, wanted) in [
            ("0", vec![], Precedence::Fifo),
            ("0", vec![(server, "50000000")], Precedence::Fifo),
            ("0", vec![(server, "0")], Precedence::Nice),
            ("0", vec![(server, "50000000"), (throttling, "-1")], Precedence::Fifo),
            ("0", vec![(server, "0"), (throttling, "950000")], Precedence::Nice),
            ("0", vec![(throttling, "950000")], Precedence::Fifo),
            ("0", vec![(throttling, "-1")], Precedence::Nice),
            ("0-3", vec![(server, "0"), (throttling, "-1")], Precedence::Fifo),
        ] {
            let root = tempfile::tempdir().unwrap();
            for (path, text) in share.iter().chain([&("sys/devices/system/cpu/online", cpus)]) {
                let path = root.path().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, format!("{text}\n")).unwrap();
            }
            assert_eq!(Precedence::of(root.path()), wanted, "{cpus} {share:?}");
        }
    }

    #[test]
    fn a_nice_thread_is_an_ordinary_one_and_its_children_are_not_nice() {
        let nice = |of: &str| {
            let stat = std::fs::read_to_string(format!("/proc/{of}/stat")).unwrap();
            stat.rsplit_once(") ").unwrap().1.split_ascii_whitespace().nth(16).unwrap().to_owned()
        };
        std::thread::spawn(move || {
            if let Err(e) = Precedence::Nice.take() {
                // Without privilege.
                assert!(matches!(e.raw_os_error(), Some(libc::EPERM | libc::EACCES)), "{e}");
                return;
            }
            assert_eq!((nice("thread-self"), sched::get(0).unwrap().0), ("-20".into(), libc::SCHED_OTHER as u32));
            let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
            assert_eq!(nice(&child.id().to_string()), "0");
            child.kill().unwrap();
            child.wait().unwrap();
        })
        .join()
        .unwrap();
    }

    #[test]
    fn an_unknown_cpu_is_refused() {
        let before = allowed_cpus().unwrap();
        std::thread::spawn(|| assert_eq!(pin(40_000).unwrap_err().raw_os_error(), Some(libc::EINVAL))).join().unwrap();
        assert_eq!(allowed_cpus().unwrap(), before);
    }
}
