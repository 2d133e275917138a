//! Findings about the kernel: preemption, clock, timers, throttling, tracers.

use super::context::{Context, commands, commands_or, shown};
use crate::system::{Preemption, System};
use crate::warning::{Effect, Warning};

/// Clock sources that take nanoseconds to read, from user space or at least from a CPU register.
const GOOD_CLOCKS: [&str; 6] = ["tsc", "arch_sys_counter", "riscv_clocksource", "timebase", "tod", "stable counter"];

/// Clock sources that are read over a bus and always by a system call, in about a microsecond.
const SLOW_CLOCKS: [&str; 5] = ["hpet", "acpi_pm", "pit", "i8253", "hyperv_clocksource_msr"];

/// Clock sources that count ticks.
const COARSE_CLOCKS: [&str; 2] = ["jiffies", "refined-jiffies"];

/// Clock sources that a hypervisor provides and that are as fast as the processor's own.
const PARAVIRTUAL_CLOCKS: [&str; 4] = ["kvm-clock", "hyperv_clocksource_tsc_page", "xen", "vmware"];

pub(super) fn preemption(c: &Context) -> Option<Warning> {
    let kernel = &c.system.kernel;
    let evidence = if kernel.preemption_evidence.is_empty() { "nothing says" } else { &kernel.preemption_evidence };
    match kernel.preemption {
        Preemption::Rt => None,
        Preemption::Unknown => Some(Warning::new(
            "preemption-unknown",
            Effect::Note,
            format!(
                "the kernel's preemption model can't be told ({evidence}): without it the figures can't be compared with others"
            ),
            "as root: `mount -t debugfs none /sys/kernel/debug` shows the model in sched/preempt on kernels built with PREEMPT_DYNAMIC; \
             on others `modprobe configs` may give /proc/config.gz",
        )),
        model => Some(Warning::new(
            "not-preempt-rt",
            Effect::Note,
            format!(
                "the kernel is {}, not PREEMPT_RT ({evidence}): its interrupt handlers and spinlocks can't be preempted, so nothing bounds \
                 the latency",
                model.as_str()
            ),
            rt_kernel(c.system),
        )),
    }
}

/// How to get a PREEMPT_RT kernel.
fn rt_kernel(system: &System) -> String {
    let os = system.os.as_deref().unwrap_or_default();
    let package = match system.kernel.arch.as_str() {
        "x86_64" => Some("amd64"),
        "aarch64" => Some("arm64"),
        "armv7l" => Some("armmp"),
        "i686" => Some("686-pae"),
        _ => None,
    };
    let command = match package {
        Some(flavour) if os.contains("Debian") => {
            format!("as root: `apt-get install linux-image-rt-{flavour}` and restart (back: choose the old kernel at boot)")
        }
        Some(_) if os.contains("Ubuntu") => {
            "as root: `pro enable realtime-kernel` and restart (back: `pro disable realtime-kernel`)".into()
        }
        _ => "boot a kernel built with CONFIG_PREEMPT_RT=y (mainline from 6.12 on, before that with the PREEMPT_RT patch)".into(),
    };
    if system.kernel.version.contains("PREEMPT_DYNAMIC") && system.kernel.preemption != Preemption::Full {
        format!("{command}; nearer to it without another kernel: the kernel parameter `preempt=full` ({})", shown("preempt=full"))
    } else {
        command
    }
}

pub(super) fn clocksource(c: &Context) -> Option<Warning> {
    let name = c.system.clocksource.as_deref()?;
    if GOOD_CLOCKS.contains(&name) {
        return None;
    }
    let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let better = GOOD_CLOCKS.iter().find(|good| c.system.clocksources.iter().any(|offered| offered == *good));
    let switch = match better {
        Some(good) => commands(&format!("echo {good} > {file}"), &format!("echo {name} > {file}")),
        None => "`dmesg | grep -i -e clocksource -e tsc` says why the kernel does not offer the processor's own counter; firmware settings or an \
                 update often mend that"
            .into(),
    };
    let (code, effect, message) = if COARSE_CLOCKS.contains(&name) {
        let why = "the clock moves in ticks of milliseconds, so differences of it are no latencies";
        ("clocksource-coarse", Effect::Invalid, format!("the clock source is {name}: {why}"))
    } else if SLOW_CLOCKS.contains(&name) {
        let why = "reading it takes up to microseconds and a system call, which are part of every latency";
        ("clocksource-slow", Effect::Inconclusive, format!("the clock source is {name}: {why}"))
    } else if PARAVIRTUAL_CLOCKS.contains(&name) || name.starts_with("hyperv") {
        let why = "the hypervisor provides the clock and may adjust it";
        ("clocksource-paravirtual", Effect::Note, format!("the clock source is {name}: {why}"))
    } else {
        let why = "not one that is known to be quick to read and fine in resolution; both limit what can be seen";
        ("clocksource-unusual", Effect::Note, format!("the clock source is {name}: {why}"))
    };
    Some(Warning::new(code, effect, message, switch))
}

