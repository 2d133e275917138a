//! Helpers for the cases about files: other users, and things in place of a file.

use crate::world::{Said, World, end_of, installed, skip};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// User id of another user.
pub(crate) const NOBODY: u32 = 65534;

/// A command that another user runs in `world`; `None` if `setpriv` is missing.
pub(crate) fn as_nobody(world: &World, program: &str, args: &[&str]) -> Option<Command> {
    if !installed("setpriv") {
        skip("no setpriv to be another user with");
        return None;
    }
    let id = NOBODY.to_string();
    let mut c = world.command_of("setpriv");
    c.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--inh-caps=-all", "--"]).arg(program).args(args);
    Some(c)
}

/// Runs a shell command, which must succeed.
#[track_caller]
pub(crate) fn shell(words: &str) {
    assert!(Command::new("sh").args(["-c", words]).status().unwrap().success(), "{words}");
}

/// Creates something that is not a regular file at `path`.
#[track_caller]
pub(crate) fn put(kind: &str, path: &Path) {
    let p = path.display();
    match kind {
        "FIFO" => shell(&format!("mkfifo -m 666 '{p}'")),
        "device" => std::os::unix::fs::symlink("/dev/zero", path).unwrap(),
        "directory" => std::fs::create_dir(path).unwrap(),
        "socket" => drop(std::os::unix::net::UnixListener::bind(path).unwrap()),
        _ => unreachable!("{kind}"),
    }
}

/// The kinds of things that may be in place of a file.
pub(crate) const KINDS: [&str; 4] = ["FIFO", "device", "directory", "socket"];

/// Runs the program, which must end within `limit`; one that reads a FIFO for ever does not.
#[track_caller]
pub(crate) fn within(limit: Duration, mut command: Command) -> Said {
    let began = Instant::now();
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let said = end_of(child);
    assert!(began.elapsed() < limit, "{:?}: {said:?}", began.elapsed());
    said
}

/// A started program, killed when dropped.
pub(crate) struct Ended(pub(crate) Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Puts the record of a fake run into the archive of `world`; returns its id.
pub(crate) fn some_record(world: &World) -> String {
    let latencies = world.file("latencies", "10\n20\n30\n");
    let said = world.line(&format!("measure timer --target fake:{} -t1 -l 100 --json", latencies.display()));
    said.record().id().to_owned()
}
