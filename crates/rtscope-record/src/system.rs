//! Snapshot of the measured machine, collected by the probe. Only facts, with `None` where the machine does not tell.

use crate::policy::Policy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Snapshot of a machine before the run: in `system` the DUT's, in `instrument.system` the instrument's.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct System {
    /// Host name.
    pub hostname: String,
    /// Board or product name, from the device tree or DMI.
    pub board: Option<String>,
    /// Distribution, as in os-release's `PRETTY_NAME`.
    pub os: Option<String>,
    /// The kernel.
    pub kernel: Kernel,
    /// The processor and its power management.
    pub cpu: Cpu,
    /// Current clock source.
    pub clocksource: Option<String>,
    /// Total memory, KiB.
    pub memory_kib: Option<u64>,
    /// Available clock sources.
    pub clocksources: Vec<String>,
    /// Timer resolution of `CLOCK_MONOTONIC`, ns; more than 1: no high-resolution timers.
    pub timer_resolution_ns: Option<u64>,
    /// `kernel.sched_rt_runtime_us`; -1: no RT throttling.
    pub rt_runtime_us: Option<i64>,
    /// `kernel.sched_rt_period_us`.
    pub rt_period_us: Option<i64>,
    /// Fair server, which replaced RT throttling in Linux 6.12: CPU time that ordinary tasks get on a CPU kept busy by real-time
    /// tasks. null if the kernel has none or does not show it.
    pub fair_server: Option<FairServer>,
    /// `kernel.timer_migration`.
    pub timer_migration: Option<bool>,
    /// Interrupt routing.
    pub irq: Irq,
    /// Swap space, KiB: (total, used).
    pub swap_kib: Option<(u64, u64)>,
    /// Limits of the measuring user.
    pub limits: Limits,
    /// Hypervisor: `kvm`, `vmware`, `xen` ...; null: bare metal, as far as can be told.
    pub virtualization: Option<String>,
    /// Container: `docker`, `lxc`, `systemd-nspawn` ...; null: none, as far as can be told.
    pub container: Option<String>,
    /// Time stolen by the hypervisor since boot, all CPUs together, in ticks of 10 ms (`USER_HZ`).
    pub steal_ticks: Option<u64>,
    /// State of the kernel's tracers; null if tracefs can't be read.
    pub tracing: Option<Tracing>,
    /// Real-time tasks of other programs and of the kernel, without the kernel threads that every CPU has (`migration/0` ...).
    pub rt_tasks: Vec<RtTask>,
    /// Tasks of other users or of the host are not visible (`hidepid`, a container), so `rt_tasks` may be incomplete.
    pub tasks_hidden: bool,
    /// Thermal zones.
    pub temperatures: Vec<Temperature>,
    /// Throttling at the time of the snapshot, by heat or undervoltage, in words; null if there is none, or if the machine does not
    /// report it.
    pub throttling: Option<String>,
    /// Throttling at any time since boot, in words; null as for `throttling`.
    pub throttled_since_boot: Option<String>,
    /// Thermal throttle events since boot: the sum of the kernel's counters. If it differs between two snapshots, the processor was
    /// throttled in between.
    pub throttle_count: Option<u64>,
    /// Versions of the programs involved, by name: `rtscope`, `stress-ng`, `iperf3`, `qemu` ...
    pub tools: BTreeMap<String, String>,
}

impl System {
    /// Whether there is no snapshot at all: every machine has a kernel.
    pub fn is_unknown(&self) -> bool {
        self.kernel.release.is_empty()
    }
}

/// The kernel and its preemption model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Kernel {
    /// `uname -r`
    pub release: String,
    /// `uname -v`
    pub version: String,
    /// `uname -m`
    pub arch: String,
    /// Kernel command line.
    pub cmdline: String,
    /// Preemption model.
    pub preemption: Preemption,
    /// Where the preemption model was read from.
    pub preemption_evidence: String,
    /// `CONFIG_HZ`; null if the kernel's configuration is not available.
    pub hz: Option<u32>,
    /// Debugging options in effect that slow down locks or memory accesses, such as `CONFIG_KASAN`.
    pub debug_options: Vec<String>,
}

/// Preemption model in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Preemption {
    /// It could not be determined.
    #[default]
    Unknown,
    /// `PREEMPT_NONE`
    None,
    /// `PREEMPT_VOLUNTARY`
    Voluntary,
    /// `PREEMPT_LAZY`
    Lazy,
    /// `PREEMPT` (low-latency desktop)
    Full,
    /// `PREEMPT_RT`
    Rt,
}

