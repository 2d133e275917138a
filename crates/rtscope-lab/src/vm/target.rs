//! The target `lab:KERNEL`: a measurement, or any program, in a guest that starts from a kept state.

use super::machine::{Limit, Machine, Progress, Start, Watch};
use super::memory::Memory;
use super::qemu::{MachineSpec, Qemu};
use super::state::{self, Keeping, States};
use super::wire::{Facts, Job, JobFile, JobModule, Ran, Said, Work};
use super::{TimeModel, VmError};
use crate::costs::Cost;
use crate::digest;
use crate::image::modinfo;
use crate::session::step::Step;
use crate::target::StopHandle;
use base64::Engine;
use rtscope_probe::protocol::Plan;
use rtscope_probe::snapshot;
use rtscope_record::{Clock, Effect, GuestModule, Origin, Processor, Record, Settings, System, Warning, findings};
use rtscope_sys as sys;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Beyond the measured time, what a guest may take to bring its load up and down. Virtual.
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
pub struct Boot {
    /// Architecture.
    pub arch: crate::kernels::Arch,
    /// Name in the lab: `debian/6.12-rt/amd64`.
    pub name: String,
    /// Package and version, empty for one's own.
    pub package: String,
    /// What is booted of the kernel, and the SHA-256 of the kernel as it was packed, hex.
    pub kernel: (PathBuf, String),
    /// The initramfs, and its SHA-256 in hex.
    pub image: (PathBuf, String),
    /// The configuration that the kernel was built with, if it came with one.
    pub config: Option<PathBuf>,
    /// Whether the kernel came with modules, or with the list of those built in.
    pub has_modules: bool,
    /// Modules that a guest needs and that are not known to be there.
    pub missing: Vec<String>,
}

/// A guest of the lab, ready to be started as often as one likes.
#[derive(Debug, Clone)]
pub struct Lab {
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
    /// It came from a kept state.
    pub kept: bool,
    _keeping: Option<Keeping>,
}

impl Started {
    /// Resident memory of QEMU, KiB.
    pub fn resident_kib(&self) -> Option<u64> {
        self.machine.resident_kib()
    }
}

