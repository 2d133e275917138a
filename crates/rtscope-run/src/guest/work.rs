//! Does the job of a guest: measures under a load, runs a program under one, or times elementary operations.

use super::mailbox::Mailbox;
use super::part::{PROBE, SUPERVISOR};
use super::setup::{self, DISK};
use crate::local::{Local, ProbeCommand};
use crate::session::{self, MeasureError, SessionStep};
use base64::Engine;
use rtscope_failure::{Failure, Fault, Problem as _};
use rtscope_lab::modules::{self, ModuleError};
use rtscope_lab::vm::messages::{GuestWork, Job, JobFile, JobModule, Ran, Said};
use rtscope_load::Journal;
use rtscope_load::StopHandle;
use rtscope_load::{Isolation, Reexec};
use rtscope_load::{Load, LoadError, StartOptions};
use rtscope_probe::protocol::ProbePlan;
use rtscope_sys as sys;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Path of this program.
const MYSELF: &str = "/init";
/// A run starts at an offset below this, chosen by its seed, ns: four ticks of the kernel's timer.
const PHASES_NS: u64 = 16_000_000;

/// Does `job` and reports how it ended.
pub(super) fn run(job: Job, mailbox: &mut Mailbox) {
    let cpuid = setup::cpuid();
    if cpuid != job.cpuid {
        let changed = cpuid.iter().filter(|word| !job.cpuid.contains(word)).cloned().collect::<Vec<_>>().join(" ");
        let remedy = "what starts QEMU changes its processor: put QEMU itself first in PATH";
        return mailbox.fail(&format!("the machine has another processor than when it booted ({changed})"), remedy, false);
    }
    stir(job.seed);
    if let Err(message) = job.files.iter().try_for_each(write) {
        return mailbox.fail(&message, "name an absolute path in the guest, such as /root/tool", true);
    }
    let mut modules = Vec::new();
    for module in &job.modules {
        match load(module) {
            Ok(name) => modules.push(name),
            Err(e) => return mailbox.fail(&e.to_string(), &e.remedy(), e.is_usage()),
        }
    }
    let last = match job.work {
        GuestWork::Measure { plan } => measure(&plan, mailbox),
        GuestWork::Run { command, load } => program(&command, &load, mailbox),
        GuestWork::Costs => Said::Costs(rtscope_lab::costs::measure()),
    };
    for name in modules.iter().rev() {
        // The measurement is over, and the machine is about to end.
        let _ = sys::machine::unload_module(name);
    }
    mailbox.finish(&last);
}

/// Applies the seed: it changes the random numbers, and the moment between two timer ticks at which the run begins.
fn stir(seed: u64) {
    let _ = fs::write("/dev/urandom", seed.to_le_bytes());
    std::thread::sleep(Duration::from_nanos(mix(seed) % PHASES_NS));
}

/// One step of SplitMix64 (Steele, Lea, Flood 2014): neighbouring seeds give distant numbers.
fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Writes a file of the job.
fn write(file: &JobFile) -> Result<(), String> {
    let failed = |e: &dyn std::fmt::Display| format!("{} can't be written in the guest: {e}", file.path);
    let data = base64::engine::general_purpose::STANDARD.decode(&file.data).map_err(|e| failed(&e))?;
    fs::write(&file.path, data).map_err(|e| failed(&e))?;
    fs::set_permissions(&file.path, fs::Permissions::from_mode(0o755)).map_err(|e| failed(&e))
}

/// Loads a kernel module of the job; returns its name.
fn load(module: &JobModule) -> Result<String, ModuleError> {
    let file = Path::new(&module.name).file_name().map_or_else(|| PathBuf::from("module.ko"), PathBuf::from);
    let path = Path::new("/run").join(&file);
    let failed = |e: &dyn std::fmt::Display| ModuleError::Refused {
        module: module.name.clone(),
        why: e.to_string(),
        remedy: "rtscope and its guest must be of one version".into(),
    };
    let data = base64::engine::general_purpose::STANDARD.decode(&module.data).map_err(|e| failed(&e))?;
    fs::write(&path, data).map_err(|e| failed(&e))?;
    let name = file.with_extension("").to_string_lossy().replace('-', "_");
    modules::insert(&path, &name, &module.parameters)?;
    Ok(name)
}

fn options() -> StartOptions {
    StartOptions {
        reexec: Reexec { program: MYSELF.into(), args: vec![SUPERVISOR.into()] },
        cpus: sys::rt::allowed_cpus().map_or(1, |c| u32::try_from(c.len()).unwrap_or(1)),
        dir: Path::new(DISK).exists().then(|| DISK.into()),
        journal: Journal::at("/run/rtscope/journal"),
        isolation: Isolation::Namespaces,
        up_timeout: Duration::from_secs(60),
        stop_timeout: Duration::from_secs(30),
        stop: StopHandle::new(),
    }
}