pub(super) fn high_resolution_timers(c: &Context) -> Option<Warning> {
    let ns = c.system.timer_resolution_ns.filter(|&ns| ns > 1)?;
    Some(Warning::new(
        "no-high-resolution-timers",
        Effect::Inconclusive,
        format!("timers have a resolution of {ns} ns: they expire at the next tick, so latencies are as long as that is away"),
        "boot without the kernel parameters `highres=off` and `nohz=off`; if they are not there, the kernel lacks CONFIG_HIGH_RES_TIMERS=y or \
         a clock event device that can be set once",
    ))
}

/// Whether the release is from 6.12 on, where the fair server took the place of RT throttling (the kernel's commit
/// "sched/rt: Remove default bandwidth control").
fn has_fair_server(system: &System) -> bool {
    let mut numbers = system.kernel.release.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse::<u32>().ok());
    let release = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    system.fair_server.is_some() || release >= (6, 12)
}

pub(super) fn rt_throttling(c: &Context) -> Option<Warning> {
    let (runtime, period) = (c.system.rt_runtime_us?, c.system.rt_period_us?);
    if has_fair_server(c.system) || runtime < 0 || runtime >= period {
        return None;
    }
    Some(Warning::new(
        "rt-throttling",
        Effect::Note,
        format!(
            "RT throttling is on: real-time tasks that together take more than {runtime} us of each {period} us of a CPU are stopped for the \
             rest of it. The measuring threads take far less, but not together with a busy real-time load"
        ),
        commands_or(
            "sysctl -w kernel.sched_rt_runtime_us=-1",
            &format!("sysctl -w kernel.sched_rt_runtime_us={runtime}"),
            "rt-runtime=off",
        ),
    ))
}

pub(super) fn fair_server(c: &Context) -> Option<Warning> {
    if !has_fair_server(c.system) {
        return None;
    }
    let Some(server) = c.system.fair_server else {
        return Some(Warning::new(
            "fair-server",
            Effect::Note,
            "the fair server's setting can't be read: by default ordinary tasks get 50 ms of each second of a CPU that real-time tasks keep \
             busy. The measuring threads leave them more, but not together with a busy real-time load",
            "as root: `mount -t debugfs none /sys/kernel/debug` shows it in sched/fair_server (back: `umount /sys/kernel/debug`)",
        ));
    };
    if server.runtime_ns == 0 {
        return None;
    }
    let write = |runtime: u64| format!("for f in /sys/kernel/debug/sched/fair_server/cpu*/runtime; do echo {runtime} > $f; done");
    Some(Warning::new(
        "fair-server",
        Effect::Note,
        format!(
            "the fair server gives ordinary tasks {} ns of each {} ns of a CPU that real-time tasks keep busy. The measuring threads leave \
             them more, but not together with a busy real-time load",
            server.runtime_ns, server.period_ns
        ),
        commands_or(&write(0), &write(server.runtime_ns), "fair-server=off"),
    ))
}

pub(super) fn timer_migration(c: &Context) -> Option<Warning> {
    c.system.timer_migration.filter(|&on| on)?;
    Some(Warning::new(
        "timer-migration",
        Effect::Note,
        "timer migration is on: timers that an idle CPU would have to run may be run by another one, so they come to measured CPUs too",
        commands_or("sysctl -w kernel.timer_migration=0", "sysctl -w kernel.timer_migration=1", "timer-migration=off"),
    ))
}

pub(super) fn tracing_on(c: &Context) -> Option<Warning> {
    // The run's own tracer has a warning of its own, with what it cost.
    if c.settings.trace_above.is_some() {
        return None;
    }
    let tracing = c.system.tracing.as_ref().filter(|t| t.on && (t.current != "nop" || t.events > 0))?;
    let what = match (tracing.current.as_str(), tracing.events) {
        ("nop", events) => format!("{events} trace events are enabled"),
        (tracer, 0) => format!("the tracer {tracer} is recording"),
        (tracer, events) => format!("the tracer {tracer} is recording, with {events} events"),
    };
    let dir = "/sys/kernel/tracing";
    Some(Warning::new(
        "tracing-on",
        Effect::Inconclusive,
        format!("{what}: tracing makes the paths that are measured longer"),
        format!(
            "as root: `echo nop > {dir}/current_tracer; echo > {dir}/set_event`; for an instance, end the program that made it or \
             `rmdir {dir}/instances/NAME` (back: start the trace again)"
        ),
    ))
}

pub(super) fn tracer_set(c: &Context) -> Option<Warning> {
    let tracing = c.system.tracing.as_ref().filter(|t| !t.on && !t.current.is_empty() && t.current != "nop")?;
    let dir = "/sys/kernel/tracing";
    Some(Warning::new(
        "tracer-set",
        Effect::Note,
        format!("the tracer {} is set, though not recording: its hooks in the kernel may still take time", tracing.current),
        commands(&format!("echo nop > {dir}/current_tracer"), &format!("echo TRACER > {dir}/current_tracer")),
    ))
}

pub(super) fn kernel_debugging(c: &Context) -> Option<Warning> {
    let options = &c.system.kernel.debug_options;
    if options.is_empty() {
        return None;
    }
    Some(Warning::new(
        "kernel-debugging",
        Effect::Inconclusive,
        format!(
            "the kernel is built with {}: locks and memory accesses take several times as long as in one for use",
            options.join(", ")
        ),
        "boot a kernel built without them",
    ))
}
