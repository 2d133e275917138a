//! A guest of the lab: a kernel, its image and a machine for them. It is started from a kept state and given work.

use super::VmError;
use super::changed::changed;
use super::machine::{Limit, Machine, Progress, Start, Watch};
use super::memory::Memory;
use super::messages::{GuestFacts, GuestWork, Job, JobFile, JobModule, Said};
use super::model::TimeModel;
use super::qemu::{MachineSpec, Qemu, said};
use super::set_aside::otherwise;
use super::state::{self, Keeping, States};
use crate::image::{compiler, modinfo};
use crate::kernels::Arch;
use base64::Engine;
use rtscope_files::digest;
use rtscope_load::StopHandle;
use rtscope_record::{Clock, GuestModule, Lab, Processor};
use rtscope_sys as sys;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What a guest may take beyond its work, to bring its load up and down. Virtual time.
const AROUND: Duration = Duration::from_secs(240);
/// Host seconds per virtual second, for guests whose virtual time can't be read from outside: five times what
/// was seen under full load.
const SLOWEST: u32 = 60;

/// The options of a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabOptions {
    /// Virtual or host time.
    pub clock: Clock,
    /// The cost of operations in virtual time.
    pub model: TimeModel,
    /// Number of CPUs.
    pub cpus: u32,
    /// Memory, MiB.
    pub memory_mib: u32,
    /// The run's seed.
    pub seed: u64,
    /// Start from a kept state; if false, boot for this run alone.
    pub keep_state: bool,
    /// Kernel modules to load first: file and parameters.
    pub modules: Vec<(PathBuf, Vec<String>)>,
    /// Files to put into the guest first: path here, path there. They are executable in the guest.
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

/// A kernel and an initramfs for it, identified by their contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Boot {
    /// Architecture.
    pub(crate) arch: Arch,
    /// Name in the lab: `debian/6.12-rt/amd64`.
    pub(crate) name: String,
    /// What is added to its command line.
    pub(crate) parameters: Vec<String>,
    /// Package and version; empty for a user's own kernel.
    pub(crate) package: String,
    /// The kernel file that is booted, and the SHA-256 of the packed kernel, hex.
    pub(crate) kernel: (PathBuf, String),
    /// The initramfs, and its SHA-256 in hex.
    pub(crate) image: (PathBuf, String),
    /// The configuration that the kernel was built with, if it came with one.
    pub(crate) config: Option<PathBuf>,
    /// Whether the kernel came with modules, or with a list of the built-in ones.
    pub(crate) has_modules: bool,
    /// Modules that a guest needs and that were not found.
    pub(crate) missing: Vec<String>,
}

/// A guest of the lab that can be started any number of times.
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

/// A machine paused after its boot, with what its guest reported.
pub struct Started {
    machine: Machine,
    /// What the guest found after its boot.
    pub facts: GuestFacts,
    _keeping: Option<Keeping>,
}

