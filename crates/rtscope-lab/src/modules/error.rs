//! Why a module can't be had, and what to do about it.

use rtscope_load::JournalError;
use rtscope_load::kernel_modules::StillLoaded;
use std::io;
use std::path::{Path, PathBuf};

/// Why a module can't be had. Its text says what failed, [`ModuleError::remedy`] what to do.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// A module can't do what is asked of it (usage, exit code 2).
    #[error("{message}")]
    Ask {
        /// What is wrong.
        message: String,
        /// What to ask for instead.
        remedy: String,
    },
    /// A program that builds modules is missing.
    #[error("building rtscope's kernel modules for {kernel} needs {program}, which is not installed")]
    NoTool {
        /// For which kernel.
        kernel: String,
        /// The program.
        program: String,
        /// The Debian package that has it.
        package: String,
    },
    /// There is nothing to build against.
    #[error("rtscope's kernel modules can't be built for {kernel}: its headers are not there")]
    NoHeaders {
        /// For which kernel.
        kernel: String,
        /// How to get them.
        remedy: String,
    },
    /// The compiler or the kernel's build system failed.
    #[error("building rtscope's kernel modules for {kernel} failed; its last lines:\n{said}")]
    Build {
        /// For which kernel.
        kernel: String,
        /// The end of what it said.
        said: String,
        /// Where all of it is.
        log: PathBuf,
    },
    /// The kernel did not take a module.
    #[error("the module {module} can't be loaded: {why}")]
    Refused {
        /// Its name or file.
        module: String,
        /// Why not, with what the kernel's log says of it.
        why: String,
        /// What to do.
        remedy: String,
    },
    /// The kernel did not let a module go.
    #[error(transparent)]
    StillLoaded(#[from] StillLoaded),
    /// What must be undone can't be written down.
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

impl ModuleError {
    /// The request was wrong (exit code 2), not the machine (exit code 3).
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Ask { .. })
    }

    /// What to do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Ask { remedy, .. } | Self::NoHeaders { remedy, .. } | Self::Refused { remedy, .. } => remedy.clone(),
            Self::NoTool { package, .. } => format!("apt-get install {package}"),
            Self::Build { log, .. } => format!("the whole log is in {}; are the headers those of this kernel?", log.display()),
            Self::StillLoaded(e) => e.remedy(),
            Self::Journal(_) => "see above".into(),
            Self::Io { .. } => "make it accessible, or name another cache: RTSCOPE_CACHE=DIR".into(),
        }
    }

    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Io { path, source }
    }
}
