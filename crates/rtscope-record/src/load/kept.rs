//! The proof of a load as a record holds it: its processes, what they achieved, and what the kernel saw of them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a load did while the measurement ran.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadProof {
    /// Name of the load: `none`, `background`, `full`, `stress-ng:--cpu 2` ...
    pub name: String,
    /// How it was isolated: `pid+net namespaces`, `loopback` ... in plain words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub isolation: String,
    /// From the moment the load was up to the moment it was told to stop, ns.
    #[serde(default)]
    pub ran_ns: u64,
    /// Every process started for it.
    #[serde(default)]
    pub processes: Vec<LoadProcess>,
    /// Kernel OOM kills counted on the machine while the load ran; `None` when the kernel does not say.
    #[serde(default)]
    pub oom_kills: Option<u64>,
    /// What the kernel saw of it meanwhile; `None` in older records, and when its supervisor was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub course: Option<LoadCourse>,
}

/// One process of a load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadProcess {
    /// Program and arguments, as started.
    pub command: Vec<String>,
    /// Exit status, if it exited by itself or on request.
    pub exit_code: Option<i32>,
    /// Signal that ended it, if one did.
    pub signal: Option<i32>,
    /// It ended before it was told to.
    pub died_early: bool,
    /// What it achieved, by name with unit: `cpu.bogo_ops`, `iperf3.bytes`, `iperf3.gbit_per_s` ...
    #[serde(default)]
    pub achieved: BTreeMap<String, f64>,
    /// What the kernel saw of its workers while the load was up, by what they do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<LoadWorkers>,
    /// Its last lines on stderr, when something went wrong.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

/// What the kernel saw of a whole load, from the moment it was up until it was told to end.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadCourse {
    /// By its name, this load leaves no CPU idle.
    #[serde(default)]
    pub fills_cpus: bool,
    /// Each CPU that it could use. A process counts for the CPU that it was last seen on.
    #[serde(default)]
    pub cpus: Vec<LoadCpu>,
    /// The run in steps of one length; the last may be shorter.
    #[serde(default)]
    pub steps: Vec<LoadStep>,
}

/// What became of the time of one CPU, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadCpu {
    /// Number of the CPU.
    pub cpu: u32,
    /// The load's.
    pub load_ns: u64,
    /// Nobody's.
    pub idle_ns: u64,
}

/// A step of the run, over all CPUs of the load, ns. What is neither the load's nor idle was the measurement's and other programs'.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadStep {
    /// How long it was.
    pub ns: u64,
    /// CPU time of the load.
    pub load_ns: u64,
    /// CPU time of nobody.
    pub idle_ns: u64,
}

/// Workers of one kind in a process of a load: those of a stressor, or an end of iperf3.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadWorkers {
    /// Name of the stressor, or `iperf3`.
    pub name: String,
    /// How many there were.
    pub count: u32,
    /// How many of them ended before they were told to.
    #[serde(default)]
    pub gone: u32,
    /// How often one was seen stopped by a signal.
    #[serde(default)]
    pub stopped: u32,
    /// How many had their priority or policy changed.
    #[serde(default)]
    pub reniced: u32,
    /// CPU time of all of them, with what they started, ns.
    pub cpu_ns: u64,
    /// How long they were watched, all together, ns.
    pub watched_ns: u64,
    /// For how much of that they used no CPU time and waited neither for a CPU nor for a disk, or were gone, ns.
    #[serde(default)]
    pub idle_ns: u64,
    /// The same of the first 2 s.
    #[serde(default)]
    pub early_idle_ns: u64,
    /// `watched_ns` of the first 2 s.
    #[serde(default)]
    pub early_watched_ns: u64,
    /// Longest time in which none of them did anything, ns.
    #[serde(default)]
    pub longest_idle_ns: u64,
}
