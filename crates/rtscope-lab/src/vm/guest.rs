//! A guest of the lab: a kernel with its image and the machine for them, started from a kept state, and what it is told to do.

use super::VmError;
use super::machine::{Limit, Machine, Progress, Start, Watch};
use super::memory::Memory;
use super::messages::{Facts, Job, JobFile, JobModule, Said, Work};
use super::model::TimeModel;
use super::qemu::{MachineSpec, Qemu};
use super::state::{self, Keeping, States};
use crate::image::modinfo;
use crate::kernels::Arch;
use base64::Engine;
use rtscope_files::digest;
use rtscope_load::StopHandle;
use rtscope_record::{Clock, GuestModule, Lab, Processor};
use rtscope_sys as sys;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Beyond the time that its work takes, what a guest may take to bring its load up and down. Virtual.
const AROUND: Duration = Duration::from_secs(240);
/// Seconds of the host for one virtual second, where virtual time can't be read from outside: five times what was seen under full load.
const SLOWEST: u32 = 60;

/// What may be chosen of a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabOptions {
    /// Virtual or host.
    pub clock: Clock,
    /// What things cost in virtual time.
    pub model: TimeModel,
    /// Number of CPUs.
    pub cpus: u32,
    /// Memory, MiB.
    pub memory_mib: u32,
    /// The run's seed.
    pub seed: u64,
    /// Start from a kept state; else boot for this run alone.
    pub keep_state: bool,
    /// Kernel modules to load first: file and parameters.
    pub modules: Vec<(PathBuf, Vec<String>)>,
    /// Files to put into the guest first: here, and there. Executable there.
    pub files: Vec<(PathBuf, String)>,
}

impl Default for LabOptions {
    fn default() -> Self {
        Self {
            clock: Clock::Virtual,
            model: TimeModel::default(),
            cpus: 1,
            memory_mib: 512,
            seed: 1,
            keep_state: true,
            modules: Vec::new(),
            files: Vec::new(),
        }
    }
}

/// A kernel and an initramfs for it, by their contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Boot {
    /// Architecture.
    pub(crate) arch: Arch,
    /// Name in the lab: `debian/6.12-rt/amd64`.
    pub(crate) name: String,
    /// Package and version, empty for one's own.
    pub(crate) package: String,
    /// What is booted of the kernel, and the SHA-256 of the kernel as it was packed, hex.
    pub(crate) kernel: (PathBuf, String),
    /// The initramfs, and its SHA-256 in hex.
    pub(crate) image: (PathBuf, String),
    /// The configuration that the kernel was built with, if it came with one.
    pub(crate) config: Option<PathBuf>,
    /// Whether the kernel came with modules, or with the list of those built in.
    pub(crate) has_modules: bool,
    /// Modules that a guest needs and that are not known to be there.
    pub(crate) missing: Vec<String>,
}

/// A guest of the lab, ready to be started as often as one likes.
#[derive(Debug, Clone)]
pub struct Guest {
    boot: Boot,
    options: LabOptions,
    qemu: Qemu,
    spec: MachineSpec,
    key: String,
    states: States,
    modules: Vec<(JobModule, GuestModule)>,
    files: Vec<JobFile>,
}

/// A machine that is paused after its boot, and what it said of itself.
pub struct Started {
    machine: Machine,
    /// What the guest found when it had booted.
    pub facts: Facts,
    _keeping: Option<Keeping>,
}

/// What is heard of a guest while it works.
#[derive(Debug)]
pub enum News<'a> {
    /// How far it is.
    Progress(Progress),
    /// It said this, which is not its last word.
    Said(&'a Said),
}

impl Started {
    /// SHA-256 of the program that really runs as QEMU, hex.
    pub fn ran(&self) -> &str {
        self.machine.ran()
    }

    /// Resident memory of QEMU, KiB.
    pub fn resident_kib(&self) -> Option<u64> {
        self.machine.resident_kib()
    }
}

impl Guest {
    /// A guest of `boot` on `qemu`, whose states are kept in `states`. Reads the modules that go with its runs.
    pub(super) fn new(qemu: Qemu, boot: Boot, options: LabOptions, states: States) -> Result<Self, VmError> {
        let spec = MachineSpec {
            arch: boot.arch,
            clock: options.clock,
            model: options.model,
            masked: options.model.masked(boot.arch, &qemu.flags),
            cpus: options.cpus,
            memory_mib: options.memory_mib,
            boot_seed: 1,
            kernel: boot.kernel.0.clone(),
            image: boot.image.0.clone(),
        };
        let key = state::key(&qemu, &spec, &boot.kernel.1, &boot.image.1);
        let modules = options.modules.iter().map(module).collect::<Result<_, _>>()?;
        let files = options.files.iter().map(file).collect::<Result<_, _>>()?;
        Ok(Self { boot, options, qemu, spec, key, states, modules, files })
    }

