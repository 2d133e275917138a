//! A machine without fault has no findings; each fault has exactly its own.

use super::findings;
use crate::policy::Policy;
use crate::settings::Settings;
use crate::system::{FairServer, IdleState, Preemption, RtTask, System, Temperature, Tracing};
use crate::warning::Effect::{self, Inconclusive, Invalid, Note};
use proptest::prelude::*;

/// Four CPUs; 2 and 3 are for real-time work and set up for it as well as possible.
pub(super) fn clean() -> System {
    let mut s = System { hostname: "board".into(), ..System::default() };
    s.kernel.release = "6.12.48-rt".into();
    s.kernel.version = "#1 SMP PREEMPT_RT Debian 6.12.48-1".into();
    s.kernel.arch = "x86_64".into();
    s.kernel.preemption = Preemption::Rt;
    s.kernel.preemption_evidence = "uname -v: PREEMPT_RT".into();
    s.os = Some("Debian GNU/Linux 13 (trixie)".into());
    s.cpu.online = vec![0, 1, 2, 3];
    s.cpu.allowed = vec![0, 1, 2, 3];
    s.cpu.isolated = vec![2, 3];
    s.cpu.nohz_full = vec![2, 3];
    s.cpu.smt_active = Some(false);
    s.cpu.turbo = Some(false);
    s.cpu.frequency_driver = Some("intel_pstate".into());
    for cpu in 0..4 {
        s.cpu.governor.insert(cpu, "performance".into());
        s.cpu.frequency_khz.insert(cpu, (800_000, 3_600_000));
    }
    let state = |name: &str, latency_us| IdleState { name: name.into(), latency_us, disabled: false, cpus: vec![0, 1, 2, 3] };
    s.cpu.idle_states = vec![state("POLL", 0), state("C1", 2), state("C6", 133)];
    s.clocksource = Some("tsc".into());
    s.clocksources = vec!["tsc".into(), "hpet".into(), "acpi_pm".into()];
    s.timer_resolution_ns = Some(1);
    s.rt_runtime_us = Some(-1);
    s.rt_period_us = Some(1_000_000);
    s.fair_server = Some(FairServer { runtime_ns: 0, period_ns: 1_000_000_000 });
    s.timer_migration = Some(false);
    s.irq.default_affinity = vec![0, 1];
    s.irq.per_cpu = [(0, 20), (1, 9)].into();
    s.swap_kib = Some((0, 0));
    s.limits.cap_sys_nice = true;
    s.limits.cap_ipc_lock = true;
    s.limits.cpu_dma_latency = true;
    s.limits.memlock = Some(8 << 20);
    s.steal_ticks = Some(0);
    s.tracing = Some(Tracing { current: "nop".into(), on: true, events: 0 });
    s.rt_tasks = vec![task("irq/9-acpi", Policy::Fifo, 50, true)];
    s.temperatures = vec![Temperature { zone: "x86_pkg_temp".into(), milli_celsius: 45_000, trip_milli_celsius: Some(100_000) }];
    s.throttle_count = Some(0);
    s
}

pub(super) fn task(name: &str, policy: Policy, priority: u8, kernel: bool) -> RtTask {
    RtTask { tid: 777, name: name.into(), policy, priority, cpus: vec![0, 1, 2, 3], kernel }
}

pub(super) fn settings() -> Settings {
    Settings { threads: 2, cpus: vec![2, 3], ..Settings::default() }
}

fn codes(system: &System, settings: &Settings) -> Vec<(String, Effect)> {
    findings(system, settings).into_iter().map(|w| (w.code, w.effect)).collect()
}

#[test]
fn a_clean_machine_has_no_finding() {
    assert_eq!(codes(&clean(), &settings()), []);
}

/// A change, the code and effect of the finding that it must cause, and a part of the message: the value found.
type Case = (fn(&mut System, &mut Settings), &'static str, Effect, &'static str);

