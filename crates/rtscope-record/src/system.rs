//! Snapshot of the measured machine, collected by the probe. Only facts, with `None` where the machine does not tell.

use crate::policy::Policy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A snapshot of a machine: of the device under test, unless it stands with the instrument.
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
    /// Processor and its power management.
    pub cpu: Cpu,
    /// Current clock source.
    pub clocksource: Option<String>,
    /// Memory of the machine, KiB.
    pub memory_kib: Option<u64>,
    /// Clock sources the kernel offers.
    pub clocksources: Vec<String>,
    /// Timer resolution of `CLOCK_MONOTONIC`, ns; more than 1 means no high-resolution timers.
    pub timer_resolution_ns: Option<u64>,
    /// `kernel.sched_rt_runtime_us`; -1 is no throttling.
    pub rt_runtime_us: Option<i64>,
    /// `kernel.sched_rt_period_us`.
    pub rt_period_us: Option<i64>,
    /// The fair server of kernels from 6.12 on, which took the place of RT throttling: what ordinary tasks get of a CPU that
    /// real-time tasks keep busy.
    pub fair_server: Option<FairServer>,
    /// `kernel.timer_migration`.
    pub timer_migration: Option<bool>,
    /// Interrupt routing.
    pub irq: Irq,
    /// Swap in use or available, KiB: (total, used).
    pub swap_kib: Option<(u64, u64)>,
    /// Limits of the measuring user.
    pub limits: Limits,
    /// `None`: bare metal as far as can be told; else the hypervisor: `kvm`, `vmware`, `xen` ...
    pub virtualization: Option<String>,
    /// `None`: no container as far as can be told; else `docker`, `lxc`, `systemd-nspawn` ...
    pub container: Option<String>,
    /// Time stolen by the hypervisor since boot, all CPUs together, ticks of user time.
    pub steal_ticks: Option<u64>,
    /// State of the kernel's tracers.
    pub tracing: Option<Tracing>,
    /// Real-time tasks beside ours, kernel threads of each CPU (`migration/0` ...) left out.
    pub rt_tasks: Vec<RtTask>,
    /// The tasks of other users or of the host can't be seen from here (`hidepid`, a container), so `rt_tasks` may lack some.
    pub tasks_hidden: bool,
    /// Thermal zones.
    pub temperatures: Vec<Temperature>,
    /// The machine is throttled for heat or undervoltage at this moment, in words; `None` also where it does not say.
    pub throttling: Option<String>,
    /// The machine was throttled at some time since it was started, in words.
    pub throttled_since_boot: Option<String>,
    /// How often since boot the processors were throttled for heat, the sum of the kernel's counters. A difference between two
    /// snapshots is throttling in between.
    pub throttle_count: Option<u64>,
    /// Versions of the tools that took part: `rtscope`, `stress-ng`, `iperf3` ...
    pub tools: BTreeMap<String, String>,
}

impl System {
    /// Whether there is no snapshot at all: every machine has a kernel.
    pub fn is_unknown(&self) -> bool {
        self.kernel.release.is_empty()
    }
}

/// Which kernel, and how preemptible it is.
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
    /// How preemptible it is.
    pub preemption: Preemption,
    /// What the preemption model was read from.
    pub preemption_evidence: String,
    /// `CONFIG_HZ`, where the configuration is at hand.
    pub hz: Option<u32>,
    /// Debugging options of the configuration that slow down every lock or memory access, such as `CONFIG_KASAN`.
    pub debug_options: Vec<String>,
}

/// Preemption model in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Preemption {
    /// Not to be told.
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
    /// CPUs this process may use.
    pub allowed: Vec<u32>,
    /// Whether SMT siblings are active.
    pub smt_active: Option<bool>,
    /// Frequency governor in force, by CPU number; empty where there is no frequency scaling.
    #[serde(deserialize_with = "by_cpu")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, String>"))]
    pub governor: BTreeMap<u32, String>,
    /// Lowest and highest frequency the governor may choose, kHz, by CPU.
    #[serde(deserialize_with = "by_cpu")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, (u64, u64)>"))]
    pub frequency_khz: BTreeMap<u32, (u64, u64)>,
    /// Frequency scaling driver.
    pub frequency_driver: Option<String>,
    /// Whether the processor may go above its nominal frequency (turbo, boost).
    pub turbo: Option<bool>,
    /// Idle driver.
    pub idle_driver: Option<String>,
    /// Idle states, by name over all CPUs.
    pub idle_states: Vec<IdleState>,
    /// CPUs isolated from the scheduler.
    pub isolated: Vec<u32>,
    /// CPUs without a periodic tick.
    pub nohz_full: Vec<u32>,
    /// CPUs whose RCU callbacks run elsewhere, as asked for on the kernel's command line.
    pub rcu_nocbs: Vec<u32>,
}

/// One idle state.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleState {
    /// Name, such as `C6`.
    pub name: String,
    /// Exit latency, us; the longest where CPUs differ.
    pub latency_us: u64,
    /// Switched off on every CPU.
    pub disabled: bool,
    /// CPUs that may enter it.
    #[serde(default)]
    pub cpus: Vec<u32>,
}

/// Interrupt routing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Irq {
    /// CPUs that new interrupts go to.
    pub default_affinity: Vec<u32>,
    /// For each CPU, how many interrupts in use are delivered to it, or may be where the kernel says no more. Those that belong to
    /// each CPU (its timer) are left out.
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
    /// `RLIMIT_MEMLOCK`, bytes; `None` is unlimited.
    pub memlock: Option<u64>,
    /// `RLIMIT_RTPRIO`, or the real-time priority that the process has been started with where that is higher.
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
    /// `current_tracer`; of an instance where the top level has `nop` and an instance has not.
    pub current: String,
    /// `tracing_on`
    pub on: bool,
    /// Number of enabled events (`set_event` lines), instances included.
    pub events: u32,
}

/// A real-time task beside ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RtTask {
    /// Thread id.
    pub tid: u32,
    /// Name.
    pub name: String,
    /// Policy.
    pub policy: Policy,
    /// Priority, 1 to 99; 0 for deadline, which is above all.
    pub priority: u8,
    /// CPUs it may run on; empty where that can't be read.
    pub cpus: Vec<u32>,
    /// A thread of the kernel (an interrupt's, for example), not of a program.
    #[serde(default)]
    pub kernel: bool,
}

/// `/sys/kernel/debug/sched/fair_server`, of the CPU where it gives most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FairServer {
    /// What ordinary tasks get in each period, ns; 0 is nothing.
    pub runtime_ns: u64,
    /// The period, ns.
    pub period_ns: u64,
}

/// A thermal zone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Temperature {
    /// Its type, such as `x86_pkg_temp`.
    pub zone: String,
    /// Thousandths of a degree Celsius.
    pub milli_celsius: i64,
    /// Lowest passive or critical trip point, thousandths of a degree.
    pub trip_milli_celsius: Option<i64>,
}

/// `CPU 3` or `CPUs 0-3`.
pub(crate) fn cpus(of: &[u32]) -> String {
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
