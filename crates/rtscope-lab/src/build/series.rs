//! Debian's packages with a kernel's source, by the names that users give them.

use crate::debian::{Archive, DEBIAN_12};
use crate::kernels::{Arch, DEBIAN_13};

/// Debian's source packages by the names that users give them: `debian/NAME`.
pub(super) struct Series {
    /// Behind `debian/`.
    pub(super) name: &'static str,
    /// The package with the tree, or one that depends on it.
    pub(super) package: &'static str,
    /// The archive that has it.
    pub(super) archive: &'static Archive,
    /// The architectures for which the tree has no PREEMPT_RT, and Debian's source package `linux` of the same version has the patches
    /// that add it. (Mainline has it from 6.12 on, for amd64 and arm64.)
    pub(super) patched: &'static [Arch],
}

/// All of them.
pub(super) const SERIES: [Series; 3] = [
    Series { name: "6.1", package: "linux-source-6.1", archive: &DEBIAN_12, patched: &Arch::ALL },
    Series { name: "6.12", package: "linux-source-6.12", archive: &DEBIAN_12, patched: &[Arch::Armhf] },
    Series { name: "13-backports", package: "linux-source", archive: &DEBIAN_13, patched: &[] },
];
