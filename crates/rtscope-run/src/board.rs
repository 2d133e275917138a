//! The remote end of a target over ssh. The program `rtscope-board` is the probe with its keeper (`rtscope_probe::spool`); for a
//! run under a load it is also the session and the load's supervisor. So a load on a board is started, watched, proved and ended
//! by the same code as on this machine.

use crate::local::{Local, ProbeCommand};
use crate::session::{self, MeasureError, SessionStep};
use crate::target::TargetError;
use rtscope_failure::Failure;
use rtscope_load::JournalError;
use rtscope_load::Reexec;
use rtscope_load::StopHandle;
use rtscope_load::supervisor;
use rtscope_load::{Load, StartOptions};
use rtscope_probe::program;
use rtscope_probe::protocol::{Event, ProbePlan};
use rtscope_probe::spool::{self, LOADED};
use rtscope_sys::rt::{self, Woken};
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::Path;

/// First argument of the program: be a stage of the load's supervisor.
const SUPERVISOR: &str = "load-supervisor";

/// Does what `arguments` (without the program's name) ask for; returns the exit code.
pub fn main(arguments: &[OsString]) -> u8 {
    let words: Vec<&str> = arguments.iter().map(|a| a.to_str().unwrap_or_default()).collect();
    match words.as_slice() {
        [SUPERVISOR, stage @ ..] => supervisor::main(stage.iter().map(ToString::to_string)),
        [work, plan] if *work == LOADED[0] => last_word(|say| measure(Path::new(plan), say)),
        [work, plan] if *work == LOADED[1] => last_word(|_| dut(Path::new(plan))),
        _ => program::main(arguments),
    }
}

/// Does `work` and writes its events to standard output, the last one included: an error event if the work failed. Returns the
/// exit code.
fn last_word(work: impl FnOnce(&mut dyn FnMut(&Event)) -> Result<Event, MeasureError>) -> u8 {
    // A failed write is ignored: the reader looks for the last event and reports when there is none.
    let mut say = |event: &Event| {
        let mut out = std::io::stdout().lock();
        drop(serde_json::to_writer(&mut out, event).map(|()| out.write_all(b"\n")));
    };
    let event = work(&mut say).unwrap_or_else(|e| {
        let mut failure = Failure::of(&e);
        if failure.remedy.is_empty() {
            failure.remedy = "this is about the target; `rtscope loads` says what a load needs there".into();
        } else if !matches!(e, MeasureError::Target(TargetError::Probe { .. } | TargetError::Usage { .. })) {
            failure.remedy = format!("on the target: {}", failure.remedy);
        }
        failure.into()
    });
    say(&event);
    if matches!(event, Event::Error { .. }) { 3 } else { 0 }
}

/// Start options of a load whose supervisor is the program beside `plan`. Also replays the journal, which undoes what an earlier
/// load left after a power cut.
fn options(plan: &Path) -> Result<StartOptions, MeasureError> {
    // Not the path of the running program: that may be an interpreter.
    let reexec = Reexec { program: plan.with_file_name("rtscope-probe"), args: vec![SUPERVISOR.into()] };
    let no_home = |e: JournalError| TargetError::Probe { message: e.to_string(), remedy: "set HOME on the target".into() };
    let options = StartOptions::new(reexec).map_err(no_home)?;
    options.journal.replay();
    Ok(options)
}

/// Removes the journal's directory and its parent, if they are empty.
fn tidy(options: &StartOptions) {
    let journal = options.journal.dir();
    let _ = fs::remove_dir(journal).and_then(|()| journal.parent().map_or(Ok(()), fs::remove_dir));
}

/// Runs the DUT of the plan in `file`, under its load, until SIGINT or SIGTERM.
fn dut(file: &Path) -> Result<Event, MeasureError> {
    let plan = spool::read_plan(file).map_err(TargetError::from)?;
    let load = Load::parse(&plan.load)?;
    let options = options(file)?;
    let signals = spool::signals().map_err(TargetError::from)?;
    let running = load.start(&options)?;
    let served = spool::serve_dut(&plan, &signals, &mut std::io::stdout()).map_err(TargetError::from);
    let mut done = match served {
        Ok(done) => done,
        Err(e) => {
            drop(running);
            tidy(&options);
            return Err(e.into());
        }
    };
    if let (Some(handle), Event::Done { load_proof, warnings, .. }) = (running, &mut done) {
        warnings.extend_from_slice(handle.start_warnings());
        let proof = handle.stop();
        warnings.extend(rtscope_record::load::warnings(&proof));
        *load_proof = Some(Box::new(proof));
    }
    tidy(&options);
    Ok(done)
}

/// Takes the measurement of the plan in `file`, under its load. SIGINT or SIGTERM ends it early.
fn measure(file: &Path, say: &mut dyn FnMut(&Event)) -> Result<Event, MeasureError> {
    let text = rtscope_files::read(file, rtscope_files::SMALL).map_err(TargetError::Pipe)?;
    let plan: ProbePlan = serde_json::from_slice(&text).map_err(|e| TargetError::Pipe(e.into()))?;
    let load = Load::parse(&plan.load)?;
    let options = options(file)?;
    let stop = StopHandle::new();
    stop_on_signals(&stop).map_err(TargetError::Pipe)?;
    let target = Local { probe: ProbeCommand { program: file.with_file_name("rtscope-probe"), args: Vec::new() } };
    let outcome = session::measure(&plan, &load, &options, &target, &stop, &mut |step| {
        if let SessionStep::Event(event) = step {
            say(event);
        }
    });
    tidy(&options);
    outcome.map(|record| Event::Record { record: Box::new(record) })
}

/// Stops on SIGINT or SIGTERM: a keeper ends its work by a signal.
fn stop_on_signals(stop: &StopHandle) -> std::io::Result<()> {
    let signals = rt::prepare_signals()?;
    let stop = stop.clone();
    std::thread::spawn(move || {
        while signals.wait(-1, -1) != Woken::Signal {}
        stop.stop();
    });
    Ok(())
}
