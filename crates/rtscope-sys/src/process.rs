//! Processes: sessions, death with the parent, reaping, private mounts, and the file system of a path.

use super::check;
use std::ffi::{CString, OsStr};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};

/// A command with default signal dispositions and an empty mask, whatever this process ignores or blocks. Only an ignored SIGHUP
/// stays ignored (nohup). The project starts every program through this.
#[allow(clippy::disallowed_methods)] // the one place
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    super::signals::ordinary(&mut command);
    command
}

/// Makes this process the leader of a session and process group of its own (`setsid(2)`), so that a terminal's Ctrl-C misses it.
/// `EPERM` when it leads a process group already.
pub fn new_session() -> io::Result<()> {
    // SAFETY: no arguments.
    if unsafe { libc::setsid() } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Makes this process the leader of a process group of its own and gives up the controlling terminal, so that a terminal's Ctrl-C
/// misses it and what it starts can't open `/dev/tty`. For a process that starts much work: unlike [`new_session`] it leaves that
/// in the scheduler's group of the process that waits for it. A session is a group of its own (autogroup, sched(7)), and the tasks
/// of one may starve those of another for a minute (Linux 6.18 with workers that do nothing but switch).
///
/// Call it in the first thread before any other starts. SIGHUP stays blocked: the kernel sends it to a group whose parent has ended
/// when a process of it is stopped, and a load's worker may be.
pub fn new_group() -> io::Result<()> {
    super::signals::block(&[libc::SIGHUP])?;
    // SAFETY: integers only.
    check(unsafe { libc::setpgid(0, 0) })?;
    match std::fs::File::open("/dev/tty") {
        // SAFETY: no argument is read.
        Ok(terminal) => check(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCNOTTY) }).map(drop),
        // There is none.
        Err(_) => Ok(()),
    }
}

/// The process id at the other end of a socket, as of when it connected (`SO_PEERCRED`).
pub fn peer(socket: &impl AsRawFd) -> io::Result<u32> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = libc::socklen_t::try_from(std::mem::size_of::<libc::ucred>()).unwrap_or(0);
    // SAFETY: the kernel writes at most `len` bytes into the structure.
    check(unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut peer).cast(), &raw mut len)
    })?;
    u32::try_from(peer.pid).map_err(|_| io::Error::from(io::ErrorKind::NotFound))
}

/// Makes the kernel send `signal` to the child that `command` will start as soon as the spawning thread ends, for any reason.
///
/// The kernel watches the spawning *thread*, not the process: spawn from a thread that lives as long as the child should. If the
/// parent ends before the request reaches the kernel, the child does not start. Not usable for the first process of a PID
/// namespace, which can't see its parent: that process calls [`super::die_with_parent`] itself.
pub fn die_with_spawner(command: &mut Command, signal: i32) {
    let parent = i32::try_from(std::process::id()).unwrap_or(0);
    let request = move || {
        super::die_with_parent(signal)?;
        // SAFETY: no arguments, can't fail.
        if unsafe { libc::getppid() } == parent { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
    };
    // SAFETY: between fork and exec the closure makes two system calls that are safe there; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(request) };
}

/// Gives the first thread of the child that `command` will start priority over ordinary tasks, like
/// [`super::rt::come_before_ordinary_tasks`]; its other threads are ordinary. Without the privilege, all of them are.
pub fn first_thread_before_ordinary_tasks(command: &mut Command) {
    // Found before the fork: behind it no file is read.
    let precedence = super::rt::Precedence::here();
    let request = move || {
        let _ = precedence.take();
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes system calls that are safe there; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(request) };
}

/// Pins the child that `command` will start, with all its threads, to one CPU. If the kernel refuses, the child runs unpinned.
pub fn on_one_cpu(command: &mut Command, cpu: u32) {
    let mask = super::mask::cpu_mask(&[cpu]);
    let request = move || {
        let _ = super::mask::set_affinity(&mask);
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes a system call that is safe there; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(request) };
}

/// Lets the child that `command` will start inherit the descriptor `fd` under the same number. It must stay open until the start.
pub fn inherit(command: &mut Command, fd: RawFd) {
    // SAFETY: an integer; the kernel refuses a number that is not a descriptor.
    let request = move || if unsafe { libc::fcntl(fd, libc::F_SETFD, 0) } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
    // SAFETY: between fork and exec the closure makes a system call that is safe there; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(request) };
}

/// CPU time of a process of this PID namespace, all its threads together, ns. Read from the process's CPU clock, which is exact;
/// `/proc` counts in ticks. `EINVAL` if there is no such process.
pub fn cpu_time(pid: u32) -> io::Result<u64> {
    let pid = libc::clockid_t::try_from(pid).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // `MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED)` of `include/linux/posix-timers.h`.
    let clock = (!pid << 3) | 2;
    let mut at = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the pointer is valid for one timespec, which the call fills when it succeeds.
    let at = unsafe {
        check(libc::clock_gettime(clock, at.as_mut_ptr()))?;
        at.assume_init()
    };
    #[allow(clippy::cast_sign_loss, clippy::useless_conversion)] // CPU time is not negative; 32 bits on armv7
    Ok((i64::from(at.tv_sec) as u64).saturating_mul(1_000_000_000).saturating_add(i64::from(at.tv_nsec) as u64))
}

/// Collects one ended child, its own or an adopted one; `None` if there are children but none has ended, `ECHILD` if there are
/// none.
///
/// Where this is used, all children must be left to it: `std::process::Child::wait` would miss their status.
pub fn reap() -> io::Result<Option<(u32, ExitStatus)>> {
    let mut status = 0;
    // SAFETY: the pointer is valid for one int.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(u32::try_from(pid).ok().filter(|&p| p > 0).map(|p| (p, ExitStatus::from_raw(status))))
}

/// Waits until any child has ended and collects it: one of its own or, for the first process, an orphan. `ECHILD` without
/// children.
pub fn reap_next() -> io::Result<(u32, ExitStatus)> {
    let mut status = 0;
    // SAFETY: the pointer is valid for one int.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, 0) };
    u32::try_from(pid).map(|pid| (pid, ExitStatus::from_raw(status))).map_err(|_| io::Error::last_os_error())
}

pub(super) fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

/// Keeps later mounts of this mount namespace from propagating to others (`MS_REC | MS_PRIVATE` on `/`).
pub fn make_mounts_private() -> io::Result<()> {
    // SAFETY: for a change of propagation only the target is read; it is a valid C string.
    check(unsafe {
        libc::mount(std::ptr::null(), c"/".as_ptr(), std::ptr::null(), libc::MS_REC | libc::MS_PRIVATE, std::ptr::null())
    })
}

/// Mounts a file system without a device (`proc`, `tmpfs`) on `target`, with set-uid, devices and execution disabled. `options` are
/// the file system's own, such as `size=64m`; may be empty.
pub fn mount_virtual(kind: &str, target: &Path, options: &str) -> io::Result<()> {
    let c_string = |text: &str| CString::new(text).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput));
    let (kind, options) = (c_string(kind)?, c_string(options)?);
    let target = c_path(target)?;
    // SAFETY: four valid C strings; the data of these file systems are text.
    check(unsafe {
        libc::mount(
            kind.as_ptr(),
            target.as_ptr(),
            kind.as_ptr(),
            libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC,
            options.as_ptr().cast(),
        )
    })
}

