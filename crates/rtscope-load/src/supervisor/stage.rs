//! What every stage of the supervisor is made of: how it is kept apart, its name, its ordinary priority.

use rtscope_record::Policy;
use rtscope_sys as sys;
use std::fs;

/// How a stage is kept apart from the rest of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// PID, mount, IPC and, where iproute2 is there, network namespaces.
    Root,
    /// The same in a user namespace of its own.
    User,
    /// No namespaces: a tree of processes that is killed as one.
    Tree,
}

impl Kind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::User => "user",
            Self::Tree => "tree",
        }
    }

    pub(super) fn of(word: &str) -> Option<Self> {
        [Self::Root, Self::User, Self::Tree].into_iter().find(|k| k.word() == word)
    }
}

/// Name of a stage in process lists. Not the program's own, so that `pkill -9 rtscope` leaves the supervisor the time to clean up.
pub(super) fn call_myself(name: &str) {
    let _ = fs::write("/proc/self/comm", name);
}

/// Undoes what a stage may have been started with: blocked signals, and a real-time policy that a load would starve the machine with.
pub(super) fn ordinary_process() {
    sys::signals::at_start();
    let _ = sys::rt::set_policy(Policy::Other, 0, 0);
}

/// Keeps the calling thread of a stage awake under its own load. Without privilege it must do without.
pub(super) fn stay_awake() {
    let _ = sys::rt::come_before_ordinary_tasks();
}
