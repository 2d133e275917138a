//! Whole machines as directory trees: each is read correctly, and no file content can make reading fail.

mod damage;
mod trees;

use super::config::tests::gzip;
use super::tasks::tests::stat;
use super::{Root, SystemCallFacts, collect, supplement};
use rtscope_record::system::{FairServer, IdleState, Preemption, System, Temperature, Tracing};
use rtscope_record::{Policy, Settings, findings};
use std::fs;
use trees::{Tree, debian_12, files, raspberry_pi};

#[test]
fn a_stock_debian_12() {
    let s = debian_12().snapshot();
    assert_eq!((s.kernel.preemption, s.kernel.hz), (Preemption::Voluntary, Some(250)));
    assert_eq!(s.kernel.preemption_evidence, "/sys/kernel/debug/sched/preempt: none (voluntary) full");
    assert_eq!((s.hostname.as_str(), s.kernel.release.as_str(), s.kernel.arch.as_str()), ("board", "6.1.0-40-amd64", "x86_64"));
    assert_eq!((s.os.as_deref(), s.board.as_deref()), (Some("Debian GNU/Linux 12 (bookworm)"), Some("Dell Inc. OptiPlex 3060")));
    assert_eq!((s.virtualization, s.container, s.steal_ticks), (None, None, Some(0)));
    assert_eq!((s.memory_kib, s.swap_kib), (Some(8_000_000), Some((999_420, 99_420))));
    assert_eq!((s.clocksource.as_deref(), s.clocksources), (Some("tsc"), vec!["tsc".into(), "hpet".into(), "acpi_pm".into()]));
    assert_eq!(
        (s.rt_runtime_us, s.rt_period_us, s.timer_migration, s.fair_server),
        (Some(950_000), Some(1_000_000), Some(true), None)
    );
    assert_eq!((s.limits.memlock, s.limits.rtprio), (Some(8 << 20), 0));
    assert!(s.limits.cap_sys_nice && s.limits.cap_ipc_lock && s.limits.cpu_dma_latency);
    assert_eq!(s.tracing, Some(Tracing { current: "nop".into(), on: true, events: 0 }));

    assert_eq!(s.cpu.model.as_deref(), Some("Intel(R) Core(TM) i5-8500"));
    assert_eq!((&s.cpu.online, &s.cpu.isolated), (&vec![0, 1, 2, 3], &vec![3]));
    assert_eq!((&s.cpu.nohz_full, &s.cpu.rcu_nocbs), (&vec![], &vec![3]));
    assert_eq!((s.cpu.smt_active, s.cpu.turbo), (Some(false), Some(true)));
    assert_eq!(
        (s.cpu.governor.len(), s.cpu.governor[&2].as_str(), s.cpu.frequency_khz[&2]),
        (4, "powersave", (800_000, 4_100_000))
    );
    assert_eq!((s.cpu.frequency_driver.as_deref(), s.cpu.idle_driver.as_deref()), (Some("intel_pstate"), Some("intel_idle")));
    let state = |name: &str, latency_us, cpus| IdleState { name: name.into(), latency_us, disabled: false, cpus };
    assert_eq!(
        s.cpu.idle_states,
        [state("POLL", 0, vec![0, 1, 2, 3]), state("C1", 2, vec![0, 1, 2, 3]), state("C10", 890, vec![0, 1, 2])]
    );

    // Interrupt 1 goes to CPU 1, 8 may go to any, 16 has no handler, 120 goes to 3.
    assert_eq!(s.irq.per_cpu, [(0, 1), (1, 2), (2, 1), (3, 2)].into());
    assert_eq!((s.irq.default_affinity, s.irq.irqbalance), (vec![0, 1, 2], true));

    let tasks: Vec<_> =
        s.rt_tasks.iter().map(|t| (t.tid, t.name.as_str(), t.policy, t.priority, t.cpus.clone(), t.kernel)).collect();
    assert_eq!(
        tasks,
        [
            (800, "fake/3", Policy::Fifo, 99, vec![0, 1, 2, 3], false),
            (701, "jackd (rt)", Policy::Rr, 70, vec![0, 1], false),
            (90, "irq/120-nvme0q0", Policy::Fifo, 50, vec![3], true),
        ]
    );
    assert!(!s.tasks_hidden);
    assert_eq!(s.temperatures, [Temperature { zone: "acpitz".into(), milli_celsius: 27_800, trip_milli_celsius: Some(119_000) }]);
    assert_eq!((s.throttling, s.throttle_count), (None, Some(7)));
    assert_eq!(s.throttled_since_boot.as_deref(), Some("7 thermal throttle events"));
}

