//! Settings, system and load proof of a record as (name, value) pairs, for terminal and page alike.

use crate::format::{count, time};
use rtscope_record::load::{LoadCourse, LoadStep, LoadWorkers};
use rtscope_record::{Lab, LoadProcess, Record, Test};
use std::collections::{BTreeMap, BTreeSet};

/// Name and value of a fact.
pub(crate) type Fact = (&'static str, String);

/// The kind of a kernel-space task, taken from the description of the device: "hardirq".
pub(crate) fn handler(device: &str) -> &str {
    let how = device.rsplit_once(", ").map_or(device, |d| d.1);
    ["handler ", "context "].iter().find_map(|p| how.strip_prefix(p)).unwrap_or(how)
}

/// A set of CPUs as the kernel writes it: `0-3,8`.
pub(crate) fn cpu_list(cpus: &[u32]) -> String {
    let mut sorted = cpus.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for c in sorted {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(c) => *last = c,
            _ => parts.push((c, c)),
        }
    }
    let text = parts.iter().map(|(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") });
    text.collect::<Vec<_>>().join(",")
}

/// Values with the CPUs that share them: `performance (0-3)`.
fn by_value<V: Ord + Clone>(map: &BTreeMap<u32, V>, show: impl Fn(&V) -> String) -> String {
    let mut groups: BTreeMap<V, Vec<u32>> = BTreeMap::new();
    for (cpu, value) in map {
        groups.entry(value.clone()).or_default().push(*cpu);
    }
    let text = groups.iter().map(|(v, cpus)| format!("{} (CPU {})", show(v), cpu_list(cpus)));
    text.collect::<Vec<_>>().join(", ")
}

fn yes_no(b: bool) -> String {
    if b { "yes".into() } else { "no".into() }
}

/// Everything that was requested for the run.
pub(crate) fn settings_facts(record: &Record) -> Vec<Fact> {
    let s = &record.parts().settings;
    let signed = record.parts().signature.as_ref();
    let signed = signed.map_or("unsigned".into(), |s| format!("signed by {} ({})", crate::format::clean(&s.name), s.fingerprint()));
    let mut facts: Vec<Fact> = vec![("origin", format!("{}, {signed}", record.origin())), ("interval", s.interval.to_string())];
    if s.distance.0 > 0 {
        facts.push(("distance", s.distance.to_string()));
    }
    if s.start_offset.0 > 0 {
        facts.push(("start offset", s.start_offset.to_string()));
    }
    facts.extend(s.duration.map(|d| ("duration", d.to_string())));
    facts.extend(s.loops.map(|n| ("loops", count(n))));
    let cpus = if s.cpus.is_empty() { String::new() } else { format!(" on CPU {}", cpu_list(&s.cpus)) };
    let placed = if s.migrate { "free to migrate" } else { "pinned" };
    let timer = record.parts().test == Test::Timer && s.threads > 1;
    let together = if timer && s.start_offset.0 == 0 { ", started on one instant" } else { "" };
    facts.push(("threads", format!("{}, {placed}{cpus}{together}", s.threads)));
    let priority = if s.policy.has_priority() { format!(" {}", s.priority) } else { String::new() };
    let descends = if s.priority_descends { ", each further thread one lower" } else { "" };
    facts.push(("policy", format!("{}{priority}{descends}", s.policy)));
    let slack = record.parts().witness.iter().flat_map(|w| &w.threads).filter_map(|t| t.timer_slack_ns).max();
    facts.extend(slack.filter(|&ns| ns > 0).map(|ns| ("timer slack", time(ns as f64))));
    facts.push(("memory locked", yes_no(s.mlockall)));
    facts.push(("idle states held off", yes_no(s.hold_dma_latency)));
    if !s.tuning.is_empty() {
        facts.push(("machine set to", s.tuning.to_string()));
    }
    facts.extend(s.break_above.map(|b| ("break above", b.to_string())));
    facts.extend(s.trace_above.map(|limit| ("traced above", limit.to_string())));
    facts.extend(s.linear_bins.map(|(n, width)| ("linear bins", format!("{} of {}", count(n), time(width as f64)))));
    if let Some(l) = &s.lines {
        facts.extend(l.stimulus.as_ref().map(|line| ("stimulus", crate::format::clean(line))));
        facts.push(("answer", crate::format::clean(&l.answer)));
        facts.extend(l.interval_max.map(|longest| ("random intervals", format!("up to {longest}, seed {}", l.seed))));
        if let Some(width) = l.shape.pulse {
            let (first, back) = if l.shape.active_low { ("falling", "rising") } else { ("rising", "falling") };
            let asks = if l.shape.both_edges { format!("{first} and {back} edge ask") } else { format!("the {first} edge asks") };
            facts.push(("pulses", format!("{width}, {asks}")));
        } else if l.shape.active_low {
            facts.push(("stimulus rests", "high".into()));
        }
        if record.parts().test != Test::Periodic {
            facts.push(("time-out", l.timeout.to_string()));
        }
        facts.push(("warm-up", count(l.warmup)));
        facts.extend(l.shortest.map(|t| ("shortest interval tried", t.to_string())));
        facts.extend(l.dut.as_ref().filter(|d| !d.inject.is_none()).map(|d| ("injected", d.inject.to_string())));
    }
    if !s.command.is_empty() {
        facts.push(("command", crate::format::command(&s.command)));
    }
    facts
}

/// What the witness saw of the run; empty for records without one.
pub(crate) fn witness_facts(record: &Record) -> Vec<Fact> {
    let Some(w) = &record.parts().witness else { return Vec::new() };
    let mut facts: Vec<Fact> = vec![("in short", w.in_words())];
    let planned = w.planned_ns.map_or_else(String::new, |p| format!(" of {} planned", time(p as f64)));
    facts.push(("duration", format!("{}{planned}", time(w.real_ns as f64))));
    facts.push(("looks", format!("{}, at most {} apart", w.looks, time(w.longest_gap_ns as f64))));
    for t in &w.threads {
        let states: Vec<String> = t.states.iter().map(rtscope_record::witness::ThreadState::in_words).collect();
        let mut text = format!("{} (tid {}): {}", t.label, t.tid, states.join(", then "));
        let more = [
            t.timer_slack_ns.filter(|&ns| ns > 0).map(|ns| format!("timer slack {}", time(ns as f64))),
            t.ran_ns.map(|ns| format!("ran {}", time(ns as f64))),
            t.waited_ns.map(|ns| format!("waited {} for a CPU", time(ns as f64))),
            t.preempted.map(|n| format!("preempted {n} times")),
            t.migrations.filter(|&n| n > 0).map(|n| format!("moved {n} times")),
        ];
        more.into_iter().flatten().for_each(|part| text.extend([", ", &part]));
        facts.push(("thread", text));
    }
    for r in &w.rivals {
        facts.push(("rival", format!("{} ran {}", r.in_words(), time(r.ran_ns as f64))));
    }
    for c in &w.cpus {
        let more = [
            c.steal_ns.map(|ns| format!("{} stolen", time(ns as f64))),
            c.khz.map(|(low, high)| format!("{} to {} MHz", low / 1000, high / 1000)),
            c.smis.map(|n| format!("{n} system management interrupts")),
        ];
        let known: Vec<String> = more.into_iter().flatten().collect();
        if !known.is_empty() {
            facts.push(("cpu", format!("{}: {}", c.cpu, known.join(", "))));
        }
    }
    facts
}

/// The machine, as far as the record describes it.
pub(crate) fn system_facts(record: &Record) -> Vec<Fact> {
    let s = &record.parts().system;
    let (k, c) = (&s.kernel, &s.cpu);
    let mut facts: Vec<Fact> = Vec::new();
    let mut put = |name: &'static str, value: Option<String>| {
        if let Some(v) = value.filter(|v| !v.is_empty()) {
            facts.push((name, v));
        }
    };
    if let Some(lab) = &record.parts().lab {
        put("guest", Some(lab.name()));
        lab_facts(lab, &mut put);
    } else {
        put("host", Some(rtscope_analysis::machine_name(record)));
        if s.is_unknown() {
            put("machine", Some("unknown".into()));
            return facts;
        }
    }
    put("board", s.board.clone());
    put("os", s.os.clone());
    put("kernel", Some(format!("{} {}", k.release, k.version).trim().into()));
    put(
        "preemption",
        Some(if k.preemption_evidence.is_empty() {
            k.preemption.as_str().into()
        } else {
            format!("{} (from {})", k.preemption.as_str(), k.preemption_evidence)
        }),
    );
    put("timer tick", k.hz.map(|h| format!("{h} Hz")));
    put("command line", Some(k.cmdline.clone()));
    put("architecture", Some(k.arch.clone()));
    put(
        "machine",
        Some(s.virtualization.clone().map_or_else(|| "bare metal, as far as can be told".into(), |v| format!("inside {v}"))),
    );
    put("cpu", c.model.clone());
    put("cpus online", Some(cpu_list(&c.online)));
    put("smt active", c.smt_active.map(yes_no));
    put("isolated cpus", Some(cpu_list(&c.isolated)));
    put("tickless cpus", Some(cpu_list(&c.nohz_full)));
    put("governor", Some(by_value(&c.governor, Clone::clone)));
    put("frequency", Some(by_value(&c.frequency_khz, |(lo, hi)| format!("{} to {} MHz", lo / 1000, hi / 1000))));
    put("frequency driver", c.frequency_driver.clone());
    put("idle driver", c.idle_driver.clone());
    let idle = c.idle_states.iter().map(|i| format!("{} {} us{}", i.name, i.latency_us, if i.disabled { " off" } else { "" }));
    put("idle states", Some(idle.collect::<Vec<_>>().join(", ")));
    put("clocksource", s.clocksource.as_ref().map(|now| format!("{now} (of {})", s.clocksources.join(", "))));
    put("timer resolution", s.timer_resolution_ns.map(|r| format!("{r} ns")));
    put(
        "rt throttling",
        s.rt_runtime_us.map(|r| match (r, s.rt_period_us) {
            (-1, _) => "off".into(),
            (r, Some(p)) => format!("{r} us in each {p} us"),
            (r, None) => format!("{r} us"),
        }),
    );
    put("timer migration", s.timer_migration.map(yes_no));
    put("irqs by cpu", Some(by_value(&s.irq.per_cpu, |n| format!("{n}"))));
    put("irqbalance", Some(yes_no(s.irq.irqbalance)));
    put("swap", s.swap_kib.map(|(total, used)| format!("{} KiB, {} KiB in use", count(total), count(used))));
    put("tracing", s.tracing.as_ref().map(|t| format!("{}, {}, {} events", t.current, if t.on { "on" } else { "off" }, t.events)));
    let tasks = s.rt_tasks.iter().map(|t| format!("{} ({} {}, tid {})", t.name, t.policy, t.priority, t.tid));
    put("other rt tasks", Some(tasks.collect::<Vec<_>>().join(", ")));
    let heat = s.temperatures.iter().map(|t| {
        let trip = t.trip_milli_celsius.map_or_else(String::new, |m| format!(" (trips at {:.0})", m as f64 / 1e3));
        format!("{} {:.1} °C{trip}", t.zone, t.milli_celsius as f64 / 1e3)
    });
    put("temperature", Some(heat.collect::<Vec<_>>().join(", ")));
    put("throttling", s.throttling.clone());
    put("time stolen", s.steal_ticks.map(|t| format!("{} ticks since boot", count(t))));
    let tools = s.tools.iter().map(|(name, version)| format!("{name} {version}"));
    put("tools", Some(tools.collect::<Vec<_>>().join(", ")));
    facts
}

/// The guest of a lab run.
fn lab_facts(lab: &Lab, put: &mut impl FnMut(&'static str, Option<String>)) {
    put("time model", Some(format!("{}: {}", lab.model, rtscope_record::time_model_meaning(lab.model))));
    put("seed", Some(format!("{}, one of the possible runs", lab.seed)));
    put("package", Some(lab.package.clone()));
    let ran = lab.qemu_sha256.as_ref().map_or_else(String::new, |sha256| format!(", SHA-256 {sha256}"));
    put("qemu", Some(format!("{}{ran}", lab.qemu)));
    put("firmware", lab.firmware_sha256.as_ref().map(|sha256| format!("SHA-256 {sha256}")));
    put("qemu's machine", Some(lab.machine.join(" ")));
    let modules = lab.modules.iter().map(|m| [std::slice::from_ref(&m.name), &m.parameters].concat().join(" "));
    put("modules", Some(modules.collect::<Vec<_>>().join(", ")));
    let compilers: BTreeSet<&str> = lab.modules.iter().filter_map(|m| m.compiler.as_deref()).collect();
    put("modules built by", Some(compilers.into_iter().collect::<Vec<_>>().join(", ")));
    if let Some(p) = &lab.processor {
        put("processor", Some(p.name.clone()));
        put("its flags", Some(p.flags.join(" ")));
    }
}

/// How a process of a load ended, and whether that is a fault.
pub(crate) fn process_end(p: &LoadProcess) -> (String, bool) {
    let end = match (p.exit_code, p.signal) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "its end is not known".into(),
    };
    if p.died_early { (format!("DIED EARLY: {end}"), true) } else { (end, false) }
}

/// CPU time of a load as the kernel saw it, by CPU; empty where it was not watched.
pub(crate) fn load_course(course: &LoadCourse) -> String {
    let [load, idle] =
        [|s: &LoadStep| s.load_ns, |s: &LoadStep| s.idle_ns].map(|of| course.steps.iter().map(of).fold(0u64, u64::saturating_add));
    let free = load.saturating_add(idle);
    if free == 0 {
        return String::new();
    }
    let share = (load as f64 / free as f64 * 100.0).round();
    let cpus = course.cpus.iter().map(|c| format!("CPU {} {}", c.cpu, time(c.load_ns as f64))).collect::<Vec<_>>().join(", ");
    format!("CPU time {cpus}; {share} % of what others left")
}

/// CPU time of the workers of a load's process, as the kernel saw it.
fn load_workers(w: &LoadWorkers) -> String {
    let part = |n: u32, what: &str| if n == 0 { String::new() } else { format!(", {n} {what}") };
    let idle =
        if w.idle_ns == 0 { String::new() } else { format!(", idle {} of {}", time(w.idle_ns as f64), time(w.watched_ns as f64)) };
    format!("{} x {} {}{}{idle}", w.count, w.name, time(w.cpu_ns as f64), part(w.gone, "gone"))
}

/// What a process of a load achieved, and the CPU time of its workers. A rate of 0 is left out: stress-ng writes it of a stressor without
/// an operation, and of one that had to be killed, whose operations count but have no duration.
pub(crate) fn load_achieved(p: &LoadProcess) -> String {
    let show = |v: f64| {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // whole and within range by the condition
        if v.fract() == 0.0 && (0.0..1e15).contains(&v) { count(v as u64) } else { format!("{v:.3}") }
    };
    let told = p.achieved.iter().filter(|(name, v)| **v != 0.0 || !name.ends_with("_per_s"));
    let achieved = told.map(|(name, v)| format!("{name} {}", show(*v))).collect::<Vec<_>>().join(", ");
    let workers = p.workers.iter().map(load_workers).collect::<Vec<_>>().join(", ");
    let workers = if workers.is_empty() { workers } else { format!("workers' CPU time {workers}") };
    [achieved, workers].into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join("; ")
}

/// What a process of a load left out, or was told to leave out; empty if nothing.
pub(crate) fn load_left_out(p: &LoadProcess) -> String {
    let all: Vec<String> = p.left_out.iter().map(|(name, reason)| format!("{name} ({reason})")).collect();
    if all.is_empty() { String::new() } else { format!("left out {}: {}", all.len(), all.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists() {
        assert_eq!(cpu_list(&[3, 0, 1, 2, 8, 8]), "0-3,8");
        assert_eq!(cpu_list(&[]), "");
        assert_eq!(cpu_list(&[u32::MAX]), "4294967295");
        let map = BTreeMap::from([(0, "performance".to_owned()), (1, "powersave".into()), (2, "performance".into())]);
        assert_eq!(by_value(&map, Clone::clone), "performance (CPU 0,2), powersave (CPU 1)");
    }

    #[test]
    fn ends_of_processes() {
        let p = |exit_code, signal, died_early| LoadProcess { exit_code, signal, died_early, ..LoadProcess::default() };
        assert_eq!(process_end(&p(Some(0), None, false)), ("exit status 0".into(), false));
        assert_eq!(process_end(&p(None, Some(9), true)), ("DIED EARLY: ended by signal 9".into(), true));
        let mut done = p(Some(0), None, false);
        done.achieved = BTreeMap::from([("cpu.bogo_ops".into(), 12_345.0), ("gbit_per_s".into(), 9.5)]);
        assert_eq!(load_achieved(&done), "cpu.bogo_ops 12,345, gbit_per_s 9.500");
        done.achieved.extend([
            ("cpu.bogo_ops_per_s".into(), 0.0),
            ("hdd.bogo_ops".into(), 0.0),
            ("hdd.bogo_ops_per_s".into(), 0.0),
        ]);
        assert_eq!(load_achieved(&done), "cpu.bogo_ops 12,345, gbit_per_s 9.500, hdd.bogo_ops 0");
        assert_eq!(load_left_out(&done), "");
        done.left_out = BTreeMap::from([("apparmor".into(), "AppArmor is not enabled".into()), ("smi".into(), "no MSR".into())]);
        assert_eq!(load_left_out(&done), "left out 2: apparmor (AppArmor is not enabled), smi (no MSR)");
    }
}
