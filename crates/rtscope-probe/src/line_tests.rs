//! Tests over lines: an instrument that stimulates a device under test and times its answers (`response`, `sustained`), or times the wave
//! that it makes (`periodic`).
//!
//! One life cycle: prepare (lines, device under test), calibrate, run, collect, restore. The loops know lines and clock by [`wires::Wires`]
//! alone, and are tested on a fake that needs neither.

mod bench;
pub mod checked;
pub mod device;
pub mod dut;
pub mod instrument;
pub mod instruments;
pub mod module;
pub mod periodic;
mod runs;
pub mod schedule;
pub mod stimulate;
pub mod sustained;
pub mod warnings;
pub mod wires;

pub use bench::run;
