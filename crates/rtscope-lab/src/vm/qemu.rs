//! QEMU and its arguments, which contain everything about the machine that a run's figures depend on.

use super::executed::Hashed;
use super::messages::SIZE;
use super::{TimeModel, VmError, memory};
use crate::kernels::Arch;
use rtscope_files::digest;
use rtscope_load::programs::find_program;
use rtscope_record::{Clock, Processor};
use rtscope_sys as sys;
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// QEMU for one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Qemu {
    /// The program.
    pub(crate) program: PathBuf,
    /// The version it reports.
    pub(crate) version: String,
    /// The program's file with its hash.
    pub(super) file: Hashed,
    /// SHA-256 over the firmware files, hex; `None` if the machine has none.
    pub(crate) firmware: Option<String>,
    /// The processor flags that it knows.
    pub(super) flags: Vec<String>,
}

/// Firmware files with which an x86 machine starts a kernel, as far as they exist: the BIOS, and the option
/// ROMs it runs. Arm machines start their kernels with code that QEMU itself generates.
const FIRMWARE: [&str; 4] = ["bios-256k.bin", "kvmvapic.bin", "linuxboot_dma.bin", "pvh.bin"];

/// Limits for a query to QEMU: its time, and the output read, bytes.
const ANSWERS: Duration = Duration::from_secs(20);
const MOST_SAID: u64 = 1 << 20;

impl Qemu {
    /// The installed QEMU for `arch`.
    pub(super) fn find(arch: Arch) -> Result<Self, VmError> {
        let (name, package) = match arch {
            Arch::Amd64 => ("qemu-system-x86_64", "qemu-system-x86"),
            Arch::Arm64 => ("qemu-system-aarch64", "qemu-system-arm"),
            Arch::Armhf => ("qemu-system-arm", "qemu-system-arm"),
        };
        let program = find_program(name).ok_or(VmError::NoQemu { program: name, package })?;
        let failed = |reason: String| VmError::Start { program: program.clone(), reason };
        let ask = |words: &'static [&'static str]| {
            let program = program.clone();
            std::thread::spawn(move || said(&program, words))
        };
        let heard = |answer: std::thread::JoinHandle<io::Result<[String; 2]>>| {
            answer.join().map_err(|_| failed("it could not be asked".into()))?.map_err(|e| failed(e.to_string()))
        };
        // All at once, because each takes a while to start, and so does the hash.
        let amd64 = arch == Arch::Amd64;
        let version = ask(&["--version"]);
        let more = amd64.then(|| (ask(&["-cpu", "help"]), ask(&["-L", "help"])));
        let file = Hashed::of(&program).map_err(|e| failed(e.to_string()))?;
        let [text, error] = heard(version)?;
        let version = text.lines().next().unwrap_or_default().trim().trim_start_matches("QEMU emulator version ").to_owned();
        if version.is_empty() {
            return Err(failed(format!("it does not tell its version: {error}")));
        }
        let (flags, dirs) = match more {
            Some((flags, dirs)) => {
                let ([flags, _], [dirs, _]) = (heard(flags)?, heard(dirs)?);
                (known_flags(&flags), dirs)
            }
            None => (Vec::new(), String::new()),
        };
        let firmware = if amd64 { firmware(&dirs).map_err(|e| failed(format!("its firmware: {e}")))? } else { None };
        Ok(Self { program, version, file, firmware, flags })
    }
}

/// Standard output (empty on failure) and standard error of `program` with the arguments `words`. It is killed
/// if it does not end, for example because a wrapper starts a machine instead.
pub(super) fn said(program: &Path, words: &[&str]) -> io::Result<[String; 2]> {
    let mut command = sys::process::command(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let reader = |from: Option<Box<dyn io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = from.map(|from| from.take(MOST_SAID).read_to_end(&mut text));
            String::from_utf8_lossy(&text).trim().to_owned()
        })
    };
    let out = reader(child.stdout.take().map(|p| Box::new(p) as _));
    let beside = reader(child.stderr.take().map(|p| Box::new(p) as _));
    let end = Instant::now() + ANSWERS;
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if Instant::now() < end => std::thread::sleep(Duration::from_millis(2)),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                let what =
                    format!("it does not answer {} within {} s; put QEMU itself first in PATH", words.join(" "), ANSWERS.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, what));
            }
        }
    };
    let [out, beside] = [out, beside].map(|text| text.join().unwrap_or_default());
    Ok([if status.success() { out } else { String::new() }, beside])
}

