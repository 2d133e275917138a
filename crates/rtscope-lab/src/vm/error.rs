//! Why there is no guest, and why a virtual machine did not do what it was to.

use crate::image::ImageError;
use crate::kernels::{Arch, KernelError};
use crate::modules::ModuleError;
use rtscope_failure::{Fault, Problem};
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
    #[error("{message}")]
    Failed {
        /// What failed.
        message: String,
        /// What to do.
        remedy: String,
        /// The request itself was wrong (exit code 2).
        usage: bool,
    },
    /// It was ended before its end.
    #[error("a run of the lab is kept whole or not at all: nothing of this one is kept")]
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

impl Problem for VmError {
    fn remedy(&self) -> String {
        match self {
            // These say it.
            Self::NoQemu { .. } | Self::Garbled(_) => String::new(),
            Self::Start { .. } => "does it start by itself? `qemu-system-x86_64 --version` or the like; is memory free?".into(),
            Self::Control(_) => "start it again; was QEMU ended by somebody else?".into(),
            Self::Refused(_) => "boot anew: --fresh-boot".into(),
            Self::Ended { .. } | Self::Hang { .. } => "see the console; does the kernel come up by `rtscope lab boot`?".into(),
            Self::Failed { remedy, .. } => remedy.clone(),
            Self::Interrupted => "start it again".into(),
            Self::Io { .. } => "free space there and in $TMPDIR, and make it readable".into(),
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Failed { usage: true, .. } => Fault::Usage,
            Self::Interrupted => Fault::Interrupted,
            Self::NoQemu { .. }
            | Self::Start { .. }
            | Self::Control(_)
            | Self::Refused(_)
            | Self::Ended { .. }
            | Self::Hang { .. }
            | Self::Garbled(_)
            | Self::Failed { usage: false, .. }
            | Self::Io { .. } => Fault::Machine,
        }
    }
}

impl VmError {
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
    #[error(transparent)]
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

impl Problem for GuestError {
    fn remedy(&self) -> String {
        match self {
            Self::Kernel(e) => e.remedy(),
            Self::Image(e) => e.remedy(),
            Self::Module(e) => e.remedy(),
            Self::Vm(e) => e.remedy(),
            // Says it.
            Self::NoProgram { .. } => String::new(),
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Kernel(e) => e.fault(),
            Self::Image(e) => e.fault(),
            Self::Module(e) => e.fault(),
            Self::Vm(e) => e.fault(),
            Self::NoProgram { .. } => Fault::Machine,
        }
    }
}
