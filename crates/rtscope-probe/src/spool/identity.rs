//! Identifies processes by id and start time, and the directories that belong to them.

use super::files::read;
use crate::protocol::{Identity, Unattended};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Prefix of the name of a keeper's directory; the user's number and a random part follow.
pub const PREFIX: &str = "rtscope-ssh-";
/// A directory without an owner may still get one for this long.
const YOUNG: Duration = Duration::from_secs(60);

/// The identity of this process.
pub fn identity() -> Identity {
    of(std::process::id())
}

/// The identity of a process that runs here.
pub(super) fn of(pid: u32) -> Identity {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned();
    let space = fs::read_link("/proc/self/ns/pid").unwrap_or_default().to_string_lossy().into_owned();
    Identity { boot, space, pid, start: start_time(pid).unwrap_or_default() }
}

/// Whether the process is running, on this machine and in this boot.
pub fn is_alive(who: &Identity) -> bool {
    let here = of(who.pid);
    start_time(who.pid).is_some() && here == *who
}

/// Whether the process ran on this machine and has ended. `false` for processes of another PID namespace (a
/// container's), of which nothing is known.
fn is_dead(who: &Identity) -> bool {
    let here = of(who.pid);
    who.boot != here.boot || (who.space == here.space && !is_alive(who))
}

/// Start time of a process that has not ended, ticks since boot (`proc_pid_stat(5)`; the name in parentheses may hold anything).
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split_ascii_whitespace().collect();
    fields.get(19)?.parse().ok().filter(|_| !matches!(fields.first(), Some(&("Z" | "X" | "x"))))
}

/// Whether the shell that made a directory may still become its keeper. The shell can only record its process
/// id and start time (`PID START`).
fn is_young(dir: &Path, made: &fs::Metadata) -> bool {
    let shell = fs::read_to_string(dir.join("shell")).unwrap_or_default();
    let shell = shell.trim().split_once(' ').and_then(|(pid, start)| Some((pid.parse().ok()?, start.parse().ok()?)));
    let lives = shell.is_some_and(|(pid, start): (u32, u64)| start_time(pid) == Some(start));
    lives || made.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age < YOUNG))
}

/// Removes what dead keepers of this user left in the usual places, except `own`. Returns the running work that
/// nobody follows.
pub(super) fn sweep(own: &Path) -> Vec<Unattended> {
    let Ok(me) = fs::metadata("/proc/self").map(|m| m.uid()) else { return Vec::new() };
    let places = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let places: BTreeSet<PathBuf> = places.into_iter().chain(home).chain(own.parent().map(Path::to_path_buf)).collect();
    let mut unattended = Vec::new();
    for entry in places.iter().filter_map(|place| fs::read_dir(place).ok()).flatten().flatten() {
        let dir = entry.path();
        let named = entry.file_name().to_str().is_some_and(|name| name.starts_with(&format!("{PREFIX}{me}-")));
        let Ok(meta) = entry.metadata() else { continue };
        if !named || dir == own || !meta.is_dir() || meta.uid() != me {
            continue;
        }
        match read::<Identity>(&dir, "owner") {
            Some(owner) if is_alive(&owner) => {
                let driver = read(&dir, "driver").filter(|_| !is_followed(&dir));
                unattended.extend(driver.map(|driver| Unattended { dir: dir.to_string_lossy().into_owned(), driver }));
            }
            Some(owner) if !is_dead(&owner) => {}
            None if is_young(&dir, &meta) => {}
            // Directories that can't be removed are tried again in the next run.
            _ => drop(fs::remove_dir_all(&dir)),
        }
    }
    unattended
}

/// Whether a driver is connected to the work in `dir`.
pub(super) fn is_followed(dir: &Path) -> bool {
    read::<Identity>(dir, "follower").is_some_and(|f| is_alive(&f))
}

/// Whether the keeper of `dir` is running.
pub(super) fn alive(dir: &Path) -> bool {
    read::<Identity>(dir, "owner").is_some_and(|o| is_alive(&o))
}