/// The flags in the output of `-cpu help`: all words after their headline.
fn known_flags(help: &str) -> Vec<String> {
    let (_, flags) = help.split_once("Recognized CPUID flags:").unwrap_or_default();
    flags.split_whitespace().map(str::to_owned).collect()
}

/// SHA-256 over the [`FIRMWARE`] files, each from the first directory of `-L help` that has it; `None` if there are none.
fn firmware(dirs: &str) -> io::Result<Option<String>> {
    let mut hash = Sha256::new();
    let mut any = false;
    for name in FIRMWARE {
        let Some(path) = dirs.lines().map(|dir| Path::new(dir.trim()).join(name)).find(|path| path.is_file()) else { continue };
        hash.update(name);
        hash.update(digest::file(&path)?);
        any = true;
    }
    Ok(any.then(|| digest::hex(hash.finalize())))
}

/// The description of a machine to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MachineSpec {
    /// Architecture.
    pub(crate) arch: Arch,
    /// Virtual: time is counted in instructions, and everything repeats. Host: at full speed, CPUs in parallel.
    pub(crate) clock: Clock,
    /// The cost of operations in virtual time.
    pub(crate) model: TimeModel,
    /// Flags that the processor must not have.
    pub(crate) masked: Vec<&'static str>,
    /// Number of CPUs.
    pub(crate) cpus: u32,
    /// Memory, MiB.
    pub(crate) memory_mib: u32,
    /// Seeds the guest's hardware random numbers and the kernel's address layout.
    pub(crate) boot_seed: u64,
    /// What the user adds to the kernel's command line.
    pub(crate) parameters: Vec<String>,
    /// The kernel.
    pub(crate) kernel: PathBuf,
    /// Its initramfs.
    pub(crate) image: PathBuf,
    /// A plugin for QEMU with its arguments, that looks on while a machine runs from a state. The guest is the same with it and without.
    pub(super) plugin: Option<OsString>,
}

/// An instruction of a boot lasts 8 ns, so that the busy loops in which firmware and kernel wait for timers
/// take fewer instructions. The booted kernel is the same.
const BOOT_ICOUNT: &str = "shift=3,sleep=off";
/// Records input from outside. There is none, but recording has a wanted side effect: QEMU advances virtual
/// time only after all instructions are counted. Otherwise its main thread may advance it between a guest's
/// halt and that count, and too far.
const RECORD: &str = ",rr=record,rrfile=/dev/null";
/// The shift in [`BOOT_ICOUNT`].
pub(super) const BOOT_SHIFT: u32 = 3;

