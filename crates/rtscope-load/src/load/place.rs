//! Chooses the load's directory: on a disk with enough room.

use super::error::LoadError;
use crate::job::Workload;
use rtscope_record::{Effect, Warning};
use rtscope_sys::process::file_system;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;

const MIB: u64 = 1 << 20;

/// Chooses the directory in which the load makes its own, with a warning if it lies in memory though the load needs a disk.
pub(super) fn choose(load: &str, asked: Option<&PathBuf>, workload: &Workload) -> Result<(PathBuf, Option<Warning>), LoadError> {
    let candidates: Vec<PathBuf> = match asked {
        Some(dir) => vec![dir.clone()],
        None => std::env::var_os("TMPDIR").map(PathBuf::from).into_iter().chain(["/var/tmp", "/tmp"].map(PathBuf::from)).collect(),
    };
    let mut in_memory = None;
    let mut problem = None;
    for candidate in candidates {
        let usable = || -> io::Result<_> {
            let dir = candidate.canonicalize()?;
            if !fs::metadata(&dir)?.is_dir() {
                return Err(io::Error::from(io::ErrorKind::NotADirectory));
            }
            let on = file_system(&dir)?;
            Ok((dir, on))
        };
        match usable() {
            Err(e) => problem = problem.or(Some(LoadError::Directory { path: candidate, reason: e.to_string() })),
            Ok((dir, on)) if on.free_bytes / MIB < workload.need_mib => {
                let full = LoadError::DiskFull {
                    load: load.into(),
                    path: dir,
                    need_mib: workload.need_mib,
                    free_mib: on.free_bytes / MIB,
                };
                problem = Some(full);
            }
            Ok((dir, on)) if on.in_memory && workload.on_disk => in_memory = in_memory.or(Some(dir)),
            Ok((dir, _)) => return Ok((dir, None)),
        }
    }
    match (in_memory, problem) {
        (Some(dir), _) => {
            let message = format!("the load wrote to {}, which lies in memory: no disk was busy", dir.display());
            let remedy = "choose a directory on a disk with --load-dir";
            Ok((dir, Some(Warning::new("load-in-memory", Effect::Inconclusive, message, remedy))))
        }
        (None, Some(problem)) => Err(problem),
        (None, None) => Err(LoadError::Directory { path: PathBuf::from("/var/tmp"), reason: "it is not there".into() }),
    }
}

/// A random token, 16 hexadecimal digits.
pub(super) fn token() -> io::Result<String> {
    let mut bytes = [0u8; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:016x}", u64::from_ne_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_failure::Problem as _;

    fn sized(on_disk: bool, need_mib: u64) -> Workload {
        Workload { tools: Vec::new(), iperf3: None, on_disk, need_mib, fills_cpus: false }
    }

    #[test]
    fn too_little_room_is_told_with_figures() {
        let e = choose("disk", None, &sized(true, u64::MAX)).unwrap_err();
        assert!(matches!(e, LoadError::DiskFull { need_mib: u64::MAX, .. }), "{e}");
        assert!(!e.is_usage());
    }

    #[test]
    fn memory_is_taken_for_a_disk_load_with_a_warning_only() {
        let shm = PathBuf::from("/dev/shm");
        if !shm.exists() {
            return; // a machine without tmpfs has nothing to mistake for a disk
        }
        let (dir, warning) = choose("disk", Some(&shm), &sized(true, 1)).unwrap();
        assert_eq!(dir, shm.canonicalize().unwrap());
        assert_eq!(warning.unwrap().code, "load-in-memory");
        assert_eq!(choose("calculation", Some(&shm), &sized(false, 1)).unwrap().1, None);
    }

    #[test]
    fn what_is_no_directory_is_an_error() {
        for path in ["/no/such/directory", "/proc/version"] {
            assert!(matches!(choose("disk", Some(&path.into()), &sized(true, 1)), Err(LoadError::Directory { .. })), "{path}");
        }
    }

    #[test]
    fn tokens_are_hexadecimal_and_differ() {
        let (a, b) = (token().unwrap(), token().unwrap());
        assert_ne!(a, b);
        assert!(a.len() == 16 && a.bytes().all(|c| c.is_ascii_hexdigit()));
    }
}
