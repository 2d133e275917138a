//! Prepares a booted kernel for measurements: file systems, modules, and a disk in memory whose requests complete in virtual
//! time.

use super::set_aside::set_aside;
use rtscope_lab::image::{MODULES_DIR, MODULES_LIST};
use rtscope_lab::vm::messages::GuestFacts;
use rtscope_record::Processor;
use rtscope_sys as sys;
use std::fs;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

/// Mount point of the disk, where loads write their files.
pub(super) const DISK: &str = "/disk";
/// Smallest size of the disk, MiB; of a guest with much memory it is four fifths of that. It takes up memory only as it is written.
const DISK_MIB: u64 = 2048;
/// How long a request to the disk takes, ns; as on a fast solid-state disk.
const COMPLETION_NS: u32 = 100_000;

/// Prints a line on the machine's console.
pub(super) fn console(text: &str) {
    // The console may be gone; nothing depends on it.
    if let Ok(mut console) = fs::OpenOptions::new().write(true).open("/dev/console") {
        let _ = writeln!(console, "{text}");
    }
}

/// Mounts the file systems that everything else needs.
pub(super) fn mounts() -> io::Result<()> {
    let mount = |kind: &str, target: &str, options: &str| {
        fs::create_dir_all(target)?;
        match sys::machine::mount(kind, Path::new(kind), Path::new(target), options) {
            // With CONFIG_DEVTMPFS_MOUNT the kernel has mounted it already, unless it boots from an initramfs.
            Err(e) if e.raw_os_error() != Some(libc::EBUSY) => Err(io::Error::new(e.kind(), format!("{kind} on {target}: {e}"))),
            _ => Ok(()),
        }
    };
    mount("proc", "/proc", "")?;
    mount("sysfs", "/sys", "")?;
    mount("devtmpfs", "/dev", "")?;
    mount("devpts", "/dev/pts", "")?;
    mount("tmpfs", "/dev/shm", "")?;
    mount("tmpfs", "/run", "")?;
    mount("tmpfs", "/tmp", "")?;
    // Here a kernel says how preemptible it is; without debugfs it says so elsewhere, or not at all.
    let _ = mount("debugfs", "/sys/kernel/debug", "");
    Ok(())
}

/// Loads the modules and makes the disk. Failures are reported, not fatal: a user's own kernel may lack parts that this run does
/// not need.
pub(super) fn prepare() -> GuestFacts {
    let mut problems = Vec::new();
    let listed = fs::read_to_string(MODULES_LIST).unwrap_or_default();
    for name in listed.lines().filter(|l| !l.is_empty()) {
        if let Err(e) = sys::machine::load_module(&Path::new(MODULES_DIR).join(name), &[]) {
            if e.raw_os_error() != Some(libc::EEXIST) {
                problems.push(format!("module {name}: {e}"));
            }
        }
    }
    // Loopback, for programs that run without a load's own network namespace.
    problems.extend(command("/usr/sbin/ip", &["link", "set", "lo", "up"]).err());
    problems.extend(disk().err());
    for problem in &problems {
        console(&format!("rtscope-guest: {problem}"));
    }
    let names = sys::host::uname().unwrap_or_default();
    let uptime = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let uptime: f64 = uptime.split_whitespace().next().and_then(|w| w.parse().ok()).unwrap_or(0.0);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // far below 2^63
    let uptime_ns = (uptime * 1e9) as u64;
    GuestFacts {
        release: names.release,
        version: names.version,
        uptime_ns,
        cpus: sys::rt::allowed_cpus().map_or(0, |c| u32::try_from(c.len()).unwrap_or(0)),
        memory_kib: memory(),
        processor: processor(),
        problems,
        not_taken: not_taken(),
        set_aside: set_aside(),
    }
}

/// What the kernel did not take of its command line: it passes assignments on to the first process as its environment, and other
/// words as its arguments (Documentation/admin-guide/kernel-parameters.rst).
fn not_taken() -> Vec<String> {
    let words = |file: &str| {
        let text = fs::read(file).unwrap_or_default();
        text.split(|b| *b == 0).filter(|w| !w.is_empty()).map(|w| String::from_utf8_lossy(w).into_owned()).collect::<Vec<_>>()
    };
    words("/proc/1/cmdline").into_iter().skip(1).chain(words("/proc/1/environ")).collect()
}

