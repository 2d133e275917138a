//! `rtscope measure` over lines and in kernel space: settings from the command line.

use crate::args::lines::LineArgs;
use crate::args::{Measure, MeasureTest};
use crate::cmd::run::lab_kernel;
use rtscope_failure::Failure;
use rtscope_load::kernel_modules::{PERIODIC, RESPONSE};
use rtscope_probe::protocol::DutPlan;
use rtscope_record::{Settings, Space, Test};
use rtscope_run::lines::{About, LineOptions, Who};
use rtscope_run::ssh::{Address, is_ssh};

/// Where the DUT is, if that is another machine.
pub(super) fn dut_address(a: &Measure) -> Result<Option<Address>, Failure> {
    let Some(text) = a.lines.dut.as_deref().filter(|who| is_ssh(who)) else { return Ok(None) };
    if lab_kernel(&a.target).is_some() {
        let message = format!("{text} has no wire into a virtual machine");
        return Err(Failure::usage(message, "measure with --target local, or let the guest have its own DUT"));
    }
    Ok(Some(text.parse::<Address>()?))
}

/// Takes the DUT that is on another machine out of the settings: for the probe, it is somewhere else.
/// Its load is named for each run.
pub(super) fn take_dut(a: &Measure, settings: &mut Settings) -> Option<DutPlan> {
    let lines = settings.lines.as_mut().filter(|_| a.lines.dut.as_deref().is_some_and(is_ssh))?;
    let dut = lines.dut.take()?;
    settings.threads = 1;
    Some(DutPlan { settings: dut, wave: (a.test == MeasureTest::Periodic).then_some(settings.interval.0), load: "none".into() })
}

/// Adds to `settings`, which are those of one thread on each of its CPUs, what is asked of a test over lines or in the kernel.
pub(super) fn settings(a: &Measure, test: Test, space: Space, settings: &Settings) -> Result<Settings, Failure> {
    let user_timer_only = [
        (a.threads.is_some(), "--threads"),
        (a.smp, "--smp"),
        (a.distance.0 > 0, "--distance"),
        (a.priospread, "--priospread"),
        (a.breaktrace.is_some(), "--breaktrace"),
        (a.raw.is_some(), "--raw"),
    ];
    if a.test != MeasureTest::Timer || space == Space::Kernel {
        if let Some((_, flag)) = user_timer_only.iter().find(|(given, _)| *given) {
            return Err(Failure::usage(format!("{flag} is for `timer` in user space only"), "leave it out"));
        }
    }
    let about = About {
        test,
        space,
        in_lab: lab_kernel(&a.target).is_some(),
        brings_dut: a.guest.guest_module.iter().any(|m| m.contains(RESPONSE) || m.contains(PERIODIC)),
        cpus_named: a.affinity.is_some(),
        settings,
    };
    Ok(options(&a.lines).settings(&about)?)
}

/// The flags, as every asker has them.
fn options(l: &LineArgs) -> LineOptions {
    LineOptions {
        stimulus: l.stimulus.clone(),
        answer: l.answer.clone(),
        interval_max: l.interval_max,
        interval_seed: l.interval_seed,
        pulse: l.pulse,
        both_edges: l.both_edges,
        active_low: l.active_low,
        min_width: l.min_width,
        timeout: l.timeout,
        warmup: l.warmup,
        calibrate: l.calibrate.clone(),
        dut: l.dut.as_deref().map(who),
        dut_in: l.dut_in.clone(),
        dut_out: l.dut_out.clone(),
        dut_priority: l.dut_priority,
        dut_cpu: l.dut_cpu,
        inject: l.inject,
        shortest: l.shortest,
        handler: l.handler,
    }
}

fn who(text: &str) -> Who {
    match text {
        "own" => Who::Own,
        "wire" => Who::Wire,
        "none" => Who::None,
        // What the command line takes besides.
        _ => Who::Elsewhere,
    }
}
