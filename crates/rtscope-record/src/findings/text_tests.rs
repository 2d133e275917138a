//! The exact texts of findings, and their exact thresholds.

use super::context::{ISOLATED, MEASURED};
use super::tests::{clean, settings, task};
use super::{findings, in_the_lab};
use crate::policy::Policy;
use crate::record::Clock;
use crate::settings::Settings;
use crate::system::{FairServer, Preemption, RtTask, System, Temperature};
use crate::warning::Effect::{self, Inconclusive, Invalid, Note};
use crate::warning::Warning;

/// The findings of a clean machine with this change.
fn found(change: impl FnOnce(&mut System, &mut Settings)) -> Vec<Warning> {
    let (mut system, mut settings) = (clean(), settings());
    change(&mut system, &mut settings);
    findings(&system, &settings)
}

fn codes(change: impl FnOnce(&mut System, &mut Settings)) -> Vec<(String, Effect)> {
    found(change).into_iter().map(|w| (w.code, w.effect)).collect()
}

/// The only finding of a clean machine with this change.
fn one(change: impl FnOnce(&mut System, &mut Settings)) -> Warning {
    let found = found(change);
    let [warning] = found.as_slice() else { panic!("{found:?}") };
    warning.clone()
}

#[test]
fn remedies_are_commands_with_the_way_back() {
    type Case = (fn(&mut System, &mut Settings), &'static str);
    let governors = "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor";
    let cases: Vec<Case> = vec![
        (
            |s, _| s.cpu.turbo = Some(true),
            "as root: `echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo` (back: `echo 0 > /sys/devices/system/cpu/intel_pstate/no_turbo`)",
        ),
        (
            |s, _| (s.cpu.turbo, s.cpu.frequency_driver) = (Some(true), Some("acpi-cpufreq".into())),
            "as root: `echo 0 > /sys/devices/system/cpu/cpufreq/boost` (back: `echo 1 > /sys/devices/system/cpu/cpufreq/boost`)",
        ),
        (
            |s, _| s.cpu.isolated = vec![2],
            "kernel parameters `isolcpus=domain,managed_irq,2-3 nohz_full=2-3 rcu_nocbs=2-3` and a restart (back: remove them); docs/tuning.md \
             says how to measure what that changes",
        ),
        (
            |s, _| (s.cpu.isolated, s.cpu.online) = (vec![2], vec![2, 3]),
            "where a part of the CPUs is enough for the real-time work, isolate and measure only those: kernel parameters \
             `isolcpus=domain,managed_irq,LIST nohz_full=LIST rcu_nocbs=LIST` (back: remove them); docs/tuning.md says how to measure what \
             that changes",
        ),
        (
            |s, _| _ = s.irq.per_cpu.insert(3, 1),
            "as root: `for f in /proc/irq/[0-9]*/smp_affinity_list; do echo 0-1 > $f; done 2>/dev/null` (back: `for f in \
             /proc/irq/[0-9]*/smp_affinity_list; do echo 0-3 > $f; done 2>/dev/null`); for good the kernel parameter `irqaffinity=0-1`",
        ),
        (
            |s, _| (s.irq.per_cpu, s.cpu.online) = ([(3, 1)].into(), vec![2, 3]),
            "every CPU is measured, so interrupts have no other place: measure on fewer CPUs and route the interrupts to the rest",
        ),
        (
            |s, _| s.rt_tasks.push(task("a", Policy::Fifo, 96, false)),
            "stop them, or make them ordinary for the run, as root: `chrt -o -p 0 777` (back: `chrt -f -p 96 777`)",
        ),
        (
            |s, _| s.rt_tasks.push(task("a", Policy::Rr, 96, false)),
            "stop them, or make them ordinary for the run, as root: `chrt -o -p 0 777` (back: `chrt -r -p 96 777`)",
        ),
        (
            |s, _| s.rt_tasks.push(task("a", Policy::Deadline, 0, false)),
            "stop them, or make them ordinary for the run, as root: `chrt -o -p 0 777` (back: `start it again`)",
        ),
        (
            |s, _| s.rt_tasks.push(task("a", Policy::Rr, 96, true)),
            "measure at a higher priority; or where the thread can wait, as root: `chrt -f -p 1 777` (back: `chrt -f -p 96 777`) \
             (docs/tuning.md has what that changed)",
        ),
        (
            |s, _| s.clocksource = Some("hpet".into()),
            "as root: `echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource` (back: `echo hpet > \
             /sys/devices/system/clocksource/clocksource0/current_clocksource`)",
        ),
        (
            |s, _| (s.clocksource, s.clocksources) = (Some("hpet".into()), vec!["hpet".into(), "timebase".into()]),
            "as root: `echo timebase > /sys/devices/system/clocksource/clocksource0/current_clocksource` (back: `echo hpet > \
             /sys/devices/system/clocksource/clocksource0/current_clocksource`)",
        ),
        (
            |s, _| (s.clocksource, s.clocksources) = (Some("hpet".into()), vec!["hpet".into()]),
            "`dmesg | grep -i -e clocksource -e tsc` says why the kernel does not offer the processor's own counter; firmware settings \
             or an update often mend that",
        ),
    ];
    for (change, remedy) in cases {
        assert_eq!(one(change).remedy, remedy);
    }
    for (governor, code) in [("schedutil", "frequency-scaling"), ("userspace", "frequency-not-highest")] {
        let warning = one(|s, _| _ = s.cpu.governor.insert(2, governor.into()));
        assert_eq!(warning.code, code);
        assert_eq!(
            warning.remedy,
            format!(
                "as root: `echo performance | tee {governors}` (back: `echo {governor} | tee {governors}`); for one run \
                 `--tune governor=performance` (docs/tuning.md says how to measure what that changes)"
            )
        );
    }
}

/// A remedy says that the manual has what a setting changed exactly where it has a measured row of it; a plan measures each.
#[test]
fn what_the_manual_is_said_to_have_measured_it_has() {
    let page = include_str!("../../../../docs/tuning.md");
    let plans = [
        include_str!("../../../../campaigns/isolation-lab.toml"),
        include_str!("../../../../campaigns/tuning-board.toml"),
        include_str!("../../../../campaigns/tuning-lab.toml"),
        include_str!("../../../../campaigns/tuning-rt-lab.toml"),
    ]
    .concat();
    // Rows of a comparison end with a ratio, its interval and a word.
    let rows: Vec<&str> = page
        .lines()
        .filter(|l| l.contains(" to ") && [") =", ") better", ") worse"].iter().any(|word| l.ends_with(word)))
        .collect();
    let remedies: Vec<String> = found(|s, _| {
        s.cpu.governor.insert(2, "schedutil".into());
        s.limits.cpu_dma_latency = false;
        s.fair_server = Some(FairServer { runtime_ns: 50_000_000, period_ns: 1_000_000_000 });
        s.timer_migration = Some(true);
    })
    .into_iter()
    .chain(found(|s, _| {
        s.kernel.release = "6.6.20".into();
        (s.fair_server, s.rt_runtime_us) = (None, Some(950_000));
    }))
    .map(|w| w.remedy)
    .collect();
    let mut settings: Vec<&str> =
        remedies.iter().filter_map(|r| r.split_once("--tune ")?.1.split_once('`')).map(|(setting, _)| setting).collect();
    assert_eq!(settings, ["governor=performance", "idle-latency=0us", "fair-server=off", "timer-migration=off", "rt-runtime=off"]);
    settings.push(ISOLATED);
    settings.extend(MEASURED);
    for setting in settings {
        let has = rows.iter().any(|row| row.contains(&format!(" {setting} ")));
        assert_eq!(MEASURED.contains(&setting), has, "{setting}: {rows:#?}");
        assert!(plans.contains(&format!("\"{setting}\"")), "{setting}: no plan measures it");
    }
}

#[test]
fn one_and_many_are_told_apart() {
    let shared = |isolated: &[u32]| one(|s, _| s.cpu.isolated = isolated.into()).message;
    assert!(shared(&[3]).starts_with("CPU 2 is not isolated: "));
    assert!(shared(&[]).starts_with("CPUs 2-3 are not isolated: "));

    let scaled = one(|s, _| {
        s.cpu.governor.insert(2, "schedutil".into());
        s.cpu.governor.insert(3, "ondemand".into());
        s.cpu.frequency_khz.insert(3, (400_000, 3_000_000));
    });
    assert!(
        scaled
            .message
            .starts_with("the frequency of CPUs 2-3 follows the load between 400 and 3600 MHz (governor ondemand, schedutil): "),
        "{}",
        scaled.message
    );

    let busy = |cpus: u32| {
        one(|s, r| {
            (s.cpu.online, s.cpu.isolated) = ((0..20).collect(), (0..20).collect());
            (r.cpus, r.threads) = ((10..20).collect(), 10);
            s.irq.per_cpu = (0..10 + cpus).map(|cpu| (cpu, cpu)).chain([(19, 0)]).collect();
        })
        .message
    };
    assert!(busy(2).contains(" (10 on CPU 10, 11 on CPU 11): "), "{}", busy(2));
    assert!(busy(8).contains(", 17 on CPU 17): "), "{}", busy(8));
    assert!(busy(9).contains(", 17 on CPU 17, ...): "), "{}", busy(9));

    let rivals = |n: u8| {
        one(|s, _| {
            s.rt_tasks.extend((0..n).map(|i| RtTask { tid: u32::from(i), cpus: Vec::new(), ..task("a", Policy::Fifo, 96, false) }));
        })
        .message
    };
    assert_eq!(
        rivals(1),
        "real-time tasks of other programs come before or beside the measuring threads (fifo 95): a (tid 0, fifo 96)"
    );
    assert!(rivals(5).ends_with(", a (tid 4, fifo 96)"), "{}", rivals(5));
    assert!(rivals(6).ends_with(", a (tid 4, fifo 96) and 1 more"), "{}", rivals(6));
    let ours = found(|s, r| {
        s.rt_tasks = vec![task("a", Policy::Deadline, 0, false)];
        (r.policy, r.priority) = (Policy::Other, 0);
    });
    assert!(ours[0].message.ends_with("the measuring threads (other): a (tid 777, deadline, CPU 0-3)"), "{ours:?}");
}

#[test]
fn stolen_time_is_told_where_there_is_some() {
    let vm = |ticks| {
        one(|s, _| {
            s.virtualization = Some("kvm".into());
            s.steal_ticks = Some(ticks);
        })
    };
    assert!(vm(0).message.starts_with("this is a virtual machine (kvm): the hypervisor decides when it runs, so its latencies"));
    assert!(vm(1).message.contains(" when it runs (1 ticks since boot were given to others), so its latencies"));
}

#[test]
fn limits_hold_to_the_last_byte() {
    // Two threads: at least 1,280 KiB, likely up to 5,120.
    let memlock = |bytes: u64| {
        codes(|s, _| {
            s.limits.cap_ipc_lock = false;
            s.limits.memlock = Some(bytes);
        })
    };
    assert_eq!(memlock(5120 << 10), []);
    for (bytes, effect) in [((5120 << 10) - 1, Note), (1280 << 10, Note), ((1280 << 10) - 1, Invalid)] {
        assert_eq!(memlock(bytes), [("memlock-limit".to_owned(), effect)], "{bytes}");
    }
    // The limit does not matter with the capability, or if nothing is to be locked.
    assert_eq!(codes(|s, _| s.limits.memlock = Some(0)), []);
    assert_eq!(codes(|s, r| (s.limits.cap_ipc_lock, s.limits.memlock, r.mlockall) = (false, Some(0), false)), []);

    let swapping = |bytes| {
        codes(|s, _| {
            s.swap_kib = Some((4096, 0));
            s.limits.cap_ipc_lock = false;
            s.limits.memlock = Some(bytes);
        })
    };
    let pair =
        |effect| [("memlock-limit".to_owned(), effect), ("swap".to_owned(), if effect == Note { Note } else { Inconclusive })];
    assert_eq!(swapping(4 << 20), pair(Note));
    assert_eq!(swapping(4 << 10), pair(Invalid));

    let rtprio = |policy, rtprio| {
        codes(|s, r| {
            s.limits.cap_sys_nice = false;
            s.limits.rtprio = rtprio;
            r.policy = policy;
        })
    };
    for policy in [Policy::Fifo, Policy::Rr] {
        assert_eq!(rtprio(policy, 94), [("rtprio-limit".to_owned(), Invalid)]);
        assert_eq!(rtprio(policy, 95), []);
        assert_eq!(rtprio(policy, 96), []);
    }
}

#[test]
fn heat_is_near_within_five_degrees() {
    let zone = |milli_celsius, trip: Option<i64>| Temperature { zone: "cpu".into(), milli_celsius, trip_milli_celsius: trip };
    let at = |zones: Vec<Temperature>| found(|s, _| s.temperatures = zones).pop().map(|w| w.message);
    assert_eq!(at(vec![zone(94_999, Some(100_000)), zone(200_000, None)]), None);
    for (milli, trip, text) in [
        (95_000, 100_000, "cpu is at 95.0 °C, its trip point at 100.0 °C: "),
        (0, 3_210, "cpu is at 0.0 °C, its trip point at 3.2 °C: "),
        (-1_350, -100, "cpu is at -1.3 °C, its trip point at -0.1 °C: "),
    ] {
        let message = at(vec![zone(milli, Some(trip)), zone(0, Some(5_000))]).unwrap();
        assert!(message.starts_with(text), "{message}");
    }
}

#[test]
fn each_way_to_an_rt_kernel() {
    let remedy = |os: &str, arch: &str, version: &str, preemption| {
        one(|s, _| {
            s.os = Some(os.into());
            (s.kernel.arch, s.kernel.version, s.kernel.preemption) = (arch.into(), version.into(), preemption);
        })
        .remedy
    };
    let build = "boot a kernel built with CONFIG_PREEMPT_RT=y (mainline from 6.12 on, before that with the PREEMPT_RT patch)";
    for (arch, flavour) in [("x86_64", "amd64"), ("aarch64", "arm64"), ("armv7l", "armmp"), ("i686", "686-pae")] {
        let debian =
            format!("as root: `apt-get install linux-image-rt-{flavour}` and restart (back: choose the old kernel at boot)");
        assert_eq!(remedy("Debian GNU/Linux 13", arch, "#1 SMP", Preemption::None), debian);
        let ubuntu = "as root: `pro enable realtime-kernel` and restart (back: `pro disable realtime-kernel`)";
        assert_eq!(remedy("Ubuntu 24.04", arch, "#1 SMP", Preemption::None), ubuntu);
        assert_eq!(remedy("Fedora 43", arch, "#1 SMP", Preemption::None), build);
    }
    assert_eq!(remedy("Debian GNU/Linux 13", "riscv64", "#1 SMP", Preemption::None), build);
    let nearer = format!(
        "{build}; nearer to it without another kernel: the kernel parameter `preempt=full` (docs/tuning.md has what that changed)"
    );
    assert_eq!(remedy("Fedora 43", "x86_64", "#1 SMP PREEMPT_DYNAMIC", Preemption::Voluntary), nearer);
    assert_eq!(remedy("Fedora 43", "x86_64", "#1 SMP PREEMPT_DYNAMIC", Preemption::Full), build);
}

#[test]
fn the_fair_server_takes_the_place_of_rt_throttling_in_6_12() {
    let server = |runtime_ns| Some(FairServer { runtime_ns, period_ns: 1_000_000_000 });
    let of = |release: &str, fair_server: Option<FairServer>, runtime: i64| {
        let found = found(|s, _| {
            s.kernel.release = release.into();
            (s.fair_server, s.rt_runtime_us) = (fair_server, Some(runtime));
        });
        found.into_iter().map(|w| w.code).collect::<Vec<_>>()
    };
    for release in ["6.12", "6.12.0-rc1", "6.13.1", "7.0"] {
        assert_eq!(of(release, None, 950_000), ["fair-server"], "{release}");
    }
    for release in ["6.11.9", "5.15", "", "v7"] {
        assert_eq!(of(release, None, 950_000), ["rt-throttling"], "{release}");
        // Nothing is throttled: switched off, or allowed the whole period.
        assert!(of(release, None, -1).is_empty() && of(release, None, 1_000_000).is_empty(), "{release}");
        assert_eq!(of(release, None, 0), ["rt-throttling"], "{release}");
        // A kernel older than 6.12 may have the fair server as a backport.
        assert!(of(release, server(0), 950_000).is_empty(), "{release}");
        assert_eq!(of(release, server(1), 950_000), ["fair-server"], "{release}");
    }
}

#[test]
fn other_boundaries() {
    let idle = |latency_us| {
        codes(|s, r| {
            r.hold_dma_latency = false;
            s.cpu.idle_states.truncate(2);
            s.cpu.idle_states[1].latency_us = latency_us;
        })
    };
    assert_eq!(idle(5), []);
    assert_eq!(idle(6), [("deep-idle-states".to_owned(), Note)]);
    assert_eq!(codes(|s, _| s.irq.per_cpu = [(2, 0), (3, 0)].into()), []);
    let tracing = |current: &str, on, events| {
        found(|s, _| s.tracing = Some(crate::system::Tracing { current: current.into(), on, events }))
            .pop()
            .map(|w| (w.code, w.message.split(':').next().unwrap().to_owned()))
    };
    assert_eq!(tracing("", false, 0), None);
    let on = |text: &str| Some(("tracing-on".to_owned(), text.to_owned()));
    assert_eq!(tracing("nop", true, 1), on("1 trace events are enabled"));
    assert_eq!(tracing("function", true, 0), on("the tracer function is recording"));
    assert_eq!(tracing("function", true, 2), on("the tracer function is recording, with 2 events"));
    assert_eq!(codes(|s, _| s.clocksource = Some("hyperv_new".into())), [("clocksource-paravirtual".to_owned(), Note)]);
    // With more CPUs named than threads, the first ones are measured; if threads migrate, all.
    assert!(one(|s, r| (r.threads, s.cpu.isolated) = (1, vec![3])).message.starts_with("CPU 2 is"));
    assert!(one(|s, r| (r.threads, r.migrate, s.cpu.isolated) = (1, true, vec![])).message.starts_with("CPUs 2-3 are"));
    // Without names: the allowed CPUs, otherwise those online.
    let unnamed = |allowed: &[u32]| {
        let found = found(|s, r| (r.cpus, s.cpu.allowed, s.irq.per_cpu) = (Vec::new(), allowed.into(), [].into()));
        found.into_iter().map(|w| w.message.split(" not").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(unnamed(&[1, 2]), ["CPU 1 is"]);
    assert_eq!(unnamed(&[]), ["CPUs 0-1 are"]);
}

#[test]
fn in_the_lab_it_is_told_whose_time_it_is() {
    let inside = || vec![Warning::new("swap", Note, "m", "r"), Warning::new("virtual-machine", Inconclusive, "m", "r")];
    let codes = |clock, cpus| {
        let warnings = in_the_lab(inside(), clock, cpus, 2);
        warnings.into_iter().map(|w| (w.code, w.effect)).collect::<Vec<_>>()
    };
    let (swap, clock) = (("swap".to_owned(), Note), ("virtual-clock".to_owned(), Note));
    assert_eq!(codes(Clock::Virtual, 1), [swap.clone(), clock.clone()]);
    let turns = ("virtual-cpus-take-turns".to_owned(), Inconclusive);
    assert_eq!(codes(Clock::Virtual, 2), [turns, swap.clone(), clock]);
    assert_eq!(codes(Clock::Host, 2), [("lab-host-clock".to_owned(), Inconclusive), swap]);
    assert!(in_the_lab(inside(), Clock::Virtual, 4, 2)[0].message.starts_with("in virtual time the 4 CPUs take turns"));
}