impl Lab {
    /// A guest of `boot` on `qemu`, whose states are kept in `states`. Reads the modules that go with its runs.
    pub fn new(qemu: Qemu, boot: Boot, options: LabOptions, states: States) -> Result<Self, VmError> {
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

    /// Removes the kept state, so that the next start boots.
    pub fn forget_state(&self) {
        self.states.forget(&self.key);
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
            return Ok(Started { machine, facts: self.with_missing(facts), kept: false, _keeping: None });
        }
        if self.options.keep_state {
            let (machine, facts, kept, keeping) = self.states.start(&self.qemu, &self.spec, &self.key, stop, on_progress)?;
            return Ok(Started { machine, facts: self.with_missing(facts), kept, _keeping: Some(keeping) });
        }
        let booted = state::boot(&self.qemu, &self.spec, &consoles, stop, on_progress)?;
        let machine = booted.start(&self.qemu, &self.spec, &consoles)?;
        Ok(Started { machine, facts: self.with_missing(booted.facts), kept: false, _keeping: None })
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

    /// Measures `plan` in the guest, under the plan's load there.
    pub fn measure(&self, plan: &Plan, stop: &StopHandle, on_step: &mut dyn FnMut(Step<'_>)) -> Result<Record, VmError> {
        on_step(Step::GuestStarting { boots: !(self.options.keep_state && self.has_state()) });
        let begun = rtscope_probe::serve::utc_now();
        let mut plan = plan.clone();
        if self.options.clock == Clock::Virtual {
            // What the probe would tell costs the guest; how far it is, QEMU's clock tells.
            plan.progress_ms = 0;
        }
        // Nor does what only names the run reach it: reading longer words takes longer, and would make another run of the same settings.
        let names = Names {
            id: std::mem::replace(&mut plan.id, "run".into()),
            target: std::mem::replace(&mut plan.target, "lab".into()),
            command: std::mem::take(&mut plan.settings.command),
        };
        let settings = &plan.settings;
        let measured = settings.duration.map_or(settings.loops.unwrap_or(0).saturating_mul(settings.interval.0), |d| d.0);
        let started = self.start(stop, &mut |p| on_step(Step::Guest(p)))?;
        let (problems, ran) = (started.facts.problems.clone(), started.machine.ran().to_owned());
        let processor = started.facts.processor.clone();
        let work = Work::Measure { plan: Box::new(plan.clone()) };
        let said = self.work(started, work, Duration::from_nanos(measured), stop, on_step);
        match said.map_err(|e| with_problems(e, &problems))? {
            Said::Record(record) if record.id() == plan.id => self.finish(*record, begun, names, &problems, (ran, processor)),
            other => Err(VmError::Garbled(format!("{other:?}").chars().take(200).collect())),
        }
    }

    /// Runs a program in the guest under a load; it may take `limit` of virtual time.
    pub fn run(
        &self,
        command: &[String],
        load: &str,
        limit: Duration,
        stop: &StopHandle,
        on_step: &mut dyn FnMut(Step<'_>),
    ) -> Result<Ran, VmError> {
        on_step(Step::GuestStarting { boots: !(self.options.keep_state && self.has_state()) });
        let started = self.start(stop, &mut |p| on_step(Step::Guest(p)))?;
        let problems = started.facts.problems.clone();
        let work = Work::Run { command: command.to_vec(), load: load.into() };
        let said = self.work(started, work, limit, stop, on_step);
        match said.map_err(|e| with_problems(e, &problems))? {
            Said::Ran(ran) => Ok(ran),
            other => Err(VmError::Garbled(format!("{other:?}").chars().take(200).collect())),
        }
    }

    /// What elementary things cost in the guest.
    pub fn costs(&self, stop: &StopHandle, on_step: &mut dyn FnMut(Step<'_>)) -> Result<Vec<Cost>, VmError> {
        on_step(Step::GuestStarting { boots: !(self.options.keep_state && self.has_state()) });
        let started = self.start(stop, &mut |p| on_step(Step::Guest(p)))?;
        match self.work(started, Work::Costs, Duration::from_secs(10), stop, on_step)? {
            Said::Costs(costs) => Ok(costs),
            other => Err(VmError::Garbled(format!("{other:?}").chars().take(200).collect())),
        }
    }

    /// Has the guest do `work`, passes on what it says, and returns its last word.
    fn work(
        &self,
        mut started: Started,
        work: Work,
        takes: Duration,
        stop: &StopHandle,
        on_step: &mut dyn FnMut(Step<'_>),
    ) -> Result<Said, VmError> {
        let modules = self.modules.iter().map(|(job, _)| job.clone()).collect();
        let limit = Limit { virtual_time: takes + AROUND, wall: (takes + AROUND) * SLOWEST };
        let cpuid = started.facts.processor.cpuid.clone();
        started.machine.resume(&Job { seed: self.options.seed, cpuid, modules, files: self.files.clone(), work })?;
        let mut watch = Watch::new(limit);
        loop {
            let said = started.machine.next(&mut watch, stop, &mut |p| on_step(Step::Guest(p)))?;
            match &said {
                Said::LoadStarting(name) => on_step(Step::LoadStarting(name)),
                Said::LoadUp => on_step(Step::LoadUp),
                Said::Event(event) => on_step(Step::Event(event)),
                Said::LoadDied(who) => on_step(Step::LoadDied(who)),
                Said::LoadStopping => on_step(Step::LoadStopping),
                Said::Failed { message, remedy, usage } => {
                    return Err(VmError::Failed { message: message.clone(), remedy: remedy.clone(), usage: *usage });
                }
                Said::Record(_) | Said::Ran(_) | Said::Costs(_) => return Ok(said),
                Said::Ready(_) => return Err(VmError::Garbled("it was ready twice".into())),
            }
        }
    }

    /// Says in the record what the guest can't know.
    fn finish(
        &self,
        record: Record,
        begun: String,
        names: Names,
        problems: &[String],
        (ran, processor): (String, Processor),
    ) -> Result<Record, VmError> {
        let mut parts = record.into_parts();
        parts.started = begun;
        (parts.id, parts.target, parts.settings.command) = (names.id, names.target, names.command);
        (parts.clock, parts.origin) = (self.options.clock, Some(Origin::Lab));
        parts.system.tools.insert("qemu".into(), self.qemu.version.clone());
        let lab = rtscope_record::Lab {
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
        };
        // There is no other machine that a line could lead to than the guest.
        if let Some(guest) = parts.instrument.as_mut().and_then(|i| i.system.take()) {
            parts.system = *guest;
            parts.warnings.retain(|w| w.code != "machine-unknown" && !w.code.starts_with("instrument-host-"));
            parts.warnings.extend(findings::findings(&parts.system, &parts.settings));
        }
        self.configuration(&mut parts.system, &parts.settings, &mut parts.warnings);
        parts.warnings = findings::in_the_lab(std::mem::take(&mut parts.warnings), parts.clock, self.options.cpus, lab.model);
        if self.qemu.file.sha256 != lab.qemu_sha256.as_deref().unwrap_or_default() {
            parts.warnings.push(Warning::new(
                "qemu-wrapped",
                Effect::Note,
                format!(
                    "{} is a wrapper: it started another program as QEMU, whose hash is in the record",
                    self.qemu.program.display()
                ),
                "put QEMU itself first in PATH",
            ));
        }
        if !problems.is_empty() {
            parts.warnings.push(Warning::new(
                "guest-incomplete",
                Effect::Note,
                format!("the guest could not set up everything: {}", problems.join("; ")),
                "see whether the kernel has these modules",
            ));
        }
        parts.lab = Some(lab);
        Record::new(parts).map_err(|e| VmError::Garbled(e.to_string()))
    }

    /// The kernel's configuration is here, not in the guest: what follows from it, and what is found by it, goes into the record.
    fn configuration(&self, system: &mut System, settings: &Settings, warnings: &mut Vec<Warning>) {
        let Some(text) = self.boot.config.as_ref().and_then(|file| rtscope_files::read(file, rtscope_files::SMALL).ok()) else {
            return;
        };
        let before = findings::findings(system, settings);
        snapshot::supplement(&mut system.kernel, &format!("the configuration of {}", self.boot.name), &text);
        let after = findings::findings(system, settings);
        warnings.retain(|w| !before.contains(w) || after.contains(w));
        warnings.extend(after.into_iter().filter(|w| !before.contains(w)));
    }
}

/// What a run is called outside of its guest.
struct Names {
    id: String,
    target: String,
    command: Vec<String>,
}

/// Work that failed in a guest that is not whole may have failed by that.
fn with_problems(e: VmError, problems: &[String]) -> VmError {
    match e {
        VmError::Failed { message, remedy, usage } if !problems.is_empty() => {
            VmError::Failed { message: format!("{message} (the guest is not complete: {})", problems.join("; ")), remedy, usage }
        }
        e => e,
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