#[test]
fn the_model_of_a_patched_rt_kernel() {
    let t = Tree::new("6.1.0-40-rt-amd64", "#1 SMP PREEMPT_RT Debian 6.1.153-1", "x86_64");
    t.put("/sys/kernel/realtime", "1\n").put("/boot/config-6.1.0-40-rt-amd64", "CONFIG_PREEMPT_RT=y\n");
    assert_eq!(t.preemption(), (Preemption::Rt, "uname -v: PREEMPT_RT".into()));
    // A custom version string: the patch's file still decides.
    let t = Tree::new("5.4.0", "#1 ACME", "armv7l");
    t.put("/sys/kernel/realtime", "1\n");
    assert_eq!(t.preemption(), (Preemption::Rt, "/sys/kernel/realtime: 1".into()));
    let t = Tree::new("4.19.0-rt", "#1 SMP PREEMPT RT Debian 4.19.249-2", "x86_64");
    assert_eq!(t.preemption().0, Preemption::Rt);
}

#[test]
fn the_model_of_a_mainline_rt_kernel() {
    // No /sys/kernel/realtime; the scheduler's choice below it has another meaning.
    let t = Tree::new("6.12.48+deb13-rt-amd64", "#1 SMP PREEMPT_RT Debian 6.12.48-1", "x86_64");
    assert_eq!(t.preemption(), (Preemption::Rt, "uname -v: PREEMPT_RT".into()));
    t.put("/sys/kernel/debug/sched/preempt", "full (lazy)\n").put("/proc/cmdline", "preempt=lazy");
    assert_eq!(t.preemption(), (Preemption::Rt, "uname -v: PREEMPT_RT".into()));
    // The version says nothing, but the kernel contains its configuration.
    let t = Tree::new("6.12.0", "#1 ACME", "aarch64");
    t.put("/proc/config.gz", gzip(b"CONFIG_HZ=1000\nCONFIG_PREEMPT_RT=y\nCONFIG_PREEMPT_LAZY=y\nCONFIG_KASAN=y\n"));
    assert_eq!(t.preemption(), (Preemption::Rt, "/proc/config.gz: CONFIG_PREEMPT_RT=y".into()));
    let kernel = t.snapshot().kernel;
    assert_eq!((kernel.hz, kernel.debug_options), (Some(1000), vec!["CONFIG_KASAN".into()]));
}

#[test]
fn the_models_of_dynamic_kernels() {
    let config = "CONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_DYNAMIC=y\n";
    for (active, model) in [
        ("(none) voluntary full", Preemption::None),
        ("none (voluntary) full lazy", Preemption::Voluntary),
        ("none voluntary (full)", Preemption::Full),
        ("none voluntary full (lazy)", Preemption::Lazy),
    ] {
        let t = Tree::new("6.12.1", "#1 SMP PREEMPT_DYNAMIC", "x86_64");
        t.put("/sys/kernel/debug/sched/preempt", active).put("/proc/cmdline", "preempt=none").put("/boot/config-6.12.1", config);
        assert_eq!(t.preemption(), (model, format!("/sys/kernel/debug/sched/preempt: {active}")));
    }
    let t = Tree::new("6.12.1", "#1 SMP PREEMPT_DYNAMIC", "x86_64");
    assert_eq!(t.preemption().0, Preemption::Unknown);
    t.put("/proc/cmdline", "quiet preempt=full\n");
    assert_eq!(t.preemption(), (Preemption::Full, "/proc/cmdline: preempt=full, on a PREEMPT_DYNAMIC kernel".into()));
    // Not the kernel's parameter, or an unknown value.
    for cmdline in ["quiet -- preempt=full\n", "preempt=sometimes", "xpreempt=full"] {
        t.put("/proc/cmdline", cmdline);
        assert_eq!(t.preemption().0, Preemption::Unknown, "{cmdline}");
    }
    t.put("/boot/config-6.12.1", config);
    let evidence = "/boot/config-6.12.1: CONFIG_PREEMPT_VOLUNTARY=y with PREEMPT_DYNAMIC, no preempt= in /proc/cmdline";
    t.put("/proc/cmdline", "quiet");
    assert_eq!(t.preemption(), (Preemption::Voluntary, evidence.into()));
}

