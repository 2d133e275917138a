//! `rtscope measure` for tests over lines and in kernel space: settings from the command line.

use crate::args::{Measure, MeasureTest};
use crate::cmd::run::lab_kernel;
use rtscope_failure::Failure;
use rtscope_load::kernel_modules::{PERIODIC, RESPONSE};
use rtscope_record::{Settings, Space, Test};
use rtscope_run::lines::{self, About};

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
