//! Work that outlives its connection: for a driver on another machine, a *keeper* runs the probe (or a device under test) and keeps what it
//! says in a file, the *spool*; a *follower* on each connection passes it on from any byte, so that a lost connection leaves no gap.
//!
//! All of it lies in one directory, which the driver made: the program, `owner` (the living process that the directory belongs to),
//! `plan.json`, `driver`, `events` (the spool), `words` (standard error), `follower`, and, when it is so, the empty files `stop`, `drop`
//! and `done`. Processes speak through these files: whoever comes and goes, they stay. When nobody has followed for the driver's patience,
//! the keeper ends the work and removes the directory.

mod dut;
mod events;
mod files;
mod follow;
mod identity;
mod keeper;

pub use dut::{dut, read_plan, serve_dut, signals};
pub use follow::follow;
pub use identity::{PREFIX, identity, is_alive};
pub use keeper::{LOADED, keep, keeper};

#[cfg(test)]
#[path = "spool_tests.rs"]
mod tests;
