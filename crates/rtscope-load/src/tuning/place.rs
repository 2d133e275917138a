//! Where a setting is: a file of the kernel's, or the scheduling of one of its threads. It is read, set, and put back.

use rtscope_record::Policy;
use rtscope_sys as sys;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use sys::sched::WantedScheduling;

/// Where debugfs is mounted.
const DEBUG: &str = "sys/kernel/debug/";
/// Flag of kernel threads (`include/linux/sched.h`, `PF_KTHREAD`).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// Where a setting is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// A file of the kernel's, such as `proc/sys/kernel/timer_migration`.
    File(String),
    /// Policy and priority of a kernel thread.
    Thread {
        /// Its id.
        tid: u32,
        /// When it started, ticks since boot: the id alone may have been reused.
        start: u64,
        /// Its name.
        name: String,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => write!(f, "/{file}"),
            Self::Thread { name, .. } => write!(f, "the scheduling of {name}"),
        }
    }
}

/// The files that may be set; `*` is any number.
const FILES: [&str; 7] = [
    "proc/sys/kernel/sched_rt_runtime_us",
    "proc/sys/kernel/timer_migration",
    "sys/kernel/debug/sched/fair_server/cpu*/runtime",
    "sys/kernel/debug/sched/preempt",
    "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    "sys/devices/system/cpu/cpu*/cpuidle/state*/disable",
    "sys/kernel/mm/transparent_hugepage/enabled",
];

/// Whether `file` is one that a setting may be in. A journal names no other.
fn known(file: &str) -> bool {
    let fits = |pattern: &str| {
        let (mut file, mut parts) = (file, pattern.split('*'));
        let first = parts.next().unwrap_or_default();
        let Some(rest) = file.strip_prefix(first) else { return false };
        file = rest;
        for part in parts {
            let digits = file.bytes().take_while(u8::is_ascii_digit).count();
            match file[digits..].strip_prefix(part) {
                Some(rest) if digits > 0 => file = rest,
                _ => return false,
            }
        }
        file.is_empty()
    };
    FILES.into_iter().any(fits)
}

/// A kernel thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Thread {
    pub(super) tid: u32,
    pub(super) start: u64,
    pub(super) name: String,
}

/// The files below a root directory.
#[derive(Debug)]
pub(crate) struct Files {
    root: PathBuf,
    /// Our own mount of debugfs, visible nowhere, where it is not mounted.
    debug: Option<OwnedFd>,
}

impl Files {
    pub(crate) fn below(root: &Path) -> Self {
        let there = root != Path::new("/") || root.join(DEBUG).join("sched").exists();
        let debug = if there { None } else { sys::machine::mount_nowhere("debugfs").ok() };
        Self { root: root.into(), debug }
    }

    pub(super) fn path(&self, file: &str) -> PathBuf {
        match (&self.debug, file.strip_prefix(DEBUG)) {
            (Some(fd), Some(rest)) => PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd())).join(rest),
            _ => self.root.join(file),
        }
    }

    /// The text of a file, as it is.
    pub(super) fn text(&self, file: &str) -> io::Result<String> {
        fs::read_to_string(self.path(file)).map(|text| text.trim().to_owned())
    }

    /// The names in a directory, with the number after `prefix`; ascending.
    pub(super) fn numbered(&self, dir: &str, prefix: &str) -> Vec<u32> {
        let names = fs::read_dir(self.path(dir)).into_iter().flatten().flatten();
        let mut all: Vec<u32> = names.filter_map(|n| n.file_name().to_str()?.strip_prefix(prefix)?.parse().ok()).collect();
        all.sort_unstable();
        all
    }

    /// The kernel's threads.
    pub(super) fn threads(&self) -> Vec<Thread> {
        let of = |tid| {
            let stat = String::from_utf8_lossy(&fs::read(self.root.join(format!("proc/{tid}/stat"))).ok()?).into_owned();
            thread(tid, &stat)
        };
        self.numbered("proc", "").into_iter().filter_map(of).collect()
    }

    /// What is set: of a file with a choice, what is chosen.
    pub(crate) fn read(&self, place: &Place) -> io::Result<String> {
        match place {
            Place::File(file) => {
                let text = self.text(file)?;
                let chosen = text.split_whitespace().find_map(|word| {
                    let inner = |a: char, b: char| word.strip_prefix(a)?.strip_suffix(b);
                    inner('[', ']').or_else(|| inner('(', ')'))
                });
                Ok(chosen.unwrap_or(&text).to_owned())
            }
            Place::Thread { tid, start, .. } => {
                self.same_thread(*tid, *start)?;
                let (policy, priority) = sys::sched::get(*tid)?;
                Ok(scheduling(policy, priority))
            }
        }
    }

    /// Sets a place.
    pub(crate) fn write(&self, place: &Place, value: &str) -> io::Result<()> {
        match place {
            Place::File(file) if known(file) => fs::OpenOptions::new().write(true).open(self.path(file)).and_then(|mut f| {
                use std::io::Write as _;
                f.write_all(value.as_bytes())
            }),
            Place::File(_) => Err(io::ErrorKind::PermissionDenied.into()),
            Place::Thread { tid, start, .. } => {
                self.same_thread(*tid, *start)?;
                let (policy, priority) = value.split_once(' ').unwrap_or((value, "0"));
                let invalid = |_| io::Error::from(io::ErrorKind::InvalidInput);
                let policy: Policy = policy.parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
                let priority: u8 = priority.parse().map_err(invalid)?;
                sys::sched::set(*tid, &WantedScheduling { policy, priority, share: (0, 0), reset_on_fork: false })
            }
        }
    }

    /// Puts `before` back where `set` still is; `Ok(false)` where something else is there by now, or nothing any more.
    pub(crate) fn put_back(&self, place: &Place, set: &str, before: &str) -> io::Result<bool> {
        let now = match self.read(place) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
            now => now?,
        };
        if now != set || set == before {
            return Ok(false);
        }
        self.write(place, before)?;
        let now = self.read(place)?;
        if now == before { Ok(true) } else { Err(io::Error::other(format!("it was set to {before}, and is {now}"))) }
    }

    fn same_thread(&self, tid: u32, start: u64) -> io::Result<()> {
        let stat = fs::read(self.root.join(format!("proc/{tid}/stat")))?;
        let same = thread(tid, &String::from_utf8_lossy(&stat)).is_some_and(|t| t.start == start);
        if same { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }
}

