//! Names of kernels: `debian/6.12-rt/amd64`, `own/NAME/arm64`. A name without its last part means the host's architecture.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Architecture of a guest, by Debian's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arch {
    /// 64-bit PC.
    Amd64,
    /// 64-bit ARM.
    Arm64,
    /// 32-bit ARM with hardware floating point.
    Armhf,
}

impl Arch {
    /// All architectures.
    pub(crate) const ALL: [Self; 3] = [Self::Amd64, Self::Arm64, Self::Armhf];

    /// The host's architecture; `amd64` on any other host, where every guest is emulated anyway.
    pub fn host() -> Self {
        match std::env::consts::ARCH {
            "aarch64" => Self::Arm64,
            "arm" => Self::Armhf,
            _ => Self::Amd64,
        }
    }

    /// Debian's name of the architecture.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
            Self::Armhf => "armhf",
        }
    }

    /// Debian's kernel flavour, such as `rt-armmp`.
    pub(crate) fn flavour(self, rt: bool) -> &'static str {
        match (self, rt) {
            (Self::Amd64, false) => "amd64",
            (Self::Amd64, true) => "rt-amd64",
            (Self::Arm64, false) => "arm64",
            (Self::Arm64, true) => "rt-arm64",
            (Self::Armhf, false) => "armmp",
            (Self::Armhf, true) => "rt-armmp",
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A series of Debian kernels, built with Debian 12's compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Series {
    /// 6.1, from bookworm and bookworm-security.
    V6_1,
    /// 6.12, from bookworm-backports and bookworm-security.
    V6_12,
}

impl Series {
    /// All series.
    pub(crate) const ALL: [Self; 2] = [Self::V6_1, Self::V6_12];

    /// The series as it appears in names: `6.12`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::V6_1 => "6.1",
            Self::V6_12 => "6.12",
        }
    }
}

/// Where a kernel comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Source {
    /// Built by Debian.
    Debian {
        /// Which series.
        series: Series,
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
    /// The name of a Debian kernel.
    pub(crate) fn debian(series: Series, rt: bool, arch: Arch) -> Self {
        Self { source: Source::Debian { series, rt }, arch }
    }

    /// Every Debian kernel that can be fetched.
    pub(crate) fn all_debian() -> Vec<Self> {
        let mut all = Vec::new();
        for arch in Arch::ALL {
            for series in Series::ALL {
                all.extend([false, true].map(|rt| Self::debian(series, rt, arch)));
            }
        }
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
            Source::Debian { series, rt } => format!("debian/{}{}/{arch}", series.as_str(), if *rt { "-rt" } else { "" }),
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
