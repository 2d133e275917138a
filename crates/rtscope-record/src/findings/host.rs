//! Findings about the machine as a whole: limits, memory, virtualization, other tasks, heat.

use super::context::{Context, THREADS_ABOVE, commands, shown};
use crate::policy::Policy;
use crate::system::{RtTask, cpu_list};
use crate::warning::{Effect, Warning};

/// Bytes that the probe locks, as (base, per measuring thread): the least that it needs, and the most that it is likely to take.
/// Measured with two threads on x86-64: 4.1 MiB dynamically linked, 2.7 MiB static.
const LEAST_BYTES: (u64, u64) = (1 << 20, 128 << 10);
const LIKELY_BYTES: (u64, u64) = (4 << 20, 512 << 10);

/// A zone this close to its trip point reaches it under a load. Thousandths of a degree Celsius.
const NEAR_TRIP: i64 = 5_000;

pub(super) fn virtual_machine(c: &Context) -> Option<Warning> {
    let name = c.system.virtualization.as_deref()?;
    let steal = c
        .system
        .steal_ticks
        .filter(|&ticks| ticks > 0)
        .map_or(String::new(), |ticks| format!(" ({ticks} ticks since boot were given to others)"));
    Some(Warning::new(
        "virtual-machine",
        Effect::Inconclusive,
        format!(
            "this is a virtual machine ({name}): the hypervisor decides when it runs{steal}, so its latencies are those of the host as well \
             and say little about this kernel on a board"
        ),
        "measure on the machine itself; figures from here are for trying out, and for comparing with others from the same host",
    ))
}

pub(super) fn container(c: &Context) -> Option<Warning> {
    let name = c.system.container.as_deref()?;
    Some(Warning::new(
        "container",
        Effect::Note,
        format!(
            "this is a container ({name}): the kernel is the host's, but limits, devices, and the tasks and settings that can be seen are not"
        ),
        "measure on the host, or give the container what it needs: `--cap-add SYS_NICE --cap-add IPC_LOCK --ulimit rtprio=99 \
         --ulimit memlock=-1 --device /dev/cpu_dma_latency --pid host`",
    ))
}

pub(super) fn rtprio_limit(c: &Context) -> Option<Warning> {
    let limits = &c.system.limits;
    let (policy, priority) = (c.settings.policy, c.settings.priority);
    let refused = match policy {
        Policy::Fifo | Policy::Rr => limits.rtprio < u64::from(priority),
        Policy::Deadline => true,
        Policy::Other => false,
    };
    if !refused || limits.cap_sys_nice {
        return None;
    }
    if policy == Policy::Deadline {
        let message =
            "SCHED_DEADLINE needs the capability CAP_SYS_NICE, which this process has not: the threads would run as ordinary ones";
        return Some(Warning::new("rtprio-limit", Effect::Invalid, message, "run as root"));
    }
    Some(Warning::new(
        "rtprio-limit",
        Effect::Invalid,
        format!(
            "the limit of real-time priorities is {}, below the {priority} asked for, and this process has not the capability CAP_SYS_NICE: \
             the threads would run as ordinary ones",
            limits.rtprio
        ),
        "run as root, or let the user: `echo \"$USER - rtprio 99\" | sudo tee -a /etc/security/limits.d/99-realtime.conf` and log in \
         again (back: remove the line)",
    ))
}

pub(super) fn memlock_limit(c: &Context) -> Option<Warning> {
    let limits = &c.system.limits;
    let limit = limits.memlock?;
    let bytes = |(probe, thread): (u64, u64)| thread.saturating_mul(c.settings.threads.into()).saturating_add(probe);
    let likely = bytes(LIKELY_BYTES);
    if !c.settings.mlockall || limits.cap_ipc_lock || limit >= likely {
        return None;
    }
    let (effect, word) = if limit < bytes(LEAST_BYTES) { (Effect::Invalid, "is") } else { (Effect::Note, "may be") };
    Some(Warning::new(
        "memlock-limit",
        effect,
        format!(
            "the limit of locked memory is {} KiB, which {word} too little for the measuring program (up to {} KiB), and this process has not \
             the capability CAP_IPC_LOCK: without locked memory page faults are part of the latencies",
            limit / 1024,
            likely / 1024
        ),
        "run as root, or let the user: `echo \"$USER - memlock unlimited\" | sudo tee -a /etc/security/limits.d/99-realtime.conf` and log in \
         again (back: remove the line)",
    ))
}

/// Locked memory is never swapped, but everything else may be; without locked memory that includes the measuring program.
pub(super) fn swap(c: &Context) -> Option<Warning> {
    let (total, used) = c.system.swap_kib.filter(|&(total, _)| total > 0)?;
    let locked = c.settings.mlockall && memlock_limit(c).is_none_or(|limit| limit.effect != Effect::Invalid);
    let (effect, why) = if locked {
        (
            Effect::Note,
            "the measuring program's memory is locked, but what is measured on this machine in its place may wait for a disk",
        )
    } else {
        (Effect::Inconclusive, "the measuring program's memory is not locked, so a latency may be the time that a disk takes")
    };
    Some(Warning::new(
        "swap",
        effect,
        format!("swap is on, {used} of {total} KiB used: {why}"),
        commands("swapoff -a", "swapon -a"),
    ))
}

