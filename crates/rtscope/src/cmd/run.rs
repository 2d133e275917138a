//! One run, for every command that takes runs: prepares the machine, and picks who measures by the target's name.

use crate::args::values::name;
use crate::config::{Context, cache_root, ssh_options};
use crate::keys::{self, Signer};
use crate::output;
use crate::progress::EVERY_MS;
use rtscope_failure::{Explain, Failure};
use rtscope_lab::kernels::ToBoot;
use rtscope_lab::modules::{self, Loaded, WantedModule};
use rtscope_lab::vm::{Guest, GuestError, Guests, LabOptions};
use rtscope_load::{Journal, Load, Reexec, StartOptions, StopHandle};
use rtscope_probe::protocol::{DutPlan, PROTOCOL, ProbePlan};
use rtscope_record::{CpuList, Origin, Record, Settings, Space, Test};
use rtscope_run::lab;
use rtscope_run::local::{Local, ProbeCommand};
use rtscope_run::session::SessionStep;
use rtscope_run::session::{self, MeasureError};
use rtscope_run::ssh::{self, Address, RemoteDut, Ssh, SshOptions};
use rtscope_run::target::{Target, TargetError};
use rtscope_run::targets;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Hidden first argument: be a stage of the load's supervisor.
pub(crate) const SUPERVISOR: &str = "__load-supervisor";
/// Hidden first argument: be the probe, if there is no `rtscope-probe` beside this program.
pub(crate) const PROBE: &str = "__probe";

/// A run to take.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// Id for the record.
    pub id: String,
    /// What is measured.
    pub test: Test,
    /// Where the measured task runs.
    pub space: Space,
    /// The load.
    pub load: &'a Load,
    /// The target, as `--target` takes it.
    pub target: &'a str,
    /// Options of the virtual machine, for a target of the lab.
    pub lab: Option<LabOptions>,
    /// The DUT on another machine, if any; the load then runs there.
    pub dut: Option<(&'a Address, &'a DutPlan)>,
    /// All other settings.
    pub settings: &'a Settings,
    /// Progress with histograms, for a live picture.
    pub picture: bool,
}

/// This machine, ready to take runs, several at once if need be.
#[derive(Debug)]
pub(crate) struct Machine {
    options: StartOptions,
    local: Local,
    ssh: SshOptions,
    /// Guests by target: looking up, fetching and building for a guest is done once.
    guests: Mutex<BTreeMap<String, Guest>>,
    /// Signs records from probes. Only here is it certain that a record comes from a probe.
    signer: Option<Signer>,
}

impl Machine {
    /// Finds the probe, and undoes what a dead session left. Loads write to `load_dir`, else to the configured directory.
    pub(crate) fn new(context: &Context, load_dir: Option<PathBuf>) -> Result<Self, Failure> {
        let mut options = start_options(context)?;
        options.dir = load_dir.or_else(|| context.measure.load_dir.clone());
        let signer = context.sign.then(keys::signer).transpose()?;
        Ok(Self { options, local: local()?, ssh: ssh_options()?, guests: Mutex::default(), signer })
    }

    /// Signs all records from now on, whatever the configuration says.
    pub(crate) fn signing(mut self) -> Result<Self, Failure> {
        self.signer = Some(keys::signer()?);
        Ok(self)
    }

    /// The CPUs of a machine over ssh; `None` for other targets.
    pub(crate) fn cpus_there(&self, target: &str) -> Result<Option<Vec<u32>>, MeasureError> {
        ssh::is_ssh(target).then(|| ssh_cpus(target, &self.ssh)).transpose().map_err(Into::into)
    }

