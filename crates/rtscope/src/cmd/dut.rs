//! `rtscope dut`: runs a DUT, in user space or as a kernel module, until Ctrl-C or for a given time.

use super::run::start_options;
use super::stop::stop_on_signals;
use crate::args::lines::{Dut, DutCommon, DutTask};
use crate::config::{Context, cache_root};
use crate::error::Code;
use crate::output;
use rtscope_failure::Failure;
use rtscope_lab::modules::{self, Loaded};
use rtscope_load::StopHandle;
use rtscope_probe::line_tests::device::{Device, Duty};
use rtscope_probe::line_tests::module::ModuleDut;
use rtscope_record::{DutSettings, Handler, Nanos};
use rtscope_sys::rt;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Default priority of the DUT's task.
const PRIORITY: u8 = 95;

/// Runs the DUT.
pub(crate) fn run(context: &Context, a: &Dut) -> Result<Code, Failure> {
    let (common, input, duty) = match &a.task {
        DutTask::Response(r) => (&r.common, Some(r.input.clone()), Duty::Respond),
        DutTask::Periodic(p) => (&p.common, None, Duty::Wave(p.semi_period.0)),
    };
    check(common, input.as_ref(), duty)?;
    let kernel = common.space == "kernel";
    if !kernel && common.handler.is_some() {
        return Err(Failure::usage("a task in user space has no handler to choose", "--space kernel, or leave --handler out"));
    }
    let settings = DutSettings {
        input,
        output: common.output.clone(),
        priority: if kernel { 0 } else { common.priority.unwrap_or(PRIORITY) },
        cpu: common.cpu,
        inject: common.inject.unwrap_or_default(),
    };
    let (stop, done) =
        if kernel { by_module(context, common, &settings, duty)? } else { by_task(context, common, &settings, duty)? };
    let Tally { edges, answers, lost, missed } = done;
    if common.json {
        output::json(&serde_json::json!({ "edges": edges, "answers": answers, "lost": lost, "missed": missed }))?;
    } else if settings.input.is_some() {
        output::result(&format!("{edges} edges, {answers} answers, {lost} edges lost\n"))?;
    } else {
        output::result(&format!("{answers} edges driven, {missed} grid points missed\n"))?;
    }
    Ok(if stop && common.duration.is_some() { Code::Interrupted } else { Code::Done })
}

/// What the DUT did.
#[derive(Debug, Default)]
struct Tally {
    edges: u64,
    answers: u64,
    lost: u64,
    missed: u64,
}

fn announce(context: &Context, settings: &DutSettings) {
    match &settings.input {
        Some(input) => context.say(&format!("answering {input} on {}; Ctrl-C ends it", settings.output)),
        None => context.say(&format!("driving a wave on {}; Ctrl-C ends it", settings.output)),
    }
}

/// Waits until the end that the user set, a stop, or until `goes_on` is false; returns whether it was stopped.
fn wait(common: &DutCommon, stop: &StopHandle, goes_on: impl Fn() -> bool) -> bool {
    let end = common.duration.and_then(|d| Instant::now().checked_add(d.into()));
    while !stop.is_stopped() && goes_on() && end.is_none_or(|end| Instant::now() < end) {
        std::thread::sleep(Duration::from_millis(10));
    }
    stop.is_stopped()
}

/// Runs the DUT as a task of this process.
fn by_task(context: &Context, common: &DutCommon, settings: &DutSettings, duty: Duty) -> Result<(bool, Tally), Failure> {
    let stop = stop_on_signals()?;
    rt::one_arena();
    if let Err(e) = rt::lock_memory() {
        output::note(&format!("rtscope: warning: mlockall: {e}: page faults may be part of the latencies"));
    }
    let device = Device::start(settings, duty, None)?;
    if let Some(w) = &device.warning {
        output::note(&format!("rtscope: warning: {}\n  try: {}", w.message, w.remedy));
    }
    announce(context, settings);
    let stopped = wait(common, &stop, || !device.ended());
    let done = std::sync::Arc::clone(&device.done);
    device.end()?;
    let [edges, answers, lost, missed] = [&done.edges, &done.answers, &done.lost, &done.missed].map(|n| n.load(Relaxed));
    Ok((stopped, Tally { edges, answers, lost, missed }))
}

/// Runs the DUT as a kernel module, which is loaded for it and unloaded afterwards.
fn by_module(context: &Context, common: &DutCommon, settings: &DutSettings, duty: Duty) -> Result<(bool, Tally), Failure> {
    if common.priority.is_some() {
        let remedy = "its interrupt decides; --handler threaded runs at FIFO 50";
        return Err(Failure::usage("a DUT in the kernel has no priority to choose", remedy));
    }
    let (semi_period, other) = match duty {
        Duty::Wave(ns) => (Some(Nanos(ns)), Handler::Soft),
        Duty::Respond => (None, Handler::Threaded),
    };
    let handler = common.handler.unwrap_or_default();
    if ![Handler::Hard, other].contains(&handler) {
        let message = format!("a DUT of this kind has no {handler} handler");
        return Err(Failure::usage(message, format!("--handler hard or --handler {other}")));
    }
    let wanted = modules::wanted_by_dut(semi_period, handler, settings)?;
    // This also undoes what a killed run left.
    let journal = start_options(context)?.journal;
    let stop = stop_on_signals()?;
    let loaded = Loaded::load(&wanted, &journal, &cache_root()?, &mut |what| context.say(what))?;
    let module = ModuleDut::find(duty)?;
    context.say(&format!("{} is loaded", module.what));
    announce(context, settings);
    let stopped = wait(common, &stop, || module.is_there());
    for w in module.check(duty)? {
        output::note(&format!("rtscope: warning: {}\n  try: {}", w.message, w.remedy));
    }
    let (edges, answers, lost, missed) = module.done(duty)?;
    loaded.map_or(Ok(()), Loaded::unload)?;
    Ok((stopped, Tally { edges, answers, lost, missed }))
}

fn check(common: &DutCommon, input: Option<&String>, duty: Duty) -> Result<(), Failure> {
    let inject = common.inject.unwrap_or_default();
    if duty == Duty::Respond {
        if input == Some(&common.output) {
            let message = format!("{} is input and output", common.output);
            return Err(Failure::usage(message, "a DUT that hears itself never rests: name two lines"));
        }
        if inject.skew_ppm != 0 {
            return Err(Failure::usage("an answer has no skew", "delay, slow, drop and double can be injected"));
        }
    } else if inject.delay.0 > 0 || inject.drop_every > 0 || inject.double_every > 0 {
        return Err(Failure::usage("a wave takes no such fault", "skew and slow can be injected"));
    }
    match duty {
        Duty::Wave(ns) if !(2_000..=3_600_000_000_000).contains(&ns) => {
            Err(Failure::usage("the semi-period is not from 2us to 1h", "--semi-period 10ms"))
        }
        _ => Ok(()),
    }
}
