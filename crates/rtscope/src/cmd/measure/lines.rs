//! `rtscope measure` over lines and in kernel space: settings from the command line.

use crate::args::{Measure, MeasureTest};
use crate::cmd::run::lab_kernel;
use crate::error::Failure;
use rtscope_load::kernel_modules::{PERIODIC, RESPONSE};
use rtscope_probe::protocol::DutPlan;
use rtscope_record::{Settings, Space, Test, Who};
use rtscope_run::lines::{self, About};
use rtscope_run::ssh::{Address, AddressError};

/// Where the DUT is, if that is another machine.
pub(super) fn dut_address(a: &Measure) -> Result<Option<Address>, Failure> {
    let Some(Who::Elsewhere(text)) = &a.lines.dut else { return Ok(None) };
    if lab_kernel(&a.target).is_some() {
        let message = format!("{text} has no wire into a virtual machine");
        return Err(Failure::usage(message, "measure with --target local, or let the guest have its own DUT"));
    }
    text.parse().map(Some).map_err(|e: AddressError| Failure::usage(e.to_string(), AddressError::remedy()))
}

/// Takes the DUT that is on another machine out of the settings: for the probe, it is somewhere else.
/// Its load is named for each run.
pub(super) fn take_dut(a: &Measure, settings: &mut Settings) -> Option<DutPlan> {
    let lines = settings.lines.as_mut().filter(|_| matches!(a.lines.dut, Some(Who::Elsewhere(_))))?;
    let dut = lines.dut.take()?;
    settings.threads = 1;
    Some(DutPlan { settings: dut, wave: (a.test == MeasureTest::Periodic).then_some(settings.interval.0), load: "none".into() })
}

/// Adds to `settings`, which are those of one thread on each of its CPUs, what is asked of a test over lines or in the kernel.
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
    lines::settings(&a.lines, &about).map_err(|e| Failure::usage(e.message, e.remedy))
}
