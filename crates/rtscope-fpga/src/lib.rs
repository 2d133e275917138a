//! Speaks with the FPGA instrument (`gateware/PROTOCOL.md`): bytes to records, records to edges, and the account of what was lost.
#![forbid(unsafe_code)]

pub mod frame;
pub mod instrument;
pub mod port;
pub mod selftest;
pub mod stream;

pub use frame::{Parser, Record};
pub use instrument::{BOARD, FpgaError, Identity, Instrument, Stimulus};
pub use port::{Port, Serial};
pub use stream::{Item, Losses, Stream};
