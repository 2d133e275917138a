//! Virtual machines: QEMU with a real kernel in instruction-counted time, booted once to a kept state from which every run starts.
//!
//! - `error`: why there is no guest, or why it did not do its work
//! - `executed`: what really runs as QEMU
//! - `guests`: from a kernel's name to a machine that can be started
//! - `model`: what things cost in virtual time
//! - `qemu`: the program, and the machine that it is told to be
//! - `qmp`: QEMU's control channel
//! - `machine`: one running virtual machine with its mailbox
//! - `state`: machines that were paused after the boot, kept in the cache
//! - `transfer`: the virtual time in a state, changed for machines whose instructions are shorter
//! - `target`: the target `lab:KERNEL`, and programs run in the same guest
//! - `wire`: what host and guest say to each other

mod error;
mod executed;
mod guests;
mod machine;
mod memory;
mod model;
mod qemu;
mod qmp;
mod scratch;
mod seat;
mod state;
pub mod target;
mod transfer;
pub mod wire;

pub use error::{GUESTS, GuestError, VmError};
pub use guests::Guests;
pub use machine::{Console, Machine, Progress};
pub use model::TimeModel;
pub use qemu::{MachineSpec, Qemu};
pub use state::States;
pub use target::{Lab, LabOptions, Started};
