//! Directory trees that look like machines.

use crate::snapshot::tasks::tests::stat;
use crate::snapshot::{Root, SystemCallFacts, collect};
use rtscope_record::System;
use rtscope_record::system::Preemption;
use rtscope_sys::host::Uname;
use std::fs;

const KERNEL_THREAD: u64 = 0x0020_8040;
const DEBIAN_12: &str = "#1 SMP PREEMPT_DYNAMIC Debian 6.1.153-1 (2025-09-20)";

/// A tree in its own directory, removed when dropped.
pub(super) struct Tree {
    pub(super) dir: tempfile::TempDir,
    pub(super) facts: SystemCallFacts,
}

impl Tree {
    pub(super) fn new(release: &str, version: &str, machine: &str) -> Self {
        let uname = Uname { nodename: "board".into(), release: release.into(), version: version.into(), machine: machine.into() };
        let facts = SystemCallFacts {
            uname,
            timer_resolution_ns: Some(1),
            memlock: Some(8 << 20),
            rtprio: 0,
            allowed: vec![0, 1, 2, 3],
            pid: 4242,
        };
        Self { dir: tempfile::tempdir().unwrap(), facts }
    }

    pub(super) fn put(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let file = self.dir.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
        self
    }

    pub(super) fn remove(&self, path: &str) -> &Self {
        fs::remove_file(self.dir.path().join(path.trim_start_matches('/'))).unwrap();
        self
    }

    pub(super) fn read_only(&self, path: &str) -> &Self {
        let file = self.dir.path().join(path.trim_start_matches('/'));
        let mut permissions = fs::metadata(&file).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(file, permissions).unwrap();
        self
    }

    /// A thread with its policy and priority.
    pub(super) fn task(&self, (pid, tid): (u32, u32), name: &str, flags: u64, (policy, priority): (u8, u8), cpus: &str) -> &Self {
        let line = stat(tid, name, flags, priority, policy);
        if pid == tid {
            self.put(&format!("/proc/{pid}/stat"), &line);
        }
        self.put(&format!("/proc/{pid}/task/{tid}/stat"), line);
        self.put(&format!("/proc/{pid}/task/{tid}/status"), format!("Name:\t{name}\nCpus_allowed_list:\t{cpus}\n"))
    }

    pub(super) fn snapshot(&self) -> System {
        collect(&Root::at(self.dir.path(), self.facts.clone()))
    }

    pub(super) fn preemption(&self) -> (Preemption, String) {
        let kernel = self.snapshot().kernel;
        (kernel.preemption, kernel.preemption_evidence)
    }
}

