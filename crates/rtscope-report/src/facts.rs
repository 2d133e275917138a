//! Settings, system and load proof of a record as (name, value) lines, for the terminal and the page alike.

use crate::format::{count, time};
use rtscope_analysis::versus::Kernel;
use rtscope_record::{LoadProcess, Record, Space, Test};
use std::collections::BTreeMap;

/// Name and value of one fact.
pub(crate) type Fact = (&'static str, String);

/// How a task in kernel space is called, from the words for the device: "hardirq".
pub(crate) fn handler(device: &str) -> &str {
    let how = device.rsplit_once(", ").map_or(device, |d| d.1);
    ["handler ", "context "].iter().find_map(|p| how.strip_prefix(p)).unwrap_or(how)
}

/// What each record is called where all of them are listed: its load, as much of its kernel as tells the kernels apart, and test, space
/// and handler where they differ.
pub(crate) fn run_names(records: &[Record]) -> Vec<String> {
    let kernels: Vec<Kernel> = records.iter().map(Kernel::of).collect();
    let ways: [fn(&Kernel) -> String; 4] = [
        |_| String::new(),
        |k| format!(" {}", k.role.as_str()),
        |k| format!(" {} {}", k.series(), k.role.as_str()),
        |k| format!(" {}", k.label),
    ];
    let apart = |way: &fn(&Kernel) -> String| {
        let mut named: BTreeMap<String, &Kernel> = BTreeMap::new();
        kernels.iter().all(|k| *named.entry(way(k)).or_insert(k) == k)
    };
    let way = ways.into_iter().find(apart).unwrap_or(ways[3]);
    let more: [fn(&Record) -> String; 3] = [
        |r| format!(" {}", r.parts().test),
        |r| format!(" {}", r.parts().space),
        |r| {
            r.parts()
                .instrument
                .as_ref()
                .map(|i| format!(" {}", handler(&i.dut)))
                .filter(|_| r.parts().space == Space::Kernel)
                .unwrap_or_default()
        },
    ];
    let differ = more.map(|of| records.windows(2).any(|w| of(&w[0]) != of(&w[1])));
    let rest = |r: &Record| more.iter().zip(differ).filter(|m| m.1).map(|m| (m.0)(r)).collect::<String>();
    records.iter().zip(&kernels).map(|(r, k)| r.parts().load.clone() + &way(k) + &rest(r)).collect()
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

/// Values that CPUs share, each with its CPUs: `performance (0-3)`.
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

/// All that was asked for.
pub(crate) fn settings_facts(record: &Record) -> Vec<Fact> {
    let s = &record.parts().settings;
    let mut facts: Vec<Fact> = vec![("interval", s.interval.to_string())];
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
    facts.push(("threads", format!("{}, {placed}{cpus}", s.threads)));
    let priority = if s.policy.has_priority() { format!(" {}", s.priority) } else { String::new() };
    let descends = if s.priority_descends { ", each further thread one lower" } else { "" };
    facts.push(("policy", format!("{}{priority}{descends}", s.policy)));
    facts.push(("memory locked", yes_no(s.mlockall)));
    facts.push(("idle states held off", yes_no(s.hold_dma_latency)));
    facts.extend(s.break_above.map(|b| ("break above", b.to_string())));
    facts.extend(s.linear_bins.map(|(n, width)| ("linear bins", format!("{} of {}", count(n), time(width as f64)))));
    if let Some(l) = &s.lines {
        facts.extend(l.stimulus.as_ref().map(|line| ("stimulus", crate::format::clean(line))));
        facts.push(("answer", crate::format::clean(&l.answer)));
        facts.extend(l.interval_max.map(|longest| ("random intervals", format!("up to {longest}, seed {}", l.seed))));
        if let Some(width) = l.pulse {
            let (first, back) = if l.active_low { ("falling", "rising") } else { ("rising", "falling") };
            let asks = if l.both_edges { format!("{first} and {back} edge ask") } else { format!("the {first} edge asks") };
            facts.push(("pulses", format!("{width}, {asks}")));
        } else if l.active_low {
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

/// What the machine was like, as far as it said.
pub(crate) fn system_facts(record: &Record) -> Vec<Fact> {
    let s = &record.parts().system;
    let (k, c) = (&s.kernel, &s.cpu);
    let mut facts: Vec<Fact> = Vec::new();
    let mut put = |name: &'static str, value: Option<String>| {
        if let Some(v) = value.filter(|v| !v.is_empty()) {
            facts.push((name, v));
        }
    };
    put("host", Some(s.hostname.clone()));
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

/// How a process of a load ended, and whether that is bad.
pub(crate) fn process_end(p: &LoadProcess) -> (String, bool) {
    let end = match (p.exit_code, p.signal) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "its end is not known".into(),
    };
    if p.died_early { (format!("DIED EARLY: {end}"), true) } else { (end, false) }
}

/// What a process of a load achieved.
pub(crate) fn load_achieved(p: &LoadProcess) -> String {
    let show = |v: f64| {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // whole and within range by the condition
        if v.fract() == 0.0 && (0.0..1e15).contains(&v) { count(v as u64) } else { format!("{v:.3}") }
    };
    p.achieved.iter().map(|(name, v)| format!("{name} {}", show(*v))).collect::<Vec<_>>().join(", ")
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
    }
}
