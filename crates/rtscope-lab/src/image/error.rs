//! Why there is no image.

use crate::debian::DebianError;
use crate::kernels::Arch;
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The guest's tools can't be had from Debian.
    #[error(transparent)]
    Debian(#[from] DebianError),
    /// What is asked for does not fit together (usage, exit code 2).
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
    /// A program or module can't be read as one.
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

impl ImageError {
    /// The request was wrong (exit code 2), not the machine (exit code 3).
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Unfit(_) => true,
            Self::Debian(e) => e.is_usage(),
            Self::NoTools { .. } | Self::Unreadable { .. } | Self::Io { .. } => false,
        }
    }

    /// For `map_err` on a file.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Io { path, source }
    }

    pub(super) fn unreadable(path: &Path, why: impl std::fmt::Display) -> Self {
        Self::Unreadable { path: path.to_path_buf(), why: format!("{why}") }
    }
}