/// The processor: name and flags as the kernel lists them, and its own feature registers.
fn processor() -> Processor {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    // x86 has a name and flags, Arm has numbers and features.
    let field = |name: &str| {
        let of = |line: &str| line.split_once(':').filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned());
        text.lines().find_map(of).filter(|value| !value.is_empty())
    };
    let numbers = || {
        let known = ["CPU implementer", "CPU part", "CPU variant", "CPU revision"].iter().filter_map(|name| field(name));
        known.collect::<Vec<_>>().join(" ")
    };
    let name = match (field("vendor_id"), field("model name")) {
        (Some(vendor), Some(name)) => {
            let [family, model, stepping] = ["cpu family", "model", "stepping"].map(|name| field(name).unwrap_or_default());
            format!("{vendor} {family}/{model}/{stepping}, {name}")
        }
        _ => numbers(),
    };
    let flags = field("flags").or_else(|| field("Features")).unwrap_or_default();
    Processor { name, flags: flags.split_whitespace().map(str::to_owned).collect(), cpuid: cpuid() }
}

/// The processor's feature registers, each as `register=value`.
pub(super) fn cpuid() -> Vec<String> {
    sys::machine::features().into_iter().map(|(register, value)| format!("{register}={value:x}")).collect()
}

/// Makes a block device in memory (null_blk) that completes each request by a timer, with ext4 on it.
fn disk() -> Result<(), String> {
    let failed = |what: &str, e: io::Error| format!("disk: {what}: {e}");
    fs::create_dir_all("/sys/kernel/config")
        .map_err(|e| failed("null_blk needs configfs (CONFIG_CONFIGFS_FS), which this kernel has not", e))?;
    match sys::machine::mount("configfs", Path::new("configfs"), Path::new("/sys/kernel/config"), "") {
        Err(e) if e.raw_os_error() != Some(libc::EBUSY) => return Err(failed("configfs", e)),
        _ => {}
    }
    // When the driver is loaded it may have made devices of its own; take the first free number.
    let device = (0..8).find(|n| !Path::new(&format!("/dev/nullb{n}")).exists()).unwrap_or(8);
    let dir = format!("/sys/kernel/config/nullb/nullb{device}");
    fs::create_dir(&dir).map_err(|e| failed("null_blk", e))?;
    let settings = [
        ("size", DISK_MIB.max(memory().1 / 1024 * 4 / 5).to_string()),
        ("memory_backed", "1".into()),
        ("irqmode", "2".into()),
        ("completion_nsec", COMPLETION_NS.to_string()),
        ("power", "1".into()),
    ];
    for (name, value) in settings {
        fs::write(format!("{dir}/{name}"), value).map_err(|e| failed(name, e))?;
    }
    let path = format!("/dev/nullb{device}");
    // Initialize everything now, so that no ext4 thread goes on with it during a measurement.
    let options =
        ["-q", "-F", "-U", "5274536f-7065-4c61-6220-4469736b2121", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"];
    let words: Vec<&str> = options.into_iter().chain(["-J", "size=16", "-N", "8192", &path]).collect();
    command("/usr/sbin/mkfs.ext4", &words)?;
    fs::create_dir_all(DISK).map_err(|e| failed(DISK, e))?;
    sys::machine::mount("ext4", Path::new(&path), Path::new(DISK), "").map_err(|e| failed("ext4", e))
}

fn command(program: &str, args: &[&str]) -> Result<(), String> {
    let out = sys::process::command(program).args(args).stdin(Stdio::null()).output().map_err(|e| format!("{program}: {e}"))?;
    let said = String::from_utf8_lossy(&out.stderr);
    if out.status.success() { Ok(()) } else { Err(format!("{program}: {}: {}", out.status, said.trim())) }
}

/// Memory in use and in all, KiB.
fn memory() -> (u64, u64) {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(name));
        line.and_then(|l| l.trim_start_matches(':').trim().split(' ').next()).and_then(|w| w.parse().ok()).unwrap_or(0u64)
    };
    let total = field("MemTotal");
    (total.saturating_sub(field("MemAvailable")), total)
}

/// Random text.
pub(super) fn token() -> String {
    fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default().trim().into()
}

/// Runs a shell on the console, in a guest that was booted to look around in. Returns its exit code, as a shell has it.
pub(super) fn shell() -> u8 {
    let _ = std::env::set_current_dir("/root");
    let status = sys::process::command("/bin/busybox")
        .args(["setsid", "-c", "/bin/busybox", "sh", "-l"])
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", "/root")
        .env("PS1", "lab# ")
        .status();
    status.map_or(3, exit_code)
}

/// The exit code that a shell has for a program: 128 and the signal that ended it.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|c| u8::try_from(c).ok()).unwrap_or(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_killed_has_the_exit_code_of_a_shell() {
        for (script, code) in
            [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -TERM $$", 143), ("sh -c 'kill -9 $$'", 137)]
        {
            let status = sys::process::command("sh").args(["-c", script]).status().unwrap();
            assert_eq!(exit_code(status), code, "{script}");
        }
    }

    #[test]
    fn every_token_is_another() {
        assert!(token().len() == 36 && token() != token());
    }
}
