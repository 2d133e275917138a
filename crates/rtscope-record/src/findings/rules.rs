//! The rules about a machine, ordered by importance, and a function that applies them.

use super::context::Context;
use super::{cpu, host, kernel};
use crate::settings::Settings;
use crate::system::System;
use crate::warning::Warning;

type Rule = fn(&Context) -> Option<Warning>;

/// Findings of the same effect are listed in this order, the most important first.
const RULES: [Rule; 28] = [
    kernel::preemption,
    host::virtual_machine,
    host::rtprio_limit,
    host::memlock_limit,
    kernel::clocksource,
    kernel::high_resolution_timers,
    cpu::frequency_scaling,
    cpu::deep_idle_states,
    host::throttled,
    host::hot,
    kernel::tracing_on,
    kernel::kernel_debugging,
    host::rt_tasks,
    host::swap,
    cpu::isolation,
    cpu::irqs,
    cpu::irqbalance,
    cpu::smt,
    cpu::turbo,
    cpu::frequency_not_highest,
    kernel::rt_throttling,
    kernel::fair_server,
    kernel::timer_migration,
    kernel::tracer_set,
    host::kernel_rt_threads,
    host::tasks_hidden,
    host::container,
    host::throttled_since_boot,
];

/// Every finding about `system` that matters for a run with `settings`, worst effect first.
///
/// Rules about CPUs examine those that `settings` will measure on; if it names none, all that the process may use.
pub fn findings(system: &System, settings: &Settings) -> Vec<Warning> {
    let context = Context { system, settings, measured: measured(system, settings) };
    let mut found: Vec<Warning> = RULES.iter().filter_map(|rule| rule(&context)).collect();
    found.sort_by_key(|warning| std::cmp::Reverse(warning.effect));
    found
}

/// The CPUs on which the measuring threads of a run with `settings` may be.
fn measured(system: &System, settings: &Settings) -> Vec<u32> {
    let named = if settings.migrate { settings.cpus.len() } else { settings.cpus.len().min(settings.threads as usize) };
    match (&settings.cpus[..named], system.cpu.allowed.as_slice()) {
        ([], []) => system.cpu.online.clone(),
        ([], allowed) => allowed.to_vec(),
        (cpus, _) => cpus.to_vec(),
    }
}