impl MachineSpec {
    /// The `-icount` argument in virtual time, for a run or for the boot whose state the runs start from.
    /// `sleep=off`: an idle guest does not wait for the host's clock.
    pub(super) fn icount(&self, runs: bool) -> Option<&'static str> {
        (self.clock == Clock::Virtual).then_some(if runs { self.model.icount() } else { BOOT_ICOUNT })
    }

    /// Whether input from outside is recorded. QEMU can do so with one CPU only, and 7.2 fails an internal check
    /// with 32-bit Arm.
    fn is_recorded(&self) -> bool {
        self.clock == Clock::Virtual && self.cpus == 1 && self.arch != Arch::Armhf
    }

    /// Fails if the processor found by the guest has a flag that this machine masks.
    pub(super) fn check(&self, processor: &Processor) -> Result<(), VmError> {
        let has = |flag: &&&str| processor.flags.iter().any(|f| f == **flag) || strings(&processor.cpuid).contains(*flag);
        let Some(flag) = self.masked.iter().find(has) else { return Ok(()) };
        Err(VmError::Failed {
            message: format!(
                "the guest's processor has `{flag}`, which time model {} masks: it is not the machine that was asked for",
                self.model
            ),
            remedy: "what starts QEMU changes its processor: put QEMU itself first in PATH".into(),
            usage: false,
        })
    }

    fn console(&self) -> &'static str {
        if self.arch == Arch::Amd64 { "ttyS0" } else { "ttyAMA0" }
    }

    /// The arguments that define the machine, without paths, for a run or a boot. Machines with the same arguments,
    /// kernel, image and QEMU behave identically.
    pub(super) fn arguments(&self, runs: bool) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let mut add = |text: &str| words.extend(text.split(' ').map(str::to_owned));
        let (machine, cpu) = match self.arch {
            Arch::Amd64 => ("pc", "max"),
            Arch::Arm64 => ("virt,gic-version=3", "cortex-a53"),
            // Without PCI windows above 4 GiB, which a 32-bit kernel can't reach.
            Arch::Armhf => ("virt,highmem=off", "cortex-a15"),
        };
        // The state is saved and loaded without a self-description.
        let cpu = self.masked.iter().fold(cpu.to_owned(), |cpu, flag| cpu + ",-" + flag);
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

    /// The kernel's command line. It skips the self-tests of cryptographic algorithms and the gathering of
    /// randomness from jitter, which this machine lacks: they take a tenth of the boot and contribute nothing here. In the host's
    /// time it also skips the test of the timer interrupt, which panics if the host keeps QEMU waiting meanwhile.
    pub(super) fn command_line(&self) -> String {
        let clock = match self.arch {
            Arch::Amd64 if self.clock == Clock::Virtual => " clocksource=tsc tsc=reliable",
            Arch::Amd64 => " no_timer_check",
            Arch::Arm64 | Arch::Armhf => "",
        };
        let own = format!("console={} quiet panic=-1 cryptomgr.notests initcall_blacklist=jent_mod_init{clock}", self.console());
        std::iter::once(own).chain(self.parameters.iter().cloned()).collect::<Vec<_>>().join(" ")
    }

    /// All arguments except those for memory, mailbox, control channel, console and start.
    pub(super) fn all_arguments(&self, runs: bool) -> Vec<OsString> {
        let mut words: Vec<OsString> = self.arguments(runs).into_iter().map(OsString::from).collect();
        words.extend(["-kernel".into(), self.kernel.clone().into()]);
        words.extend(["-initrd".into(), self.image.clone().into()]);
        words.extend(["-append".into(), self.command_line().into()]);
        if let Some(plugin) = self.plugin.as_ref().filter(|_| runs) {
            words.extend(["-plugin".into(), plugin.clone()]);
        }
        words
    }

    /// Arguments for the mailbox in `file`, and for the device with which the guest pauses the machine.
    pub(super) fn mailbox_arguments(file: &Path) -> Vec<OsString> {
        let mut backend = OsString::from(format!("memory-backend-file,id=mailbox,share=on,size={SIZE},mem-path="));
        // QEMU ends a value at a comma unless it is doubled.
        backend.push(file.to_string_lossy().replace(',', ",,"));
        let device = "ivshmem-plain,memdev=mailbox,master=on";
        let pause = ["-device", "pvpanic-pci", "-action", "panic=pause"].map(OsString::from);
        ["-object".into(), backend, "-device".into(), device.into()].into_iter().chain(pause).collect()
    }
}