    /// Takes the run and signs its record if asked for. It never signs a record from a file.
    pub(crate) fn execute(
        &self,
        request: Request<'_>,
        stop: &StopHandle,
        on_step: &mut dyn FnMut(SessionStep<'_>),
    ) -> Result<Record, MeasureError> {
        let record = self.take(request, stop, on_step)?;
        match &self.signer {
            Some(signer) if matches!(record.origin(), Origin::Measured | Origin::Lab) => Ok(signer.sign(record)),
            _ => Ok(record),
        }
    }

    /// The only place where a target's name decides who measures.
    fn take(
        &self,
        request: Request<'_>,
        stop: &StopHandle,
        on_step: &mut dyn FnMut(SessionStep<'_>),
    ) -> Result<Record, MeasureError> {
        if !request.settings.tuning.is_empty() && (request.target.starts_with("fake:") || request.dut.is_some()) {
            let what = if request.dut.is_some() {
                "the machine of the DUT is not set up from here"
            } else {
                "there is no machine to set up"
            };
            let remedy = "leave --tune out, or set it there by hand".into();
            return Err(TargetError::Usage { message: format!("{}: {what}", request.settings.tuning), remedy }.into());
        }
        let dut = match request.dut {
            Some((at, plan)) => {
                let plan = DutPlan { load: request.load.name().into(), ..plan.clone() };
                Some(RemoteDut::start(&Ssh::new(at.clone(), self.ssh.clone()), &plan, stop)?)
            }
            None => None,
        };
        let none = Load::parse("none")?;
        let load = if dut.is_some() { &none } else { request.load };
        let plan = ProbePlan {
            protocol: PROTOCOL.into(),
            id: request.id,
            test: request.test,
            space: request.space,
            load: load.name().into(),
            target: request.target.into(),
            settings: request.settings.clone(),
            progress_ms: EVERY_MS,
            picture: request.picture,
            trace: None,
        };
        let wanted = modules::wanted(plan.test, plan.space, &plan.settings)?;
        if let Some(options) = request.lab {
            let guest = self.guest(request.target, options, &wanted, on_step)?;
            return Ok(lab::measure(&guest, &plan, stop, on_step)?);
        }
        // On other machines the user loads the modules.
        let here = request.target == "local" && !wanted.is_empty();
        let load_here = |on_step: &mut dyn FnMut(SessionStep<'_>)| {
            Loaded::load(&wanted, &self.options.journal, &cache()?, &mut |what| on_step(SessionStep::Preparing(what)))
                .map_err(MeasureError::from)
        };
        let loaded = if here { load_here(on_step)? } else { None };
        let outcome = if ssh::is_ssh(request.target) {
            // The board's program runs the load there.
            let there = Ssh::new(ssh_address(request.target)?, self.ssh.clone());
            there.run(&plan, stop, &mut |event| on_step(SessionStep::Event(event))).map_err(MeasureError::from)
        } else {
            session::measure(&plan, load, &self.options, &self.local, stop, on_step)
        };
        let record = match dut {
            Some(dut) => dut.finish(outcome),
            None => outcome,
        }?;
        let Some(loaded) = loaded else { return Ok(record) };
        let mut parts = record.into_parts();
        parts.system.tools.extend(loaded.compilers().clone());
        loaded.unload()?;
        Ok(Record::new(parts)?)
    }

    /// The guest for a target of the lab, with the modules that it loads for the run.
    fn guest(
        &self,
        target: &str,
        mut options: LabOptions,
        wanted: &[WantedModule],
        on_step: &mut dyn FnMut(SessionStep<'_>),
    ) -> Result<Guest, MeasureError> {
        // Held while something is fetched or built, so that what two runs need is made once.
        let mut guests = self.guests.lock().unwrap_or_else(PoisonError::into_inner);
        let booted: ToBoot = lab_kernel(target).unwrap_or(target).parse().map_err(GuestError::from)?;
        let cached = Guests::new(cache()?);
        if let Some(what) = cached.to_fetch(&booted.kernel) {
            on_step(SessionStep::Fetching(&what));
        }
        cached.add_modules(&booted.kernel, wanted, &mut options, &mut |what| on_step(SessionStep::Preparing(what)))?;
        let seed = options.seed;
        let key = format!("{target} {:?}", LabOptions { seed: 0, ..options.clone() });
        let guest = match guests.get(&key) {
            Some(guest) => guest,
            None => {
                let guest = cached.open(&booted, options, &mut |what| on_step(SessionStep::Preparing(what)))?;
                guests.entry(key).or_insert(guest)
            }
        };
        Ok(guest.with_seed(seed))
    }
}

fn cache() -> Result<PathBuf, TargetError> {
    Ok(cache_root()?)
}

/// The listed CPUs, else all CPUs that may be used on the target; for a target over ssh, asks that machine.
pub(crate) fn cpus_of(target: &str, list: Option<&CpuList>) -> Result<Vec<u32>, Failure> {
    if list.is_none() && ssh::is_ssh(target) {
        return Ok(ssh_cpus(target, &ssh_options()?)?);
    }
    cpus(list)
}

/// The listed CPUs, else all that this process may use. The probe checks on its machine whether they exist.
pub(crate) fn cpus(list: Option<&CpuList>) -> Result<Vec<u32>, Failure> {
    match list {
        Some(list) => Ok(list.cpus()?),
        None => rtscope_sys::rt::allowed_cpus().or_machine("sched_getaffinity", "report this"),
    }
}

/// The machine of a target over ssh.
pub(crate) fn there(target: &str) -> Result<Ssh, Failure> {
    Ok(Ssh::new(ssh_address(target)?, ssh_options()?))
}

/// The release of the kernel that runs on this machine, or on one over ssh.
pub(crate) fn release_of(target: &str) -> Result<String, Failure> {
    if ssh::is_ssh(target) {
        return Ok(there(target)?.stress_ng()?.0);
    }
    let path = std::path::Path::new("/proc/sys/kernel/osrelease");
    let release = rtscope_files::read_text(path, rtscope_files::SMALL).or_machine(path.display(), "is /proc mounted?")?;
    Ok(release.trim().to_owned())
}

fn ssh_cpus(target: &str, options: &SshOptions) -> Result<Vec<u32>, TargetError> {
    Ssh::new(ssh_address(target)?, options.clone()).cpus()
}

/// Parses the address of a target over ssh.
fn ssh_address(target: &str) -> Result<Address, TargetError> {
    Ok(target.parse::<Address>().map_err(Failure::from)?)
}

/// The name of a target, as in records. Refuses targets on which no run can be taken.
pub(crate) fn target_name(text: &str) -> Result<String, Failure> {
    check_target(text)?;
    Ok(text.parse::<Address>().map_or_else(|_| text.into(), |address| address.to_string()))
}

/// The kernel's name, if the target is in the lab.
pub(crate) fn lab_kernel(target: &str) -> Option<&str> {
    target.strip_prefix("lab:")
}

/// Refuses targets on which no run can be taken.
pub(crate) fn check_target(text: &str) -> Result<(), Failure> {
    name(text).or_usage("--target", "write it shorter")?;
    match (text.strip_prefix("fake:"), lab_kernel(text)) {
        (Some(""), _) => Err(Failure::usage("`fake:` names no file", "--target fake:FILE with one latency in ns a line")),
        (Some(_), _) => Ok(()),
        (None, Some(kernel)) => {
            kernel.parse::<ToBoot>()?;
            Ok(())
        }
        (None, None) if text == "local" => Ok(()),
        (None, None) if ssh::is_ssh(text) => {
            text.parse::<Address>()?;
            Ok(())
        }
        (None, None) => Err(targets::unknown(text)),
    }
}

/// This machine's probe: `$RTSCOPE_PROBE`, the program beside this one, or this one itself.
fn local() -> Result<Local, Failure> {
    let me = std::env::current_exe().or_machine("/proc/self/exe", "is /proc mounted?")?;
    let named = std::env::var_os("RTSCOPE_PROBE").map(PathBuf::from);
    let beside = Some(me.with_file_name("rtscope-probe")).filter(|p| p.is_file());
    let probe = match named.or(beside) {
        Some(program) => ProbeCommand { program, args: Vec::new() },
        None => ProbeCommand { program: me, args: vec![PROBE.into()] },
    };
    Ok(Local { probe })
}

/// Start options for loads. Also undoes what a dead session left.
pub(crate) fn start_options(context: &Context) -> Result<StartOptions, Failure> {
    let reexec = Reexec::this_program(SUPERVISOR).or_machine("/proc/self/exe", "is /proc mounted?")?;
    let options = StartOptions::new(reexec)?;
    restore(&options.journal, context);
    Ok(options)
}

fn restore(journal: &Journal, context: &Context) {
    for undone in journal.replay() {
        match undone.problem {
            None => context.say(&format!("undone after a crash: {}", undone.what)),
            Some(why) => output::note(&format!("rtscope: warning: left from a crash: {}: {why}", undone.what)),
        }
    }
}
