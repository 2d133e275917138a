//! What the witness saw of a run: the observations as the record holds them.

use crate::policy::Policy;
use crate::system::{cpu_list, cpus};
use serde::{Deserialize, Serialize};

/// Most states of one thread, rivals, other runs or changes that are kept; [`Witness::left_out`] counts the rest.
pub const MOST: usize = 64;

/// What was seen of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Witness {
    /// Looks at the threads and the machine during the run, besides those before and after.
    pub looks: u32,
    /// The time from one look to the next, as meant, ns.
    pub every_ns: u64,
    /// The longest time from one look to the next, ns.
    pub longest_gap_ns: u64,
    /// How long the run was to take, ns; `None` where that was not said.
    pub planned_ns: Option<u64>,
    /// How long it took, ns.
    pub real_ns: u64,
    /// The threads that measured, stimulated or answered.
    pub threads: Vec<ThreadSeen>,
    /// Real-time tasks at or above the measuring priority, allowed on measured CPUs, that ran meanwhile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rivals: Vec<Rival>,
    /// Other runs of rtscope on the same machine at the same time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_runs: Vec<OtherRun>,
    /// The measured CPUs.
    pub cpus: Vec<CpuSeen>,
    /// What changed on the machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Why the watchdog ended the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starved: Option<Starved>,
    /// How many more states, rivals, runs and changes were seen than are kept here.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // required by serde
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// One thread of the run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ThreadSeen {
    /// As in the distribution; `instrument` and `dut` in tests over lines.
    pub label: String,
    /// Thread id; 0 where it never started.
    pub tid: u32,
    /// How the kernel scheduled it: before the run, and whenever that had changed since the look before; the last is that of the end.
    pub states: Vec<ThreadState>,
    /// CPUs that it was seen on.
    pub ran_on: Vec<u32>,
    /// How often the kernel moved it to another CPU, from its first look to its last; `None` where the kernel does not say.
    pub migrations: Option<u64>,
    /// The scheduler of ordinary tasks dealt with it meanwhile, by the kernel's own accounts: it was an ordinary task for some time,
    /// however short. `None` where the kernel does not say, or where it was one from the beginning.
    pub was_ordinary: Option<bool>,
    /// CPU time that it took, ns.
    pub ran_ns: Option<u64>,
    /// How long it was ready to run and waited for a CPU, ns.
    pub waited_ns: Option<u64>,
    /// How often another task took the CPU from it.
    pub preempted: Option<u64>,
    /// Its timer slack, ns: how late the kernel may let its timers expire. Ordinary tasks only; 0 for real-time ones.
    pub timer_slack_ns: Option<u64>,
}

/// How a thread was scheduled.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadState {
    /// When it was seen, ns since the start of the run; 0 before it.
    pub at: u64,
    /// `fifo`, `rr`, `deadline`, `other`, `batch`, `idle`, or `ext`.
    pub policy: String,
    /// 1 to 99; 0 for policies that have none.
    pub priority: u8,
    /// CPUs that it was allowed on.
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
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Name.
    pub name: String,
    /// Policy.
    pub policy: String,
    /// 1 to 99; 0 for deadline, which is above all.
    pub priority: u8,
    /// CPUs that it was allowed on; empty where that can't be read.
    pub cpus: Vec<u32>,
    /// The CPU that it ran on last.
    pub cpu: u32,
    /// A thread of the kernel.
    #[serde(default)]
    pub kernel: bool,
    /// CPU time that it took during the run, ns; what it took before it was first seen is not known, and not in it, unless it began
    /// during the run.
    pub ran_ns: u64,
    /// When it was first seen, ns since the start; 0 when it was there before.
    pub first_at: u64,
}

/// Another run on the same machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtherRun {
    /// The process that measures.
    pub pid: u32,
    /// The command line that asked for it, where it can be read; else the process's.
    pub command: String,
    /// Its threads.
    pub threads: Vec<String>,
    /// How long before this run's start it had begun, ns; 0 when it began later.
    pub before_ns: u64,
    /// When it was first seen, ns since the start; 0 when it was there before.
    pub first_at: u64,
    /// When it was last seen, ns since the start.
    pub last_at: u64,
}

/// What was seen of one measured CPU.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CpuSeen {
    /// Its number.
    pub cpu: u32,
    /// Time that the hypervisor gave to others during the run, ns, in the kernel's ticks of 10 ms.
    pub steal_ns: Option<u64>,
    /// Lowest and highest frequency at a look, kHz.
    pub khz: Option<(u64, u64)>,
    /// System management interrupts during the run, where the processor counts them and the count can be read.
    pub smis: Option<u64>,
}

/// Something that changed while it was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// When the change was seen, ns since the start of the run: it happened between the look before and then.
    pub at: u64,
    /// What changed.
    pub what: Changed,
    /// Of which CPU, zone or device; empty for the machine.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// As it was.
    pub from: String,
    /// As it is.
    pub to: String,
}

/// What can change.
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
    /// The fair server's share.
    FairServer,
    /// The CPUs that are online.
    Online,
    /// Events of throttling for heat or power, as the processor counts them.
    ThrottleCount,
    /// The state of a device that cools by slowing down.
    Cooling,
    /// The firmware's word of undervoltage, heat or throttling.
    Firmware,
    /// The machine was suspended; `to` says for how long.
    Suspended,
    /// Nothing of the probe ran, though it waited for no CPU: machine or process stood still; `to` says for how long.
    Paused,
    /// The process was told to go on (SIGCONT): somebody may have stopped it.
    Continued,
}

/// A run that the watchdog ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Starved {
    /// When it was ended, ns since the start.
    pub at: u64,
    /// Which thread made no progress; empty when the run lasted beyond its time.
    pub thread: String,
    /// Since when, ns since the start.
    pub since: u64,
    /// Who had its CPU meanwhile; `None` where nobody could be found.
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