#[test]
fn the_models_of_kernels_of_one_model() {
    for (release, version, config, model, evidence) in [
        ("5.10.0", "#1 SMP PREEMPT", "", Preemption::Full, "uname -v: PREEMPT"),
        (
            "6.13.0",
            "#1 SMP PREEMPT",
            "",
            Preemption::Unknown,
            "uname -v: PREEMPT, which may be full or lazy; no configuration at hand",
        ),
        ("6.13.0", "#1 SMP PREEMPT", "CONFIG_PREEMPT_LAZY=y\n", Preemption::Lazy, "/boot/config-6.13.0: CONFIG_PREEMPT_LAZY=y"),
        ("5.10.0", "#1 SMP", "", Preemption::Unknown, "uname -v names no model: none or voluntary; no configuration at hand"),
        ("5.10.0", "#1 SMP", "CONFIG_PREEMPT_NONE=y\n", Preemption::None, "/boot/config-5.10.0: CONFIG_PREEMPT_NONE=y"),
        (
            "5.16.0",
            "#1 SMP",
            "CONFIG_PREEMPT_VOLUNTARY_BEHAVIOUR=y\n",
            Preemption::Voluntary,
            "/boot/config-5.16.0: CONFIG_PREEMPT_VOLUNTARY_BEHAVIOUR=y",
        ),
    ] {
        let t = Tree::new(release, version, "x86_64");
        if !config.is_empty() {
            t.put(&format!("/boot/config-{release}"), config);
        }
        assert_eq!(t.preemption(), (model, evidence.into()));
    }
}

#[test]
fn contradictions_are_settled_and_named() {
    // A file of another build in /boot makes no kernel real-time, nor the reverse.
    let t = Tree::new("6.1.0", "#1 SMP PREEMPT_DYNAMIC", "x86_64");
    t.put("/boot/config-6.1.0", "CONFIG_PREEMPT_RT=y\n");
    let (model, evidence) = t.preemption();
    assert_eq!(model, Preemption::Unknown);
    assert!(evidence.ends_with("/boot/config-6.1.0 is not counted, as it does not fit `uname -v`"), "{evidence}");
    let t = Tree::new("6.1.0-rt", "#1 SMP PREEMPT_RT", "x86_64");
    t.put("/boot/config-6.1.0-rt", "CONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_DYNAMIC=y\n");
    let (model, evidence) = t.preemption();
    assert_eq!(model, Preemption::Rt);
    assert!(evidence.starts_with("uname -v: PREEMPT_RT; /boot/config-6.1.0-rt is not counted"), "{evidence}");
    // Both belong to the running kernel: the flag counts, the other is mentioned.
    let t = Tree::new("6.1.0", "#1 SMP PREEMPT_RT", "x86_64");
    t.put("/proc/config.gz", gzip(b"CONFIG_PREEMPT_VOLUNTARY=y\n"));
    assert_eq!(t.preemption(), (Preemption::Rt, "uname -v: PREEMPT_RT; against /proc/config.gz".into()));
}