/// A PC with a stock Debian 12, including every file that the snapshot reads.
pub(super) fn debian_12() -> Tree {
    let t = Tree::new("6.1.0-40-amd64", DEBIAN_12, "x86_64");
    t.put("/proc/cmdline", "BOOT_IMAGE=/boot/vmlinuz-6.1.0-40-amd64 root=/dev/sda1 ro quiet isolcpus=3 rcu_nocbs=3\n")
        .put("/etc/os-release", "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n")
        .put(
            "/boot/config-6.1.0-40-amd64",
            "CONFIG_HZ=250\nCONFIG_PREEMPT_BUILD=y\n# CONFIG_PREEMPT_NONE is not set\nCONFIG_PREEMPT_VOLUNTARY=y\n# CONFIG_PREEMPT is not set\n\
             CONFIG_PREEMPT_DYNAMIC=y\n",
        )
        .put("/sys/kernel/debug/sched/preempt", "none (voluntary) full \n")
        .put("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Core(TM) i5-8500\nflags\t\t: fpu tsc nonstop_tsc\n")
        .put("/sys/class/dmi/id/sys_vendor", "Dell Inc.\n")
        .put("/sys/class/dmi/id/product_name", "OptiPlex 3060\n")
        .put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n")
        .put("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm \n")
        .put("/proc/meminfo", "MemTotal:        8000000 kB\nMemFree: 1 kB\nSwapTotal:        999420 kB\nSwapFree:         900000 kB\n")
        .put("/proc/stat", "cpu  1 2 3 4 5 6 7 0 0 0\ncpu0 1 2 3 4 5 6 7 0 0 0\n")
        .put("/proc/self/status", "Name:\tx\nCapEff:\t0000000000804000\n")
        .put("/proc/self/stat", stat(4242, "rtscope", 0x40, 0, 0))
        .put("/dev/cpu_dma_latency", "")
        .put("/proc/sys/kernel/sched_rt_runtime_us", "950000\n")
        .put("/proc/sys/kernel/sched_rt_period_us", "1000000\n")
        .put("/proc/sys/kernel/timer_migration", "1\n")
        .put("/sys/devices/system/cpu/online", "0-3\n")
        .put("/sys/devices/system/cpu/possible", "0-3\n")
        .put("/sys/devices/system/cpu/isolated", "3\n")
        .put("/sys/devices/system/cpu/nohz_full", "  (null)\n")
        .put("/sys/devices/system/cpu/smt/active", "0\n")
        .put("/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n")
        .put("/sys/devices/system/cpu/cpuidle/current_driver", "intel_idle\n")
        .put("/proc/irq/default_smp_affinity", "7\n")
        .put("/sys/kernel/tracing/current_tracer", "nop\n")
        .put("/sys/kernel/tracing/tracing_on", "1\n")
        .put("/sys/kernel/tracing/set_event", "")
        .put("/sys/class/thermal/thermal_zone0/type", "acpitz\n")
        .put("/sys/class/thermal/thermal_zone0/temp", "27800\n")
        .put("/sys/class/thermal/thermal_zone0/trip_point_0_type", "critical\n")
        .put("/sys/class/thermal/thermal_zone0/trip_point_0_temp", "119000\n")
        .put("/sys/class/thermal/thermal_zone0/trip_point_1_type", "passive\n")
        .put("/sys/class/thermal/thermal_zone0/trip_point_1_temp", "-274000\n")
        .put("/sys/class/thermal/thermal_zone0/trip_point_2_type", "active\n")
        .put("/sys/class/thermal/thermal_zone0/trip_point_2_temp", "40000\n");
    for cpu in 0..4 {
        let dir = format!("/sys/devices/system/cpu/cpu{cpu}");
        t.put(&format!("{dir}/cpufreq/scaling_governor"), "powersave\n")
            .put(&format!("{dir}/cpufreq/scaling_driver"), "intel_pstate\n")
            .put(&format!("{dir}/cpufreq/scaling_min_freq"), "800000\n")
            .put(&format!("{dir}/cpufreq/scaling_max_freq"), "4100000\n")
            .put(&format!("{dir}/thermal_throttle/core_throttle_count"), if cpu == 1 { "2\n" } else { "0\n" })
            .put(&format!("{dir}/thermal_throttle/package_throttle_count"), "5\n");
        for (state, (name, latency)) in [("POLL", 0), ("C1", 2), ("C10", 890)].into_iter().enumerate() {
            t.put(&format!("{dir}/cpuidle/state{state}/name"), format!("{name}\n"))
                .put(&format!("{dir}/cpuidle/state{state}/latency"), format!("{latency}\n"))
                .put(&format!("{dir}/cpuidle/state{state}/disable"), if cpu == 3 && state == 2 { "1\n" } else { "0\n" });
        }
    }
    for (irq, smp, effective, handler) in
        [(1, "0-2", "1", true), (8, "0-3", "", true), (16, "0-3", "0", false), (120, "3", "3", true)]
    {
        t.put(&format!("/proc/irq/{irq}/smp_affinity_list"), format!("{smp}\n"));
        t.put(&format!("/proc/irq/{irq}/effective_affinity_list"), format!("{effective}\n"));
        if handler {
            fs::create_dir(t.dir.path().join(format!("proc/irq/{irq}/device"))).unwrap();
        }
    }
    t.task((1, 1), "systemd", 0x40_0100, (0, 0), "0-3")
        .task((2, 2), "kthreadd", KERNEL_THREAD, (0, 0), "0-3")
        .task((15, 15), "migration/0", KERNEL_THREAD, (1, 99), "0")
        .task((90, 90), "irq/120-nvme0q0", KERNEL_THREAD, (1, 50), "3")
        .task((600, 600), "irqbalance", 0x40_0100, (0, 0), "0-3")
        .task((700, 700), "jackd", 0x40_0100, (0, 0), "0-3")
        .task((700, 701), "jackd (rt)", 0x40_0040, (2, 70), "0-1")
        .task((800, 800), "fake/3", 0x40_0100, (1, 99), "0-3")
        .task((4242, 4242), "rtscope", 0x40, (1, 99), "0-3");
    t
}

/// A Raspberry Pi 4 with the manufacturer's 64-bit kernel.
pub(super) fn raspberry_pi() -> Tree {
    let t = Tree::new("6.12.47+rpt-rpi-v8", "#1 SMP PREEMPT Debian 1:6.12.47-1+rpt1 (2025-09-16)", "aarch64");
    t.put("/proc/cmdline", "console=serial0,115200 root=PARTUUID=1-02 rootfstype=ext4 fsck.repair=yes rootwait\n")
        .put("/proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4\0")
        .put("/proc/device-tree/compatible", "raspberrypi,4-model-b\0brcm,bcm2711\0")
        .put(
            "/proc/cpuinfo",
            "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\n\nModel : Raspberry Pi 4\n",
        )
        .put("/sys/devices/system/cpu/online", "0-3\n")
        .put("/sys/devices/platform/soc/soc:firmware/get_throttled", "50005\n")
        .put("/sys/class/thermal/thermal_zone0/type", "cpu-thermal\n")
        .put("/sys/class/thermal/thermal_zone0/temp", "61342\n")
        .put("/sys/class/thermal/thermal_zone0/trip_point_0_type", "critical\n")
        .put("/sys/class/thermal/thermal_zone0/trip_point_0_temp", "110000\n")
        .put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "arch_sys_counter\n")
        .put("/proc/irq/11/smp_affinity_list", "0-3\n")
        .put("/proc/irq/11/arch_timer/x", "")
        .read_only("/proc/irq/11/smp_affinity_list")
        .put("/proc/irq/30/smp_affinity_list", "0-3\n")
        .put("/proc/irq/30/effective_affinity_list", "0\n")
        .put("/proc/irq/30/eth0/x", "");
    t
}

/// The files of a tree by path, sorted.
pub(super) fn files(tree: &Tree) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut dirs = vec![tree.dir.path().to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() { dirs.push(entry.path()) } else { found.push(entry.path()) }
        }
    }
    let mut names: Vec<_> = found.iter().map(|path| path.strip_prefix(tree.dir.path()).unwrap().to_owned()).collect();
    names.sort();
    names
}
