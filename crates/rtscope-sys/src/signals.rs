//! Signals that ask to end: what was ignored from the start, whether a terminal or somebody sent one, and children that inherit none of it.

use super::check;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::SeqCst};

/// Signals of the first 31, and the real-time ones behind them, on every machine of ours.
const LAST: i32 = 64;

/// Has the child that `command` will start take every signal as a fresh program does, with an empty mask. A shell's `&`, nohup, cron and
/// supervisors have what they start ignore signals, and all their descendants with it: what is asked to end by SIGINT would not hear it.
/// SIGHUP stays as it is: who ignores it (nohup) means all that belongs to the work.
pub(super) fn ordinary(command: &mut Command) {
    let request = || {
        for signal in (1..=LAST).filter(|&s| s != libc::SIGHUP) {
            // SAFETY: integers only. SIGKILL, SIGSTOP and the C library's own are refused, and as they should be.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        unblock()
    };
    // SAFETY: between fork and exec the closure makes system calls that are safe there; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(request) };
}

/// Has the child that `command` will start, a probe with a driver, hear SIGINT, SIGTERM and SIGHUP only when it asks for them
/// ([`super::rt::prepare_signals`]): one that comes while it starts ends a run, it does not kill its probe.
pub fn hold_back(command: &mut Command) {
    let request = || {
        // SAFETY: the set is initialized by sigemptyset before it is read.
        let result = unsafe {
            let mut set = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(set.as_mut_ptr());
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut())
        };
        if result == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(result)) }
    };
    // SAFETY: between fork and exec the closure makes a system call that is safe there; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(request) };
}

/// Lets every signal through to the calling thread and to what it starts, whatever mask it was started with.
fn unblock() -> io::Result<()> {
    // SAFETY: the set is initialized by sigemptyset before it is read.
    let result = unsafe {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut())
    };
    if result == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(result)) }
}

/// For the first thread of a program, before any other: no signal is blocked, and children can be waited for, whoever started it and
/// however. What it was told to ignore stays ignored.
pub fn at_start() {
    let _ = unblock();
    if is_ignored(libc::SIGCHLD) {
        // SAFETY: integers only. With SIGCHLD ignored, a child's status is lost.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    }
}

/// Whether this process ignores `signal` (since it was started, where nobody here has changed that).
pub fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: room for one structure, which the call fills when it succeeds; nothing is changed.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0 && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Who sent a signal, by its `si_code`: positive from the kernel, on behalf of a terminal (Ctrl-C, hang-up); else a process.
pub(super) fn is_from_terminal(si_code: i32) -> bool {
    si_code > 0
}

/// Where the handler writes.
static HEARD: AtomicI32 = AtomicI32::new(-1);
static TAKEN: AtomicBool = AtomicBool::new(false);
/// SIGINT was ignored from the start: then a terminal's is not for us.
static DEAF: AtomicBool = AtomicBool::new(false);

extern "C" fn hear(signal: libc::c_int, info: *const libc::siginfo_t, _: *const libc::c_void) {
    // SAFETY: the kernel passes a valid structure with SA_SIGINFO; errno is this thread's and put back; write is safe in a handler.
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

/// SIGINT, SIGTERM and SIGHUP, taken by handlers of this process.
#[derive(Debug)]
pub struct Listener {
    heard: OwnedFd,
    ignores_ctrl_c: bool,
}

impl Listener {
    /// Takes the signals from now on, in whatever thread they come. SIGHUP stays ignored where it was from the start (nohup). Of a SIGINT
    /// that was ignored from the start, only what a process sends is taken: the shell that switched it off meant the terminal's. Once only.
    pub fn new() -> io::Result<Self> {
        if TAKEN.swap(true, SeqCst) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let mut ends = [0; 2];
        // SAFETY: room for two descriptors.
        check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
        // SAFETY: a new descriptor that nobody else owns. The other one stays open for the handler.
        let heard = unsafe { OwnedFd::from_raw_fd(ends[0]) };
        // A full pipe has been heard, so a handler never waits.
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

    /// SIGINT was ignored from the start, so a terminal's Ctrl-C is not taken.
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

    /// What `/proc/self/status` says of a program's signals that `start` starts.
    fn mask(said: &[u8], key: &str) -> u64 {
        let text = String::from_utf8_lossy(said);
        let line = text.lines().find_map(|l| l.strip_prefix(key)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    }

    /// This test once more, as a process that ignores and blocks all that it may.
    #[test]
    fn children_of_a_process_that_ignores_and_blocks_everything_are_ordinary() {
        const INSIDE: &str = "RTSCOPE_TEST_DEAF";
        if std::env::var_os(INSIDE).is_some() {
            let out = process::command("cat").arg("/proc/self/status").output().unwrap();
            assert_eq!(mask(&out.stdout, "SigBlk:"), 0);
            // SIGHUP is the first; 32 and 33 are the C library's own, which it lets nobody change.
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
