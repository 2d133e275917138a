//! Why a kernel can't be used.

use super::name::KernelName;
use crate::debian::DebianError;
use rtscope_failure::{Fault, Problem, did_you_mean};
use std::io;
use std::path::{Path, PathBuf};

/// Why a kernel can't be used.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// This is not a kernel's name (usage error, exit code 2).
    #[error("`{name}` is not a kernel's name: {why}")]
    Name {
        /// The given name.
        name: String,
        /// Why, with the names that there are.
        why: String,
    },
    /// This is not an architecture (usage error, exit code 2).
    #[error("`{0}` is not an architecture: use amd64, arm64 or armhf")]
    Arch(String),
    /// The kernel is known, but not in the cache.
    #[error("the kernel {name} is not in the cache")]
    NotFetched {
        /// Its name.
        name: KernelName,
        /// How to get it.
        remedy: String,
    },
    /// The cached kernel differs from what was put there.
    #[error("the kernel {name} is damaged: {why}; remove it and fetch or add it again")]
    Damaged {
        /// Its name.
        name: KernelName,
        /// What is wrong.
        why: String,
    },
    /// A user's own kernel can't be added (usage error, exit code 2).
    #[error("{0}")]
    Own(String),
    /// Debian's packages can't be fetched.
    #[error(transparent)]
    Debian(#[from] DebianError),
    /// A file can't be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Problem for KernelError {
    fn remedy(&self) -> String {
        match self {
            Self::NotFetched { remedy, .. } => remedy.clone(),
            Self::Name { name, .. } => {
                let all: Vec<String> = KernelName::all_fetchable().iter().map(ToString::to_string).collect();
                // Mostly the architecture is left out.
                let short = all.iter().filter_map(|n| n.rsplit_once('/')).map(|(name, _)| name);
                did_you_mean(name, short.chain(all.iter().map(String::as_str)), "`rtscope lab kernels` lists them")
            }
            // These messages already contain the remedy.
            Self::Arch(_) | Self::Damaged { .. } | Self::Own(_) => String::new(),
            Self::Debian(e) => e.remedy(),
            Self::Io { .. } => "make it accessible, or name another cache: RTSCOPE_CACHE=DIR".into(),
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Name { .. } | Self::Arch(_) | Self::Own(_) => Fault::Usage,
            Self::Debian(e) => e.fault(),
            Self::NotFetched { .. } | Self::Damaged { .. } | Self::Io { .. } => Fault::Machine,
        }
    }
}

impl KernelError {
    /// Wraps an I/O error for `path`, for use with `map_err`.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Io { path, source }
    }
}
