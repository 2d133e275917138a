//! The proof of a load: what it achieved, what the kernel saw of it, how each of its processes ended; and what that says of the figures.

mod course;
mod proof;

pub use course::{LoadCourse, LoadCpu, LoadStep, LoadWorkers};
pub use proof::warnings;

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
