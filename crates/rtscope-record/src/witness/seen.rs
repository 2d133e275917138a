//! What the witness saw of a run: the observations as the record holds them.

use crate::policy::Policy;
use crate::system::{cpu_list, cpus};
use serde::{Deserialize, Serialize};

/// Most states of one thread, rivals, other runs or changes that are kept; [`Witness::left_out`] counts the rest.
pub const MOST: usize = 64;

/// Observations of the threads and the machine before, during and after a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Witness {
    /// Number of looks at the threads and the machine during the run, without those before and after it.
    pub looks: u32,
    /// Nominal time between two looks, ns; longer than any run if there were none during it.
    pub every_ns: u64,
    /// Longest time between two looks, ns.
    pub longest_gap_ns: u64,
    /// Planned duration of the run, ns; null if it had none.
    pub planned_ns: Option<u64>,
    /// Actual duration of the run, ns.
    pub real_ns: u64,
    /// The threads that measured, stimulated or answered.
    pub threads: Vec<ThreadSeen>,
    /// Real-time tasks at or above the measuring priority, allowed on measured CPUs, that ran during the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rivals: Vec<Rival>,
    /// Other runs of rtscope on the same machine at the same time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_runs: Vec<OtherRun>,
    /// The measured CPUs.
    pub cpus: Vec<CpuSeen>,
    /// Changes of the machine during the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Why the watchdog ended the run; absent if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starved: Option<Starved>,
    /// Number of thread states, rivals, runs and changes that were seen but are not listed here: at most 64 of each are.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // required by serde
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// Observations of one thread of the run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ThreadSeen {
    /// Label of its distribution; `instrument` or `dut` in tests over lines.
    pub label: String,
    /// Thread id; 0 if it never started.
    pub tid: u32,
    /// Its scheduling at the start of the run, and each change that was seen.
    pub states: Vec<ThreadState>,
    /// CPUs on which it was seen.
    pub ran_on: Vec<u32>,
    /// Number of migrations to another CPU between its first and last look; null if unknown.
    pub migrations: Option<u64>,
    /// By the kernel's accounts, it was an ordinary task for some time, however short. null if this can't be told: the kernel does
    /// not show it, the thread migrated or changed its cgroup, or it was an ordinary task from the beginning.
    pub was_ordinary: Option<bool>,
    /// CPU time that it used, ns.
    pub ran_ns: Option<u64>,
    /// Time that it was ready to run and waited for a CPU, ns.
    pub waited_ns: Option<u64>,
    /// Number of involuntary context switches.
    pub preempted: Option<u64>,
    /// Timer slack of an ordinary task, ns: how late the kernel may let its timers expire. 0 for real-time tasks.
    pub timer_slack_ns: Option<u64>,
}

/// Scheduling of a thread at one time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadState {
    /// When it was seen, ns since the start of the run; 0: before it.
    pub at: u64,
    /// `fifo`, `rr`, `deadline`, `other`, `batch`, `idle` or `ext`; else the policy's number.
    pub policy: String,
    /// 1 to 99; 0 for policies without priority.
    pub priority: u8,
    /// CPUs that it may run on.
    pub cpus: Vec<u32>,
}

impl ThreadState {
    /// Whether `other` is equal apart from its time.
    pub fn is_as(&self, other: &Self) -> bool {
        (&self.policy, self.priority, &self.cpus) == (&other.policy, other.priority, &other.cpus)
    }

    /// `fifo 95 on CPU 0`.
    pub fn in_words(&self) -> String {
        let priority = if self.priority > 0 { format!(" {}", self.priority) } else { String::new() };
        format!("{}{priority} on {}", self.policy, cpus(&self.cpus))
    }

    /// The policy, with all ordinary ones as one.
    pub fn kind(&self) -> Policy {
        match self.policy.as_str() {
            "fifo" => Policy::Fifo,
            "rr" => Policy::Rr,
            "deadline" => Policy::Deadline,
            _ => Policy::Other,
        }
    }
}

/// A real-time task of another program or of the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rival {
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// Name.
    pub name: String,
    /// Scheduling policy.
    pub policy: String,
    /// 1 to 99; 0 for `deadline`, which precedes all others.
    pub priority: u8,
    /// CPUs it may run on; empty if that can't be read.
    pub cpus: Vec<u32>,
    /// CPU on which it last ran.
    pub cpu: u32,
    /// It is a kernel thread.
    #[serde(default)]
    pub kernel: bool,
    /// CPU time that it used during the run, ns, counted from when it was first seen; if it started during the run, from its start.
    pub ran_ns: u64,
    /// When it was first seen, ns since the start of the run; 0: before it.
    pub first_at: u64,
}

/// Another run of rtscope on the same machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtherRun {
    /// Process id of its probe.
    pub pid: u32,
    /// Command line of the rtscope that started the probe, else of the probe; cut at 200 characters.
    pub command: String,
    /// Names of its threads.
    pub threads: Vec<String>,
    /// How long before this run it had started, ns; 0: it started later.
    pub before_ns: u64,
    /// When it was first seen, ns since the start of this run; 0: before it.
    pub first_at: u64,
    /// When it was last seen, ns since the start of this run.
    pub last_at: u64,
}

/// Observations of one measured CPU.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CpuSeen {
    /// CPU number.
    pub cpu: u32,
    /// Time stolen by the hypervisor during the run, ns, in ticks of 10 ms.
    pub steal_ns: Option<u64>,
    /// Lowest and highest frequency seen, kHz.
    pub khz: Option<(u64, u64)>,
    /// System management interrupts during the run; null if the processor does not count them, or the count can't be read.
    pub smis: Option<u64>,
}

/// A change of the machine during the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// When it was seen, ns since the start of the run. It happened after the look before.
    pub at: u64,
    /// What changed.
    pub what: Changed,
    /// The CPU, setting, counter or cooling device that changed; empty for the whole machine.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// Value before; empty for `suspended`, `paused` and `continued`.
    pub from: String,
    /// Value after; for `suspended` and `paused`, how long.
    pub to: String,
}

/// What changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Changed {
    /// The kernel's clock source.
    Clocksource,
    /// The frequency governor of a CPU.
    Governor,
    /// `kernel.sched_rt_runtime_us` or `kernel.sched_rt_period_us`.
    RtThrottling,
    /// The fair server's runtime.
    FairServer,
    /// The online CPUs.
    Online,
    /// The number of throttle events for heat or power limits.
    ThrottleCount,
    /// The state of a cooling device that slows the processor down.
    Cooling,
    /// What the firmware reports of undervoltage, heat or throttling.
    Firmware,
    /// The machine was suspended.
    Suspended,
    /// The witness did not run for some time although it did not wait for a CPU: the machine or the process was stopped.
    Paused,
    /// The process received SIGCONT: it may have been stopped before.
    Continued,
}

/// Why the watchdog ended a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Starved {
    /// When it ended the run, ns since the start.
    pub at: u64,
    /// Label of the thread that made no progress; empty if the run exceeded its planned duration.
    pub thread: String,
    /// Since when it made no progress, ns since the start of the run.
    pub since: u64,
    /// The rival that used that thread's CPU meanwhile; absent if none was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Rival>,
}

impl Rival {
    /// `hog (pid 12, fifo 99, CPU 0)`.
    pub fn in_words(&self) -> String {
        let priority = if self.priority > 0 { format!(" {}", self.priority) } else { String::new() };
        let cpus = if self.cpus.is_empty() { String::new() } else { format!(", CPU {}", cpu_list(&self.cpus)) };
        format!("{} (pid {}, {}{priority}{cpus})", self.name, self.tid, self.policy)
    }
}
