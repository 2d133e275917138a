//! Whole sessions with real tools: the load's proof is in the record, and a load that dies makes it INVALID. The test program
//! re-executes itself as the supervisor's stages.
#![allow(clippy::disallowed_methods)] // a process that a test starts for itself may inherit any signal settings

#[path = "../../rtscope-load/tests/supervision/world.rs"]
#[allow(dead_code)] // the loads' own tests need more of it
mod world;

use rtscope_load::{Isolation, Load, StopHandle};
use rtscope_probe::protocol::{Event, PROTOCOL, ProbePlan};
use rtscope_record::{Record, RecordParts, Settings, Space, Test, Verdict, fixtures};
use rtscope_run::session::{SessionStep, measure};
use rtscope_run::target::{Target, TargetError};
use std::process::ExitCode;
use std::time::Duration;
use world::{World, figure, kill, lacking};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() == Some("__load") {
        return ExitCode::from(rtscope_load::supervisor::main(args));
    }
    world::run(&[
        ("a_session_puts_the_proof_into_the_record", session),
        ("a_session_goes_on_when_the_load_dies_and_its_record_is_invalid", session_dies),
    ])
}

/// A target without a process: lets the load run for a second, kills one of its tools if asked to, and returns an empty record.
struct Fake<'a> {
    kills_in: Option<&'a World>,
}

impl Target for Fake<'_> {
    fn run(&self, plan: &ProbePlan, _: &StopHandle, on_event: &mut dyn FnMut(&Event)) -> Result<Record, TargetError> {
        if let Some(world) = self.kills_in {
            kill(*world.named("stress-ng").iter().min().unwrap(), libc::SIGKILL);
        }
        for tenth in 1..=10 {
            std::thread::sleep(Duration::from_millis(100));
            on_event(&Event::Progress { elapsed_ns: tenth * 100_000_000, threads: Vec::new() });
        }
        Ok(Record::new(RecordParts {
            id: plan.id.clone(),
            elapsed_ns: 1_000_000_000,
            test: plan.test,
            space: plan.space,
            load: plan.load.clone(),
            target: plan.target.clone(),
            settings: plan.settings.clone(),
            ..fixtures::parts()
        })?)
    }
}

fn measured(world: &World, fake: &Fake<'_>) -> (Record, u32) {
    let plan = ProbePlan {
        protocol: PROTOCOL.into(),
        id: "20261121T080000Z-1a2b3c".into(),
        test: Test::Timer,
        space: Space::User,
        load: "calculation".into(),
        target: "local".into(),
        settings: Settings::default(),
        progress_ms: 100,
        picture: false,
        trace: None,
    };
    let mut died = 0;
    let load = Load::parse("calculation").unwrap();
    let record = measure(&plan, &load, &world.options(Isolation::Namespaces), fake, &StopHandle::new(), &mut |step| {
        died += u32::from(matches!(step, SessionStep::LoadDied(_)));
    });
    (record.unwrap(), died)
}

fn session(world: &World) -> Option<String> {
    if let Some(why) = lacking() {
        return Some(why);
    }
    let (record, died) = measured(world, &Fake { kills_in: None });
    let proof = record.parts().load_proof.as_ref().unwrap();
    assert!(figure(proof, "cpu.bogo_ops") > 0.0);
    assert_eq!(died, 0);
    assert_eq!(record.verdict(), Verdict::Valid, "{:?}", record.parts().warnings);
    assert!(record.parts().system.tools["stress-ng"].contains("stress-ng"));
    world.assert_nothing_left();
    None
}

fn session_dies(world: &World) -> Option<String> {
    if let Some(why) = lacking() {
        return Some(why);
    }
    let (record, died) = measured(world, &Fake { kills_in: Some(world) });
    assert_eq!(died, 1);
    assert_eq!(record.verdict(), Verdict::Invalid);
    assert!(record.parts().warnings.iter().any(|w| w.code == "load-died"));
    world.assert_nothing_left();
    None
}