fn measure(plan: &ProbePlan, mailbox: &mut Mailbox) -> Said {
    let load = match Load::parse(&plan.load) {
        Ok(load) => load,
        Err(e) => return failed(&MeasureError::Load(e)),
    };
    let target = Local { probe: ProbeCommand { program: MYSELF.into(), args: vec![PROBE.into()] } };
    let outcome = session::measure(plan, &load, &options(), &target, &StopHandle::new(), &mut |step| match step {
        SessionStep::LoadStarting(name) => mailbox.say(&Said::LoadStarting(name.into())),
        SessionStep::LoadUp => mailbox.say(&Said::LoadUp),
        SessionStep::Event(event) => mailbox.say(&Said::Event(Box::new(event.clone()))),
        SessionStep::Traced(traced) => mailbox.say(&Said::Traced(Box::new(traced.clone()))),
        SessionStep::LoadDied(who) => mailbox.say(&Said::LoadDied(who.into())),
        SessionStep::LoadStopping => mailbox.say(&Said::LoadStopping),
        // A guest starts no guests.
        SessionStep::Preparing(_) | SessionStep::Fetching(_) | SessionStep::GuestStarting { .. } | SessionStep::Guest(_) => {}
    });
    match outcome {
        Ok(record) => Said::Record(Box::new(record)),
        Err(e) => failed(&e),
    }
}

fn failed(e: &MeasureError) -> Said {
    // These two errors are worded for a guest; the host's own text is about the host's machine.
    let Failure { message, remedy, fault } = match e {
        MeasureError::Load(LoadError::DiskFull { load, need_mib, free_mib, .. }) => Failure::machine(
            format!("the load `{load}` may write {need_mib} MiB, but the guest's disk has {free_mib} MiB left"),
            "take a smaller load, or a larger guest: its disk is 2 GiB, or four fifths of --guest-memory if that is more",
        ),
        MeasureError::Load(LoadError::Missing { load, tool }) => Failure::machine(
            format!("the load `{load}` needs {tool}, which guests of the lab do not have"),
            "measure under it on a real machine, here or by --target ssh:HOST",
        ),
        e => Failure::of(e),
    };
    let look = || "`rtscope lab shell` looks around in the same guest".to_owned();
    Said::Failed { message, remedy: if remedy.is_empty() { look() } else { remedy }, usage: fault == Fault::Usage }
}

/// Runs a program under a load.
fn program(command: &[String], load: &str, mailbox: &mut Mailbox) -> Said {
    let of_load = |e: LoadError| failed(&MeasureError::Load(e));
    let load = match Load::parse(load) {
        Ok(load) => load,
        Err(e) => return of_load(e),
    };
    if !load.is_none() {
        mailbox.say(&Said::LoadStarting(load.name().into()));
    }
    let running = match load.start(&options()) {
        Ok(running) => running,
        Err(e) => return of_load(e),
    };
    if running.is_some() {
        mailbox.say(&Said::LoadUp);
    }
    let Some((program, args)) = command.split_first() else {
        return Said::Failed { message: "no program is named".into(), remedy: "name one after --".into(), usage: true };
    };
    let _ = sys::rt::come_before_ordinary_tasks();
    // Output goes to files: a pipe would stay open as long as any process of the program is left.
    let said = ["/run/rtscope-stdout", "/run/rtscope-stderr"];
    let files = fs::File::create(said[0]).and_then(|out| Ok((out, fs::File::create(said[1])?)));
    let (stdout, stderr) = match files {
        Ok(files) => files,
        Err(e) => {
            let message = format!("no place for what {program} says: {e}");
            return Said::Failed { message, remedy: "give the guest more memory: --guest-memory".into(), usage: false };
        }
    };
    let begun = Instant::now();
    let out = sys::process::command(program)
        .args(args)
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", "/root")
        .current_dir("/root")
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .status();
    let elapsed_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let mut ran = Ran { elapsed_ns, ..Ran::default() };
    if let Some(handle) = running {
        mailbox.say(&Said::LoadStopping);
        ran.warnings.extend_from_slice(handle.start_warnings());
        let proof = handle.stop();
        ran.warnings.extend(rtscope_record::load::warnings(&proof));
        ran.load_proof = Some(proof);
    }
    match out {
        Ok(status) => {
            let text = |path: &str| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
            (ran.stdout, ran.stderr) = (text(said[0]), text(said[1]));
            (ran.code, ran.signal) = (status.code(), status.signal());
            Said::Ran(ran)
        }
        Err(e) => Said::Failed {
            message: format!("{program} can't be started in the guest: {e}"),
            remedy: "`rtscope lab shell` shows what there is".into(),
            usage: true,
        },
    }
}
