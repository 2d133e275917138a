//! `rtscope dut`: be the device under test, until Ctrl-C or for a time.

use super::measure::stop_on_signals;
use crate::args::lines::{Dut, DutCommon, DutTask};
use crate::config::Context;
use crate::error::{Code, Failure};
use crate::output;
use rtscope_probe::sys::rt;
use rtscope_probe::wired::device::{Device, Duty};
use rtscope_record::DutSettings;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Does the task.
pub(crate) fn run(context: &Context, a: &Dut) -> Result<Code, Failure> {
    let (common, input, duty) = match &a.task {
        DutTask::Response(r) => (&r.common, Some(r.input.clone()), Duty::Respond),
        DutTask::Periodic(p) => (&p.common, None, Duty::Wave(p.semi_period.0)),
    };
    check(common, input.as_ref(), duty)?;
    let stop = stop_on_signals()?;
    rt::one_arena();
    if let Err(e) = rt::lock_memory() {
        output::note(&format!("rtscope: warning: mlockall: {e}: page faults may be part of the latencies"));
    }
    let settings = DutSettings {
        input,
        output: common.output.clone(),
        priority: common.priority,
        cpu: common.cpu,
        inject: common.inject.unwrap_or_default(),
    };
    let device = Device::start(&settings, duty).map_err(failure)?;
    if let Some(w) = &device.warning {
        output::note(&format!("rtscope: warning: {}\n  try: {}", w.message, w.remedy));
    }
    match &settings.input {
        Some(input) => context.say(&format!("answering {input} on {}; Ctrl-C ends it", settings.output)),
        None => context.say(&format!("driving a wave on {}; Ctrl-C ends it", settings.output)),
    }
    let end = common.duration.and_then(|d| Instant::now().checked_add(d.into()));
    while !stop.is_stopped() && !device.ended() && end.is_none_or(|end| Instant::now() < end) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let done = std::sync::Arc::clone(&device.done);
    device.end().map_err(failure)?;
    let [edges, answers, lost, missed] = [&done.edges, &done.answers, &done.lost, &done.missed].map(|n| n.load(Relaxed));
    if common.json {
        output::json(&serde_json::json!({ "edges": edges, "answers": answers, "lost": lost, "missed": missed }))?;
    } else if settings.input.is_some() {
        output::result(&format!("{edges} edges, {answers} answers, {lost} edges lost\n"))?;
    } else {
        output::result(&format!("{answers} edges driven, {missed} grid points missed\n"))?;
    }
    Ok(if stop.is_stopped() && common.duration.is_some() { Code::Interrupted } else { Code::Done })
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

fn failure(e: rtscope_probe::timer::Failure) -> Failure {
    if e.usage { Failure::usage(e.message, e.remedy) } else { Failure::failed(e.message, e.remedy) }
}
