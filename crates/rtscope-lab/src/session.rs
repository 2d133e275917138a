//! One measuring session: the load up, the probe run under it, the load down, and its proof in the record.

use crate::load::{Load, LoadError, LoadHandle, StartOptions, warnings};
use crate::modules::ModuleError;
use crate::programs::find_program;
use crate::target::{StopHandle, Target, TargetError};
use crate::vm::{GuestError, Progress, VmError};
use rtscope_probe::protocol::{Event, Plan};
use rtscope_record::{Record, RecordError};
use rtscope_sys as sys;
use std::collections::BTreeMap;
use std::process::Stdio;

/// Where a session is, for a progress display.
#[derive(Debug)]
pub enum Step<'a> {
    /// What a virtual machine needs is being fetched or built.
    Preparing(&'a str),
    /// This is fetched from the network now.
    Fetching(&'a str),
    /// A virtual machine is being started: from its kept state, or by booting it first.
    GuestStarting {
        /// It must boot.
        boots: bool,
    },
    /// How far the virtual machine is.
    Guest(Progress),
    /// The load of this name is being started.
    LoadStarting(&'a str),
    /// It does work; the probe is next.
    LoadUp,
    /// The probe said something.
    Event(&'a Event),
    /// A process of the load ended before it was told to. The measurement goes on, its record will be INVALID.
    LoadDied(&'a str),
    /// The measurement is over, the load is being ended.
    LoadStopping,
}

/// Why there is no record.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The load can't be had.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The probe could not measure.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The virtual machine did not do its work.
    #[error(transparent)]
    Vm(#[from] VmError),
    /// There is no such virtual machine.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// A kernel module that it needs can't be had, or let go.
    #[error("{what}; {remedy}", what = .0, remedy = .0.remedy())]
    Module(#[from] ModuleError),
    /// With the load's proof the record does not hold together.
    #[error("the record does not hold together: {0}")]
    Record(#[from] RecordError),
}

impl MeasureError {
    /// The request was wrong (exit code 2), not the machine (exit code 3).
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Load(e) => e.is_usage(),
            Self::Target(e) => e.is_usage(),
            Self::Vm(e) => e.is_usage(),
            Self::Guest(e) => e.is_usage(),
            Self::Module(e) => e.is_usage(),
            Self::Record(_) => false,
        }
    }

    /// It was ended before anything was measured (exit code 130).
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Self::Load(LoadError::Interrupted) | Self::Vm(VmError::Interrupted) | Self::Target(TargetError::Interrupted))
    }
}

/// Measures under a load. A load that dies early does not end the run: the record says so and is INVALID. When `stop` ends the run early,
/// the record holds what was measured. Whatever fails, nothing of the load is left.
pub fn measure(
    plan: &Plan,
    load: &Load,
    options: &StartOptions,
    target: &dyn Target,
    stop: &StopHandle,
    on_step: &mut dyn FnMut(Step<'_>),
) -> Result<Record, MeasureError> {
    let versions = tool_versions(load);
    if !load.is_none() {
        on_step(Step::LoadStarting(load.name()));
    }
    let options = StartOptions { stop: stop.clone(), ..options.clone() };
    let mut running = load.start(&options)?;
    if running.is_some() {
        on_step(Step::LoadUp);
    }
    // Until the load is down; the record is then made by an ordinary task again.
    let _awake = running.as_ref().map(|_| Awake::new());
    let mut told = false;
    let outcome = target.run(plan, stop, &mut |event| {
        on_step(Step::Event(event));
        if !told && matches!(event, Event::Progress { .. }) {
            if let Some(who) = running.as_mut().and_then(LoadHandle::poll) {
                told = true;
                on_step(Step::LoadDied(who));
            }
        }
    });
    // On an error the load is ended by dropping it: nobody asks for its proof.
    let mut parts = outcome?.into_parts();
    load.name().clone_into(&mut parts.load);
    parts.system.tools.extend(versions);
    if let Some(handle) = running {
        on_step(Step::LoadStopping);
        parts.warnings.extend_from_slice(handle.start_warnings());
        let proof = handle.stop();
        parts.warnings.extend(warnings(&proof));
        parts.load_proof = Some(proof);
    }
    Ok(Record::new(parts)?)
}

/// Keeps this thread from waiting behind the load that it watches, as far as that is allowed; ordinary again when dropped.
pub(crate) struct Awake;

impl Awake {
    pub(crate) fn new() -> Self {
        let _ = rtscope_sys::rt::come_before_ordinary_tasks();
        Self
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        let _ = rtscope_sys::rt::set_policy(rtscope_record::Policy::Other, 0, 0);
    }
}

/// First line of what each tool of the load says of its version, by name.
fn tool_versions(load: &Load) -> BTreeMap<String, String> {
    let version = |tool: &str| {
        let out =
            sys::process::command(find_program(tool)?).arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        let text = String::from_utf8_lossy(&out.stdout);
        text.lines().next().map(|l| l.trim().chars().take(120).collect::<String>()).filter(|l| !l.is_empty())
    };
    load.tools().into_iter().filter_map(|tool| Some((tool.to_owned(), version(tool)?))).collect()
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
