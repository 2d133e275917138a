//! Why there is no guest, or why a virtual machine did not do its work.

use crate::image::ImageError;
use crate::kernels::{Arch, KernelError};
use crate::modules::ModuleError;
use rtscope_failure::{Fault, Problem};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Environment variable that names a directory of guest programs.
pub(super) const GUESTS: &str = "RTSCOPE_GUESTS";

/// Why a virtual machine did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum VmError {
    /// QEMU is not installed.
    #[error("the lab needs {program}, which is not installed: apt-get install {package}")]
    NoQemu {
        /// Name of the program.
        program: &'static str,
        /// The Debian package that contains it.
        package: &'static str,
    },
    /// QEMU could not be started, or ended at once.
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
    /// QEMU did not answer in time.
    #[error("QEMU has not answered for {} s", .0.as_secs())]
    Silent(Duration),
    /// QEMU or this program rejected a kept state.
    #[error("the kept state was refused: {0}")]
    Refused(String),
    /// The guest ended before its work was done, mostly by a kernel panic.
    #[error("the guest ended {when}; the last lines of its console:\n{console}\nthe whole console: {file}", file = file.display())]
    Ended {
        /// At which stage.
        when: String,
        /// The console's last lines.
        console: String,
        /// File with the whole console.
        file: PathBuf,
    },
    /// The guest made no progress for too long.
    #[error("the guest hangs: {what}; the last lines of its console:\n{console}\nthe whole console: {file}", file = file.display())]
    Hang {
        /// What was waited for.
        what: String,
        /// The console's last lines.
        console: String,
        /// File with the whole console.
        file: PathBuf,
    },
    /// A message of the guest was not understood.
    #[error("the guest said something that is not understood ({0}); rtscope and its guest program must be of one version")]
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
    /// The run was told to end early.
    #[error("a run of the lab is kept whole or not at all: nothing of this one is kept")]
    Interrupted,
    /// An operation on the host failed.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// What the system said.
        source: io::Error,
    },
}

impl Problem for VmError {
    fn remedy(&self) -> String {
        match self {
            // The message already contains the remedy.
            Self::NoQemu { .. } => String::new(),
            Self::Garbled(_) => {
                "install the packages rtscope and rtscope-lab of one version; in a checkout: ./x build, ./x guest".into()
            }
            Self::Start { .. } => "does it start by itself? `qemu-system-x86_64 --version` or the like; is memory free?".into(),
            Self::Control(_) => "start it again; was QEMU ended by somebody else?".into(),
            Self::Silent(_) => {
                "start it again; QEMU 8.2 stops like that with each Arm guest: another version runs them (docs/lab.md)".into()
            }
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
            | Self::Silent(_)
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
    /// The kernel can't be used.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The image can't be made.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// rtscope's modules for the kernel can't be built.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// The virtual machine failed.
    #[error(transparent)]
    Vm(#[from] VmError),
    /// The guest program, its first process, is missing.
    #[error("there is no guest program for {arch}: {name} is looked for in ${GUESTS}, beside {me} and in ../lib/rtscope", me = me.display())]
    NoProgram {
        /// The guest's architecture.
        arch: Arch,
        /// Its file name.
        name: String,
        /// Path of the running program.
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
            Self::NoProgram { arch, .. } => format!("install the package rtscope-lab; in a checkout: ./x guest {arch}"),
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