/// The file system of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSystem {
    /// Whether it is in memory (tmpfs, ramfs) instead of on a disk.
    pub in_memory: bool,
    /// Bytes that the calling user can still write.
    pub free_bytes: u64,
}

/// The file system that `path` is on (`statfs(2)`).
#[allow(clippy::useless_conversion, clippy::cast_sign_loss, clippy::cast_lossless)] // the fields' types differ between machines
pub fn file_system(path: &Path) -> io::Result<FileSystem> {
    /// `TMPFS_MAGIC` and `RAMFS_MAGIC` of `include/uapi/linux/magic.h`.
    const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];
    let path = c_path(path)?;
    let mut stat = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: a valid C string, and room for one structure, which the call fills when it succeeds.
    let stat = unsafe {
        check(libc::statfs(path.as_ptr(), stat.as_mut_ptr()))?;
        stat.assume_init()
    };
    #[allow(clippy::cast_possible_truncation)] // magic numbers have 32 bits
    let magic = stat.f_type as u32;
    Ok(FileSystem { in_memory: IN_MEMORY.contains(&magic), free_bytes: (stat.f_bavail as u64).saturating_mul(stat.f_bsize as u64) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_directory_on_memory_is_told_from_a_disk() {
        assert!(file_system(Path::new("/no/such/path")).is_err());
        let root = file_system(Path::new("/proc")).unwrap();
        assert!(!root.in_memory);
        let shm = Path::new("/dev/shm");
        if shm.exists() {
            assert!(file_system(shm).unwrap().in_memory);
        }
    }

    #[test]
    fn the_cpu_time_of_a_process_is_its_own() {
        let mut child = command("sleep").arg("1000").spawn().unwrap();
        let own = cpu_time(std::process::id()).unwrap();
        let its = cpu_time(child.id()).unwrap();
        std::hint::black_box((0..1_000_000u64).map(std::hint::black_box).sum::<u64>());
        assert!(cpu_time(std::process::id()).unwrap() > own);
        assert!(its < 5_000_000_000 && cpu_time(child.id()).unwrap() >= its);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(cpu_time(child.id()).is_err());
    }

    #[test]
    fn a_child_stays_on_its_cpu() {
        let cpu = *crate::rt::allowed_cpus().unwrap().last().unwrap();
        let mut command = Command::new("grep");
        command.args(["Cpus_allowed_list", "/proc/self/status"]);
        on_one_cpu(&mut command, cpu);
        let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert_eq!(said.split_whitespace().last(), Some(cpu.to_string().as_str()), "{said}");
    }

    #[test]
    fn a_child_keeps_what_it_inherits() {
        let file = std::fs::File::open("/proc/self/comm").unwrap();
        let mut command = Command::new("test");
        command.arg("-e").arg(format!("/proc/self/fd/{}", file.as_raw_fd()));
        assert!(!command.status().unwrap().success());
        inherit(&mut command, file.as_raw_fd());
        assert!(command.status().unwrap().success());
    }

    #[test]
    fn a_child_dies_with_the_thread_that_started_it() {
        let mut child = std::thread::spawn(|| {
            let mut command = Command::new("sleep");
            command.arg("1000");
            die_with_spawner(&mut command, libc::SIGKILL);
            command.spawn().unwrap()
        })
        .join()
        .unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    }
}
