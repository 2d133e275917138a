//! A DUT as the work of a keeper: it reports when it listens, and at its end what it did.

use super::events::say;
use crate::line_tests::device::{Device, Duty};
use crate::measured::Failure;
use crate::protocol::{DutPlan, Event};
use crate::snapshot::Root;
use rtscope_sys::rt::{self, Signals, Woken};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// How often it checks whether its device is still there, ms.
const POLL_INTERVAL: i32 = 50;

/// Acts as the DUT of the plan in `file` until SIGINT or SIGTERM. Returns the exit code.
pub fn dut(file: &Path, out: &mut dyn Write) -> u8 {
    let event = match read_plan(file).and_then(|plan| serve_dut(&plan, &signals()?, out)) {
        Ok(done) => done,
        Err(failure) => failure.into(),
    };
    let fine = matches!(event, Event::Done { .. });
    if say(out, &event).is_ok() && fine { 0 } else { 3 }
}

/// Reads the plan of a DUT.
pub fn read_plan(file: &Path) -> Result<DutPlan, Failure> {
    let wrong = |e: String| Failure::usage(format!("the DUT's plan is not understood: {e}"), "use one version of rtscope");
    let text = rtscope_files::read(file, rtscope_files::SMALL).map_err(|e| wrong(e.to_string()))?;
    serde_json::from_slice(&text).map_err(|e| wrong(e.to_string()))
}

/// Takes over the signals that end a DUT. Call it before any other thread is started, which would otherwise die of them.
pub fn signals() -> Result<Signals, Failure> {
    rt::prepare_signals().map_err(|e| Failure::machine(format!("signal handling: {e}"), "report this"))
}

/// Acts as the DUT of `plan` until SIGINT or SIGTERM. Writes to `out` that it listens, and returns what it did.
pub fn serve_dut(plan: &DutPlan, signals: &Signals, out: &mut dyn Write) -> Result<Event, Failure> {
    rt::one_arena();
    let locked = rt::lock_memory();
    // Before the device starts, so that the snapshot does not see it.
    let system = Some(Box::new(crate::snapshot::collect(&Root::of_this_machine())));
    let mut device = Device::start(&plan.settings, plan.wave.map_or(Duty::Respond, Duty::Wave), None)?;
    let machine = Root::of_this_machine().facts.uname;
    let priority = if plan.settings.priority == 0 { "an ordinary task".into() } else { format!("FIFO {}", plan.settings.priority) };
    let place = plan.settings.cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
    let memory = locked.err().map_or_else(String::new, |e| format!(", its memory not locked ({e})"));
    let what = format!("rtscope-probe in user space, {priority}{place}{memory}, Linux {} on {}", machine.release, machine.nodename);
    let gone = |e: std::io::Error| Failure::machine(format!("the spool: {e}"), "free space there");
    say(out, &Event::Listening { what, warning: device.warning.take(), system }).map_err(gone)?;
    while !device.ended() && signals.wait(-1, POLL_INTERVAL) != Woken::Signal {}
    let ended = device.ended();
    let done = Arc::clone(&device.done);
    device.end()?;
    if ended {
        return Err(Failure::machine("the DUT ended of itself", "report this"));
    }
    let [edges, answers, lost] = [&done.edges, &done.answers, &done.lost].map(|n| n.load(Relaxed));
    Ok(Event::Done { edges, answers, lost, load_proof: None, warnings: Vec::new() })
}