/// The kernel thread of a line of `/proc/PID/stat` (`proc_pid_stat(5)`); `None` for a process.
fn thread(tid: u32, stat: &str) -> Option<Thread> {
    let (before, rest) = stat.rsplit_once(") ")?;
    let (_, name) = before.split_once(" (")?;
    let field = |at: usize| rest.split_ascii_whitespace().nth(at)?.parse::<u64>().ok();
    let kernel = field(6)? & KERNEL_THREAD != 0;
    kernel.then_some(Thread { tid, start: field(19)?, name: name.into() })
}

/// Policy and priority in words, such as `fifo 50`.
fn scheduling(policy: u32, priority: u32) -> String {
    let name = match i32::try_from(policy) {
        Ok(libc::SCHED_OTHER) => "other",
        Ok(libc::SCHED_FIFO) => "fifo",
        Ok(libc::SCHED_RR) => "rr",
        _ => return format!("policy {policy}"),
    };
    format!("{name} {priority}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_settings_are_written() {
        for file in [
            "proc/sys/kernel/timer_migration",
            "sys/devices/system/cpu/cpu12/cpuidle/state3/disable",
            "sys/kernel/debug/sched/fair_server/cpu0/runtime",
        ] {
            assert!(known(file), "{file}");
        }
        for file in [
            "etc/passwd",
            "proc/sys/kernel/timer_migration/../core_pattern",
            "proc/sys/kernel/core_pattern",
            "sys/devices/system/cpu/cpu/cpuidle/state3/disable",
            "sys/devices/system/cpu/cpu1/../cpu2/cpuidle/state3/disable",
            "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor.d",
            "",
        ] {
            assert!(!known(file), "{file}");
        }
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("precious"), "x").unwrap();
        let files = Files::below(dir.path());
        assert!(files.write(&Place::File("precious".into()), "y").is_err());
        assert_eq!(fs::read_to_string(dir.path().join("precious")).unwrap(), "x");
    }

    #[test]
    fn threads_of_the_kernel_are_told_from_processes() {
        let stat = "17 (irq/24-a) b) S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 -51 0 1 0 91 0 0";
        let of_kernel = Thread { tid: 17, start: 91, name: "irq/24-a) b".into() };
        assert_eq!(thread(17, stat), Some(of_kernel));
        assert_eq!(thread(17, &stat.replace("2129984", "4194304")), None);
        assert_eq!(thread(17, "17 (x"), None);
        assert!(Files::below(Path::new("/")).same_thread(std::process::id(), 0).is_err(), "a process is no kernel thread");
    }

    #[test]
    fn what_is_chosen_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::below(dir.path());
        fs::create_dir_all(dir.path().join("sys/kernel/mm/transparent_hugepage")).unwrap();
        let place = Place::File("sys/kernel/mm/transparent_hugepage/enabled".into());
        for (text, chosen) in [("always [madvise] never\n", "madvise"), ("none (full) lazy", "full"), ("-1\n", "-1")] {
            fs::write(files.path("sys/kernel/mm/transparent_hugepage/enabled"), text).unwrap();
            assert_eq!(files.read(&place).unwrap(), chosen);
        }
        assert!(!files.put_back(&place, "off", "on").unwrap(), "another has set it since");
        assert!(files.put_back(&place, "-1", "950000").unwrap());
        assert_eq!(files.read(&place).unwrap(), "950000");
    }
}
