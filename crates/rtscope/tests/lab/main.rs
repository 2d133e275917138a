//! The virtual lab, driven by the built program: real Debian kernels under QEMU, with real loads.
//!
//! Needs QEMU, a network for the first fetch, the guest programs (`./x guest`) and some minutes: run with `RTSCOPE_LAB_TESTS=1`, as
//! `./x test` does. `RTSCOPE_CACHE` names the cache, which is worth keeping between runs; `RTSCOPE_GUESTS` the guest programs.
//! `RTSCOPE_LAB_ROOT` names the root directory of another system, in which the program then runs: with its QEMU (CONTRIBUTING.md).
#![allow(clippy::disallowed_methods)] // a process that a test starts for itself may inherit any signal settings
#![allow(clippy::print_stdout)] // says which cases are left out

mod board;
mod built;
mod compare;
mod explain;
mod hunt;
mod kernels;
mod lines;
mod local;
mod module;
mod papers;
mod pins;
mod runs;
#[path = "../e2e/sshd.rs"]
#[allow(dead_code)] // the board needs its keys and configuration
mod sshd;
mod trace;
mod tuning;
#[path = "../e2e/world.rs"]
#[allow(dead_code)] // the other tests use these parts
mod world;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use world::{Said, World, said_by};

/// Stock and RT kernels of one series.
const STOCK: &str = "debian/6.12/amd64";
const RT: &str = "debian/6.12-rt/amd64";

/// Whether the lab's tests are wanted; says so when they are not.
fn wanted() -> bool {
    let wanted = std::env::var_os("RTSCOPE_LAB_TESTS").is_some();
    if !wanted {
        println!("left out: set RTSCOPE_LAB_TESTS=1, as ./x test does");
    }
    wanted
}

/// Whether there is a guest program for an architecture; says so when there is none.
fn has_guest(arch: &str) -> bool {
    let guests = std::env::var_os("RTSCOPE_GUESTS").map(PathBuf::from).unwrap_or_default();
    let has = guests.join(format!("rtscope-guest-{arch}")).is_file();
    if !has {
        println!("left out: no guest program for {arch}");
    }
    has
}

/// Whether there is a guest program for an architecture of Arm and a QEMU that runs it; says so when there is none.
fn arm_runs(arch: &str) -> bool {
    let has = has_guest(arch);
    let stops = has && arm_qemu_stops();
    if stops {
        println!("left out: with Arm guests, QEMU 8.2 stops answering (docs/lab.md)");
    }
    has && !stops
}

/// Whether the QEMU for Arm is one of 8.2: its time jumps to the end of its clock when an Arm guest sleeps, and it computes on for ever.
fn arm_qemu_stops() -> bool {
    let mut command = match std::env::var_os("RTSCOPE_LAB_ROOT") {
        Some(root) => {
            let mut command = Command::new("chroot");
            command.arg(root).arg("qemu-system-aarch64");
            command
        }
        None => Command::new("qemu-system-aarch64"),
    };
    let said = command.arg("--version").output().map(|out| String::from_utf8_lossy(&out.stdout).into_owned());
    said.is_ok_and(|said| said.starts_with("QEMU emulator version 8.2."))
}

/// A world whose cache all cases share.
struct Lab(World);

impl Lab {
    fn new() -> Self {
        Self(World::new())
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.0.command(words);
        command.env("RTSCOPE_CACHE", cache());
        match std::env::var_os("RTSCOPE_LAB_ROOT") {
            Some(root) => in_root(Path::new(&root), &command),
            None => command,
        }
    }

    fn run(&self, words: &[&str]) -> Said {
        said_by(&mut self.command(words))
    }

    fn line(&self, words: &str) -> Said {
        self.run(&words.split_whitespace().collect::<Vec<_>>())
    }
}

/// `command` in the system whose root directory is `root`: it sees the same files of the tests, and that system's programs.
fn in_root(root: &Path, command: &Command) -> Command {
    const SCRIPT: &str = r#"set -e
        root=$1 program=$2
        for dir in /proc /dev /sys /tmp "$PWD" "${program%/*}" "$RTSCOPE_CACHE" "$RTSCOPE_GUESTS"; do
            mkdir -p "$root$dir"
            mount --rbind "$dir" "$root$dir"
        done
        shift
        exec chroot "$root" sh -c 'cd "$1" && shift && exec "$@"' sh "$PWD" "$@""#;
    let mut outer = rtscope_sys::process::command("unshare");
    outer.args(["--mount", "--propagation", "private", "sh", "-c", SCRIPT, "sh"]).arg(root).arg(command.get_program());
    outer.args(command.get_args()).stdin(Stdio::null());
    command.get_current_dir().map(|dir| outer.current_dir(dir));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    outer
}

/// The shared cache.
fn cache() -> PathBuf {
    std::env::var_os("RTSCOPE_CACHE").map_or_else(|| std::env::temp_dir().join("rtscope-lab-tests"), PathBuf::from)
}
