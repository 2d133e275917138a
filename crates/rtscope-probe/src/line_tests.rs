//! Tests over lines: an instrument stimulates a DUT and times its answers (`response`, `sustained`), or times
//! the wave that the DUT makes (`periodic`).
//!
//! All have one life cycle: prepare (lines, DUT), calibrate, run, collect, restore. The loops reach lines and
//! clock only through [`wires::Wires`], and are tested on a fake that needs neither.

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
