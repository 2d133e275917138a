//! One measuring session: starts the load, runs the probe under it, ends the load, and puts its proof into the record.

pub(crate) mod error;
pub(crate) mod step;
mod traced;

pub use error::MeasureError;
pub use step::SessionStep;

use crate::target::Target;
use rtscope_load::StopHandle;
use rtscope_load::awake::Awake;
use rtscope_load::programs::find_program;
use rtscope_load::tuning::{PutBack, Tuned};
use rtscope_load::{Load, LoadHandle, StartOptions};
use rtscope_probe::protocol::{Event, ProbePlan};
use rtscope_record::load::warnings;
use rtscope_record::{Effect, Record, Warning};
use rtscope_sys as sys;
use std::collections::BTreeMap;
use std::process::Stdio;

/// Measures under a load. A load that dies early does not end the run: the record says so and is INVALID. If `stop` ends the run
/// early, the record holds what was measured so far. Whatever fails, nothing of the load is left behind.
pub fn measure(
    plan: &ProbePlan,
    load: &Load,
    options: &StartOptions,
    target: &dyn Target,
    stop: &StopHandle,
    on_step: &mut dyn FnMut(SessionStep<'_>),
) -> Result<Record, MeasureError> {
    let versions = tool_versions(load);
    let tuning = &plan.settings.tuning;
    // Put back when this function returns.
    let tuned = (!tuning.is_empty()).then(|| Tuned::start(&options.reexec, &options.journal, tuning)).transpose()?;
    if !load.is_none() {
        on_step(SessionStep::LoadStarting(load.name()));
    }
    let options = StartOptions { stop: stop.clone(), ..options.clone() };
    let mut running = load.start(&options)?;
    if running.is_some() {
        on_step(SessionStep::LoadUp);
    }
    // In effect until this function returns.
    let _awake = running.as_ref().map(|_| Awake::begin());
    let mut told = false;
    let mut watched = |step: SessionStep<'_>| {
        let progress = matches!(step, SessionStep::Event(Event::Progress { .. }));
        on_step(step);
        if !told && progress {
            if let Some(who) = running.as_mut().and_then(LoadHandle::poll) {
                told = true;
                on_step(SessionStep::LoadDied(who));
            }
        }
    };
    let outcome = if plan.settings.trace_above.is_some() {
        traced::measure(plan, &options, target, stop, &mut watched)
    } else {
        target.run(plan, stop, &mut |event| watched(SessionStep::Event(event))).map_err(MeasureError::from)
    };
    // On an error the load is ended by dropping it, without a proof.
    let mut parts = outcome?.into_parts();
    load.name().clone_into(&mut parts.load);
    parts.system.tools.extend(versions);
    if let Some(handle) = running {
        on_step(SessionStep::LoadStopping);
        parts.warnings.extend_from_slice(handle.start_warnings());
        let proof = handle.stop();
        parts.warnings.extend(warnings(&proof));
        parts.load_proof = Some(proof);
    }
    if let Some(tuned) = tuned {
        // The measurement stands, also where nobody looked to its end.
        let ended = tuned.end().unwrap_or_else(|e| PutBack { changed: vec![e.to_string()], left: vec![e.to_string()] });
        parts.warnings.extend(tuning_warnings(&ended));
    }
    Ok(Record::new(parts)?)
}

/// What is to be known of a machine that was set up for a run.
fn tuning_warnings(ended: &PutBack) -> impl Iterator<Item = Warning> {
    let changed = (!ended.changed.is_empty()).then(|| {
        let what = ended.changed.join("; ");
        let message = format!("a setting of the machine did not last until the end of the run: {what}");
        Warning::new(
            "tuning-changed",
            Effect::Invalid,
            message,
            "see what else sets it (tuned, irqbalance, a script), and measure again",
        )
    });
    let left = (!ended.left.is_empty()).then(|| {
        let message = format!("a setting of the machine could not be put back: {}", ended.left.join("; "));
        Warning::new("tuning-left", Effect::Note, message, "set it by hand; the next rtscope tries again")
    });
    changed.into_iter().chain(left)
}

/// First line of `--version` of each tool of the load, by the tool's name.
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
