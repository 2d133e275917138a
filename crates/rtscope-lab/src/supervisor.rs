//! Keeps a load in bounds: nothing of it survives the run, also when rtscope is killed.
//!
//! rtscope starts itself again as a chain of stages, each a process of its own:
//! - **outer** (session of its own, so that a terminal's Ctrl-C does not reach the load before the measurement has ended): makes and
//!   removes the load's directory, keeps the journal, tries one isolation after the other. Its standard input ends with rtscope.
//! - **space** enters the namespaces and starts the first process in them.
//! - **init**, process 1 of the PID namespace: starts the tools, waits until they do work, ends them, reads what they did. When it ends,
//!   the kernel kills everything in the namespace, and with the last process go the network namespaces and what was in them.
//! - **server** enters a second network namespace and becomes the iperf3 server.
//!
//! Each stage ends when the one above it does: by the end of its standard input, and by `PR_SET_PDEATHSIG`. outer has the former only: the
//! signal goes by the spawning *thread*, and a driver may start its load on any. Without privilege, and without user namespaces, init is
//! an ordinary process, and outer kills all its descendants (orphans are handed to it by the kernel).

mod crew;
mod init;
mod network;
mod outer;
pub(crate) mod process_tree;
mod space;
mod tool;
mod watch;
pub(crate) mod wire;

use rtscope_probe::sys;
use rtscope_record::Policy;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::PathBuf;

/// How a stage is kept apart from the rest of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    /// PID, mount, IPC and, where iproute2 is there, network namespaces.
    Root,
    /// The same in a user namespace of its own.
    User,
    /// No namespaces: a tree of processes that is killed as one.
    Tree,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::User => "user",
            Self::Tree => "tree",
        }
    }

    fn of(word: &str) -> Option<Self> {
        [Self::Root, Self::User, Self::Tree].into_iter().find(|k| k.word() == word)
    }
}

/// Runs one stage. The command line's hidden sub-command calls this with the arguments that follow its name, and exits with what it
/// returns; it must call it early, from its only thread, with standard input and output as it found them.
pub fn main(args: impl IntoIterator<Item = String>) -> u8 {
    let args: Vec<String> = args.into_iter().collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["outer"] => outer::run(),
        ["space", kind, net] => Kind::of(kind).map_or(2, |kind| space::run(kind, *net == "net")),
        ["init", kind, net] => Kind::of(kind).map_or(2, |kind| init::run(kind, *net == "net")),
        ["server", interface, address, command @ ..] => network::server(interface, address, command),
        _ => 2,
    }
}

/// Name of a stage in process lists. Not the program's own, so that `pkill -9 rtscope` leaves the supervisor the time to clean up.
fn call_myself(name: &str) {
    let _ = fs::write("/proc/self/comm", name);
}

/// Undoes what a stage may have been started with: blocked signals, and a real-time policy that a load would starve the machine with.
fn ordinary_process() {
    sys::signals::at_start();
    let _ = sys::rt::set_policy(Policy::Other, 0, 0);
}

/// Keeps the calling thread of a stage awake under its own load. Without privilege it must do without.
fn stay_awake() {
    let _ = sys::rt::come_before_ordinary_tasks();
}

/// A program in `$PATH` or in the system directories that an ordinary user's `$PATH` lacks.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(system)
        .map(|dir| dir.join(name))
        .find(|file| fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0))
}
