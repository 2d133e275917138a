//! Signals that ask a process to end: which were ignored from the start, whether a terminal sent one, and children that inherit
//! none of this.

use super::check;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::SeqCst};

/// The last signal number: 31 standard signals, and the real-time ones after them, on all supported machines.
const LAST: i32 = 64;

/// Resets all signal dispositions and the mask of the child that `command` will start. A shell's `&`, nohup, cron and supervisors
/// have their children ignore signals, which all descendants inherit: they could not be ended by SIGINT. SIGHUP stays as it is:
/// nohup is meant for the whole tree of processes.
pub(super) fn ordinary(command: &mut Command) {
    let request = || {
        for signal in (1..=LAST).filter(|&s| s != libc::SIGHUP) {
            // SAFETY: integers only. SIGKILL, SIGSTOP and the C library's own signals are refused, as they should be.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        unblock()
    };
    // SAFETY: between fork and exec the closure makes system calls that are safe there; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(request) };
}

/// Blocks SIGINT, SIGTERM and SIGHUP in the child that `command` will start, a probe with a driver, until it takes them
/// ([`super::rt::prepare_signals`]): a signal during its start then ends the run instead of killing the probe.
pub fn hold_back(command: &mut Command) {
    let request = || block(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP]);
    // SAFETY: between fork and exec the closure makes a system call that is safe there; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(request) };
}

/// Blocks `signals` in the calling thread and those that it starts.
pub(super) fn block(signals: &[i32]) -> io::Result<()> {
    // SAFETY: the set is initialized by sigemptyset before it is read.
    let result = unsafe {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        for &signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut())
    };
    if result == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(result)) }
}

/// Unblocks all signals in the calling thread and what it starts.
fn unblock() -> io::Result<()> {
    // SAFETY: the set is initialized by sigemptyset before it is read.
    let result = unsafe {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut())
    };
    if result == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(result)) }
}

/// Call this in a program's first thread before any other starts: unblocks all signals and makes children waitable, whatever was
/// inherited. Signals that were ignored stay ignored.
pub fn at_start() {
    let _ = unblock();
    if is_ignored(libc::SIGCHLD) {
        // SAFETY: integers only. If SIGCHLD were ignored, the status of children would be lost.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    }
}

/// Whether this process ignores `signal`: from its start, unless its disposition was changed here.
pub fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: room for one structure, which the call fills when it succeeds; nothing is changed.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0 && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Who sent a signal, by its `si_code`: a positive one is from the kernel on behalf of a terminal (Ctrl-C, hang-up), others are
/// from processes.
pub(super) fn is_from_terminal(si_code: i32) -> bool {
    si_code > 0
}

/// The pipe end that the handler writes to.
static HEARD: AtomicI32 = AtomicI32::new(-1);
static TAKEN: AtomicBool = AtomicBool::new(false);
/// SIGINT was ignored from the start, so one from a terminal is not meant for this process.
static DEAF: AtomicBool = AtomicBool::new(false);

extern "C" fn hear(signal: libc::c_int, info: *const libc::siginfo_t, _: *const libc::c_void) {
    // SAFETY: with SA_SIGINFO the kernel passes a valid structure; errno belongs to this thread and is restored; write is
    // async-signal-safe.
    unsafe {
        if signal == libc::SIGINT && DEAF.load(SeqCst) && is_from_terminal((*info).si_code) {
            return;
        }
        let errno = libc::__errno_location();
        let before = *errno;
        libc::write(HEARD.load(SeqCst), [1u8].as_ptr().cast(), 1);
        *errno = before;
    }
}

/// Receives SIGINT, SIGTERM and SIGHUP through handlers of this process.
#[derive(Debug)]
pub struct Listener {
    heard: OwnedFd,
    ignores_ctrl_c: bool,
}

impl Listener {
    /// Handles the signals from now on, in any thread. A SIGHUP that was ignored from the start (nohup) stays ignored. If SIGINT
    /// was ignored from the start, only one from a process is accepted: the shell that switched it off meant the terminal's.
    /// `AlreadyExists` on a second call.
    pub fn new() -> io::Result<Self> {
        if TAKEN.swap(true, SeqCst) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let mut ends = [0; 2];
        // SAFETY: room for two descriptors.
        check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
        // SAFETY: a new descriptor that nothing else owns. The other one stays open for the handler.
        let heard = unsafe { OwnedFd::from_raw_fd(ends[0]) };
        // A full pipe already tells of a signal, so the handler need not block.
        // SAFETY: integers only.
        check(unsafe { libc::fcntl(ends[1], libc::F_SETFL, libc::O_NONBLOCK) })?;
        HEARD.store(ends[1], SeqCst);
        let ignores_ctrl_c = is_ignored(libc::SIGINT);
        DEAF.store(ignores_ctrl_c, SeqCst);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            if signal == libc::SIGHUP && is_ignored(signal) {
                continue;
            }
            // SAFETY: the structure is fully initialized by zeroing and the lines below; the handler does what a handler may.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = hear as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
                check(libc::sigaction(signal, &raw const action, std::ptr::null_mut()))?;
            }
        }
        Ok(Self { heard, ignores_ctrl_c })
    }

    /// Whether SIGINT was ignored from the start, so that a terminal's Ctrl-C has no effect.
    pub fn ignores_ctrl_c(&self) -> bool {
        self.ignores_ctrl_c
    }

    /// Waits for a signal.
    pub fn wait(&self) {
        while super::read_some(self.heard.as_raw_fd()).is_err_and(|e| e.kind() == io::ErrorKind::Interrupted) {}
    }
}

#[cfg(test)]
mod tests {
    use crate::process;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    /// The signal mask under `key` in a started program's `/proc/self/status`.
    fn mask(said: &[u8], key: &str) -> u64 {
        let text = String::from_utf8_lossy(said);
        let line = text.lines().find_map(|l| l.strip_prefix(key)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    }

    /// Runs this test again, in a process that ignores and blocks all signals that it may.
    #[test]
    fn children_of_a_process_that_ignores_and_blocks_everything_are_ordinary() {
        const INSIDE: &str = "RTSCOPE_TEST_DEAF";
        if std::env::var_os(INSIDE).is_some() {
            let out = process::command("cat").arg("/proc/self/status").output().unwrap();
            assert_eq!(mask(&out.stdout, "SigBlk:"), 0);
            // Bit 0 is SIGHUP; 32 and 33 are the C library's own signals, which it lets no one change.
            assert_eq!(mask(&out.stdout, "SigIgn:") & !(3 << 31), 1);
            return;
        }
        let mut command = Command::new(std::env::current_exe().unwrap());
        let name = std::thread::current().name().unwrap().to_owned();
        command.args(["--exact", &name, "--test-threads=1"]).env(INSIDE, "1");
        let deaf = || {
            // SAFETY: integers, and a set that is initialized before it is read.
            unsafe {
                for signal in (1..=64).filter(|&s| ![libc::SIGCHLD, libc::SIGSEGV, libc::SIGBUS].contains(&s)) {
                    libc::signal(signal, libc::SIG_IGN);
                }
                let mut set: libc::sigset_t = std::mem::zeroed();
                libc::sigfillset(&raw mut set);
                libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
            }
            Ok(())
        };
        // SAFETY: system calls that are safe between fork and exec.
        unsafe { command.pre_exec(deaf) };
        let out = command.output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
    }
}
