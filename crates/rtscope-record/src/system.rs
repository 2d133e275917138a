//! What the machine was like while it was measured. Collected by the probe; here only the facts, `None` where the machine does not say.

use crate::settings::Policy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A snapshot of the device under test.
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
    /// Clock sources the kernel offers.
    pub clocksources: Vec<String>,
    /// Timer resolution of `CLOCK_MONOTONIC`, ns; more than 1 means no high-resolution timers.
    pub timer_resolution_ns: Option<u64>,
    /// `kernel.sched_rt_runtime_us`; -1 is no throttling.
    pub rt_runtime_us: Option<i64>,
    /// `kernel.sched_rt_period_us`.
    pub rt_period_us: Option<i64>,
    /// `kernel.timer_migration`.
    pub timer_migration: Option<bool>,
    /// Interrupt routing.
    pub irq: Irq,
    /// Swap in use or available, KiB: (total, used).
    pub swap_kib: Option<(u64, u64)>,
    /// Limits of the measuring user.
    pub limits: Limits,
    /// `None`: bare metal as far as can be told; else `kvm`, `vmware`, `container` ...
    pub virtualization: Option<String>,
    /// Share of time stolen by the hypervisor since boot, ticks of user time.
    pub steal_ticks: Option<u64>,
    /// State of the kernel's tracers.
    pub tracing: Option<Tracing>,
    /// Real-time tasks that run at or above the measuring priority, kernel threads of each CPU left out.
    pub rt_tasks: Vec<RtTask>,
    /// Thermal zones.
    pub temperatures: Vec<Temperature>,
    /// Whether the machine is throttled for heat or undervoltage, in words, as far as it says.
    pub throttling: Option<String>,
    /// Versions of the tools that took part: `rtscope`, `stress-ng`, `iperf3` ...
    pub tools: BTreeMap<String, String>,
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
    /// As people write it.
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
    pub governor: BTreeMap<u32, String>,
    /// Lowest and highest frequency the governor may choose, kHz, by CPU.
    pub frequency_khz: BTreeMap<u32, (u64, u64)>,
    /// Frequency scaling driver.
    pub frequency_driver: Option<String>,
    /// Idle driver.
    pub idle_driver: Option<String>,
    /// Idle states of the first CPU.
    pub idle_states: Vec<IdleState>,
    /// CPUs isolated from the scheduler.
    pub isolated: Vec<u32>,
    /// CPUs without a periodic tick.
    pub nohz_full: Vec<u32>,
}

/// One idle state.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleState {
    /// Name, such as `C6`.
    pub name: String,
    /// Exit latency, us.
    pub latency_us: u64,
    /// Switched off.
    pub disabled: bool,
}

/// Interrupt routing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Irq {
    /// CPUs that new interrupts go to.
    pub default_affinity: Vec<u32>,
    /// For each CPU, how many interrupts may be delivered to it.
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
    /// `RLIMIT_RTPRIO`.
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
    /// `current_tracer`
    pub current: String,
    /// `tracing_on`
    pub on: bool,
    /// Number of enabled events (`set_event` lines).
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
    /// CPUs it may run on.
    pub cpus: Vec<u32>,
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