/// The fast-string flags in a processor's CPUID (Intel's Software Developer's Manual, volume 2A, CPUID). A
/// kernel may use them without listing them.
fn strings(cpuid: &[String]) -> Vec<&'static str> {
    const BITS: [(&str, &str, u32); 5] =
        [("erms", "7.0.ebx", 9), ("fsrm", "7.0.edx", 4), ("fzrm", "7.1.eax", 10), ("fsrs", "7.1.eax", 11), ("fsrc", "7.1.eax", 12)];
    let value = |register: &str| {
        let of = |word: &String| u32::from_str_radix(word.strip_prefix(register)?.strip_prefix('=')?, 16).ok();
        cpuid.iter().find_map(of).unwrap_or(0)
    };
    BITS.into_iter().filter(|(_, register, bit)| value(register) >> bit & 1 == 1).map(|(flag, ..)| flag).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(arch: Arch, clock: Clock, cpus: u32, model: TimeModel) -> MachineSpec {
        let masked = model.masked(arch, &known_flags("Recognized CPUID flags:\n  avx erms\n  fsrm"));
        let (kernel, image) = (PathBuf::new(), PathBuf::new());
        MachineSpec {
            arch,
            clock,
            model,
            masked,
            cpus,
            memory_mib: 512,
            boot_seed: 1,
            parameters: Vec::new(),
            kernel,
            image,
            plugin: None,
        }
    }

    /// The argument after `option`.
    fn word(option: &str, arch: Arch, clock: Clock, cpus: u32, model: TimeModel, runs: bool) -> Option<String> {
        let spec = spec(arch, clock, cpus, model);
        let words = spec.arguments(runs);
        let at = words.iter().position(|w| w == option)?;
        words.get(at + 1).cloned()
    }

    #[test]
    fn whatever_can_be_recorded_is_and_only_boots_have_longer_instructions() {
        let icount = |arch, clock, cpus, runs| word("-icount", arch, clock, cpus, TimeModel::default(), runs);
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

    #[test]
    fn only_where_a_busy_host_can_hold_up_the_timer_its_test_is_skipped() {
        let skipped = |arch, clock| spec(arch, clock, 1, TimeModel::default()).command_line().contains(" no_timer_check");
        assert!(skipped(Arch::Amd64, Clock::Host) && !skipped(Arch::Amd64, Clock::Virtual) && !skipped(Arch::Arm64, Clock::Host));
    }

    #[test]
    fn a_time_model_is_a_processor_and_the_length_of_an_instruction() {
        let of = |option, arch, model| word(option, arch, Clock::Virtual, 1, model, true).unwrap();
        let cpu = |model| of("-cpu", Arch::Amd64, model);
        assert_eq!(TimeModel::ALL.map(cpu), ["max", "max,-erms,-fsrm", "max,-erms,-fsrm"]);
        assert!(of("-icount", Arch::Amd64, TimeModel::Slower).starts_with("shift=1,"));
        assert_eq!(of("-cpu", Arch::Arm64, TimeModel::WordsCopied), "cortex-a53");
    }

    #[test]
    fn a_processor_that_has_what_is_masked_is_refused() {
        let spec = spec(Arch::Amd64, Clock::Virtual, 1, TimeModel::default());
        let processor = |flags: &[&str], cpuid: &[&str]| Processor {
            flags: flags.iter().map(|f| (*f).to_owned()).collect(),
            cpuid: cpuid.iter().map(|c| (*c).to_owned()).collect(),
            ..Processor::default()
        };
        spec.check(&processor(&["fpu", "avx2"], &["7.0.ebx=1ff", "7.0.edx=ffef", "7.1.eax=1c00"])).unwrap();
        for (flags, cpuid) in [(&["fpu", "erms"][..], &[][..]), (&[], &["7.0.ebx=200"]), (&[], &["1.0.eax=0", "7.0.edx=10"])] {
            let e = spec.check(&processor(flags, cpuid)).unwrap_err();
            assert!(e.to_string().contains("time model 2"), "{e}");
        }
    }

    #[test]
    fn firmware_is_what_the_first_directory_has() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        std::fs::create_dir(&a).unwrap();
        std::fs::create_dir(&b).unwrap();
        let dirs = format!("{}\n{}\n", a.display(), b.display());
        assert_eq!(firmware(&dirs).unwrap(), None);
        std::fs::write(b.join("pvh.bin"), "1").unwrap();
        let first = firmware(&dirs).unwrap().unwrap();
        std::fs::write(b.join("other.bin"), "1").unwrap();
        assert_eq!(firmware(&dirs).unwrap().unwrap(), first);
        std::fs::write(a.join("pvh.bin"), "2").unwrap();
        assert_ne!(firmware(&dirs).unwrap().unwrap(), first);
    }
}
