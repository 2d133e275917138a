//! The virtual machine in which a record of the lab was taken: everything that must be the same for the figures to repeat.

use serde::{Deserialize, Serialize};

/// The time model of records that don't name one.
const FIRST_MODEL: u32 = 1;

/// The virtual machine of a run in the lab: everything that must be the same for the figures to repeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Lab {
    /// Time model: what operations cost in virtual time. 1: an instruction takes 1 ns, and so does each byte copied by a string
    /// instruction. 2: an instruction takes 1 ns, and copies go by words, since the processor has no fast string instructions. 3:
    /// as 2, with 2 ns for each instruction. Absent: 1. rtscope forms no ratio between records of different models.
    #[serde(skip_serializing_if = "is_first_model")]
    pub model: u32,
    /// Name of the kernel in the lab: `debian/6.12-rt/amd64`.
    pub kernel: String,
    /// What was added to its command line by the target's name: `highres=off`. Kernels with other parameters are other kernels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<String>,
    /// Kernel package and its version: `linux-image-6.12.95+deb12-rt-amd64 6.12.95-1~bpo12+1`; empty for a user's own kernel.
    pub package: String,
    /// SHA-256 of the kernel, hex.
    pub kernel_sha256: String,
    /// SHA-256 of the guest's initramfs, hex.
    pub image_sha256: String,
    /// Version of QEMU, as it reports it.
    pub qemu: String,
    /// SHA-256 of the QEMU program that ran, hex; not that of a wrapper that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qemu_sha256: Option<String>,
    /// SHA-256 over the firmware of the machine, hex; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware_sha256: Option<String>,
    /// The processor, as the guest detected it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor: Option<Processor>,
    /// QEMU's arguments that define the machine, without paths.
    pub machine: Vec<String>,
    /// QEMU's `-icount` argument: with `shift=0,sleep=off` each instruction takes 1 ns of virtual time. null: the guest's time is
    /// the host's, and figures do not repeat.
    pub icount: Option<String>,
    /// The same argument for the boot from whose state the run starts; an instruction may take longer there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_icount: Option<String>,
    /// Seed of the boot.
    pub boot_seed: u64,
    /// Seed of the run: the same seed gives the same run, another seed another run.
    pub seed: u64,
    /// SHA-256 over all that the state after the boot depends on, hex: kernel, image, QEMU's version and program, firmware, machine
    /// arguments with the boot's seed, kernel command line.
    pub state: String,
    /// Kernel modules loaded for this run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<GuestModule>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // required by serde
fn is_first_model(model: &u32) -> bool {
    *model == FIRST_MODEL
}

impl Default for Lab {
    fn default() -> Self {
        Self {
            model: FIRST_MODEL,
            kernel: String::new(),
            parameters: Vec::new(),
            package: String::new(),
            kernel_sha256: String::new(),
            image_sha256: String::new(),
            qemu: String::new(),
            qemu_sha256: None,
            firmware_sha256: None,
            processor: None,
            machine: Vec::new(),
            icount: None,
            boot_icount: None,
            boot_seed: 0,
            seed: 0,
            state: String::new(),
            modules: Vec::new(),
        }
    }
}

/// The costs of a time model in words; for a model unknown to this version, that it is unknown.
pub fn meaning(model: u32) -> &'static str {
    match model {
        1 => "an instruction is 1 ns, and so is each byte that is copied by a string instruction",
        2 => "an instruction is 1 ns, copies go by words",
        3 => "an instruction is 2 ns, copies go by words",
        _ => "one that this version does not know",
    }
}

impl Lab {
    /// The guest's name where a machine's name is shown: its kernel and its time model.
    pub fn name(&self) -> String {
        let kernel = if self.kernel.is_empty() { "a kernel without a name" } else { &self.kernel };
        let with = if self.parameters.is_empty() { String::new() } else { format!(" with {}", self.parameters.join(" ")) };
        format!("{kernel}{with}, time model {}", self.model)
    }
}

/// A processor, as the guest detected it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Processor {
    /// x86: vendor, family, model, stepping and name. Arm: implementer, part, variant and revision.
    pub name: String,
    /// Feature flags, as the guest's kernel lists them (`flags` or `Features` in `/proc/cpuinfo`).
    pub flags: Vec<String>,
    /// x86: feature registers of `CPUID`, each as `register=value`, hex.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cpuid: Vec<String>,
}

/// A kernel module loaded for a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GuestModule {
    /// File name.
    pub name: String,
    /// SHA-256 of the file, hex.
    pub sha256: String,
    /// Parameters, as given to `insmod`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<String>,
    /// The compiler that built it, as the file says: `GCC: (Debian 12.2.0-14+deb12u1) 12.2.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiler: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_model_is_kept_but_for_the_first() {
        for (model, written) in [(1, None), (2, Some(2)), (3, Some(3))] {
            let lab = Lab { model, ..Lab::default() };
            let text = serde_json::to_value(&lab).unwrap();
            assert_eq!(text.get("model").and_then(serde_json::Value::as_u64), written);
            assert_eq!(serde_json::from_value::<Lab>(text).unwrap(), lab);
        }
    }

    #[test]
    fn a_guest_is_called_by_kernel_and_time_model() {
        let name = |kernel: &str| Lab { kernel: kernel.into(), model: 2, ..Lab::default() }.name();
        assert_eq!([name("debian/6.12"), name("")], ["debian/6.12, time model 2", "a kernel without a name, time model 2"]);
    }

    #[test]
    fn each_time_model_says_what_things_cost_in_it() {
        let words = [1, 2, 3, 4].map(meaning);
        assert_eq!(words.iter().collect::<std::collections::BTreeSet<_>>().len(), 4, "{words:?}");
        assert!(words[0].contains("each byte") && words[1].contains("by words") && words[2].contains("2 ns"));
        assert!([0, 4, u32::MAX].iter().all(|&m| meaning(m).contains("does not know")));
    }
}
