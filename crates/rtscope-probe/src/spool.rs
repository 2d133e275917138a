//! Work that outlives its connection: for a driver on another machine, a *keeper* runs the probe (or a device under test) and keeps what it
//! says in a file, the *spool*; a *follower* on each connection passes it on from any byte, so that a lost connection leaves no gap.
//!
//! All of it lies in one directory, which the driver made: the program, `owner` (the living process that the directory belongs to),
//! `plan.json`, `driver`, `events` (the spool), `words` (standard error), `follower`, and, when it is so, the empty files `stop`, `drop`
//! and `done`. Processes speak through these files: whoever comes and goes, they stay. When nobody has followed for the driver's patience,
//! the keeper ends the work and removes the directory.

mod dut;
mod follow;
mod keeper;
mod who;

pub use dut::{dut, read_plan, serve_dut, signals};
pub use follow::follow;
pub use keeper::{keep, keeper};
pub use who::{PREFIX, identity, is_alive};

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// First arguments of the program for a plan, and for a DUT's, with a load: more than the probe alone can do (`rtscope-board`).
pub const LOADED: [&str; 2] = ["session", "loaded-dut"];
/// How often keeper and follower look around.
const GLANCE: Duration = Duration::from_millis(100);

/// Writes a file beside its place and then names it, so that nobody reads half of it.
fn put(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let new = dir.join(format!("{name}.{}", std::process::id()));
    io::Write::write_all(&mut rtscope_files::fresh(&new)?, bytes)?;
    fs::rename(new, dir.join(name))
}

fn read<T: serde::de::DeserializeOwned>(dir: &Path, name: &str) -> Option<T> {
    serde_json::from_slice(&rtscope_files::read(&dir.join(name), rtscope_files::SMALL).ok()?).ok()
}

#[cfg(test)]
#[path = "spool_tests.rs"]
mod tests;
