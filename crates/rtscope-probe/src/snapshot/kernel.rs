//! The kernel and its settings: preemption, clock, real-time throttling, interrupts, tracers.

use super::config::{Config, parameter};
use super::cpus::{parse_list, parse_mask};
use super::preemption;
use super::processor::last_cpu;
use super::root::Root;
use rtscope_record::system::{FairServer, Irq, Kernel, Preemption, Tracing};
use rtscope_sys::host::Uname;

/// The kernel's identity and preemption model.
pub(super) fn kernel(root: &Root, cmdline: &str) -> Kernel {
    let config = Config::find(root);
    let uname = &root.facts.uname;
    let (preemption, preemption_evidence) = preemption::detect(uname, &|path| root.value(path), config.as_ref(), cmdline);
    Kernel {
        release: uname.release.clone(),
        version: uname.version.clone(),
        arch: uname.machine.clone(),
        cmdline: cmdline.into(),
        preemption,
        preemption_evidence,
        hz: config.as_ref().and_then(Config::hz),
        debug_options: config.as_ref().map(|config| debug_options(config, cmdline)).unwrap_or_default(),
    }
}

/// The debugging options that are in effect.
fn debug_options(config: &Config, cmdline: &str) -> Vec<String> {
    // A leak detector that is built in, but off by default or by parameter, costs nothing.
    let leaks_off =
        parameter(cmdline, "kmemleak").map_or_else(|| config.has("CONFIG_DEBUG_KMEMLEAK_DEFAULT_OFF"), |value| value != "on");
    let mut options = config.debug_options();
    options.retain(|option| option != "CONFIG_DEBUG_KMEMLEAK" || !leaks_off);
    options
}

/// Adds what is known only from the kernel's configuration to what the kernel reported itself. `text` is the
/// configuration, called `file`. A configuration that can't be this kernel's adds nothing; it is mentioned
/// where the preemption model would have followed from it.
pub fn supplement(kernel: &mut Kernel, file: &str, text: &[u8]) {
    // Every configuration contains the timer frequency: if it is known, the kernel already had a configuration that
    // is at least as good.
    let Some(config) = Config::parse(file, false, text).filter(|_| kernel.hz.is_none()) else { return };
    if kernel.preemption == Preemption::Unknown {
        let uname = Uname { release: kernel.release.clone(), version: kernel.version.clone(), ..Uname::default() };
        // The files of the running system did not decide it.
        (kernel.preemption, kernel.preemption_evidence) = preemption::detect(&uname, &|_| None, Some(&config), &kernel.cmdline);
    }
    if preemption::fits(&config, &kernel.version) {
        kernel.hz = config.hz();
        kernel.debug_options = debug_options(&config, &kernel.cmdline);
    }
}

/// The fair server of the CPU on which it gives ordinary tasks the most; `None` without debugfs or before 6.12.
pub(super) fn fair_server(root: &Root) -> Option<FairServer> {
    let dir = "/sys/kernel/debug/sched/fair_server";
    let server = |n: u32| {
        let number = |name: &str| root.number(&format!("{dir}/cpu{n}/{name}"));
        Some(FairServer { runtime_ns: number("runtime")?, period_ns: number("period")? })
    };
    root.numbers(dir, "cpu").into_iter().filter_map(server).max_by_key(|server| server.runtime_ns)
}

/// Where interrupts go. Whether irqbalance runs is found with the tasks.
pub(super) fn irq(root: &Root, irqbalance: bool) -> Irq {
    let dir = "/proc/irq";
    let last = last_cpu(root);
    let mut irq = Irq {
        default_affinity: root.text(&format!("{dir}/default_smp_affinity")).and_then(|text| parse_mask(&text)).unwrap_or_default(),
        irqbalance,
        ..Irq::default()
    };
    for n in root.numbers(dir, "") {
        let own = format!("{dir}/{n}");
        // Each handler has its own directory; an interrupt without one never comes.
        if !root.names(&own).iter().any(|name| root.is_dir(&format!("{own}/{name}"))) {
            continue;
        }
        let list = |name: &str| {
            root.text(&format!("{own}/{name}")).and_then(|text| parse_list(&text, last)).filter(|cpus| !cpus.is_empty())
        };
        let Some(cpus) = list("effective_affinity_list").or_else(|| list("smp_affinity_list")) else { continue };
        // On several CPUs at once and not movable: the interrupt is private to each CPU, such as ARM's timer.
        if cpus.len() > 1 && !root.settable(&format!("{own}/smp_affinity_list")) {
            continue;
        }
        for cpu in cpus {
            *irq.per_cpu.entry(cpu).or_insert(0) += 1;
        }
    }
    irq
}

/// State of the tracers, including instances; `None` if tracefs is not accessible.
pub(super) fn tracing(root: &Root) -> Option<Tracing> {
    let dir = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"]
        .into_iter()
        .find(|dir| root.exists(&format!("{dir}/current_tracer")))?;
    let mut state = tracer(root, dir)?;
    let count = |own: &Tracing| if own.on { own.events } else { 0 };
    let mut events = count(&state);
    for name in root.names(&format!("{dir}/instances")) {
        let Some(own) = tracer(root, &format!("{dir}/instances/{name}")) else { continue };
        // rasdaemon traces hardware errors in an instance of this name: events that a healthy machine never has.
        if name != "rasdaemon" {
            events += count(&own);
        }
        if own.on && own.current != "nop" && (state.current == "nop" || !state.on) {
            state.current = format!("{} (instance {name})", own.current);
            state.on = true;
        }
    }
    state.on |= events > 0;
    state.events = events;
    Some(state)
}

fn tracer(root: &Root, dir: &str) -> Option<Tracing> {
    let events = root.text(&format!("{dir}/set_event")).unwrap_or_default();
    Some(Tracing {
        current: root.value(&format!("{dir}/current_tracer"))?,
        on: root.value(&format!("{dir}/tracing_on")).is_some_and(|value| value != "0"),
        events: u32::try_from(events.lines().filter(|line| !line.trim().is_empty()).count()).unwrap_or(u32::MAX),
    })
}
