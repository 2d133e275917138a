//! `rtscope lab verify`: repeats a run under a loaded host and from another boot; every figure must be the same.

use super::guest::open;
use crate::args::lab::Verify;
use crate::cmd::measure::{self, fresh_id};
use crate::cmd::run::start_options;
use crate::cmd::stop::stop_on_signals;
use crate::config::Context;
use crate::error::Code;
use crate::output;
use crate::progress::Progress;
use rtscope_failure::{Explain, Failure};
use rtscope_lab::vm::{Guest, LabOptions, VmError};
use rtscope_load::{Load, StopHandle};
use rtscope_probe::protocol::{PROTOCOL, ProbePlan};
use rtscope_record::{Clock, Fingerprint, Nanos, Policy, Record, Settings, Space, Test};
use rtscope_run::lab;
use serde::Serialize;
use std::time::Instant;

/// One of the runs.
#[derive(Serialize)]
struct Repeated {
    what: String,
    samples: u64,
    missed: u64,
    max_ns: Option<u64>,
    fingerprint: Fingerprint,
    wall_ms: u64,
    same: bool,
}

#[derive(Serialize)]
struct Verified {
    kernel: String,
    load: String,
    same: bool,
    runs: Vec<Repeated>,
}

/// Takes up to three runs and compares them.
pub(super) fn run(context: &Context, a: &Verify) -> Result<Code, Failure> {
    let (load, host_load) = (Load::parse(&a.load)?, Load::parse(&a.host_load)?);
    let options = a.guest.options()?;
    if options.clock == Clock::Host {
        return Err(Failure::usage("in the host's time no run repeats", "leave --clock out"));
    }
    let guest = open(context, &a.kernel, options.clone())?;
    let stop = stop_on_signals()?;
    let settings = settings(a, &options);
    let mut runs: Vec<Repeated> = Vec::new();
    let mut take = |what: String, guest: &Guest| -> Result<bool, Failure> {
        let begun = Instant::now();
        let Some(record) = once(context, guest, &what, load.name(), &settings, &stop)? else { return Ok(false) };
        let merged = record.merged().or_machine("the distributions can't be merged", "report this")?;
        let first = runs.first().map(|r| r.fingerprint);
        runs.push(Repeated {
            what,
            samples: merged.as_ref().map_or(0, rtscope_record::Distribution::count),
            missed: merged.as_ref().map_or(0, rtscope_record::Distribution::missed),
            max_ns: merged.and_then(|d| d.max()),
            fingerprint: record.fingerprint(),
            wall_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            same: first.is_none_or(|f| f == record.fingerprint()),
        });
        Ok(true)
    };
    let mut going = take("from the kept state".into(), &guest)?;
    if going {
        let mut options = start_options(context)?;
        options.stop = stop.clone();
        let running = host_load.start(&options)?;
        going = take(format!("this host under its own load `{host_load}`"), &guest)?;
        drop(running);
    }
    if going && !a.no_boot {
        let again = open(context, &a.kernel, LabOptions { keep_state: false, ..options })?;
        going = take("from another boot".into(), &again)?;
    }
    if !going {
        return Ok(Code::Interrupted);
    }
    let same = runs.iter().all(|r| r.same);
    let verified = Verified { kernel: a.kernel.to_string(), load: load.name().into(), same, runs };
    if a.json {
        output::json(&verified)?;
    } else {
        output::result(&text(&verified))?;
    }
    Ok(if same { Code::Done } else { Code::Assertion })
}

/// The settings of the repeated run, as cyclictest would have them.
fn settings(a: &Verify, options: &LabOptions) -> Settings {
    Settings {
        interval: Nanos(1_000_000),
        duration: Some(a.duration),
        threads: options.cpus,
        cpus: (0..options.cpus).collect(),
        policy: Policy::Fifo,
        priority: 95,
        mlockall: true,
        hold_dma_latency: true,
        worst: 32,
        command: measure::command(),
        ..Settings::default()
    }
}

/// Takes one run; `None` if it was interrupted.
fn once(
    context: &Context,
    guest: &Guest,
    what: &str,
    load: &str,
    settings: &Settings,
    stop: &StopHandle,
) -> Result<Option<Record>, Failure> {
    let plan = ProbePlan {
        protocol: PROTOCOL.into(),
        id: fresh_id(),
        test: Test::Timer,
        space: Space::User,
        load: load.into(),
        target: "lab".into(),
        settings: settings.clone(),
        progress_ms: 0,
        picture: false,
        trace: None,
    };
    let progress = Progress::new(what, 0, context.quiet);
    let outcome = lab::measure(guest, &plan, stop, &mut |step| progress.step(&step));
    progress.clear();
    match outcome {
        Ok(record) => Ok(Some(record)),
        Err(VmError::Interrupted) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

fn text(v: &Verified) -> String {
    let mut out = format!("{}, load {}, virtual time\n", v.kernel, v.load);
    let wide = v.runs.iter().map(|r| r.what.chars().count()).max().unwrap_or(0);
    for r in &v.runs {
        let max = r.max_ns.map_or_else(|| "-".into(), |ns| format!("{:.3}", Nanos(ns).as_micros_f64()));
        let wall = r.wall_ms / 1000;
        let mark = if r.same { "" } else { "  DIFFERS" };
        let line = format!(
            "  {:wide$}  {}  {} samples, {} missed, max {max} us, {wall} s of this host{mark}\n",
            r.what, r.fingerprint, r.samples, r.missed
        );
        out += &line;
    }
    out += if v.same {
        "the same to the last bit\n"
    } else {
        "NOT the same: see `rtscope lab verify --help`, and report it with QEMU's version\n"
    };
    out
}
