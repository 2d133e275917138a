//! A DUT on another machine, for a measurement on this one.

use super::host::Ssh;
use super::losses::lost;
use super::remote_work::RemoteWork;
use crate::target::TargetError;
use rtscope_load::StopHandle;
use rtscope_probe::protocol::{DutPlan, Event, Work};
use rtscope_record::{Effect, Record, RecordError, RecordParts, System, Warning, findings};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// A DUT at work on another machine. Dropping it ends it.
#[derive(Debug)]
pub struct RemoteDut {
    name: String,
    what: String,
    plan: DutPlan,
    /// The DUT's machine, as it was before the DUT began.
    system: System,
    warnings: Vec<Warning>,
    stop: StopHandle,
    follower: Option<JoinHandle<Outcome>>,
}

/// How the remote work ended.
struct Outcome {
    end: Result<Event, TargetError>,
    losses: Vec<std::time::Duration>,
    left: Option<String>,
}

impl RemoteDut {
    /// Copies the probe there, starts the DUT and waits until it listens. `stop` ends the attempt.
    pub fn start(ssh: &Ssh, plan: &DutPlan, stop: &StopHandle) -> Result<Self, TargetError> {
        let (name, own) = (ssh.name(), StopHandle::new());
        let asked = own.clone();
        stop.on_stop(move || asked.stop());
        let (ready, is_ready) = channel();
        let (target, work, until) = (ssh.clone(), Work::Dut(plan.clone()), own.clone());
        // ssh ends with the thread that started it, so one thread does all of this.
        let follower = std::thread::spawn(move || {
            let mut losses = Vec::new();
            let mut left = None;
            let end = RemoteWork::begin(&target, work, &until).and_then(|mut followed| {
                let end = follow(&mut followed, &ready);
                left = followed.let_go().err();
                losses = std::mem::take(&mut followed.losses);
                end
            });
            Outcome { end, losses, left }
        });
        let mut dut = Self {
            name,
            what: String::new(),
            plan: plan.clone(),
            system: System::default(),
            warnings: Vec::new(),
            stop: own,
            follower: Some(follower),
        };
        match is_ready.recv() {
            Ok((what, warning, system)) => {
                (dut.what, dut.system) = (what, system);
                dut.warnings.extend(warning);
                Ok(dut)
            }
            // The DUT ended before it listened.
            Err(_) => Err(dut.end().end.err().unwrap_or(TargetError::Interrupted)),
        }
    }

    /// Ends the DUT and describes it in the record of `outcome`. If the DUT died, the record becomes INVALID; without a record,
    /// its death is the error.
    pub fn finish<E: From<TargetError> + From<RecordError>>(mut self, outcome: Result<Record, E>) -> Result<Record, E> {
        let (name, plan, what) = (self.name.clone(), self.plan.clone(), std::mem::take(&mut self.what));
        let system = std::mem::take(&mut self.system);
        let mut warnings = std::mem::take(&mut self.warnings);
        let Outcome { end, losses, left } = self.end();
        let mut proof = None;
        let done = match end {
            Ok(Event::Done { edges, answers, lost, load_proof, warnings: of_load }) => {
                proof = load_proof;
                warnings.extend(of_load);
                format!("; {edges} edges, {answers} answers, {lost} edges lost")
            }
            Ok(_) => String::new(),
            Err(e) => {
                let died = died(&name, &e);
                if outcome.is_err() {
                    return Err(died.into());
                }
                let TargetError::Probe { message, remedy } = died else { return Err(died.into()) };
                warnings.push(Warning::new("dut-died", Effect::Invalid, message, remedy));
                String::new()
            }
        };
        let mut parts = outcome?.into_parts();
        if !losses.is_empty() {
            warnings.push(lost(&name, &losses));
        }
        warnings.extend(left.map(|l| Warning::new("dut-left", Effect::Note, l, "nothing needs to be done")));
        parts.warnings.extend(warnings);
        parts.load.clone_from(&plan.load);
        parts.load_proof = proof.map(|p| *p);
        if let Some(instrument) = &mut parts.instrument {
            instrument.dut = format!("{name}: {what}{done}");
        }
        of_its_machine(&mut parts, system, &plan);
        Ok(Record::new(parts)?)
    }

    fn end(&mut self) -> Outcome {
        self.stop.stop();
        let ended = self.follower.take().and_then(|f| f.join().ok());
        ended.unwrap_or_else(|| Outcome { end: Err(TargetError::Interrupted), losses: Vec::new(), left: None })
    }
}

impl Drop for RemoteDut {
    fn drop(&mut self) {
        self.end();
    }
}

/// Makes the record the DUT's: the DUT's machine takes the place of this one, which becomes the instrument's; the DUT's settings
/// are filled in, and the findings are updated.
fn of_its_machine(parts: &mut RecordParts, system: System, plan: &DutPlan) {
    let before = findings::of_machines(parts);
    let here = std::mem::replace(&mut parts.system, system);
    if let Some(instrument) = parts.instrument.as_mut().filter(|i| i.system.is_none()) {
        instrument.system = Some(Box::new(here));
    }
    if let Some(lines) = &mut parts.settings.lines {
        lines.dut = Some(plan.settings.clone());
    }
    let after = findings::of_machines(parts);
    parts.warnings.retain(|w| !before.contains(w) || after.contains(w));
    parts.warnings.extend(after.into_iter().filter(|w| !before.contains(w)));
    parts.warnings.extend(findings::again::missing(parts));
}

/// Reports when the DUT listens; returns the last event.
fn follow(followed: &mut RemoteWork, ready: &Sender<(String, Option<Warning>, System)>) -> Result<Event, TargetError> {
    loop {
        match followed.next(&mut |_| {})?.or_failure()? {
            Event::Listening { what, warning, system } => {
                // The receiver may be gone; the DUT is then about to be stopped.
                let _: Result<(), _> = ready.send((what, warning, system.map(|s| *s).unwrap_or_default()));
            }
            event if event.is_last() => return Ok(event),
            _ => {}
        }
    }
}

fn died(name: &str, e: &TargetError) -> TargetError {
    let remedy = match e {
        TargetError::Usage { remedy, .. } | TargetError::Probe { remedy, .. } => remedy.clone(),
        _ => "see that machine's log".into(),
    };
    TargetError::Probe { message: format!("the DUT on {name} died: {e}"), remedy }
}
