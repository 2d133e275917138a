//! QEMU, and the machine that it is told to be: everything that a run's figures depend on stands in its arguments.

use super::wire::SIZE;
use super::{VmError, memory};
use crate::kernels::Arch;
use crate::supervisor::find_program;
use rtscope_record::Clock;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// QEMU for one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qemu {
    /// The program.
    pub program: PathBuf,
    /// What it says of its version.
    pub version: String,
}

impl Qemu {
    /// The one that is installed.
    pub fn find(arch: Arch) -> Result<Self, VmError> {
        let (name, package) = match arch {
            Arch::Amd64 => ("qemu-system-x86_64", "qemu-system-x86"),
            Arch::Arm64 => ("qemu-system-aarch64", "qemu-system-arm"),
            Arch::Armhf => ("qemu-system-arm", "qemu-system-arm"),
        };
        let program = find_program(name).ok_or(VmError::NoQemu { program: name, package })?;
        let out = Command::new(&program).arg("--version").stdin(Stdio::null()).output();
        let out = out.map_err(|e| VmError::Start { program: program.clone(), reason: e.to_string() })?;
        let text = String::from_utf8_lossy(&out.stdout);
        let version = text.lines().next().unwrap_or_default().trim().trim_start_matches("QEMU emulator version ").to_owned();
        if version.is_empty() {
            let reason = format!("it does not tell its version: {}", String::from_utf8_lossy(&out.stderr).trim());
            return Err(VmError::Start { program, reason });
        }
        Ok(Self { program, version })
    }
}

/// A machine to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineSpec {
    /// Architecture.
    pub arch: Arch,
    /// Virtual: one instruction is one nanosecond, everything repeats. Host: as fast as it goes, CPUs in parallel.
    pub clock: Clock,
    /// Number of CPUs.
    pub cpus: u32,
    /// Memory, MiB.
    pub memory_mib: u32,
    /// What the guest's hardware random numbers and the kernel's layout come from.
    pub boot_seed: u64,
    /// The kernel.
    pub kernel: PathBuf,
    /// Its initramfs.
    pub image: PathBuf,
}

/// An instruction of a run lasts one virtual nanosecond (2^0), and nobody waits for the host's clock when the guest is idle.
const ICOUNT: &str = "shift=0,sleep=off";
/// An instruction of a boot lasts 8: firmware and kernel wait for timers in busy loops, which are as much shorter. The kernel that they leave
/// is the same.
const BOOT_ICOUNT: &str = "shift=3,sleep=off";
/// Recording what comes to the guest from outside, of which there is nothing, has a side that is wanted: QEMU moves virtual time on only when it
/// has counted all instructions. Else its main thread may do so between a guest's halt and its count, and too far.
const RECORD: &str = ",rr=record,rrfile=/dev/null";
/// That of [`BOOT_ICOUNT`].
pub(super) const BOOT_SHIFT: u32 = 3;