#[test]
fn each_fault_has_its_own_finding() {
    let cases: Vec<Case> = vec![
        (|s, _| s.kernel.preemption = Preemption::Voluntary, "not-preempt-rt", Note, "PREEMPT_VOLUNTARY"),
        (|s, _| s.kernel.preemption = Preemption::Lazy, "not-preempt-rt", Note, "PREEMPT_LAZY"),
        (|s, _| s.kernel.preemption = Preemption::Full, "not-preempt-rt", Note, "PREEMPT,"),
        (|s, _| s.kernel.preemption = Preemption::Unknown, "preemption-unknown", Note, "uname -v"),
        (|s, _| s.kernel.debug_options = vec!["CONFIG_KASAN".into()], "kernel-debugging", Inconclusive, "CONFIG_KASAN"),
        (|s, _| s.clocksource = Some("hpet".into()), "clocksource-slow", Inconclusive, "hpet"),
        (|s, _| s.clocksource = Some("acpi_pm".into()), "clocksource-slow", Inconclusive, "acpi_pm"),
        (|s, _| s.clocksource = Some("jiffies".into()), "clocksource-coarse", Invalid, "jiffies"),
        (|s, _| s.clocksource = Some("kvm-clock".into()), "clocksource-paravirtual", Note, "kvm-clock"),
        (|s, _| s.clocksource = Some("dmtimer".into()), "clocksource-unusual", Note, "dmtimer"),
        (|s, _| s.timer_resolution_ns = Some(4_000_000), "no-high-resolution-timers", Inconclusive, "4000000"),
        (
            |s, _| {
                s.kernel.release = "6.6.20".into();
                s.fair_server = None;
                s.rt_runtime_us = Some(950_000);
            },
            "rt-throttling",
            Note,
            "950000 us of each 1000000 us",
        ),
        (|s, _| s.fair_server = None, "fair-server", Note, "can't be read"),
        (
            |s, _| s.fair_server = Some(FairServer { runtime_ns: 50_000_000, period_ns: 1_000_000_000 }),
            "fair-server",
            Note,
            "50000000",
        ),
        (
            |s, _| {
                s.rt_runtime_us = Some(950_000);
                s.fair_server = Some(FairServer { runtime_ns: 50_000_000, period_ns: 1_000_000_000 });
            },
            "fair-server",
            Note,
            "50000000",
        ),
        (|s, _| s.timer_migration = Some(true), "timer-migration", Note, "timer migration"),
        (|s, _| s.tracing.as_mut().unwrap().current = "function".into(), "tracing-on", Inconclusive, "function"),
        (|s, _| s.tracing.as_mut().unwrap().events = 12, "tracing-on", Inconclusive, "12 trace events"),
        (|s, _| s.tracing = Some(Tracing { current: "function".into(), on: false, events: 0 }), "tracer-set", Note, "function"),
        (
            |s, _| _ = s.cpu.governor.insert(3, "schedutil".into()),
            "frequency-scaling",
            Inconclusive,
            "CPU 3 follows the load between 800 and 3600",
        ),
        (|s, _| _ = s.cpu.governor.insert(2, "powersave".into()), "frequency-scaling", Inconclusive, "powersave"),
        (
            |s, _| {
                s.cpu.frequency_driver = Some("acpi-cpufreq".into());
                s.cpu.governor.insert(2, "powersave".into());
            },
            "frequency-not-highest",
            Note,
            "powersave",
        ),
        (|s, _| _ = s.cpu.governor.insert(2, "userspace".into()), "frequency-not-highest", Note, "userspace"),
        (
            |s, _| {
                s.cpu.governor.insert(2, "ondemand".into());
                s.cpu.frequency_khz.insert(2, (600_000, 600_000));
            },
            "frequency-not-highest",
            Note,
            "ondemand",
        ),
        (|s, _| s.cpu.turbo = Some(true), "turbo", Note, "turbo"),
        (|s, _| s.limits.cpu_dma_latency = false, "deep-idle-states", Inconclusive, "C6, which takes 133 us"),
        (|_, r| r.hold_dma_latency = false, "deep-idle-states", Note, "C6, which takes 133 us"),
        (|s, _| s.cpu.isolated = vec![2], "cpus-not-isolated", Note, "CPU 3 is"),
        (|s, _| _ = s.irq.per_cpu.insert(3, 1), "irqs-on-measured-cpus", Note, "1 on CPU 3"),
        (|s, _| s.irq.irqbalance = true, "irqbalance", Note, "irqbalance"),
        (|s, _| s.cpu.smt_active = Some(true), "smt", Note, "SMT"),
        (|s, _| s.swap_kib = Some((4096, 512)), "swap", Note, "512 of 4096 KiB"),
        (
            |s, r| {
                s.swap_kib = Some((4096, 0));
                r.mlockall = false;
            },
            "swap",
            Inconclusive,
            "not locked",
        ),
        (
            |s, _| {
                s.limits.cap_ipc_lock = false;
                s.limits.memlock = Some(65_536);
            },
            "memlock-limit",
            Invalid,
            "64 KiB, which is too little",
        ),
        (
            |s, _| {
                s.limits.cap_ipc_lock = false;
                s.limits.memlock = Some(4 << 20);
            },
            "memlock-limit",
            Note,
            "4096 KiB, which may be too little for the measuring program (up to 5120 KiB)",
        ),
        (
            |s, _| {
                s.limits.cap_sys_nice = false;
                s.limits.rtprio = 94;
            },
            "rtprio-limit",
            Invalid,
            "94, below the 95",
        ),
        (
            |s, r| {
                s.limits.cap_sys_nice = false;
                s.limits.rtprio = 99;
                (r.policy, r.priority) = (Policy::Deadline, 0);
            },
            "rtprio-limit",
            Invalid,
            "SCHED_DEADLINE",
        ),
        (|s, _| s.virtualization = Some("kvm".into()), "virtual-machine", Inconclusive, "kvm"),
        (|s, _| s.container = Some("docker".into()), "container", Note, "docker"),
        (|s, _| s.tasks_hidden = true, "tasks-hidden", Note, "can't be seen"),
        (|s, _| s.rt_tasks.push(task("jackd", Policy::Rr, 95, false)), "rt-tasks", Inconclusive, "jackd (tid 777, rr 95, CPU 0-3)"),
        (
            |s, _| s.rt_tasks.push(task("edf", Policy::Deadline, 0, false)),
            "rt-tasks",
            Inconclusive,
            "edf (tid 777, deadline, CPU 0-3)",
        ),
        (|s, _| s.rt_tasks.push(task("irq/40-eth0", Policy::Fifo, 95, true)), "kernel-rt-threads", Note, "irq/40-eth0"),
        (|s, _| s.rt_tasks.push(task("sugov:0", Policy::Deadline, 0, true)), "kernel-rt-threads", Note, "sugov:0"),
        (|_, r| r.priority = 50, "kernel-rt-threads", Note, "irq/9-acpi (tid 777, fifo 50"),
        (
            |_, r| {
                r.priority = 51;
                r.priority_descends = true;
            },
            "kernel-rt-threads",
            Note,
            "irq/9-acpi",
        ),
        (
            |s, _| s.temperatures[0].milli_celsius = 95_050,
            "hot",
            Inconclusive,
            "x86_pkg_temp is at 95.0 °C, its trip point at 100.0 °C",
        ),
        (|s, _| s.throttling = Some("undervoltage".into()), "throttled", Inconclusive, "undervoltage"),
        (|s, _| s.throttled_since_boot = Some("3 events".into()), "throttled-since-boot", Note, "3 events"),
    ];
    for (number, (change, code, effect, part)) in cases.into_iter().enumerate() {
        let (mut system, mut settings) = (clean(), settings());
        change(&mut system, &mut settings);
        let found = findings(&system, &settings);
        let [warning] = found.as_slice() else { panic!("case {number}, {code}: {found:?}") };
        assert_eq!((warning.code.as_str(), warning.effect), (code, effect));
        assert!(warning.message.contains(part), "{code}: {:?} does not say `{part}`", warning.message);
        assert!(
            include_str!("../findings.rs").contains(&format!("| `{code}`"))
                || include_str!("../findings.rs").contains(&format!(", `{code}`"))
        );
        assert!(!warning.remedy.is_empty() && warning.remedy.matches('`').count() % 2 == 0, "{code}: {}", warning.remedy);
    }
}

