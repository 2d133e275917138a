//! Findings about the processors: frequency, idle states, isolation, interrupts, SMT.

use super::context::{Context, ISOLATED, commands, commands_or, shown};
use crate::system::{cpu_list, cpus};
use crate::warning::{Effect, Warning};
use std::collections::BTreeSet;

/// Idle states with an exit latency up to this only halt the clock, on any processor, us. The next deeper ones take 10 us or more.
const SHALLOW_US: u64 = 5;

/// Drivers whose governor `powersave` scales with the load, instead of selecting the lowest frequency.
const SCALING_POWERSAVE: [&str; 3] = ["intel_pstate", "amd-pstate-epp", "amd_pstate_epp"];

/// The effect of a governor on a CPU's frequency.
#[derive(PartialEq, Eq)]
enum Frequency {
    Highest,
    /// Constant, but not the highest.
    Pinned,
    Scaled,
}

/// The effect of the governor of `cpu`; `None` if the kernel does not scale frequencies.
fn frequency(c: &Context, cpu: u32) -> Option<Frequency> {
    let info = &c.system.cpu;
    let follows = info.frequency_driver.as_deref().is_some_and(|driver| SCALING_POWERSAVE.contains(&driver));
    let fixed = info.frequency_khz.get(&cpu).is_some_and(|(low, high)| low == high);
    Some(match info.governor.get(&cpu)?.as_str() {
        "performance" => Frequency::Highest,
        _ if fixed => Frequency::Pinned,
        "userspace" => Frequency::Pinned,
        "powersave" if !follows => Frequency::Pinned,
        _ => Frequency::Scaled,
    })
}

/// The measured CPUs whose governor has the effect `what`, their governors in words, and the remedy.
fn governed(c: &Context, what: &Frequency) -> Option<(Vec<u32>, String, String)> {
    let of: Vec<u32> = c.measured.iter().copied().filter(|&cpu| frequency(c, cpu).as_ref() == Some(what)).collect();
    let governors: BTreeSet<&str> = of.iter().filter_map(|cpu| c.system.cpu.governor.get(cpu)).map(String::as_str).collect();
    let before = *governors.first()?;
    let files = "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor";
    let back = format!("echo {before} | tee {files}");
    let remedy = commands_or(&format!("echo performance | tee {files}"), &back, "governor=performance");
    Some((of, governors.into_iter().collect::<Vec<_>>().join(", "), remedy))
}

pub(super) fn frequency_scaling(c: &Context) -> Option<Warning> {
    let (of, governors, remedy) = governed(c, &Frequency::Scaled)?;
    let range =
        of.iter().filter_map(|cpu| c.system.cpu.frequency_khz.get(cpu)).fold(None, |range: Option<(u64, u64)>, &(low, high)| {
            Some(range.map_or((low, high), |(lowest, highest)| (lowest.min(low), highest.max(high))))
        });
    let range = range.map_or(String::new(), |(low, high)| format!(" between {} and {} MHz", low / 1000, high / 1000));
    Some(Warning::new(
        "frequency-scaling",
        Effect::Inconclusive,
        format!(
            "the frequency of {} follows the load{range} (governor {governors}): an idle CPU runs slowly, so light loads look worse than heavy \
             ones, and the next run may differ",
            cpus(&of)
        ),
        remedy,
    ))
}

pub(super) fn frequency_not_highest(c: &Context) -> Option<Warning> {
    let (of, governors, remedy) = governed(c, &Frequency::Pinned)?;
    Some(Warning::new(
        "frequency-not-highest",
        Effect::Note,
        format!(
            "the frequency of {} is pinned (governor {governors}), perhaps below the highest: latencies are those of that frequency",
            cpus(&of)
        ),
        remedy,
    ))
}

pub(super) fn turbo(c: &Context) -> Option<Warning> {
    c.system.cpu.turbo.filter(|&on| on)?;
    let (file, off, on) = match c.system.cpu.frequency_driver.as_deref() {
        Some("intel_pstate" | "intel_cpufreq") => ("/sys/devices/system/cpu/intel_pstate/no_turbo", 1, 0),
        _ => ("/sys/devices/system/cpu/cpufreq/boost", 0, 1),
    };
    Some(Warning::new(
        "turbo",
        Effect::Note,
        "turbo is on: the highest frequency depends on the temperature and on how many CPUs are busy",
        commands(&format!("echo {off} > {file}"), &format!("echo {on} > {file}")),
    ))
}