    /// What was chosen.
    pub fn options(&self) -> &LabOptions {
        &self.options
    }

    /// The same guest with another seed.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Self {
        let mut other = self.clone();
        other.options.seed = seed;
        other
    }

    /// Whether a state is kept.
    pub fn has_state(&self) -> bool {
        self.states.has(&self.key)
    }

    /// Starts the machine: from the kept state, which is made if there is none, or by a boot of its own.
    pub fn start(&self, stop: &StopHandle, on_progress: &mut dyn FnMut(Progress)) -> Result<Started, VmError> {
        let consoles = self.states.consoles();
        if self.options.clock == Clock::Host {
            let mut machine = Machine::start(&self.qemu, &self.spec, Start::PowerOn(None), &consoles)?;
            let facts = machine.pause_when_ready(state::BOOT, stop, on_progress)?;
            self.spec.check(&facts.processor)?;
            return Ok(Started { machine, facts: self.with_missing(facts), _keeping: None });
        }
        if self.options.keep_state {
            let (machine, facts, keeping) = self.states.start(&self.qemu, &self.spec, &self.key, stop, on_progress)?;
            return Ok(Started { machine, facts: self.with_missing(facts), _keeping: Some(keeping) });
        }
        let booted = state::boot(&self.qemu, &self.spec, &consoles, stop, on_progress)?;
        let machine = booted.start(&self.qemu, &self.spec, &consoles)?;
        Ok(Started { machine, facts: self.with_missing(booted.facts), _keeping: None })
    }

    /// With what can be said here why the guest could not set up something.
    fn with_missing(&self, mut facts: Facts) -> Facts {
        // Kernels since 6.16 compute ext4's checksums without that module.
        let counts = |m: &&String| *m != "crc32c_generic" || !facts.problems.is_empty();
        let missing = self.boot.missing.iter().filter(counts).map(String::as_str).collect::<Vec<_>>().join(", ");
        if !missing.is_empty() && (self.boot.has_modules || !facts.problems.is_empty()) {
            facts.problems.push(if self.boot.has_modules {
                format!("the kernel has no modules {missing}, nor has it them built in")
            } else {
                format!("the kernel came without its modules: {missing} are there only if built in (--modules names them)")
            });
        }
        facts
    }

    /// QEMU with this guest's kernel and image, its console on our terminal and nobody's plan in its mailbox: it gives a shell.
    pub fn interactive(&self) -> Command {
        let spec = MachineSpec { clock: Clock::Host, ..self.spec.clone() };
        let mut command = sys::process::command(&self.qemu.program);
        sys::process::die_with_spawner(&mut command, libc::SIGKILL);
        // Ctrl-C goes to the guest.
        command.args(spec.all_arguments(true)).args(Memory::own(spec.memory_mib)).args([
            "-chardev",
            "stdio,id=terminal,signal=off",
            "-serial",
            "chardev:terminal",
        ]);
        command
    }

    /// QEMU and the machine as it boots, in words.
    pub fn describe(&self) -> String {
        format!("QEMU {}: {}, {}", self.qemu.version, self.spec.arguments(false).join(" "), self.spec.command_line())
    }

    /// The kernel's name in the lab: `debian/6.12-rt/amd64`.
    pub fn kernel(&self) -> &str {
        &self.boot.name
    }

    /// The configuration that its kernel was built with, if it came with one.
    pub fn kernel_config(&self) -> Option<&Path> {
        self.boot.config.as_deref()
    }

    /// What was started as QEMU, if that is not the program with this hash, which really ran.
    pub fn wrapper(&self, ran: &str) -> Option<&Path> {
        (self.qemu.file.sha256 != ran).then_some(&*self.qemu.program)
    }

    /// What a record says of the machine; `ran` is the hash of the program that really ran as QEMU.
    pub fn described(&self, ran: String, processor: Processor) -> Lab {
        Lab {
            model: self.options.model.number(),
            kernel: self.boot.name.clone(),
            package: self.boot.package.clone(),
            kernel_sha256: self.boot.kernel.1.clone(),
            image_sha256: self.boot.image.1.clone(),
            qemu: self.qemu.version.clone(),
            qemu_sha256: Some(ran),
            firmware_sha256: self.qemu.firmware.clone(),
            processor: Some(processor),
            machine: self.spec.arguments(true),
            icount: self.spec.icount(true).map(Into::into),
            boot_icount: self.spec.icount(false).map(Into::into),
            boot_seed: self.spec.boot_seed,
            seed: self.options.seed,
            state: self.key.clone(),
            modules: self.modules.iter().map(|(_, m)| m.clone()).collect(),
        }
    }

    /// Has the guest do `work`, which takes so long of its time, passes on how far it is and what it says, and returns its last word.
    pub fn work(
        &self,
        mut started: Started,
        work: Work,
        takes: Duration,
        stop: &StopHandle,
        on_news: &mut dyn FnMut(News<'_>),
    ) -> Result<Said, VmError> {
        let modules = self.modules.iter().map(|(job, _)| job.clone()).collect();
        let limit = Limit { virtual_time: takes + AROUND, wall: (takes + AROUND) * SLOWEST };
        let cpuid = started.facts.processor.cpuid.clone();
        started.machine.resume(&Job { seed: self.options.seed, cpuid, modules, files: self.files.clone(), work })?;
        let mut watch = Watch::new(limit);
        loop {
            let said = started.machine.next(&mut watch, stop, &mut |p| on_news(News::Progress(p)))?;
            match said {
                Said::Failed { message, remedy, usage } => return Err(VmError::Failed { message, remedy, usage }),
                Said::Record(_) | Said::Ran(_) | Said::Costs(_) => return Ok(said),
                Said::Ready(_) => return Err(VmError::Garbled("it was ready twice".into())),
                said => on_news(News::Said(&said)),
            }
        }
    }
}