impl MachineSpec {
    /// `-icount`, in virtual time: of a run, or of the boot whose state the runs start from.
    pub fn icount(&self, runs: bool) -> Option<&'static str> {
        (self.clock == Clock::Virtual).then_some(if runs { ICOUNT } else { BOOT_ICOUNT })
    }

    /// Whether what comes from outside is recorded: QEMU does so with one CPU only, and that of 7.2 fails a check of its own with 32-bit Arm.
    fn is_recorded(&self) -> bool {
        self.clock == Clock::Virtual && self.cpus == 1 && self.arch != Arch::Armhf
    }

    fn console(&self) -> &'static str {
        if self.arch == Arch::Amd64 { "ttyS0" } else { "ttyAMA0" }
    }

    /// The arguments that make the machine, without paths. Two machines with the same ones, the same kernel and image, and the same QEMU
    /// do the same. Of a run, or of a boot.
    pub fn arguments(&self, runs: bool) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let mut add = |text: &str| words.extend(text.split(' ').map(str::to_owned));
        let (machine, cpu) = match self.arch {
            Arch::Amd64 => ("pc", "max"),
            Arch::Arm64 => ("virt,gic-version=3", "cortex-a53"),
            // Without PCI windows above 4 GiB, which a 32-bit kernel does not reach.
            Arch::Armhf => ("virt,highmem=off", "cortex-a15"),
        };
        // A state is saved without a description of itself, and read so.
        add(&format!("-M {machine},memory-backend={},suppress-vmdesc=on -cpu {cpu}", memory::ID));
        match self.icount(runs) {
            Some(icount) => add(&format!("-accel tcg -icount {icount}{}", if self.is_recorded() { RECORD } else { "" })),
            None => add("-accel tcg,thread=multi"),
        }
        let clock = if self.clock == Clock::Virtual { "vm" } else { "host" };
        add(&format!("-smp {} -m {} -rtc base=2024-01-01T00:00:00,clock={clock}", self.cpus, self.memory_mib));
        add(&format!("-seed {} -display none -monitor none -nodefaults -no-reboot", self.boot_seed));
        words
    }

    /// The kernel's command line. The self-tests of cryptographic algorithms, and gathering randomness from a jitter that this machine does not
    /// have, take a tenth of the boot and tell nothing here.
    pub fn command_line(&self) -> String {
        let clock = match self.arch {
            Arch::Amd64 if self.clock == Clock::Virtual => " clocksource=tsc tsc=reliable",
            _ => "",
        };
        format!("console={} quiet panic=-1 cryptomgr.notests initcall_blacklist=jent_mod_init{clock}", self.console())
    }

    /// All arguments but those for memory, mailbox, control channel, console and start.
    pub(super) fn all_arguments(&self, runs: bool) -> Vec<OsString> {
        let mut words: Vec<OsString> = self.arguments(runs).into_iter().map(OsString::from).collect();
        words.extend(["-kernel".into(), self.kernel.clone().into()]);
        words.extend(["-initrd".into(), self.image.clone().into()]);
        words.extend(["-append".into(), self.command_line().into()]);
        words
    }

    /// Arguments for the mailbox in `file`, and for the device by which the guest pauses itself.
    pub(super) fn mailbox_arguments(file: &Path) -> Vec<OsString> {
        let mut backend = OsString::from(format!("memory-backend-file,id=mailbox,share=on,size={SIZE},mem-path="));
        // QEMU reads a comma in a value as the end of it, unless it is doubled.
        backend.push(file.to_string_lossy().replace(',', ",,"));
        let device = "ivshmem-plain,memdev=mailbox,master=on";
        let pause = ["-device", "pvpanic-pci", "-action", "panic=pause"].map(OsString::from);
        ["-object".into(), backend, "-device".into(), device.into()].into_iter().chain(pause).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands behind `-icount`.
    fn icount(arch: Arch, clock: Clock, cpus: u32, runs: bool) -> Option<String> {
        let (kernel, image) = (PathBuf::new(), PathBuf::new());
        let spec = MachineSpec { arch, clock, cpus, memory_mib: 512, boot_seed: 1, kernel, image };
        let words = spec.arguments(runs);
        let at = words.iter().position(|w| w == "-icount")?;
        words.get(at + 1).cloned()
    }

    #[test]
    fn whatever_can_be_recorded_is_and_only_boots_have_longer_instructions() {
        let run = |arch, cpus| icount(arch, Clock::Virtual, cpus, true);
        for arch in [Arch::Amd64, Arch::Arm64] {
            assert_eq!(run(arch, 1).as_deref(), Some("shift=0,sleep=off,rr=record,rrfile=/dev/null"));
            assert_eq!(run(arch, 2).as_deref(), Some("shift=0,sleep=off"));
        }
        assert_eq!(run(Arch::Armhf, 1).as_deref(), Some("shift=0,sleep=off"));
        let boot = icount(Arch::Amd64, Clock::Virtual, 1, false);
        assert_eq!(boot.as_deref(), Some("shift=3,sleep=off,rr=record,rrfile=/dev/null"));
        assert_eq!(icount(Arch::Amd64, Clock::Host, 1, true), None);
    }
}
