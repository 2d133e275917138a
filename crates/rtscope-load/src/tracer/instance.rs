//! A tracing instance of rtscope's own (Documentation/trace/ftrace.rst, "Instances"): the machine's own tracing stays as it is, and one
//! `rmdir` restores everything.

use rtscope_sys as sys;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Begins the names of our instances; a process id follows it.
const PREFIX: &str = "rtscope-";
/// How long a process that is ending may keep files of an instance open.
const LINGER: Duration = Duration::from_secs(5);
/// The ring buffer of each measured CPU, KiB: some 100,000 functions, which is tens of ms of a busy CPU.
const BUFFER_KIB: u32 = 4096;

/// The events that tell of wake-ups, switches and interrupts. What a kernel does not have is left out.
const EVENTS: [&str; 12] = [
    SWITCH,
    "sched/sched_waking",
    "sched/sched_wakeup",
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "irq_vectors/local_timer_entry",
    "irq_vectors/local_timer_exit",
    "timer/hrtimer_expire_entry",
    "timer/hrtimer_expire_exit",
    "timer/hrtimer_start",
];
/// The event without which nothing can be told.
const SWITCH: &str = "sched/sched_switch";

/// The kernel's tracing files.
#[derive(Debug)]
struct Tracefs {
    dir: PathBuf,
    /// Our own mount, which is visible nowhere and ends with this.
    _mount: Option<OwnedFd>,
}

impl Tracefs {
    /// Where it is mounted, else mounted for this process alone.
    fn open() -> io::Result<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        if let Some(dir) = mounted(&mounts).find(|dir| dir.join("instances").is_dir()) {
            return Ok(Self { dir, _mount: None });
        }
        let mount = sys::machine::mount_nowhere("tracefs")?;
        // By the process id, since the probe looks there too.
        let dir = PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), mount.as_raw_fd()));
        Ok(Self { dir, _mount: Some(mount) })
    }

    fn instance(&self, name: &str) -> PathBuf {
        self.dir.join("instances").join(name)
    }
}

/// Where the table of mounts has a tracefs.
fn mounted(mounts: &str) -> impl Iterator<Item = PathBuf> {
    mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (dir, kind) = (words.next()?, words.next()?);
        (kind == "tracefs").then(|| PathBuf::from(dir))
    })
}

/// The name of the instance of the process `pid`.
pub(super) fn name(pid: u32) -> String {
    format!("{PREFIX}{pid}")
}

/// An instance that was made. Dropping it leaves it where it is.
#[derive(Debug)]
pub(super) struct Instance {
    tracefs: Tracefs,
    name: String,
    /// Whether the function tracer is set; else only events are recorded.
    pub(super) functions: bool,
}

impl Instance {
    /// Makes the instance `name`, which records what the CPUs `cpus` do as soon as its `tracing_on` says 1. The error says what failed.
    pub(super) fn make(name: &str, cpus: &[u32]) -> Result<Self, String> {
        let tracefs = Tracefs::open().map_err(|e| format!("tracefs can't be mounted: {e}"))?;
        let dir = tracefs.instance(name);
        fs::create_dir(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        let mut made = Self { tracefs, name: name.into(), functions: false };
        match made.set_up(cpus) {
            Ok(()) => Ok(made),
            Err(why) => {
                let _ = made.remove();
                Err(why)
            }
        }
    }

    fn set_up(&mut self, cpus: &[u32]) -> Result<(), String> {
        self.write("tracing_on", "0")?;
        // The clock of the probe's grid.
        self.write("trace_clock", "mono")?;
        self.write("options/irq-info", "1")?;
        self.write("tracing_cpumask", &mask(cpus))?;
        for cpu in cpus {
            self.write(&format!("per_cpu/cpu{cpu}/buffer_size_kb"), &BUFFER_KIB.to_string())?;
        }
        for event in EVENTS {
            let enabled = self.write(&format!("events/{event}/enable"), "1");
            if event == SWITCH {
                enabled?;
            }
        }
        // A locked-down kernel refuses it, and some are built without: events remain.
        self.functions = self.write("current_tracer", "function").is_ok();
        Ok(())
    }

    /// Its directory.
    pub(super) fn dir(&self) -> PathBuf {
        self.tracefs.instance(&self.name)
    }

    fn write(&self, file: &str, value: &str) -> Result<(), String> {
        let path = self.dir().join(file);
        fs::write(&path, value).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Removes it, and all that it changed.
    pub(super) fn remove(&self) -> io::Result<bool> {
        remove_dir(&self.dir())
    }
}

/// Removes the instance `name` if it is named as ours are; whether there was one.
pub(crate) fn remove(name: &str) -> io::Result<bool> {
    let ours = name.strip_prefix(PREFIX).is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit()));
    if !ours {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not named as rtscope's are; left alone"));
    }
    remove_dir(&Tracefs::open()?.instance(name))
}

fn remove_dir(dir: &Path) -> io::Result<bool> {
    let end = Instant::now() + LINGER;
    loop {
        match fs::remove_dir(dir) {
            Ok(()) => return Ok(true),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) && Instant::now() < end => {}
            Err(e) => return Err(e),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A set of CPUs as the kernel writes it: hexadecimal, groups of 32 bits from the highest on, with commas.
fn mask(cpus: &[u32]) -> String {
    let groups = cpus.iter().max().map_or(1, |most| most / 32 + 1);
    let group = |n: u32| cpus.iter().filter(|cpu| *cpu / 32 == n).fold(0u32, |bits, cpu| bits | 1 << (cpu % 32));
    (0..groups).rev().map(|n| format!("{:x}", group(n))).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_written_as_the_kernel_reads_them() {
        assert_eq!(mask(&[0]), "1");
        assert_eq!(mask(&[1, 3, 31]), "8000000a");
        assert_eq!(mask(&[0, 33]), "2,1");
    }

    #[test]
    fn it_is_found_where_it_is_mounted() {
        let table = "proc /proc proc rw 0 0\ntracefs /sys/kernel/tracing tracefs rw 0 0\nnone /x tracefs\n";
        assert_eq!(mounted(table).collect::<Vec<_>>(), [Path::new("/sys/kernel/tracing"), Path::new("/x")]);
    }

    #[test]
    fn only_ours_are_removed() {
        for name in ["rasdaemon", "rtscope-", "rtscope-1x", "rtscope-../x"] {
            assert!(remove(name).unwrap_err().to_string().contains("left alone"), "{name}");
        }
    }
}