/// Reads a file that is to go with the runs.
fn file((here, there): &(PathBuf, String)) -> Result<JobFile, VmError> {
    let data = rtscope_files::read(here, rtscope_files::LARGE).map_err(VmError::io(format!("the file {}", here.display())))?;
    Ok(JobFile { path: there.clone(), data: base64::engine::general_purpose::STANDARD.encode(data) })
}

/// Refuses a parameter that a module does not have: the kernel would ignore it, and the run would be of another setting than was asked for.
fn check_parameters(module: &str, info: &[(String, String)], parameters: &[String]) -> Result<(), VmError> {
    let known: Vec<&str> = info.iter().filter(|(key, _)| key == "parmtype").filter_map(|(_, of)| of.split(':').next()).collect();
    // These two every module has.
    let there = |name: &str| ["dyndbg", "async_probe"].into_iter().chain(known.iter().copied()).any(|k| k == name);
    let Some(word) = parameters.iter().find(|p| !there(&p.split('=').next().unwrap_or_default().replace('-', "_"))) else {
        return Ok(());
    };
    Err(VmError::Failed {
        message: format!("the module {module} has no parameter for `{word}`"),
        remedy: if known.is_empty() { "it has none".into() } else { format!("it has {}", known.join(", ")) },
        usage: true,
    })
}

/// Reads a module that is to go with the runs.
fn module((path, parameters): &(PathBuf, Vec<String>)) -> Result<(JobModule, GuestModule), VmError> {
    let data = rtscope_files::read(path, rtscope_files::LARGE).map_err(VmError::io(format!("the module {}", path.display())))?;
    let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    if let Ok(info) = modinfo(&data) {
        check_parameters(&name, &info, parameters)?;
    }
    let sha256 = digest::bytes(&data);
    let job = JobModule {
        name: name.clone(),
        parameters: parameters.clone(),
        data: base64::engine::general_purpose::STANDARD.encode(data),
    };
    Ok((job, GuestModule { name, sha256, parameters: parameters.clone() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_that_a_module_has_not_is_refused() {
        let info = [("parmtype", "hold_us:uint"), ("parm", "other:a text"), ("parmtype", "irqs:bool")]
            .map(|(key, of)| (key.to_owned(), of.to_owned()));
        let check = |words: &[&str]| check_parameters("x.ko", &info, &words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        check(&["hold-us=5", "irqs", "dyndbg=+p"]).unwrap();
        for word in ["holdus=5", "other=1", ""] {
            let e = check(&["irqs=1", word]).unwrap_err();
            assert!(e.is_usage() && e.to_string().ends_with("it has hold_us, irqs"), "{e}");
        }
    }
}