#[test]
fn what_does_not_matter_is_no_finding() {
    let cases: [fn(&mut System, &mut Settings); 15] = [
        // Not on the measured CPUs.
        |s, _| _ = s.cpu.governor.insert(0, "ondemand".into()),
        |s, _| s.cpu.idle_states.iter_mut().for_each(|state| state.cpus = vec![0]),
        |s, r| {
            s.irq.per_cpu.insert(3, 5);
            r.threads = 1;
        },
        |s, _| s.rt_tasks.push(RtTask { cpus: vec![0], ..task("jackd", Policy::Fifo, 99, false) }),
        // Below the measuring priority, or not a rival of its policy.
        |s, _| s.rt_tasks.push(task("jackd", Policy::Fifo, 94, false)),
        |s, r| {
            s.rt_tasks.push(task("jackd", Policy::Fifo, 99, false));
            (r.policy, r.priority) = (Policy::Deadline, 0);
        },
        // Deep states, but none that may be entered.
        |s, _| {
            s.limits.cpu_dma_latency = false;
            s.cpu.idle_states.truncate(2);
        },
        |s, r| {
            r.hold_dma_latency = false;
            s.cpu.idle_states[2].disabled = true;
        },
        // Sufficient without the capability, or not requested.
        |s, _| {
            s.limits.cap_ipc_lock = false;
            s.limits.memlock = None;
        },
        |s, _| {
            s.limits.cap_ipc_lock = false;
            s.limits.memlock = Some(8 << 20);
        },
        |s, _| {
            s.limits.cap_sys_nice = false;
            s.limits.rtprio = 95;
        },
        |s, r| {
            s.rt_tasks.clear();
            s.limits = crate::system::Limits { cpu_dma_latency: true, ..Default::default() };
            (r.policy, r.priority, r.mlockall) = (Policy::Other, 0, false);
        },
        |s, _| {
            s.kernel.release = "6.6.20".into();
            s.fair_server = None;
            s.rt_runtime_us = Some(1_000_000);
        },
        |s, _| s.rt_runtime_us = Some(950_000),
        |s, _| s.tracing = Some(Tracing { current: "nop".into(), on: false, events: 3 }),
    ];
    for (number, change) in cases.into_iter().enumerate() {
        let (mut system, mut settings) = (clean(), settings());
        change(&mut system, &mut settings);
        assert_eq!(codes(&system, &settings), [], "case {number}");
    }
}

