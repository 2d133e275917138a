//! The host's side of the FPGA instrument (`gateware/PROTOCOL.md`): from bytes to records, from records to edges, and an account
//! of all losses.
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
