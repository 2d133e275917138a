//! A CPU of the host for all threads of a guest in virtual time: one that no other guest of this user's has, while there is one.
//!
//! When such a guest has nothing to do, another thread of QEMU's moves virtual time on to the next timer: on one CPU the two take turns, which
//! is quicker by a tenth. Where nothing is recorded (several CPUs, 32-bit Arm) that thread may also do so once more when the guest halts
//! again, before the last instructions have been counted: then time goes too far, by those. On one CPU, and before the thread that
//! computes, it is back asleep by then.

use rtscope_files::Lock;
use rtscope_sys as sys;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The CPU, ours until this is dropped; guests of other processes see that by the lock.
#[derive(Debug)]
pub(super) struct HostCpu {
    /// As the kernel counts them.
    pub(super) number: u32,
    _lock: Option<Lock>,
}

impl HostCpu {
    /// Takes a CPU of those that this process may use; `None` where the kernel does not tell which.
    pub(super) fn take() -> Option<Self> {
        Self::take_in(rtscope_files::user_dir().ok().as_deref())
    }

    /// Locks stand in the directory `locks`; without one, nothing is known of other guests.
    fn take_in(locks: Option<&Path>) -> Option<Self> {
        static GUESTS: AtomicUsize = AtomicUsize::new(0);
        let mut cpus = sys::rt::allowed_cpus().ok().filter(|cpus| !cpus.is_empty())?;
        // Not all processes begin with the same one: there are more of them than guests' locks tell of.
        let first = usize::try_from(std::process::id()).unwrap_or(0).wrapping_add(GUESTS.fetch_add(1, Relaxed));
        let len = cpus.len();
        cpus.rotate_left(first % len);
        let lock = |cpu: u32| Lock::try_take(&locks?.join(format!("guest-cpu-{cpu}")));
        let free = |cpu: u32| lock(cpu).map(|lock| Self { number: cpu, _lock: Some(lock) });
        let shared = Self { number: cpus[0], _lock: None };
        Some(cpus.into_iter().find_map(free).unwrap_or(shared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_have_a_cpu_each_while_there_is_one_and_then_share() {
        let dir = tempfile::tempdir().unwrap();
        let cpus = sys::rt::allowed_cpus().unwrap();
        let mut held: Vec<HostCpu> = cpus.iter().map(|_| HostCpu::take_in(Some(dir.path())).unwrap()).collect();
        let mut taken: Vec<u32> = held.iter().map(|h| h.number).collect();
        taken.sort_unstable();
        assert_eq!(taken, cpus);
        assert!(cpus.contains(&HostCpu::take_in(Some(dir.path())).unwrap().number));
        // Whoever comes next gets the one that is free, whichever it is.
        let left = held.pop().unwrap().number;
        assert_eq!(HostCpu::take_in(Some(dir.path())).unwrap().number, left);
    }
}