/// What is reported while a guest works.
#[derive(Debug)]
pub enum News<'a> {
    /// How far the guest is.
    Progress(Progress),
    /// A message of the guest, other than its last.
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
    /// A guest of `boot` on `qemu`, with its states in `states`. Reads the modules and files for its runs.
    pub(super) fn new(qemu: Qemu, boot: Boot, options: LabOptions, states: States) -> Result<Self, VmError> {
        let spec = MachineSpec {
            arch: boot.arch,
            clock: options.clock,
            model: options.model,
            masked: options.model.masked(boot.arch, &qemu.flags),
            cpus: options.cpus,
            memory_mib: options.memory_mib,
            boot_seed: 1,
            parameters: boot.parameters.clone(),
            kernel: boot.kernel.0.clone(),
            image: boot.image.0.clone(),
            plugin: None,
        };
        let key = state::key(&qemu, &spec, &boot.kernel.1, &boot.image.1);
        let modules = options.modules.iter().map(module).collect::<Result<_, _>>()?;
        let files = options.files.iter().map(file).collect::<Result<_, _>>()?;
        Ok(Self { boot, options, qemu, spec, key, states, modules, files })
    }

    /// The options of this guest.
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

    /// The same guest with a plugin that looks on in QEMU, `FILE,NAME=VALUE...`. The guest does the same with it and without it.
    #[must_use]
    pub fn with_plugin(&self, plugin: OsString) -> Self {
        let mut other = self.clone();
        other.spec.plugin = Some(plugin);
        other
    }

    /// The same guest with no kernel modules of a run's own.
    #[must_use]
    pub fn without_modules(&self) -> Self {
        let mut other = self.clone();
        other.options.modules.clear();
        other.modules.clear();
        other
    }

    /// How long an instruction is in virtual time, ns.
    pub fn instruction_ns(&self) -> u64 {
        1 << self.options.model.shift()
    }

    /// Its architecture.
    pub fn arch(&self) -> Arch {
        self.boot.arch
    }

    /// What is booted of its kernel.
    pub fn kernel_file(&self) -> &Path {
        &self.boot.kernel.0
    }

    /// Names the state that its runs start from: two guests with the same one do the same.
    pub fn state(&self) -> &str {
        &self.key
    }

    /// Whether a state of this guest is kept.
    pub fn has_state(&self) -> bool {
        self.states.has(&self.key)
    }

    /// Starts the machine from the kept state, which is made on first use, or by booting it for this run alone.
    pub fn start(&self, stop: &StopHandle, on_progress: &mut dyn FnMut(Progress)) -> Result<Started, VmError> {
        let consoles = self.states.consoles();
        if self.options.clock == Clock::Host {
            let mut machine = Machine::start(&self.qemu, &self.spec, Start::PowerOn(None), &consoles)?;
            let facts = machine.pause_when_ready(state::BOOT, stop, on_progress)?;
            self.spec.check(&facts.processor)?;
            return self.started(machine, facts, None);
        }
        if self.options.keep_state {
            let (machine, facts, keeping) = self.states.start(&self.qemu, &self.spec, &self.key, stop, on_progress)?;
            return self.started(machine, facts, Some(keeping));
        }
        let booted = state::boot(&self.qemu, &self.spec, &consoles, stop, on_progress)?;
        let machine = booted.start(&self.qemu, &self.spec, &consoles)?;
        self.started(machine, booted.facts, None)
    }

    /// Fails if the kernel did not take a parameter, or did not set CPUs aside as one says: it would be a run of another kernel than the
    /// record says.
    fn started(&self, machine: Machine, facts: GuestFacts, keeping: Option<Keeping>) -> Result<Started, VmError> {
        let (name, parameters, cpus) = (&self.boot.name, &self.boot.parameters, self.options.cpus);
        let wrong = |message, remedy| Err(VmError::Failed { message, remedy, usage: true });
        if let Some(parameter) = parameters.iter().find(|p| facts.not_taken.contains(p)) {
            let message = format!("the kernel {name} does not know the parameter `{parameter}`, or refuses its value");
            return wrong(
                message,
                "Documentation/admin-guide/kernel-parameters.txt of its source lists them; some are there only with certain options".into(),
            );
        }
        if let Some((parameter, how)) = otherwise(parameters, &facts.set_aside, cpus) {
            let has = if cpus == 1 { "one CPU, 0".into() } else { format!("CPUs 0-{}", cpus - 1) };
            let message = format!("the kernel {name} took `{parameter}`, but not in full: {how}");
            return wrong(
                message,
                format!("this guest has {has}; --guest-cpus N gives it N (guest-cpus in a plan), and CPU 0 stays for the rest"),
            );
        }
        Ok(Started { machine, facts: self.with_missing(facts), _keeping: keeping })
    }

    /// Adds to the guest's problems which modules its kernel lacks.
    fn with_missing(&self, mut facts: GuestFacts) -> GuestFacts {
        // Kernels since 6.16 compute ext4's checksums without `crc32c_generic`.
        let counts = |m: &&String| *m != "crc32c_generic" || !facts.problems.is_empty();
        let missing = self.boot.missing.iter().filter(counts).map(String::as_str).collect::<Vec<_>>().join(", ");
        if !missing.is_empty() && (self.boot.has_modules || !facts.problems.is_empty()) {
            facts.problems.push(if self.boot.has_modules {
                format!("the kernel has {missing} neither as modules nor built in")
            } else {
                format!("the kernel came without its modules: {missing} are there only if built in (--modules names them)")
            });
        }
        facts
    }

    /// QEMU with this guest's kernel and image, the console on this terminal and no job in the mailbox, so that the
    /// guest starts a shell.
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

    /// QEMU's program.
    pub(crate) fn qemu_program(&self) -> &Path {
        &self.qemu.program
    }

    /// QEMU's version and program, as text.
    pub(crate) fn qemu(&self) -> String {
        format!("{} ({})", self.qemu.version, self.qemu.program.display())
    }

    /// What QEMU says with the arguments `words`, with which it ends by itself: on standard output (nothing if it fails), on standard error.
    pub(crate) fn ask_qemu(&self, words: &[&str]) -> io::Result<[String; 2]> {
        said(&self.qemu.program, words)
    }

    /// QEMU and the boot machine, as text.
    pub fn describe(&self) -> String {
        format!("QEMU {}: {}, {}", self.qemu.version, self.spec.arguments(false).join(" "), self.spec.command_line())
    }

    /// The kernel's name in the lab: `debian/6.12-rt/amd64`.
    pub fn kernel(&self) -> &str {
        &self.boot.name
    }

    /// The configuration the kernel was built with, if it came with one.
    pub fn kernel_config(&self) -> Option<&Path> {
        self.boot.config.as_deref()
    }

    /// The program that was started as QEMU, if it is not the one with the hash `ran`, which really ran.
    pub fn wrapper(&self, ran: &str) -> Option<&Path> {
        (self.qemu.file.sha256 != ran).then_some(&*self.qemu.program)
    }

    /// The machine's description for the record; `ran` is the hash of the program that really ran as QEMU.
    pub fn described(&self, ran: String, processor: Processor) -> Lab {
        Lab {
            model: self.options.model.number(),
            kernel: self.boot.name.clone(),
            parameters: self.boot.parameters.clone(),
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

    /// What of its machine is another than in a record, in words.
    pub fn changed_since(&self, then: &Lab) -> Vec<String> {
        changed(then, &self.described(self.qemu.file.sha256.clone(), then.processor.clone().unwrap_or_default()))
    }

    /// Gives the guest `work`, which takes about `takes` of its time. Passes on progress and messages, and returns
    /// the guest's last message.
    pub fn work(
        &self,
        mut started: Started,
        work: GuestWork,
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

/// Reads a file to send along with the runs.
fn file((here, there): &(PathBuf, String)) -> Result<JobFile, VmError> {
    let data = rtscope_files::read(here, rtscope_files::LARGE).map_err(VmError::io(format!("the file {}", here.display())))?;
    Ok(JobFile { path: there.clone(), data: base64::engine::general_purpose::STANDARD.encode(data) })
}

/// Refuses a parameter that the module does not have: the kernel would ignore it, and the run would not be what
/// was asked for.
fn check_parameters(module: &str, info: &[(String, String)], parameters: &[String]) -> Result<(), VmError> {
    let known: Vec<&str> = info.iter().filter(|(key, _)| key == "parmtype").filter_map(|(_, of)| of.split(':').next()).collect();
    // Every module has these two.
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

/// Reads a module to send along with the runs.
fn module((path, parameters): &(PathBuf, Vec<String>)) -> Result<(JobModule, GuestModule), VmError> {
    let data = rtscope_files::read(path, rtscope_files::LARGE).map_err(VmError::io(format!("the module {}", path.display())))?;
    let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    if let Ok(info) = modinfo(&data) {
        check_parameters(&name, &info, parameters)?;
    }
    let (sha256, compiler) = (digest::bytes(&data), compiler(&data));
    let job = JobModule {
        name: name.clone(),
        parameters: parameters.clone(),
        data: base64::engine::general_purpose::STANDARD.encode(data),
    };
    Ok((job, GuestModule { name, sha256, parameters: parameters.clone(), compiler }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_failure::Problem as _;

    #[test]
    fn a_parameter_that_a_module_has_not_is_refused() {
        let info = [("parmtype", "hold_us:uint"), ("parm", "other:a text"), ("parmtype", "irqs:bool")]
            .map(|(key, of)| (key.to_owned(), of.to_owned()));
        let check = |words: &[&str]| check_parameters("x.ko", &info, &words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        check(&["hold-us=5", "irqs", "dyndbg=+p"]).unwrap();
        for word in ["holdus=5", "other=1", ""] {
            let e = check(&["irqs=1", word]).unwrap_err();
            assert!(e.is_usage() && e.remedy() == "it has hold_us, irqs", "{e}");
        }
    }
}
