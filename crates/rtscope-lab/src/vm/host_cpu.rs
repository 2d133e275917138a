//! One CPU of the host for all threads of a guest in virtual time, and not shared with other guests of this
//! user as long as there are enough.
//!
//! When such a guest is idle, another QEMU thread advances virtual time to the next timer. On one CPU the two
//! threads take turns, which is a tenth faster. Without recording (several CPUs, 32-bit Arm) that thread may
//! also advance time when the guest has halted again but its last instructions are not yet counted; time then
//! goes too far by those. On one CPU, and with priority over the computing thread, it is back asleep before
//! that.

use rtscope_files::Lock;
use rtscope_sys as sys;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A host CPU, reserved until this is dropped. The lock tells guests of other processes.
#[derive(Debug)]
pub(super) struct HostCpu {
    /// The CPU's number in the kernel.
    pub(super) number: u32,
    _lock: Option<Lock>,
}

impl HostCpu {
    /// Reserves one of the CPUs that this process may use; `None` if the kernel does not list them.
    pub(super) fn take() -> Option<Self> {
        Self::take_in(rtscope_files::user_dir().ok().as_deref())
    }

    /// `locks` is the directory of the lock files; without it, other guests are not known.
    fn take_in(locks: Option<&Path>) -> Option<Self> {
        static GUESTS: AtomicUsize = AtomicUsize::new(0);
        let mut cpus = sys::rt::allowed_cpus().ok().filter(|cpus| !cpus.is_empty())?;
        // Processes start at different CPUs, because the locks do not show all guests (such as other users').
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
        // The next guest gets the free CPU, whichever it is.
        let left = held.pop().unwrap().number;
        assert_eq!(HostCpu::take_in(Some(dir.path())).unwrap().number, left);
    }
}
