//! The virtual machine that a record of the lab was taken in: all that must be the same for the figures to come again.

use serde::{Deserialize, Serialize};

/// A virtual machine of the lab.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Lab {
    /// Name of the kernel in the lab: `debian/6.12-rt/amd64`.
    pub kernel: String,
    /// The package that it is from, with its version: `linux-image-6.12.95+deb12-rt-amd64 6.12.95-1~bpo12+1`; empty for one's own.
    pub package: String,
    /// SHA-256 of the kernel, hex.
    pub kernel_sha256: String,
    /// SHA-256 of the guest's initramfs, hex.
    pub image_sha256: String,
    /// Version of QEMU, as it says itself.
    pub qemu: String,
    /// Arguments of QEMU that make the machine; paths left out.
    pub machine: Vec<String>,
    /// `shift=0,sleep=off`: a virtual nanosecond for each instruction; `None`: the host's clock, nothing repeats.
    pub icount: Option<String>,
    /// The same of the boot that the run's state comes from: an instruction may be longer there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_icount: Option<String>,
    /// The machine's seed when it booted.
    pub boot_seed: u64,
    /// The run's own seed: another one is another run, the same one the same run.
    pub seed: u64,
    /// SHA-256 over all that the machine's state was made from, hex: kernel, image, machine, QEMU's version and the boot's seed.
    pub state: String,
    /// Kernel modules that were loaded for this run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<GuestModule>,
}

/// A kernel module that was loaded for a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GuestModule {
    /// File name.
    pub name: String,
    /// SHA-256 of the file, hex.
    pub sha256: String,
    /// Parameters, as given to insmod.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<String>,
}
