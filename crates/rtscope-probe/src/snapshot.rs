//! Collects the [`System`] snapshot of the machine it runs on. It only reads, and never fails.
//!
//! Whatever is absent, unreadable or malformed becomes `None` or empty. What needs system calls is collected
//! separately ([`SystemCallFacts`]), so that a directory tree serves as well as a real machine.

pub mod config;
pub mod cpus;
pub(crate) mod heat;
mod host;
mod kernel;
mod preemption;
mod processor;
mod root;
pub(crate) mod tasks;
#[cfg(test)]
mod tests;
mod virtualization;

pub use kernel::supplement;
pub use root::{Root, SystemCallFacts};

use rtscope_record::System;

/// The state of the machine below `root`. Takes some milliseconds, plus about 10 us for each existing thread.
pub fn collect(root: &Root) -> System {
    let cmdline = root.value("/proc/cmdline").unwrap_or_default();
    let cpuinfo = processor::cpuinfo(root);
    let tasks = tasks::collect(root, processor::last_cpu(root));
    let clock = |name: &str| root.value(&format!("/sys/devices/system/clocksource/clocksource0/{name}"));
    let clocksources: Vec<String> =
        clock("available_clocksource").map(|names| names.split_whitespace().map(str::to_owned).collect()).unwrap_or_default();
    let virtualization = virtualization::hypervisor(root, &cpuinfo, &clocksources);
    let setting = |name: &str| root.number(&format!("/proc/sys/kernel/{name}"));
    let mut system = System {
        hostname: root.facts.uname.nodename.clone(),
        board: host::board(root),
        os: host::os(root),
        kernel: kernel::kernel(root, &cmdline),
        cpu: processor::collect(root, &cmdline, &cpuinfo),
        clocksource: clock("current_clocksource"),
        clocksources,
        timer_resolution_ns: root.facts.timer_resolution_ns,
        rt_runtime_us: setting("sched_rt_runtime_us"),
        rt_period_us: setting("sched_rt_period_us"),
        fair_server: kernel::fair_server(root),
        timer_migration: setting("timer_migration").map(|value| value != 0),
        irq: kernel::irq(root, tasks.irqbalance),
        limits: host::limits(root),
        virtualization,
        container: virtualization::container(root),
        steal_ticks: host::steal_ticks(root),
        tracing: kernel::tracing(root),
        rt_tasks: tasks.rt,
        tasks_hidden: tasks.hidden,
        ..System::default()
    };
    (system.memory_kib, system.swap_kib) = host::memory(root);
    heat::collect(root, &mut system);
    system.tools.insert("rtscope".into(), env!("CARGO_PKG_VERSION").into());
    system
}
