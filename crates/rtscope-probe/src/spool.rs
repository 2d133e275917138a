//! Work that outlives its connection. For a driver on another machine, a *keeper* runs the probe (or a DUT) and
//! stores its output in a file, the *spool*. On each connection a *follower* passes the spool on from any byte,
//! so that a lost connection leaves no gap.
//!
//! All files are in one directory, which the driver made: the program, `shell` and `owner` (the living process
//! that the directory belongs to), `errand.json` (the work order), `plan.json`, `driver`, `events` (the spool),
//! `words` (standard error), `follower`, and the empty files `stop`, `drop` and `done` once they apply. The
//! processes communicate through these files, which stay while processes come and go. When nobody has followed
//! for as long as the driver's patience, the keeper ends the work and removes the directory.

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
