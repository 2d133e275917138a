//! What all stages of the supervisor share: the kinds of isolation, the process name, the ordinary priority.

use rtscope_record::Policy;
use rtscope_sys as sys;
use std::fs;

/// How a stage is isolated from the rest of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// PID, mount and IPC namespaces, and a network namespace where iproute2 is installed.
    Root,
    /// The same in its own user namespace.
    User,
    /// No namespaces: a process tree that is killed as a whole.
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

/// Sets the stage's name in process lists. It differs from the program's, so that `pkill -9 rtscope` leaves the
/// supervisor time to clean up.
pub(super) fn call_myself(name: &str) {
    let _ = fs::write("/proc/self/comm", name);
}

/// Resets what a stage may inherit: blocked signals, and a real-time policy under which a load would starve the machine.
pub(super) fn ordinary_process() {
    sys::signals::at_start();
    let _ = sys::rt::set_policy(Policy::Other, 0, 0);
}

/// Lets the calling thread of a stage run ahead of its own load. Does nothing without privilege.
pub(super) fn stay_awake() {
    let _ = sys::rt::come_before_ordinary_tasks();
}
