//! The other end of a target over ssh: the program `rtscope-board` is the probe with its keeper (`rtscope_probe::spool`), and, where a load is asked
//! for, the session and the load's supervisor as well. So a load on a board is started, watched, proved and ended as on this machine.

use crate::journal::JournalError;
use crate::load::{Load, Reexec, StartOptions};
use crate::local::{Local, ProbeCommand};
use crate::session::{self, MeasureError, Step};
use crate::supervisor;
use crate::target::{StopHandle, TargetError};
use rtscope_probe::program;
use rtscope_probe::protocol::{Event, Plan};
use rtscope_probe::spool::SESSION;
use rtscope_probe::sys::rt::{self, Woken};
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::Path;

/// First argument of the program: be a stage of the load's supervisor.
const SUPERVISOR: &str = "load-supervisor";

/// Does what `arguments`, without the program's name, ask for; returns the exit code.
pub fn main(arguments: &[OsString]) -> u8 {
    let words: Vec<&str> = arguments.iter().map(|a| a.to_str().unwrap_or_default()).collect();
    match words.as_slice() {
        [SUPERVISOR, stage @ ..] => supervisor::main(stage.iter().map(ToString::to_string)),
        [SESSION, plan] => measure(Path::new(plan)),
        _ => program::main(arguments),
    }
}

/// Carries out the plan in a file under its load; events go to standard output. SIGINT or SIGTERM ends it early.
fn measure(file: &Path) -> u8 {
    let mut out = std::io::stdout();
    // Whoever reads it looks for the last event, and is told when there is none.
    let mut say = |event: &Event| drop(serde_json::to_writer(&mut out, event).map(|()| out.write_all(b"\n")));
    let event = match session(file, &mut say) {
        Ok(event) => event,
        Err(e) => {
            let (message, remedy) = match &e {
                MeasureError::Target(TargetError::Probe { message, remedy } | TargetError::Usage { message, remedy }) => {
                    (message.clone(), remedy.clone())
                }
                e => (e.to_string(), "this is about the target; `rtscope loads` says what a load needs there".to_owned()),
            };
            Event::Error { message, remedy, usage: e.is_usage() }
        }
    };
    say(&event);
    if matches!(event, Event::Record { .. }) { 0 } else { 3 }
}

fn session(file: &Path, say: &mut dyn FnMut(&Event)) -> Result<Event, MeasureError> {
    let text = fs::read(file).map_err(TargetError::Pipe)?;
    let plan: Plan = serde_json::from_slice(&text).map_err(|e| TargetError::Pipe(e.into()))?;
    let load = Load::parse(&plan.load)?;
    // Not this very program's path: what runs may be a script's interpreter.
    let program = file.with_file_name("rtscope-probe");
    let reexec = Reexec { program: program.clone(), args: vec![SUPERVISOR.into()] };
    let no_home = |e: JournalError| TargetError::Probe { message: e.to_string(), remedy: "set HOME on the target".into() };
    let options = StartOptions::new(reexec).map_err(no_home)?;
    // What a load there left that met a power cut.
    options.journal.replay();
    let stop = StopHandle::new();
    stop_on_signals(&stop).map_err(TargetError::Pipe)?;
    let target = Local { probe: ProbeCommand { program, args: Vec::new() } };
    let outcome = session::measure(&plan, &load, &options, &target, &stop, &mut |step| {
        if let Step::Event(event) = step {
            say(event);
        }
    });
    // Nothing is to be left there; directories with something in them stay.
    let journal = options.journal.dir();
    let _ = fs::remove_dir(journal).and_then(|()| journal.parent().map_or(Ok(()), fs::remove_dir));
    outcome.map(|record| Event::Record { record: Box::new(record) })
}

/// A keeper ends its work by a signal.
fn stop_on_signals(stop: &StopHandle) -> std::io::Result<()> {
    let signals = rt::prepare_signals()?;
    let stop = stop.clone();
    std::thread::spawn(move || {
        while signals.wait(-1, -1) != Woken::Signal {}
        stop.stop();
    });
    Ok(())
}
