//! The host's side of the FPGA instrument (`gateware/PROTOCOL.md`): from bytes to records, from records to edges, and an account
//! of all losses.
#![forbid(unsafe_code)]

pub mod frame;
pub mod instrument;
pub mod port;
pub mod selftest;
pub mod stream;

pub use frame::{FrameRecord, Parser};
pub use instrument::{BOARD, Description, FpgaError, FpgaInstrument, Stimulus};
pub use port::{Port, SerialPort};
pub use stream::{Item, Losses, Stream};