pub(super) fn deep_idle_states(c: &Context) -> Option<Warning> {
    let held = c.settings.hold_dma_latency && c.system.limits.cpu_dma_latency;
    let deep = |latency: u64, on: &[u32]| latency > SHALLOW_US && on.iter().any(|cpu| c.measured.contains(cpu));
    let states = c.system.cpu.idle_states.iter().filter(|state| !state.disabled && deep(state.latency_us, &state.cpus));
    let deepest = states.max_by_key(|state| state.latency_us)?;
    if held {
        return None;
    }
    let found =
        format!("idle CPUs may enter {}, which takes {} us to leave, as /dev/cpu_dma_latency", deepest.name, deepest.latency_us);
    let switch =
        |value: u8| format!("for f in /sys/devices/system/cpu/cpu[0-9]*/cpuidle/state[1-9]*/disable; do echo {value} > $f; done");
    let remedy = commands_or(&switch(1), &switch(0), "idle-latency=0us");
    Some(if c.settings.hold_dma_latency {
        let message =
            format!("{found} can't be opened to prevent it: that time is part of the latencies, the more the less there is to do");
        let remedy = format!(
            "run as root, or give the user write access: `chgrp GROUP /dev/cpu_dma_latency; chmod g+w /dev/cpu_dma_latency`; or {remedy}"
        );
        Warning::new("deep-idle-states", Effect::Inconclusive, message, remedy)
    } else {
        let message =
            format!("{found} is not held, as asked: that time is part of the latencies, the more the less there is to do");
        Warning::new(
            "deep-idle-states",
            Effect::Note,
            message,
            format!("measure with /dev/cpu_dma_latency held (the default); or {remedy}"),
        )
    })
}

pub(super) fn isolation(c: &Context) -> Option<Warning> {
    let shared: Vec<u32> = c.measured.iter().copied().filter(|cpu| !c.system.cpu.isolated.contains(cpu)).collect();
    if shared.is_empty() {
        return None;
    }
    let others = c.others();
    let remedy = if others.is_empty() {
        "where a part of the CPUs is enough for the real-time work, isolate and measure only those: kernel parameters \
         `isolcpus=domain,managed_irq,LIST nohz_full=LIST rcu_nocbs=LIST` (back: remove them)"
            .into()
    } else {
        let list = cpu_list(&c.measured);
        format!(
            "kernel parameters `isolcpus=domain,managed_irq,{list} nohz_full={list} rcu_nocbs={list}` and a restart (back: remove them)"
        )
    };
    let remedy = format!("{remedy}; {}", shown(ISOLATED));
    Some(Warning::new(
        "cpus-not-isolated",
        Effect::Note,
        format!(
            "{} not isolated: the scheduler puts ordinary tasks there too, with their system calls and page faults",
            are(&shared)
        ),
        remedy,
    ))
}

/// `CPU 3 is` or `CPUs 0-3 are`.
fn are(of: &[u32]) -> String {
    format!("{} {}", cpus(of), if of.len() == 1 { "is" } else { "are" })
}

pub(super) fn irqs(c: &Context) -> Option<Warning> {
    let busy = c.of_measured(c.system.irq.per_cpu.iter().filter(|&(_, &count)| count > 0).map(|(&cpu, _)| cpu));
    if busy.is_empty() {
        return None;
    }
    let counts: Vec<String> = busy.iter().take(8).map(|cpu| format!("{} on CPU {cpu}", c.system.irq.per_cpu[cpu])).collect();
    let more = if busy.len() > 8 { ", ..." } else { "" };
    let others = c.others();
    let remedy = if others.is_empty() {
        "every CPU is measured, so interrupts have no other place: measure on fewer CPUs and route the interrupts to the rest"
            .into()
    } else {
        let (there, back) = (cpu_list(&others), cpu_list(&c.system.cpu.online));
        let write = |list: &str| format!("for f in /proc/irq/[0-9]*/smp_affinity_list; do echo {list} > $f; done 2>/dev/null");
        format!("{}; for good the kernel parameter `irqaffinity={there}`", commands(&write(&there), &write(&back)))
    };
    Some(Warning::new(
        "irqs-on-measured-cpus",
        Effect::Note,
        format!("interrupts are routed to measured CPUs ({}{more}): their handlers delay what is measured", counts.join(", ")),
        remedy,
    ))
}

pub(super) fn irqbalance(c: &Context) -> Option<Warning> {
    if !c.system.irq.irqbalance {
        return None;
    }
    Some(Warning::new(
        "irqbalance",
        Effect::Note,
        "irqbalance runs: it may move interrupts to measured CPUs during a run",
        commands("systemctl stop irqbalance", "systemctl start irqbalance"),
    ))
}

pub(super) fn smt(c: &Context) -> Option<Warning> {
    c.system.cpu.smt_active.filter(|&active| active)?;
    let control = "/sys/devices/system/cpu/smt/control";
    Some(Warning::new(
        "smt",
        Effect::Note,
        "SMT is on: two CPUs share one core, and what runs on one slows down the other",
        format!(
            "{}; for good the kernel parameter `nosmt`",
            commands(&format!("echo off > {control}"), &format!("echo on > {control}"))
        ),
    ))
}
