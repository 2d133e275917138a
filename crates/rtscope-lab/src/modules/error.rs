//! Why a kernel module can't be built or used.

use rtscope_failure::{Fault, Problem};
use rtscope_load::JournalError;
use rtscope_load::kernel_modules::StillLoaded;
use std::io;
use std::path::{Path, PathBuf};

/// Why a kernel module can't be built or used. The text says what failed, the remedy what to do.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// The modules can't do what is asked for (usage error, exit code 2).
    #[error("{message}")]
    Ask {
        /// What is wrong.
        message: String,
        /// What to ask for instead.
        remedy: String,
    },
    /// A program needed to build modules is missing.
    #[error("building rtscope's kernel modules for {kernel} needs {program}, which is not installed")]
    NoTool {
        /// The kernel they were to be built for.
        kernel: String,
        /// The program.
        program: String,
        /// The Debian package that contains it.
        package: String,
    },
    /// There are no headers to build against.
    #[error("rtscope's kernel modules can't be built for {kernel}: its headers are not there")]
    NoHeaders {
        /// The kernel they were to be built for.
        kernel: String,
        /// How to get them.
        remedy: String,
    },
    /// The compiler or the kernel's build system failed.
    #[error("building rtscope's kernel modules for {kernel} failed; its last lines:\n{said}")]
    Build {
        /// The kernel they were to be built for.
        kernel: String,
        /// The end of its output.
        said: String,
        /// File with the whole output.
        log: PathBuf,
    },
    /// The kernel refused to load a module.
    #[error("the module {module} can't be loaded: {why}")]
    Refused {
        /// Its name or file.
        module: String,
        /// The reason, with what the kernel log says.
        why: String,
        /// What to do.
        remedy: String,
    },
    /// The kernel refused to unload a module.
    #[error(transparent)]
    StillLoaded(#[from] StillLoaded),
    /// The journal can't be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A file can't be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Problem for ModuleError {
    fn remedy(&self) -> String {
        match self {
            Self::Ask { remedy, .. } | Self::NoHeaders { remedy, .. } | Self::Refused { remedy, .. } => remedy.clone(),
            Self::NoTool { package, .. } => format!("apt-get install {package}"),
            Self::Build { log, .. } => format!("the whole log is in {}; are the headers those of this kernel?", log.display()),
            Self::StillLoaded(e) => e.remedy(),
            Self::Journal(e) => e.remedy(),
            Self::Io { .. } => "make it accessible, or name another cache: RTSCOPE_CACHE=DIR".into(),
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Ask { .. } => Fault::Usage,
            Self::StillLoaded(e) => e.fault(),
            Self::Journal(e) => e.fault(),
            Self::NoTool { .. } | Self::NoHeaders { .. } | Self::Build { .. } | Self::Refused { .. } | Self::Io { .. } => {
                Fault::Machine
            }
        }
    }
}

impl ModuleError {
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Io { path, source }
    }
}
