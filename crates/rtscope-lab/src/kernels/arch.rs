//! Architectures of guests.

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

    /// What its compilers and libraries are called by: `x86_64-linux-gnu`.
    pub(crate) fn triple(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-linux-gnu",
            Self::Arm64 => "aarch64-linux-gnu",
            Self::Armhf => "arm-linux-gnueabihf",
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
