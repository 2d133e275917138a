//! The proof of a load as a record holds it: its processes, what they achieved, and what the kernel saw of them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a load did while the measurement ran.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadProof {
    /// Name of the load: `none`, `background`, `full`, `stress-ng:--cpu 2` ...
    pub name: String,
    /// How it was isolated, in words: `PID, mount, IPC and network namespaces`, `process tree, no namespaces` ...
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub isolation: String,
    /// Time from when the load was up until it was told to stop, ns.
    #[serde(default)]
    pub ran_ns: u64,
    /// Every process started for it, without their children.
    #[serde(default)]
    pub processes: Vec<LoadProcess>,
    /// OOM kills of the kernel on the whole machine while the load ran; null if the kernel does not count them.
    #[serde(default)]
    pub oom_kills: Option<u64>,
    /// CPU time of the whole load. Absent in older records, and if the supervisor of the load was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub course: Option<LoadCourse>,
}

/// One process of a load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadProcess {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Exit status; null if a signal killed it, or if its end was not seen.
    pub exit_code: Option<i32>,
    /// Signal that killed it, if one did.
    pub signal: Option<i32>,
    /// It ended before it was told to.
    pub died_early: bool,
    /// What it achieved: figures by name with unit, such as `cpu.bogo_ops`, `iperf3.bytes`, `iperf3.gbit_per_s`.
    #[serde(default)]
    pub achieved: BTreeMap<String, f64>,
    /// What is part of its load and was left out, by rtscope or by itself, such as a stressor that this machine cannot run: name and
    /// its reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, String>,
    /// What its workers did while the load was up, by kind of worker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<LoadWorkers>,
    /// Its last messages, if something went wrong.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

/// CPU time of a whole load, from when it was up until it was told to stop, as the kernel accounts it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadCourse {
    /// A load of this name leaves no CPU idle.
    #[serde(default)]
    pub fills_cpus: bool,
    /// Each CPU that the load could use. CPU time of a process counts for the CPU on which it was last seen.
    #[serde(default)]
    pub cpus: Vec<LoadCpu>,
    /// The run in at most 64 consecutive steps of about equal length; the last may be shorter.
    #[serde(default)]
    pub steps: Vec<LoadStep>,
}

/// Use of one CPU while the load ran, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadCpu {
    /// CPU number.
    pub cpu: u32,
    /// CPU time of the load.
    pub load_ns: u64,
    /// Idle time, I/O wait included.
    pub idle_ns: u64,
}

/// Use of all CPUs of the load in one step of the run, ns. The rest was used by the measurement and other programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadStep {
    /// Length of the step.
    pub ns: u64,
    /// CPU time of the load.
    pub load_ns: u64,
    /// Idle time, I/O wait included.
    pub idle_ns: u64,
}

/// Workers of one kind in a process of a load, such as those of one stressor.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadWorkers {
    /// Name of the stressor, else of the program, such as `iperf3`.
    pub name: String,
    /// Number of workers.
    pub count: u32,
    /// Number of workers that ended before they were told to.
    #[serde(default)]
    pub gone: u32,
    /// How often a look found a worker stopped by a signal.
    #[serde(default)]
    pub stopped: u32,
    /// Number of workers whose nice value or scheduling policy was changed.
    #[serde(default)]
    pub reniced: u32,
    /// CPU time of all workers and of the processes they started, ns.
    pub cpu_ns: u64,
    /// Sum over all workers of the time during which they were watched, ns.
    pub watched_ns: u64,
    /// The part of `watched_ns` in which workers were idle, ns: they used no CPU time and waited neither for a CPU nor for a disk,
    /// or were stopped or gone.
    #[serde(default)]
    pub idle_ns: u64,
    /// `idle_ns` in the first 2 s.
    #[serde(default)]
    pub early_idle_ns: u64,
    /// `watched_ns` in the first 2 s.
    #[serde(default)]
    pub early_watched_ns: u64,
    /// Longest time in which all workers were idle, ns.
    #[serde(default)]
    pub longest_idle_ns: u64,
}
