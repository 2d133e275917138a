//! Why there is no guest, and why a virtual machine did not do what it was to.

use crate::image::ImageError;
use crate::kernels::{Arch, KernelError};
use crate::modules::ModuleError;
use std::io;
use std::path::PathBuf;

/// Names a directory of guest programs.
pub(super) const GUESTS: &str = "RTSCOPE_GUESTS";

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

/// Why there is no guest.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// Its kernel can't be had.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// Its image can't be made.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// rtscope's modules for its kernel can't be had.
    #[error("{what}; {remedy}", what = .0, remedy = .0.remedy())]
    Module(#[from] ModuleError),
    /// The machine can't be.
    #[error(transparent)]
    Vm(#[from] VmError),
    /// The program that is to be its first process is missing.
    #[error(
        "there is no guest program for {arch}: {name} is looked for in ${GUESTS} and beside {me}; build it: ./x guest {arch}",
        me = me.display()
    )]
    NoProgram {
        /// For which architecture.
        arch: Arch,
        /// Its file name.
        name: String,
        /// This program.
        me: PathBuf,
    },
}

impl GuestError {
    /// The request was wrong (exit code 2), not the machine (exit code 3).
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Kernel(e) => e.is_usage(),
            Self::Image(e) => e.is_usage(),
            Self::Module(e) => e.is_usage(),
            Self::Vm(e) => e.is_usage(),
            Self::NoProgram { .. } => false,
        }
    }
}
