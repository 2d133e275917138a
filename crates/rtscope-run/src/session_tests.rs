//! Sessions without a load, with a fake target. Sessions with real loads are in `tests/sessions.rs`.

use super::*;
use crate::local::tests::{plan, record};
use crate::target::TargetError;
use rtscope_failure::Problem as _;
use rtscope_load::Journal;
use rtscope_load::{Isolation, Reexec};
use rtscope_record::Verdict;
use std::time::Duration;

/// A target without a process: reports two events, then returns a record or fails.
struct Fake {
    fails: bool,
}

impl Target for Fake {
    fn run(&self, _: &ProbePlan, stop: &StopHandle, on_event: &mut dyn FnMut(&Event)) -> Result<Record, TargetError> {
        on_event(&Event::Started);
        on_event(&Event::Progress { elapsed_ns: 1, threads: Vec::new() });
        let mut parts = record().into_parts();
        parts.interrupted = stop.is_stopped();
        if self.fails { Err(TargetError::Probe { message: "no".into(), remedy: "yes".into() }) } else { Ok(Record::new(parts)?) }
    }
}

fn options() -> StartOptions {
    StartOptions {
        reexec: Reexec { program: "/no/such/program".into(), args: Vec::new() },
        cpus: 1,
        dir: None,
        journal: Journal::at("/no/such/directory"),
        isolation: Isolation::default(),
        up_timeout: Duration::from_secs(1),
        stop_timeout: Duration::from_secs(1),
        stop: StopHandle::new(),
    }
}

fn run(fake: &Fake, load: &str, stop: &StopHandle) -> (Result<Record, MeasureError>, Vec<String>) {
    let mut steps = Vec::new();
    let load = Load::parse(load).unwrap();
    let result = measure(&plan(), &load, &options(), fake, stop, &mut |step| {
        steps.push(format!("{step:?}").split([' ', '(']).next().unwrap_or_default().to_owned());
    });
    (result, steps)
}

#[test]
fn without_a_load_there_is_no_proof_and_nothing_is_started() {
    let (result, steps) = run(&Fake { fails: false }, "none", &StopHandle::new());
    let record = result.unwrap();
    assert_eq!(steps, ["Event", "Event"]);
    assert_eq!(record.parts().load_proof, None);
    assert_eq!(record.verdict(), Verdict::Valid);
}

#[test]
fn a_run_that_was_ended_early_keeps_its_record() {
    let stop = StopHandle::new();
    stop.stop();
    assert!(run(&Fake { fails: false }, "none", &stop).0.unwrap().parts().interrupted);
}

#[test]
fn errors_keep_their_kind() {
    let (result, _) = run(&Fake { fails: true }, "none", &StopHandle::new());
    let e = result.unwrap_err();
    assert!(matches!(e, MeasureError::Target(_)) && !e.is_usage() && !e.is_interrupted());
    let (result, steps) = run(&Fake { fails: false }, "calculation", &StopHandle::new());
    assert!(matches!(result, Err(MeasureError::Load(_))));
    assert_eq!(steps, ["LoadStarting"]);
}
