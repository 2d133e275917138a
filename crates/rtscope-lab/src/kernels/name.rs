//! Names of kernels: `debian/6.12-rt/amd64`, `own/NAME/arm64`. A name without its last part means the host's architecture.

use super::arch::Arch;
use super::family::Family;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where a kernel comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Source {
    /// From an archive of packages.
    Archive {
        /// Which family.
        family: Family,
        /// Whether it is the PREEMPT_RT flavour.
        rt: bool,
    },
    /// The user's own, by the name it was added under.
    Own(String),
}

/// The name of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct KernelName {
    pub(super) source: Source,
    pub(super) arch: Arch,
}

impl KernelName {
    /// Every kernel that can be fetched.
    pub(crate) fn all_fetchable() -> Vec<Self> {
        let mut all: Vec<Self> = Family::all()
            .flat_map(|family| {
                let flavours = family.entry().flavours.iter();
                flavours.map(move |f| Self { source: Source::Archive { family, rt: f.rt }, arch: f.arch })
            })
            .collect();
        all.sort();
        all
    }

    /// Where the kernel comes from.
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Its architecture.
    pub(crate) fn arch(&self) -> Arch {
        self.arch
    }
}

impl fmt::Display for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arch = self.arch;
        let text = match &self.source {
            Source::Archive { family, rt } => {
                let of = family.entry();
                format!("{}/{}{}/{arch}", of.vendor, of.series, if *rt { "-rt" } else { "" })
            }
            Source::Own(name) => format!("own/{name}/{arch}"),
        };
        f.pad(&text)
    }
}

impl From<KernelName> for String {
    fn from(name: KernelName) -> Self {
        name.to_string()
    }
}
