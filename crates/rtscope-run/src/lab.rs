//! The target `lab:KERNEL`: takes a measurement, or runs any program, in a guest that starts from a kept state.

use crate::session::step::SessionStep;
use rtscope_lab::costs::Cost;
use rtscope_lab::vm::messages::{GuestWork, Ran, Said};
use rtscope_lab::vm::{Guest, News, Started, VmError};
use rtscope_load::StopHandle;
use rtscope_probe::protocol::ProbePlan;
use rtscope_probe::snapshot;
use rtscope_record::{Clock, Effect, Origin, Processor, Record, Settings, System, Warning, findings};
use std::time::Duration;

/// Measures `plan` in the guest, under the plan's load there.
pub fn measure(
    guest: &Guest,
    plan: &ProbePlan,
    stop: &StopHandle,
    on_step: &mut dyn FnMut(SessionStep<'_>),
) -> Result<Record, VmError> {
    let begun = rtscope_probe::serve::utc_now();
    let mut plan = plan.clone();
    if guest.options().clock == Clock::Virtual {
        // Reporting progress costs the guest time; QEMU's clock tells how far the run is.
        plan.progress_ms = 0;
    }
    // Nor does the guest get what only names the run: reading longer words takes longer, and would make it another run of the
    // same settings.
    let names = Names {
        id: std::mem::replace(&mut plan.id, "run".into()),
        target: std::mem::replace(&mut plan.target, "lab".into()),
        command: std::mem::take(&mut plan.settings.command),
    };
    let settings = &plan.settings;
    let measured = settings.duration.map_or(settings.loops.unwrap_or(0).saturating_mul(settings.interval.0), |d| d.0);
    let started = start(guest, stop, on_step)?;
    let (problems, ran) = (started.facts.problems.clone(), started.ran().to_owned());
    let processor = started.facts.processor.clone();
    let work = GuestWork::Measure { plan: Box::new(plan.clone()) };
    let said = follow(guest, started, work, Duration::from_nanos(measured), stop, on_step);
    match said.map_err(|e| with_problems(e, &problems))? {
        Said::Record(record) if record.id() == plan.id => finish(guest, *record, begun, names, &problems, (ran, processor)),
        other => Err(VmError::Garbled(format!("{other:?}").chars().take(200).collect())),
    }
}

/// Runs a program in the guest under a load; `limit` is the virtual time that it may take.
pub fn run(
    guest: &Guest,
    command: &[String],
    load: &str,
    limit: Duration,
    stop: &StopHandle,
    on_step: &mut dyn FnMut(SessionStep<'_>),
) -> Result<Ran, VmError> {
    let started = start(guest, stop, on_step)?;
    let problems = started.facts.problems.clone();
    let work = GuestWork::Run { command: command.to_vec(), load: load.into() };
    let said = follow(guest, started, work, limit, stop, on_step);
    match said.map_err(|e| with_problems(e, &problems))? {
        Said::Ran(ran) => Ok(ran),
        other => Err(VmError::Garbled(format!("{other:?}").chars().take(200).collect())),
    }
}

/// Times elementary operations in the guest.
pub fn costs(guest: &Guest, stop: &StopHandle, on_step: &mut dyn FnMut(SessionStep<'_>)) -> Result<Vec<Cost>, VmError> {
    let started = start(guest, stop, on_step)?;
    match follow(guest, started, GuestWork::Costs, Duration::from_secs(10), stop, on_step)? {
        Said::Costs(costs) => Ok(costs),
        other => Err(VmError::Garbled(format!("{other:?}").chars().take(200).collect())),
    }
}

/// Adds to the record what the guest can't know.
fn finish(
    guest: &Guest,
    record: Record,
    begun: String,
    names: Names,
    problems: &[String],
    (ran, processor): (String, Processor),
) -> Result<Record, VmError> {
    let mut parts = record.into_parts();
    parts.started = begun;
    (parts.id, parts.target, parts.settings.command) = (names.id, names.target, names.command);
    (parts.clock, parts.origin) = (guest.options().clock, Some(Origin::Lab));
    let lab = guest.described(ran, processor);
    parts.system.tools.insert("qemu".into(), lab.qemu.clone());
    // In the lab, a line can't lead to another machine than the guest.
    if let Some(there) = parts.instrument.as_mut().and_then(|i| i.system.take()) {
        parts.system = *there;
        parts.warnings.retain(|w| w.code != "machine-unknown" && !w.code.starts_with("instrument-host-"));
        parts.warnings.extend(findings::findings(&parts.system, &parts.settings));
    }
    configuration(guest, &mut parts.system, &parts.settings, &mut parts.warnings);
    parts.warnings = findings::in_the_lab(std::mem::take(&mut parts.warnings), parts.clock, guest.options().cpus, lab.model);
    if let Some(wrapper) = guest.wrapper(lab.qemu_sha256.as_deref().unwrap_or_default()) {
        parts.warnings.push(Warning::new(
            "qemu-wrapped",
            Effect::Note,
            format!("{} is a wrapper: it started another program as QEMU, whose hash is in the record", wrapper.display()),
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

/// The kernel's configuration is on the host, not in the guest: adds to the record what follows from it, and updates the
/// findings.
fn configuration(guest: &Guest, system: &mut System, settings: &Settings, warnings: &mut Vec<Warning>) {
    let Some(text) = guest.kernel_config().and_then(|file| rtscope_files::read(file, rtscope_files::SMALL).ok()) else {
        return;
    };
    let before = findings::findings(system, settings);
    snapshot::supplement(&mut system.kernel, &format!("the configuration of {}", guest.kernel()), &text);
    let after = findings::findings(system, settings);
    warnings.retain(|w| !before.contains(w) || after.contains(w));
    warnings.extend(after.into_iter().filter(|w| !before.contains(w)));
}

/// Starts the guest and reports that step.
fn start(guest: &Guest, stop: &StopHandle, on_step: &mut dyn FnMut(SessionStep<'_>)) -> Result<Started, VmError> {
    on_step(SessionStep::GuestStarting { boots: !(guest.options().keep_state && guest.has_state()) });
    guest.start(stop, &mut |progress| on_step(SessionStep::Guest(progress)))
}

/// Has the guest do `work` and passes on its messages; returns the last one.
fn follow(
    guest: &Guest,
    started: Started,
    work: GuestWork,
    takes: Duration,
    stop: &StopHandle,
    on_step: &mut dyn FnMut(SessionStep<'_>),
) -> Result<Said, VmError> {
    guest.work(started, work, takes, stop, &mut |news| match news {
        News::Progress(progress) => on_step(SessionStep::Guest(progress)),
        News::Said(Said::LoadStarting(name)) => on_step(SessionStep::LoadStarting(name)),
        News::Said(Said::LoadUp) => on_step(SessionStep::LoadUp),
        News::Said(Said::Event(event)) => on_step(SessionStep::Event(event)),
        News::Said(Said::Traced(traced)) => on_step(SessionStep::Traced(traced)),
        News::Said(Said::LoadDied(who)) => on_step(SessionStep::LoadDied(who)),
        News::Said(Said::LoadStopping) => on_step(SessionStep::LoadStopping),
        // The last message is returned.
        News::Said(Said::Ready(_) | Said::Record(_) | Said::Ran(_) | Said::Costs(_) | Said::Failed { .. }) => {}
    })
}

/// Names of a run that the guest does not get.
struct Names {
    id: String,
    target: String,
    command: Vec<String>,
}

/// Adds the guest's problems to a failure: they may have caused it.
fn with_problems(e: VmError, problems: &[String]) -> VmError {
    match e {
        VmError::Failed { message, remedy, usage } if !problems.is_empty() => {
            VmError::Failed { message: format!("{message} (the guest is not complete: {})", problems.join("; ")), remedy, usage }
        }
        e => e,
    }
}