impl Preemption {
    /// The name as users write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::None => "PREEMPT_NONE",
            Self::Voluntary => "PREEMPT_VOLUNTARY",
            Self::Lazy => "PREEMPT_LAZY",
            Self::Full => "PREEMPT",
            Self::Rt => "PREEMPT_RT",
        }
    }
}

/// The processor.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Cpu {
    /// Model name.
    pub model: Option<String>,
    /// Online CPUs.
    pub online: Vec<u32>,
    /// CPUs that the probe may use.
    pub allowed: Vec<u32>,
    /// Whether SMT (hyper-threading) is active.
    pub smt_active: Option<bool>,
    /// Frequency governor of each CPU; empty without frequency scaling.
    #[serde(deserialize_with = "by_cpu")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, String>"))]
    pub governor: BTreeMap<u32, String>,
    /// Lowest and highest frequency that the governor may choose, kHz, of each CPU.
    #[serde(deserialize_with = "by_cpu")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, (u64, u64)>"))]
    pub frequency_khz: BTreeMap<u32, (u64, u64)>,
    /// Frequency scaling driver.
    pub frequency_driver: Option<String>,
    /// Whether the processor may exceed its nominal frequency (turbo, boost).
    pub turbo: Option<bool>,
    /// Idle driver.
    pub idle_driver: Option<String>,
    /// Idle states of all CPUs, merged by name.
    pub idle_states: Vec<IdleState>,
    /// CPUs isolated from the scheduler (`isolcpus`).
    pub isolated: Vec<u32>,
    /// Adaptive-tick CPUs (`nohz_full`).
    pub nohz_full: Vec<u32>,
    /// CPUs whose RCU callbacks are offloaded (`rcu_nocbs` on the kernel command line).
    pub rcu_nocbs: Vec<u32>,
}

/// An idle state (C-state).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleState {
    /// Name, such as `C6`.
    pub name: String,
    /// Exit latency, us; the longest if CPUs differ.
    pub latency_us: u64,
    /// It is disabled on every CPU.
    pub disabled: bool,
    /// CPUs on which it is enabled.
    #[serde(default)]
    pub cpus: Vec<u32>,
}

/// Interrupt routing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Irq {
    /// Default affinity: CPUs that new interrupts go to.
    pub default_affinity: Vec<u32>,
    /// Number of interrupts in use on each CPU: by their effective affinity, or by their affinity if the kernel does not show the
    /// effective one. Per-CPU interrupts, such as those of a CPU's timer, are left out.
    #[serde(deserialize_with = "by_cpu")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, u32>"))]
    pub per_cpu: BTreeMap<u32, u32>,
    /// Whether `irqbalance` runs.
    pub irqbalance: bool,
}

/// Limits and capabilities of the measuring user.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Limits {
    /// `RLIMIT_MEMLOCK`, bytes; null: unlimited.
    pub memlock: Option<u64>,
    /// `RLIMIT_RTPRIO`, or the real-time priority with which the probe was started if that is higher.
    pub rtprio: u64,
    /// Has `CAP_SYS_NICE`.
    pub cap_sys_nice: bool,
    /// Has `CAP_IPC_LOCK`.
    pub cap_ipc_lock: bool,
    /// `/dev/cpu_dma_latency` can be opened for writing.
    pub cpu_dma_latency: bool,
}

/// State of the kernel's tracers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Tracing {
    /// `current_tracer`; `TRACER (instance NAME)` if only an instance has an active tracer.
    pub current: String,
    /// `tracing_on`, or an instance with an active tracer, or enabled events.
    pub on: bool,
    /// Number of enabled events (lines of `set_event`) where tracing is on, instances included (but for rasdaemon's).
    pub events: u32,
}

/// A real-time task of another program or of the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RtTask {
    /// Thread id.
    pub tid: u32,
    /// Name.
    pub name: String,
    /// Scheduling policy.
    pub policy: Policy,
    /// Priority, 1 to 99; 0 for `deadline`, which precedes all others.
    pub priority: u8,
    /// CPUs it may run on; empty if that can't be read.
    pub cpus: Vec<u32>,
    /// It is a kernel thread, such as that of an interrupt.
    #[serde(default)]
    pub kernel: bool,
}

