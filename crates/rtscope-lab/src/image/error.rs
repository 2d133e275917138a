//! Why an image can't be made.

use crate::debian::DebianError;
use crate::kernels::Arch;
use rtscope_failure::{Fault, Problem};
use std::io;
use std::path::{Path, PathBuf};

/// Why an image can't be made.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The guest's tools can't be fetched from Debian.
    #[error(transparent)]
    Debian(#[from] DebianError),
    /// The inputs do not fit together (usage error, exit code 2).
    #[error("{0}")]
    Unfit(String),
    /// The guest's tools are not in the cache.
    #[error(
        "the guest's tools for {arch} are not in the cache; they are fetched with a network at hand: rtscope lab kernels fetch NAME"
    )]
    NoTools {
        /// For which architecture.
        arch: Arch,
    },
    /// A file is not a readable program or module.
    #[error("{path}: {why}", path = path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file can't be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Problem for ImageError {
    fn remedy(&self) -> String {
        match self {
            Self::Debian(e) => e.remedy(),
            Self::Unfit(_) => "name what is for the guest's architecture, and an absolute path in it".into(),
            // The message already contains the remedy.
            Self::NoTools { .. } => String::new(),
            Self::Unreadable { .. } => "if it is of the cache, fetch it again: rtscope lab kernels fetch NAME --update".into(),
            Self::Io { .. } => "make it accessible, or name another cache: RTSCOPE_CACHE=DIR".into(),
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Unfit(_) => Fault::Usage,
            Self::Debian(e) => e.fault(),
            Self::NoTools { .. } | Self::Unreadable { .. } | Self::Io { .. } => Fault::Machine,
        }
    }
}

impl ImageError {
    /// Wraps an I/O error for `path`, for use with `map_err`.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Io { path, source }
    }

    pub(super) fn unreadable(path: &Path, why: impl std::fmt::Display) -> Self {
        Self::Unreadable { path: path.to_path_buf(), why: format!("{why}") }
    }
}
