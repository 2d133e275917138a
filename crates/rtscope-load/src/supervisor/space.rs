//! The space stage: enters the namespaces and waits for the first process in them. It is single-threaded, which
//! a new user namespace requires.

use super::messages::{Report, send};
use super::stage::{Kind, call_myself};
use crate::job::Reexec;
use rtscope_sys as sys;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

pub(super) fn run(kind: Kind, net: bool) -> u8 {
    call_myself("rt-load-space");
    match enter(kind, net).and_then(|()| first_process(kind, net)) {
        Ok(code) => code,
        Err(e) => {
            let _ = send(&mut io::stdout(), &Report::NotIsolated(e.to_string()));
            3
        }
    }
}

fn named(what: &str) -> impl Fn(io::Error) -> io::Error + '_ {
    move |e| io::Error::new(e.kind(), format!("{what}: {e}"))
}

fn enter(kind: Kind, net: bool) -> io::Result<()> {
    if kind == Kind::Tree {
        return Ok(());
    }
    if kind == Kind::User {
        // The owner of /proc/self is the effective user and group.
        let own = fs::metadata("/proc/self")?;
        sys::unshare(libc::CLONE_NEWUSER).map_err(named("user namespace"))?;
        fs::write("/proc/self/setgroups", "deny").map_err(named("user namespace"))?;
        fs::write("/proc/self/uid_map", format!("0 {} 1", own.uid())).map_err(named("user namespace"))?;
        fs::write("/proc/self/gid_map", format!("0 {} 1", own.gid())).map_err(named("user namespace"))?;
    }
    let net = if net { libc::CLONE_NEWNET } else { 0 };
    sys::unshare(libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC | net)
        .map_err(named("PID, mount, IPC and network namespaces"))?;
    // Gaining capabilities in a user namespace clears the parent-death signal, so set it again.
    sys::die_with_parent(libc::SIGKILL)
}

/// Starts init with this stage's standard input and output. Returns its exit code, 3 if a signal ended it.
fn first_process(kind: Kind, net: bool) -> io::Result<u8> {
    let reexec = Reexec::of_this_stage()?;
    let mut command = reexec.stage(&["init", kind.word(), if net { "net" } else { "no-net" }]);
    if kind == Kind::Tree {
        sys::process::die_with_spawner(&mut command, libc::SIGKILL);
    }
    let status = command.status()?;
    Ok(status.code().and_then(|c| u8::try_from(c).ok()).unwrap_or(3))
}
