//! What is wrong with a machine that is to be measured: pure rules from a [`System`] snapshot to [`Warning`]s.
//!
//! Each rule looks at one property, knows one or two codes, and says what was found, why it matters and what mends it. A property
//! that the snapshot does not have (`None`) is no finding, but for the preemption model. The effects follow the design: `Invalid`
//! where the figures would mean something else than they say, `Inconclusive` where they are true for the run but not for what one
//! would conclude about the board and its kernel, `Note` where a reader should know.
//!
//! | code | effect | what |
//! |---|---|---|
//! | `clocksource-coarse` | Invalid | the clock moves in ticks: differences of it are no latencies |
//! | `rtprio-limit` | Invalid | the kernel will refuse the priority (a forecast: the run itself has the last word) |
//! | `memlock-limit` | Invalid, Note | the kernel will refuse to lock the memory (a forecast as well); a Note where it may |
//! | `clocksource-slow` | Inconclusive | reading the clock takes microseconds, which are in every latency |
//! | `no-high-resolution-timers` | Inconclusive | timers expire at ticks only |
//! | `frequency-scaling` | Inconclusive | the governor changes the CPU's frequency with its use |
//! | `deep-idle-states` | Inconclusive, Note | a CPU must wake up first; a Note where that was asked for |
//! | `swap` | Note, Inconclusive | without locked memory, pages of the measuring program may be on a disk |
//! | `virtual-machine` | Inconclusive | the hypervisor's scheduling is in every latency |
//! | `tracing-on` | Inconclusive | tracers make every path of the kernel longer |
//! | `kernel-debugging` | Inconclusive | debugging options make every lock or memory access longer |
//! | `rt-tasks` | Inconclusive | real-time programs at or above the measuring priority delay it |
//! | `hot` | Inconclusive | near the temperature at which the hardware slows down |
//! | `throttled` | Inconclusive | slowed down for heat or undervoltage at this moment |
//! | `not-preempt-rt`, `preemption-unknown` | Note | the kernel's preemption model |
//! | `clocksource-unusual`, `clocksource-paravirtual` | Note | neither known as good nor as bad; provided by a hypervisor |
//! | `frequency-not-highest` | Note | pinned, but not at the top |
//! | `turbo` | Note | the highest frequency depends on heat and on the other CPUs |
//! | `rt-throttling`, `fair-server` | Note | what ordinary tasks get of a CPU that real-time tasks keep busy |
//! | `cpus-not-isolated` | Note | ordinary tasks share the measured CPUs |
//! | `irqs-on-measured-cpus`, `irqbalance` | Note | interrupts are handled on them, or may be moved to them |
//! | `smt` | Note | two CPUs share one core |
//! | `timer-migration` | Note | timers of idle CPUs may be run by others |
//! | `tracer-set` | Note | a tracer is set but not recording |
//! | `kernel-rt-threads` | Note | kernel threads, interrupts' among them, at or above the measuring priority |
//! | `tasks-hidden` | Note | other users' or the host's real-time tasks can't be seen |
//! | `machine-unknown` | Inconclusive | over lines: nothing is known of the machine that answered |
//! | `instrument-host-CODE` | as CODE | what is found so about the instrument's machine, where that is another one than the DUT's |
//! | `container` | Note | limits and views are the container's |
//! | `virtual-clock`, `virtual-cpus-take-turns`, `lab-host-clock` | Note, Inconclusive, Inconclusive | in the lab: whose time it is |
//! | `throttled-since-boot` | Note | it was slowed down at some time before |

pub mod again;
mod cpu;
mod host;
mod kernel;
mod lab;
mod machines;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod text_tests;

pub use machines::of_machines;

use crate::settings::Settings;
use crate::system::System;
use crate::warning::Warning;

/// What a rule looks at.
struct Context<'a> {
    system: &'a System,
    settings: &'a Settings,
    /// CPUs that the measuring threads run on.
    measured: Vec<u32>,
}

type Rule = fn(&Context) -> Option<Warning>;

/// In the order in which findings of one effect are listed: what matters most first.
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
/// Rules about CPUs look at those that `settings` will measure on, which are all that the process may use if it names none.
pub fn findings(system: &System, settings: &Settings) -> Vec<Warning> {
    let context = Context { system, settings, measured: measured(system, settings) };
    let mut found: Vec<Warning> = RULES.iter().filter_map(|rule| rule(&context)).collect();
    found.sort_by_key(|warning| std::cmp::Reverse(warning.effect));
    found
}

/// What was found in a guest of the lab, in place of what it could know itself about the machine that it is on.
pub fn in_the_lab(found: Vec<Warning>, clock: crate::Clock, cpus: u32, model: u32) -> Vec<Warning> {
    lab::in_the_lab(found, clock, cpus, model)
}

/// CPUs that the measuring threads of such a run may be on.
fn measured(system: &System, settings: &Settings) -> Vec<u32> {
    let named = if settings.migrate { settings.cpus.len() } else { settings.cpus.len().min(settings.threads as usize) };
    match (&settings.cpus[..named], system.cpu.allowed.as_slice()) {
        ([], []) => system.cpu.online.clone(),
        ([], allowed) => allowed.to_vec(),
        (cpus, _) => cpus.to_vec(),
    }
}

impl Context<'_> {
    /// Of `cpus`, those that are measured.
    fn of_measured(&self, cpus: impl IntoIterator<Item = u32>) -> Vec<u32> {
        cpus.into_iter().filter(|cpu| self.measured.contains(cpu)).collect()
    }

    /// Online CPUs that are not measured.
    fn others(&self) -> Vec<u32> {
        self.system.cpu.online.iter().copied().filter(|cpu| !self.measured.contains(cpu)).collect()
    }
}

/// `CPU 3` or `CPUs 0-3`.
pub(crate) fn cpus(of: &[u32]) -> String {
    let plural = if of.len() == 1 { "" } else { "s" };
    format!("CPU{plural} {}", crate::system::cpu_list(of))
}

/// A remedy of commands for root, with the way back.
fn commands(now: &str, back: &str) -> String {
    format!("as root: `{now}` (back: `{back}`)")
}
