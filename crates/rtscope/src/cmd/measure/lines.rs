//! `rtscope measure` for tests over lines and in kernel space: settings from the command line.

use crate::args::{Measure, MeasureTest};
use crate::cmd::run::lab_kernel;
use rtscope_failure::Failure;
use rtscope_load::kernel_modules::{PERIODIC, RESPONSE};
use rtscope_probe::protocol::DutPlan;
use rtscope_record::{Settings, Space, Test, Who};
use rtscope_run::lines::{self, About};
use rtscope_run::ssh::Address;

/// Address of the DUT's machine, if it is another one.
pub(super) fn dut_address(a: &Measure) -> Result<Option<Address>, Failure> {
    let Some(Who::Elsewhere(text)) = &a.lines.dut else { return Ok(None) };
    if lab_kernel(&a.target).is_some() {
        let message = format!("{text} has no wire into a virtual machine");
        return Err(Failure::usage(message, "measure with --target local, or let the guest have its own DUT"));
    }
    Ok(Some(text.parse::<Address>()?))
}

/// Takes a DUT on another machine out of the settings, as the probe does not run it. The load of its plan is set for each run.
pub(super) fn take_dut(a: &Measure, settings: &mut Settings) -> Option<DutPlan> {
    let lines = settings.lines.as_mut().filter(|_| matches!(a.lines.dut, Some(Who::Elsewhere(_))))?;
    let dut = lines.dut.take()?;
    settings.threads = 1;
    Some(DutPlan { settings: dut, wave: (a.test == MeasureTest::Periodic).then_some(settings.interval.0), load: "none".into() })
}

/// Completes `settings`, which have one thread on each CPU, by the options of a test over lines or in kernel space.
pub(super) fn settings(a: &Measure, test: Test, space: Space, settings: &Settings) -> Result<Settings, Failure> {
    if a.test != MeasureTest::Timer || space == Space::Kernel {
        if let Some(name) = a.run.of_user_timers().or(a.raw.is_some().then_some("raw")) {
            return Err(Failure::usage(format!("--{name} is for `timer` in user space only"), "leave it out"));
        }
    }
    let about = About {
        test,
        space,
        in_lab: lab_kernel(&a.target).is_some(),
        brings_dut: a.guest.guest_module.iter().any(|m| m.contains(RESPONSE) || m.contains(PERIODIC)),
        cpus_named: a.run.affinity.is_some(),
        settings,
    };
    Ok(lines::settings(&a.lines, &about)?)
}
