//! A stock kernel and its RT partner, with their figures under each load.

use super::figures::{LoadFigures, Overall};
use crate::kernel::KernelModel;
use crate::replicates::LoadRuns;
use rtscope_record::{Clock, Space};
use serde::Serialize;

/// A stock kernel and its RT partner, or a kernel without one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelPair {
    /// Major and minor number of the kernels, such as "6.12"; "unknown" where a record does not say.
    pub series: String,
    /// Architecture as `uname -m` has it; may be empty.
    pub arch: String,
    /// The board, else the processor; empty where the record does not say.
    pub machine: String,
    /// Where the measured task ran.
    pub space: Space,
    /// Whose time the figures are in.
    pub clock: Clock,
    /// The time model of the lab, for virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<u32>,
    /// Clock and machine in words, such as "virtual in qemu".
    pub clock_words: String,
    /// Whether the machine is virtual.
    pub virtual_machine: bool,
    /// Stock, then RT; or the only kernel.
    pub kernels: Vec<KernelModel>,
    /// The loads of both kernels, in the order of the records.
    pub loads: Vec<LoadFigures>,
    /// Of a pair: the loads of both with whole runs as replicates, RT over stock, with intervals.
    pub runs: Vec<LoadRuns>,
    /// The highest latency of both kernels over the loads that have ratios; `None` where no load has one.
    pub overall: Option<Overall>,
}

impl KernelPair {
    /// Whether it holds a stock kernel and its RT partner.
    pub fn is_pair(&self) -> bool {
        self.kernels.len() == 2
    }
}