#[test]
fn a_configuration_from_elsewhere_says_what_the_kernel_could_not() {
    let config = b"CONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_HZ=250\nCONFIG_KASAN=y\n";
    let mut kernel = Tree::new("6.12.1", "#1 SMP Debian", "aarch64").snapshot().kernel;
    assert_eq!(kernel.preemption, Preemption::Unknown);
    supplement(&mut kernel, "the package's", config);
    assert_eq!((kernel.preemption, kernel.hz, kernel.debug_options.len()), (Preemption::Voluntary, Some(250), 1));
    assert_eq!(kernel.preemption_evidence, "the package's: CONFIG_PREEMPT_VOLUNTARY=y");
    // What is known stays, another build's configuration does not count, and a file that is not a configuration adds nothing.
    let known = kernel.clone();
    supplement(&mut kernel, "another", b"CONFIG_PREEMPT_NONE=y\nCONFIG_HZ=100\n");
    assert_eq!(kernel, known);
    let mut kernel = Tree::new("6.12.1", "#1 SMP PREEMPT_RT", "aarch64").snapshot().kernel;
    let known = kernel.clone();
    supplement(&mut kernel, "another", config);
    supplement(&mut kernel, "none", b"\x7fELF");
    assert_eq!(kernel, known);
    supplement(&mut kernel, "its own", b"CONFIG_PREEMPT_RT=y\nCONFIG_HZ=1000\n");
    assert_eq!((kernel.hz, kernel.preemption_evidence.as_str()), (Some(1000), "uname -v: PREEMPT_RT"));
    let mut kernel = Tree::new("6.12.1", "#1 SMP Debian", "aarch64").snapshot().kernel;
    supplement(&mut kernel, "another", b"CONFIG_PREEMPT_RT=y\nCONFIG_HZ=100\n");
    assert_eq!((kernel.preemption, kernel.hz), (Preemption::Unknown, None));
    assert!(kernel.preemption_evidence.contains("another is not counted"), "{}", kernel.preemption_evidence);
}

#[test]
fn a_raspberry_pi() {
    let s = raspberry_pi().snapshot();
    assert_eq!((s.kernel.preemption, s.virtualization), (Preemption::Full, None));
    assert_eq!((s.board.as_deref(), s.cpu.model.as_deref()), (Some("Raspberry Pi 4 Model B Rev 1.4"), Some("Cortex-A72")));
    assert_eq!(s.throttling.as_deref(), Some("undervoltage, throttled"));
    assert_eq!(s.throttled_since_boot.as_deref(), Some("undervoltage, throttled"));
    assert_eq!(s.throttle_count, None);
    assert_eq!(s.temperatures[0].trip_milli_celsius, Some(110_000));
    // The timer's interrupt is private to each CPU.
    assert_eq!(s.irq.per_cpu, [(0, 1)].into());
    assert!(s.cpu.governor.is_empty() && s.tracing.is_none() && s.tasks_hidden);

    let t = raspberry_pi();
    t.put("/sys/devices/platform/soc/soc:firmware/get_throttled", "0\n");
    assert_eq!((t.snapshot().throttling, t.snapshot().throttled_since_boot), (None, None));
    t.put("/sys/class/hwmon/hwmon1/name", "rpi_volt\n").put("/sys/class/hwmon/hwmon1/in0_lcrit_alarm", "1\n");
    assert_eq!(t.snapshot().throttling.as_deref(), Some("undervoltage"));
}

#[test]
fn virtual_machines() {
    let flags = "vendor_id\t: GenuineIntel\nflags\t\t: fpu tsc hypervisor lahf_lm\n";
    let vm = |cpuinfo: &str, files: &[(&str, &str)]| {
        let t = Tree::new("6.1.0", "#1 SMP", "x86_64");
        t.put("/proc/cpuinfo", cpuinfo);
        for (file, content) in files {
            t.put(file, content);
        }
        t.snapshot().virtualization
    };
    let vendor = "/sys/class/dmi/id/sys_vendor";
    let product = "/sys/class/dmi/id/product_name";
    let clocks = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    let bare = "vendor_id\t: GenuineIntel\nflags\t\t: fpu tsc\n";
    for (cpuinfo, files, name) in [
        (flags, vec![(vendor, "QEMU\n"), (product, "Standard PC\n")], Some("qemu")),
        (flags, vec![(vendor, "VMware, Inc.\n")], Some("vmware")),
        (flags, vec![(vendor, "Microsoft Corporation\n"), (product, "Virtual Machine\n")], Some("hyperv")),
        (flags, vec![(clocks, "tsc kvm-clock \n")], Some("kvm")),
        (flags, vec![("/sys/hypervisor/type", "xen\n")], Some("xen")),
        (flags, vec![], Some("hypervisor")),
        (flags, vec![(vendor, "Amazon EC2\n"), (product, "c5.large\n")], Some("amazon")),
        // The same vendors' bare metal.
        (bare, vec![(vendor, "Amazon EC2\n"), (product, "c5.metal\n")], None),
        (bare, vec![(vendor, "Microsoft Corporation\n"), (product, "Surface Pro\n")], None),
        // ARM has no flag.
        ("CPU part\t: 0xd0c\n", vec![(vendor, "QEMU\n")], Some("qemu")),
        ("CPU part\t: 0xd0c\n", vec![("/proc/device-tree/hypervisor/compatible", "linux,kvm\0")], Some("kvm")),
        ("CPU part\t: 0xd0c\n", vec![("/proc/device-tree/compatible", "linux,dummy-virt\0")], Some("qemu")),
        ("CPU part\t: 0xd0c\n", vec![(vendor, "Amazon EC2\n"), (product, "a1.metal\n")], None),
    ] {
        assert_eq!(vm(cpuinfo, &files).as_deref(), name, "{cpuinfo} {files:?}");
    }
    let wsl = Tree::new("5.15.0-microsoft-standard-WSL2", "#1 SMP", "x86_64");
    assert_eq!(wsl.snapshot().virtualization.as_deref(), Some("wsl"));
}