/// Tasks on the measured CPUs that may delay a measuring thread: those it can't preempt, including ones of the same priority.
fn rivals<'a>(c: &'a Context, kernel: bool) -> Vec<&'a RtTask> {
    let s = c.settings;
    let threads_below = if s.priority_descends { s.threads.saturating_sub(1) } else { 0 };
    let lowest = u32::from(s.priority).saturating_sub(threads_below).max(1);
    let above = |task: &RtTask| match (s.policy, task.policy) {
        (_, Policy::Other) | (Policy::Deadline, Policy::Fifo | Policy::Rr) => false,
        (Policy::Other, _) | (_, Policy::Deadline) => true,
        (Policy::Fifo | Policy::Rr, Policy::Fifo | Policy::Rr) => u32::from(task.priority) >= lowest,
    };
    let here = |task: &RtTask| task.cpus.is_empty() || task.cpus.iter().any(|cpu| c.measured.contains(cpu));
    c.system.rt_tasks.iter().filter(|task| task.kernel == kernel && above(task) && here(task)).collect()
}

/// The first few tasks in words.
fn named(tasks: &[&RtTask]) -> String {
    let one = |task: &&RtTask| {
        let priority = if task.policy.has_priority() { format!(" {}", task.priority) } else { String::new() };
        let cpus = if task.cpus.is_empty() { String::new() } else { format!(", CPU {}", cpu_list(&task.cpus)) };
        format!("{} (tid {}, {}{priority}{cpus})", task.name, task.tid, task.policy)
    };
    let first: Vec<String> = tasks.iter().take(5).map(one).collect();
    let more = if tasks.len() > 5 { format!(" and {} more", tasks.len() - 5) } else { String::new() };
    first.join(", ") + &more
}

/// The measuring policy, with the priority that tasks would have to stay below, in words.
fn ours(c: &Context) -> String {
    if c.settings.policy.has_priority() {
        format!("{} {}", c.settings.policy, c.settings.priority)
    } else {
        c.settings.policy.to_string()
    }
}

pub(super) fn rt_tasks(c: &Context) -> Option<Warning> {
    let tasks = rivals(c, false);
    let first = tasks.first()?;
    let back = match first.policy {
        Policy::Fifo => format!("chrt -f -p {} {}", first.priority, first.tid),
        Policy::Rr => format!("chrt -r -p {} {}", first.priority, first.tid),
        Policy::Deadline | Policy::Other => "start it again".into(),
    };
    Some(Warning::new(
        "rt-tasks",
        Effect::Inconclusive,
        format!("real-time tasks of other programs come before or beside the measuring threads ({}): {}", ours(c), named(&tasks)),
        format!("stop them, or make them ordinary for the run, {}", commands(&format!("chrt -o -p 0 {}", first.tid), &back)),
    ))
}

pub(super) fn kernel_rt_threads(c: &Context) -> Option<Warning> {
    let tasks = rivals(c, true);
    let first = tasks.first()?;
    Some(Warning::new(
        "kernel-rt-threads",
        Effect::Note,
        format!("threads of the kernel come before or beside the measuring threads ({}): {}", ours(c), named(&tasks)),
        format!(
            "measure at a higher priority; or where the thread can wait, {} ({})",
            match first.policy {
                Policy::Fifo | Policy::Rr =>
                    commands(&format!("chrt -f -p 1 {}", first.tid), &format!("chrt -f -p {} {}", first.priority, first.tid)),
                Policy::Deadline | Policy::Other =>
                    "choose another frequency governor than schedutil, whose threads run as deadline tasks".into(),
            },
            match first.policy {
                Policy::Fifo | Policy::Rr => shown(THREADS_ABOVE),
                Policy::Deadline | Policy::Other => shown("governor=performance"),
            }
        ),
    ))
}

pub(super) fn tasks_hidden(c: &Context) -> Option<Warning> {
    if !c.system.tasks_hidden {
        return None;
    }
    Some(Warning::new(
        "tasks-hidden",
        Effect::Note,
        "the tasks of other users or of the host can't be seen from here, so there may be real-time tasks above the measuring threads",
        "run as root on the host; in a container with the host's processes (`--pid host`)",
    ))
}

pub(super) fn hot(c: &Context) -> Option<Warning> {
    let near = c.system.temperatures.iter().filter_map(|zone| {
        let trip = zone.trip_milli_celsius?;
        let left = trip.saturating_sub(zone.milli_celsius);
        (left <= NEAR_TRIP).then_some((left, zone, trip))
    });
    let (_, zone, trip) = near.min_by_key(|&(left, ..)| left)?;
    Some(Warning::new(
        "hot",
        Effect::Inconclusive,
        format!(
            "{} is at {}, its trip point at {}: near it the hardware slows down, and the figures become those of a hot board",
            zone.zone,
            celsius(zone.milli_celsius),
            celsius(trip)
        ),
        "cool the board (heat sink, fan, air) or let it rest, then measure again",
    ))
}

/// `71.3 °C`
fn celsius(milli: i64) -> String {
    let tenths = milli / 100;
    let sign = if tenths < 0 { "-" } else { "" };
    format!("{sign}{}.{} °C", (tenths / 10).abs(), (tenths % 10).abs())
}

pub(super) fn throttled(c: &Context) -> Option<Warning> {
    let what = c.system.throttling.as_deref()?;
    Some(Warning::new(
        "throttled",
        Effect::Inconclusive,
        format!("the machine is slowed down at this moment: {what}"),
        "cool the board, and against undervoltage use the power supply and cable that its maker asks for, then measure again",
    ))
}

pub(super) fn throttled_since_boot(c: &Context) -> Option<Warning> {
    let what = c.system.throttled_since_boot.as_deref()?;
    Some(Warning::new(
        "throttled-since-boot",
        Effect::Note,
        format!("since it was started the machine has at some time been slowed down: {what}. A load may bring it there again"),
        "see to cooling and power supply; a restart clears the record of it",
    ))
}
