//! What the cases about files share: other users, and what may lie where a file is expected.

use crate::world::{Said, World, end_of, installed, skip};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Another user.
pub(crate) const NOBODY: u32 = 65534;

/// A command that another user runs in `world`; `None` where the tool for that is missing.
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

/// Runs a shell's words, which must succeed.
#[track_caller]
pub(crate) fn shell(words: &str) {
    assert!(Command::new("sh").args(["-c", words]).status().unwrap().success(), "{words}");
}

/// Makes what is not a file, at `path`.
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

/// Everything that may lie in place of a file.
pub(crate) const KINDS: [&str; 4] = ["FIFO", "device", "directory", "socket"];

/// Runs the program; it must end within `limit`, whatever it says. Whoever reads a FIFO for ever does not.
#[track_caller]
pub(crate) fn within(limit: Duration, mut command: Command) -> Said {
    let began = Instant::now();
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let said = end_of(child);
    assert!(began.elapsed() < limit, "{:?}: {said:?}", began.elapsed());
    said
}

/// A started program, ended when this is dropped.
pub(crate) struct Ended(pub(crate) Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A record in the archive of `world`, of a fake run; its id.
pub(crate) fn some_record(world: &World) -> String {
    let latencies = world.file("latencies", "10\n20\n30\n");
    let said = world.line(&format!("measure timer --target fake:{} -t1 -l 100 --json", latencies.display()));
    said.record().id().to_owned()
}