#[test]
fn containers() {
    for (file, content, name) in [
        ("/run/systemd/container", "systemd-nspawn\n", Some("systemd-nspawn")),
        ("/.dockerenv", "", Some("docker")),
        ("/run/.containerenv", "engine=podman", Some("podman")),
        ("/proc/1/environ", "PATH=/bin\0container=lxc\0", Some("lxc")),
        ("/proc/1/cgroup", "0::/kubepods/besteffort/pod1\n", Some("kubernetes")),
        ("/proc/1/cgroup", "5:cpu:/docker/0123\n", Some("docker")),
        ("/proc/1/cgroup", "0::/init.scope\n", None),
        ("/proc/1/environ", "container=\0PATH=/bin\0", None),
    ] {
        let t = debian_12();
        t.put(file, content);
        let s = t.snapshot();
        assert_eq!((s.container.as_deref(), s.virtualization), (name, None), "{file}");
    }
}

#[test]
fn tracers_and_their_instances() {
    let t = debian_12();
    let dir = "/sys/kernel/tracing";
    t.put(&format!("{dir}/set_event"), "sched:sched_switch\nsched:sched_waking\n");
    assert_eq!(t.snapshot().tracing, Some(Tracing { current: "nop".into(), on: true, events: 2 }));
    t.put(&format!("{dir}/tracing_on"), "0\n");
    assert_eq!(t.snapshot().tracing, Some(Tracing { current: "nop".into(), on: false, events: 0 }));
    let instance = format!("{dir}/instances/rtla");
    t.put(&format!("{instance}/current_tracer"), "timerlat\n").put(&format!("{instance}/tracing_on"), "1\n");
    assert_eq!(t.snapshot().tracing, Some(Tracing { current: "timerlat (instance rtla)".into(), on: true, events: 0 }));
    t.put(&format!("{instance}/current_tracer"), "nop\n");
    let listener = format!("{dir}/instances/rasdaemon");
    t.put(&format!("{listener}/current_tracer"), "nop\n").put(&format!("{listener}/tracing_on"), "1\n");
    t.put(&format!("{listener}/set_event"), "ras:mc_event\n");
    assert_eq!(t.snapshot().tracing, Some(Tracing { current: "nop".into(), on: false, events: 0 }));
    t.put(&format!("{instance}/set_event"), "irq:irq_handler_entry\n");
    assert_eq!(t.snapshot().tracing, Some(Tracing { current: "nop".into(), on: true, events: 1 }));
}

