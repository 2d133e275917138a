//! Virtual machines: QEMU with a real kernel in instruction-counted time. A machine is booted once, and every
//! run starts from the state kept then.
//!
//! - `changed`: what of a machine is another than in a record
//! - `error`: why there is no guest, or why it did not do its work
//! - `executed`: the program that really runs as QEMU
//! - `guest`: a machine with its kernel and image, and the work it is given
//! - `guests`: from a kernel's name to a machine that can be started
//! - `model`: the cost of operations in virtual time
//! - `qemu`: the program, and the arguments that define the machine
//! - `qmp`: QEMU's control channel
//! - `machine`: one running virtual machine with its mailbox
//! - `messages`: the messages between host and guest
//! - `set_aside`: whether the guest's kernel set CPUs aside as it was asked
//! - `state`: machines paused after their boot and kept in the cache
//! - `transfer`: adjusts the virtual time in a state to machines with shorter instructions

mod changed;
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
mod set_aside;
mod state;
mod transfer;

pub use error::{GuestError, VmError};
pub use guest::{Guest, LabOptions, News, Started};
pub use guests::Guests;
pub use machine::Progress;
pub use model::TimeModel;
