//! Virtual machines: QEMU with a real kernel in instruction-counted time, booted once to a kept state from which every run starts.
//!
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

pub use guests::{GUESTS, GuestError, Guests};
pub use machine::{Console, Machine, Progress};
pub use model::TimeModel;
pub use qemu::{MachineSpec, Qemu};
pub use state::States;
pub use target::{Lab, LabOptions, Started};

use std::io;
use std::path::PathBuf;

/// Why a virtual machine did not do what it was to.
#[derive(Debug, thiserror::Error)]
pub enum VmError {
    /// QEMU is not installed.
    #[error("the lab needs {program}, which is not installed: apt-get install {package}")]
    NoQemu {
        /// Its name.
        program: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// It could not be started or ended at once.
    #[error("{program} did not start: {reason}")]
    Start {
        /// Which program.
        program: PathBuf,
        /// What was wrong.
        reason: String,
    },
    /// The control channel broke.
    #[error("talking to QEMU failed: {0}")]
    Control(String),
    /// QEMU did not take a kept state.
    #[error("the kept state was refused: {0}")]
    Refused(String),
    /// The guest ended before its work was done: a panic, mostly.
    #[error("the guest ended {when}; the last lines of its console:\n{console}\nthe whole console: {file}", file = file.display())]
    Ended {
        /// How far it was.
        when: String,
        /// The console's last lines.
        console: String,
        /// Where all of it is.
        file: PathBuf,
    },
    /// The guest made no progress for so long that it must hang.
    #[error("the guest hangs: {what}; the last lines of its console:\n{console}\nthe whole console: {file}", file = file.display())]
    Hang {
        /// What did not come.
        what: String,
        /// The console's last lines.
        console: String,
        /// Where all of it is.
        file: PathBuf,
    },
    /// The guest said something that is not understood.
    #[error(
        "the guest said something that is not understood ({0}); rtscope and its guest must be of one version: ./x guest builds it"
    )]
    Garbled(String),
    /// The guest could not do the work.
    #[error("{message}; {remedy}")]
    Failed {
        /// What failed.
        message: String,
        /// What to do.
        remedy: String,
        /// The request itself was wrong (exit code 2).
        usage: bool,
    },
    /// It was ended before its end.
    #[error("interrupted; a run of the lab is kept whole or not at all")]
    Interrupted,
    /// Something of the host's failed.
    #[error("{what}: {source}")]
    Io {
        /// What was done.
        what: String,
        /// What the system said.
        source: io::Error,
    },
}

impl VmError {
    /// The request was wrong (exit code 2), not the machine (exit code 3).
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Failed { usage: true, .. })
    }

    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}