#[test]
fn the_fair_server_and_what_stands_in_for_missing_files() {
    let t = debian_12();
    for cpu in 0..2 {
        let dir = format!("/sys/kernel/debug/sched/fair_server/cpu{cpu}");
        t.put(&format!("{dir}/runtime"), format!("{}\n", cpu * 50_000_000)).put(&format!("{dir}/period"), "1000000000\n");
    }
    assert_eq!(t.snapshot().fair_server, Some(FairServer { runtime_ns: 50_000_000, period_ns: 1_000_000_000 }));
    // Before 4.x there is no list in sysfs: the command line then shows what was asked for.
    t.remove("/sys/devices/system/cpu/isolated")
        .remove("/sys/devices/system/cpu/nohz_full")
        .remove("/sys/devices/system/cpu/online");
    for (parameter, isolated) in [
        ("isolcpus=1-2", vec![1, 2]),
        ("isolcpus=domain,managed_irq,2-N", vec![2, 3]),
        ("isolcpus=managed_irq,2", vec![]),
        ("isolcpus=x", vec![]),
    ] {
        t.put("/proc/cmdline", format!("{parameter} nohz_full=3"));
        let cpu = t.snapshot().cpu;
        assert_eq!((cpu.isolated, cpu.nohz_full, cpu.online), (isolated, vec![3], vec![0, 1, 2, 3]), "{parameter}");
    }
}

#[test]
fn the_users_limits() {
    let mut t = debian_12();
    t.facts.rtprio = 10;
    t.put("/proc/self/status", "CapEff:\t0000000000000000\n").remove("/dev/cpu_dma_latency");
    let limits = t.snapshot().limits;
    assert_eq!((limits.rtprio, limits.cap_sys_nice, limits.cap_ipc_lock, limits.cpu_dma_latency), (10, false, false, false));
    // Started at a real-time priority, which it may keep.
    t.put("/proc/self/stat", stat(4242, "rtscope", 0x40, 90, 1));
    assert_eq!(t.snapshot().limits.rtprio, 90);
}

#[test]
fn names_from_others_can_not_steer_a_terminal() {
    let t = debian_12();
    t.task((900, 900), "a\x1b[2Jb\nc", 0x40, (1, 98), "0");
    let s = t.snapshot();
    let name = &s.rt_tasks.iter().find(|task| task.tid == 900).unwrap().name;
    assert_eq!(name, "a?[2Jb?c");
}

#[test]
fn an_empty_root_is_a_machine_that_says_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for path in [dir.path().to_owned(), dir.path().join("nowhere")] {
        let mut expected = System { tasks_hidden: true, ..System::default() };
        expected.kernel.preemption_evidence = "uname -v names no model: none or voluntary; no configuration at hand".into();
        expected.tools.insert("rtscope".into(), env!("CARGO_PKG_VERSION").into());
        expected.limits.memlock = Some(0);
        let facts = SystemCallFacts { memlock: Some(0), ..SystemCallFacts::default() };
        assert_eq!(collect(&Root::at(path, facts)), expected);
    }
}

#[test]
fn a_directory_in_place_of_every_file() {
    let t = debian_12();
    for file in files(&t) {
        let path = t.dir.path().join(&file);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
    }
    let s = t.snapshot();
    assert_eq!((s.clocksource, s.swap_kib, s.rt_tasks), (None, None, vec![]));
}

#[test]
fn this_machine() {
    let root = Root::of_this_machine();
    let s = collect(&root);
    assert_eq!(s.kernel.release, root.facts.uname.release);
    assert!(!s.kernel.preemption_evidence.is_empty());
    assert!(!s.cpu.online.is_empty() && s.cpu.allowed.iter().all(|cpu| s.cpu.online.contains(cpu)));
    assert!(s.memory_kib.unwrap() > 0 && s.rt_tasks.iter().all(|task| task.tid != 0));
    let json = serde_json::to_string(&s).unwrap();
    assert_eq!(serde_json::from_str::<System>(&json).unwrap(), s);
    let settings = Settings::default();
    for warning in findings::findings(&s, &settings) {
        assert!(!warning.message.contains(char::is_control) && !warning.remedy.contains(char::is_control), "{warning:?}");
    }
}

#[test]
fn thousands_of_threads_are_walked_over() {
    let t = debian_12();
    for pid in 10_000..12_000 {
        t.task((pid, pid), "worker", 0x40_0040, (u8::from(pid % 100 == 0), 10), "0-3");
    }
    assert_eq!(t.snapshot().rt_tasks.len(), 3 + 20);
}
