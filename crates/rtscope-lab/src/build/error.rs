//! Why a kernel can't be built.

use super::config::Dropped;
use crate::debian::DebianError;
use crate::kernels::KernelError;
use rtscope_failure::{Fault, Problem};
use std::io;
use std::path::{Path, PathBuf};

/// Why a kernel can't be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// What is asked for can't be done (usage error, exit code 2).
    #[error("{message}")]
    Ask {
        /// What is wrong.
        message: String,
        /// What to ask for instead.
        remedy: String,
    },
    /// Programs or headers needed to build a kernel are missing.
    #[error("building a kernel for {arch} needs {}, which this host has not", missing.join(", "))]
    NoTools {
        /// For which architecture.
        arch: crate::kernels::Arch,
        /// The programs and headers.
        missing: Vec<String>,
        /// The Debian packages that contain them.
        packages: Vec<String>,
    },
    /// kconfig did not set what was asked for.
    #[error("the configuration of {kernel} is not the one that was asked for: {}", listed(dropped))]
    Dropped {
        /// Which kernel.
        kernel: String,
        /// The options that it set otherwise.
        dropped: Vec<Dropped>,
    },
    /// The kernel's build system failed.
    #[error("{what} failed; its last lines:\n{said}")]
    Failed {
        /// What was done.
        what: String,
        /// The end of its output.
        said: String,
        /// File with the whole output.
        log: PathBuf,
    },
    /// It was told to end.
    #[error("told to end before the kernels were built")]
    Interrupted,
    /// The source can't be fetched from Debian.
    #[error(transparent)]
    Debian(#[from] DebianError),
    /// The kernel can't be put into the cache.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A file can't be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Most options that a message lists.
const LISTED: usize = 20;

fn listed(dropped: &[Dropped]) -> String {
    let mut text: Vec<String> = dropped.iter().take(LISTED).map(ToString::to_string).collect();
    if dropped.len() > LISTED {
        text.push(format!("and {} more", dropped.len() - LISTED));
    }
    text.join(", ")
}

impl Problem for BuildError {
    fn remedy(&self) -> String {
        match self {
            Self::Ask { remedy, .. } => remedy.clone(),
            Self::NoTools { packages, .. } => format!("apt-get install {}", packages.join(" ")),
            Self::Dropped { .. } => {
                "this tree's kconfig refuses them together with the rest: take them out of the profile, or add what they depend on"
                    .into()
            }
            Self::Failed { log, .. } => format!("the whole log is in {}; the same command goes on where it ended", log.display()),
            Self::Interrupted => "the same command goes on where it ended".into(),
            Self::Debian(e) => e.remedy(),
            Self::Kernel(e) => e.remedy(),
            Self::Io { .. } => "make it accessible, or name another cache: RTSCOPE_CACHE=DIR".into(),
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Ask { .. } | Self::Dropped { .. } => Fault::Usage,
            Self::Interrupted => Fault::Interrupted,
            Self::Debian(e) => e.fault(),
            Self::Kernel(e) => e.fault(),
            Self::NoTools { .. } | Self::Failed { .. } | Self::Io { .. } => Fault::Machine,
        }
    }
}

impl BuildError {
    /// Wraps an I/O error for `path`, for use with `map_err`.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Io { path, source }
    }

    /// A fault of the request.
    pub(super) fn ask(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Ask { message: message.into(), remedy: remedy.into() }
    }
}