/// Fair server of the CPU on which it gives ordinary tasks the most (`/sys/kernel/debug/sched/fair_server`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FairServer {
    /// CPU time for ordinary tasks in each period, ns; 0: none.
    pub runtime_ns: u64,
    /// The period, ns.
    pub period_ns: u64,
}

/// A thermal zone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Temperature {
    /// Type of the zone, such as `x86_pkg_temp`.
    pub zone: String,
    /// Temperature, thousandths of a degree Celsius.
    pub milli_celsius: i64,
    /// Lowest passive, hot or critical trip point, thousandths of a degree Celsius.
    pub trip_milli_celsius: Option<i64>,
}

/// `CPU 3` or `CPUs 0-3`.
pub fn cpus(of: &[u32]) -> String {
    let plural = if of.len() == 1 { "" } else { "s" };
    format!("CPU{plural} {}", cpu_list(of))
}

/// CPU numbers as the kernel writes them: `0-3,8`. The numbers may come in any order; `none` for no CPU.
pub fn cpu_list(cpus: &[u32]) -> String {
    let mut sorted = cpus.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in sorted {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(cpu) => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    if ranges.is_empty() {
        return "none".into();
    }
    let texts: Vec<String> = ranges.iter().map(|&(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") }).collect();
    texts.join(",")
}

/// Reads a list of CPUs such as `0,2-3`, in the order given; `None` for anything else, and for CPUs of 4096 and above.
pub fn parse_cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= 4096 {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// Reads a map by CPU number. Keys in JSON are text, and within a tagged event serde passes them on as text.
fn by_cpu<'de, D: serde::Deserializer<'de>, V: Deserialize<'de>>(from: D) -> Result<BTreeMap<u32, V>, D::Error> {
    let map = BTreeMap::<String, V>::deserialize(from)?;
    let number = |key: String| key.parse().map_err(|_| serde::de::Error::custom(format!("`{key}` is not a CPU number")));
    map.into_iter().map(|(key, value)| Ok((number(key)?, value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cpu_lists() {
        assert_eq!(cpu_list(&[]), "none");
        assert_eq!(cpu_list(&[3]), "3");
        assert_eq!(cpu_list(&[8, 0, 2, 1, 2]), "0-2,8");
        assert_eq!(cpu_list(&[u32::MAX, u32::MAX - 1]), "4294967294-4294967295");
    }

    #[test]
    fn lists_are_read() {
        for (text, cpus) in [("0,2-3", &[0, 2, 3][..]), ("7", &[7]), (" 5 - 5", &[5]), ("4094-4095", &[4094, 4095])] {
            assert_eq!(parse_cpu_list(text).as_deref(), Some(cpus), "{text}");
        }
        for bad in ["", "a", "3-1", "0,", "-1", "0-99999999", "4096", "4095-4096"] {
            assert_eq!(parse_cpu_list(bad), None, "{bad}");
        }
    }

    #[test]
    fn maps_by_cpu_have_its_number_as_a_text() {
        let cpu = Cpu { governor: [(2, "performance".to_owned()), (13, "powersave".to_owned())].into(), ..Cpu::default() };
        let text = serde_json::to_string(&cpu).unwrap();
        assert!(text.contains(r#""governor":{"2":"performance","13":"powersave"}"#), "{text}");
        assert_eq!(serde_json::from_str::<Cpu>(&text).unwrap(), cpu);
        let wrong = serde_json::from_str::<Cpu>(&text.replace("\"13\"", "\"x\"")).unwrap_err();
        assert!(wrong.to_string().starts_with("`x` is not a CPU number"), "{wrong}");
    }

    #[test]
    fn preemption_models_go_by_the_kernels_names() {
        let names =
            [Preemption::None, Preemption::Voluntary, Preemption::Lazy, Preemption::Full, Preemption::Rt].map(Preemption::as_str);
        assert_eq!(names, ["PREEMPT_NONE", "PREEMPT_VOLUNTARY", "PREEMPT_LAZY", "PREEMPT", "PREEMPT_RT"]);
        assert_eq!(Preemption::Unknown.as_str(), "unknown");
    }

    proptest! {
        #[test]
        fn any_list_is_read_or_refused(text in "\\PC{0,20}") {
            let _ = parse_cpu_list(&text);
        }

        #[test]
        fn what_is_written_reads_back(mut cpus in prop::collection::vec(0u32..4096, 1..9)) {
            let text = cpu_list(&cpus);
            cpus.sort_unstable();
            cpus.dedup();
            prop_assert_eq!(parse_cpu_list(&text), Some(cpus));
        }
    }
}
