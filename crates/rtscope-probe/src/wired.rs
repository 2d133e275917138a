//! Tests over lines: an instrument that stimulates a device under test and times its answers (`response`, `sustained`), or times the wave
//! that it makes (`periodic`).
//!
//! One life cycle: prepare (lines, device under test), calibrate, run, collect, restore. The loops know lines and clock by [`wires::Wires`]
//! alone, and are tested on a fake that needs neither.

pub mod asked;
pub mod asking;
mod bench;
pub mod books;
pub mod device;
pub mod dut;
pub mod fpga;
pub mod kernel;
pub mod module;
pub mod narrow;
pub mod order;
pub mod pairing;
pub mod periodic;
pub mod recorded;
pub mod remarks;
mod runs;
pub mod schedule;
pub mod stimulate;
pub mod sustained;
pub mod wires;

pub use bench::run;