#[test]
fn without_named_cpus_all_allowed_ones_are_looked_at() {
    let anywhere = Settings { threads: 1, migrate: true, ..Settings::default() };
    let codes: Vec<String> = codes(&clean(), &anywhere).into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, ["cpus-not-isolated", "irqs-on-measured-cpus"]);
}

#[test]
fn of_a_machine_that_says_nothing_only_the_preemption_model_is_a_finding() {
    let settings = Settings { policy: Policy::Other, priority: 0, mlockall: false, ..Settings::default() };
    assert_eq!(codes(&System::default(), &settings), [("preemption-unknown".to_owned(), Note)]);
}

#[test]
fn the_worst_comes_first() {
    let mut system = clean();
    system.kernel.preemption = Preemption::None;
    system.virtualization = Some("kvm".into());
    system.clocksource = Some("jiffies".into());
    let effects: Vec<Effect> = findings(&system, &settings()).iter().map(|w| w.effect).collect();
    assert_eq!(effects, [Invalid, Inconclusive, Note]);
}

#[test]
fn an_rt_kernel_is_named_in_the_way_of_the_distribution() {
    let remedy = |os: &str, arch: &str, version: &str| {
        let mut s = clean();
        s.kernel.preemption = Preemption::Voluntary;
        s.kernel.version = version.into();
        s.kernel.arch = arch.into();
        s.os = Some(os.into());
        findings(&s, &settings()).remove(0).remedy
    };
    assert!(remedy("Debian GNU/Linux 12 (bookworm)", "aarch64", "#1 SMP").contains("linux-image-rt-arm64"));
    assert!(remedy("Debian GNU/Linux 12 (bookworm)", "x86_64", "#1 SMP PREEMPT_DYNAMIC").contains("`preempt=full`"));
    assert!(remedy("Ubuntu 24.04 LTS", "x86_64", "#1 SMP").contains("pro enable realtime-kernel"));
    assert!(remedy("Buildroot 2025.02", "riscv64", "#1 SMP").contains("CONFIG_PREEMPT_RT=y"));
}

prop_compose! {
    /// A system with arbitrary numbers.
    fn any_system()(
        cpus in prop::collection::vec(any::<u32>(), 0..5),
        n in any::<u64>(),
        i in any::<i64>(),
        j in any::<i64>(),
        on in any::<bool>(),
        text in "\\PC{0,20}",
        policy in prop::sample::select(vec![Policy::Fifo, Policy::Rr, Policy::Other, Policy::Deadline]),
        priority in any::<u8>(),
    ) -> System {
        let mut s = clean();
        s.cpu.online.clone_from(&cpus);
        s.cpu.isolated = cpus.iter().map(|c| c / 2).collect();
        s.cpu.governor = cpus.iter().map(|&c| (c, text.clone())).collect();
        s.cpu.frequency_khz = cpus.iter().map(|&c| (c, (n, n / 3))).collect();
        s.cpu.idle_states[1].latency_us = n;
        s.irq.per_cpu = cpus.iter().map(|&c| (c, c)).collect();
        s.cpu.allowed = cpus;
        s.clocksource = Some(text.clone());
        s.timer_resolution_ns = Some(n);
        (s.rt_runtime_us, s.rt_period_us) = (Some(i), Some(j));
        s.swap_kib = Some((n, n));
        s.limits.cap_ipc_lock = on;
        s.limits.cap_sys_nice = on;
        s.limits.cpu_dma_latency = on;
        s.limits.memlock = Some(n);
        s.rt_tasks.push(RtTask { tid: 1, name: text.clone(), policy, priority, cpus: vec![], kernel: on });
        s.temperatures.push(Temperature { zone: text, milli_celsius: i, trip_milli_celsius: Some(j) });
        s
    }
}

proptest! {
    #[test]
    fn any_system_can_be_judged(system in any_system(), threads in any::<u32>(), cpus in prop::collection::vec(any::<u32>(), 0..4), flag in any::<bool>()) {
        let settings = Settings { threads, cpus, priority_descends: flag, mlockall: !flag, hold_dma_latency: flag, ..Settings::default() };
        for warning in findings(&system, &settings) {
            prop_assert!(!warning.message.is_empty() && !warning.remedy.is_empty());
        }
    }
}
