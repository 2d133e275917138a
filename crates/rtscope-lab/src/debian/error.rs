//! Why a package can't be fetched.

use crate::kernels::Arch;
use rtscope_failure::{Fault, Problem};
use std::io;
use std::path::{Path, PathBuf};

/// Why a package can't be fetched.
#[derive(Debug, thiserror::Error)]
pub enum DebianError {
    /// A program or file is missing on the host.
    #[error(
        "{what} is missing on this host; install it (Debian, Ubuntu: apt install {package}), or fetch on a host that has it and copy the cache"
    )]
    Missing {
        /// The program or file.
        what: String,
        /// The Debian package that contains it.
        package: &'static str,
    },
    /// A mirror, its keys or the cache's path can't be used.
    #[error("{0}")]
    Unusable(String),
    /// apt knows no such package.
    #[error("{wanted} is not in {vendor}'s index for {arch}{said}; is there a network, and is the mirror complete?")]
    NotFound {
        /// What was searched for.
        wanted: String,
        /// In whose index.
        vendor: &'static str,
        /// For which architecture.
        arch: Arch,
        /// What apt said when it updated the index, after `; apt said: `.
        said: String,
    },
    /// A program failed.
    #[error("{program} failed: {said}; is there a network, and does ${variable}, if set, name a {vendor} mirror?")]
    Apt {
        /// Whose packages it was about.
        vendor: &'static str,
        /// The environment variable that names another mirror.
        variable: &'static str,
        /// Which one.
        program: String,
        /// The end of its output.
        said: String,
    },
    /// A file of the cache can't be read or written.
    #[error("{path}: {source}; make it writable or set RTSCOPE_CACHE to another directory", path = path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Problem for DebianError {
    fn remedy(&self) -> String {
        match self {
            // These messages already contain the remedy.
            Self::Missing { .. } | Self::Unusable(_) | Self::NotFound { .. } | Self::Apt { .. } | Self::Io { .. } => String::new(),
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Unusable(_) => Fault::Usage,
            Self::Missing { .. } | Self::NotFound { .. } | Self::Apt { .. } | Self::Io { .. } => Fault::Machine,
        }
    }
}

impl DebianError {
    /// Wraps an I/O error for `path`, for use with `map_err`.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { path, source }
    }
}
