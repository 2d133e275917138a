//! Virtual machines: QEMU with a real kernel in instruction-counted time, booted once to a kept state from which every run starts.
//!
//! - `error`: why there is no guest, or why it did not do its work
//! - `executed`: what really runs as QEMU
//! - `guest`: a machine with its kernel and image, and what it is told to do
//! - `guests`: from a kernel's name to a machine that can be started
//! - `model`: what things cost in virtual time
//! - `qemu`: the program, and the machine that it is told to be
//! - `qmp`: QEMU's control channel
//! - `machine`: one running virtual machine with its mailbox
//! - `messages`: what host and guest say to each other
//! - `state`: machines that were paused after the boot, kept in the cache
//! - `transfer`: the virtual time in a state, changed for machines whose instructions are shorter

mod error;
mod executed;
mod guest;
mod guests;
mod host_cpu;
mod machine;
mod memory;
pub mod messages;
mod model;
mod qemu;
mod qmp;
mod scratch;
mod state;
mod transfer;

pub use error::{GuestError, VmError};
pub use guest::{Guest, LabOptions, News, Started};
pub use guests::Guests;
pub use machine::Progress;
pub use model::TimeModel;
