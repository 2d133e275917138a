//! Everything that was requested for a run.

use crate::handler::Handler;
use crate::line_options::LineSettings;
use crate::policy::Policy;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// What was asked for. Everything a second run needs to be the same run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settings {
    /// Grid of the first thread, ns.
    pub interval: Nanos,
    /// Added to the interval for each further thread (cyclictest's `-d`), ns.
    #[serde(default)]
    pub distance: Nanos,
    /// Offset of each further thread's first grid point (cyclictest's `-A`/aligned offset), ns.
    #[serde(default)]
    pub start_offset: Nanos,
    /// How long to measure, ns; `None` when `loops` decides or until interrupted.
    #[serde(default)]
    pub duration: Option<Nanos>,
    /// How many grid points of the first thread to pass; `None` when `duration` decides.
    #[serde(default)]
    pub loops: Option<u64>,
    /// Number of measuring threads.
    pub threads: u32,
    /// CPUs to measure on, thread `i` on the `i`-th modulo their number; empty with `migrate`.
    #[serde(default)]
    pub cpus: Vec<u32>,
    /// Threads are free to migrate (Dewit 2024) instead of pinned (Balci 2017).
    #[serde(default)]
    pub migrate: bool,
    /// Scheduling policy.
    pub policy: Policy,
    /// Priority of the first thread, 1 to 99 for FIFO and RR, else 0.
    pub priority: u8,
    /// Each further thread runs at a priority lower by one (cyclictest without `-S`).
    #[serde(default)]
    pub priority_descends: bool,
    /// Lock all memory.
    pub mlockall: bool,
    /// Keep the CPUs out of deep idle states by holding `/dev/cpu_dma_latency` at 0 us.
    pub hold_dma_latency: bool,
    /// Break the run at the first latency above this, ns (cyclictest's `-b`).
    #[serde(default)]
    pub break_above: Option<Nanos>,
    /// Equal-width bins to keep beside the histogram: (bins, width in ns) (cyclictest's `-h`).
    #[serde(default)]
    pub linear_bins: Option<(u64, u64)>,
    /// Send every sample, in the order taken (cyclictest's `-v`; raw samples beside the record).
    #[serde(default)]
    pub samples: bool,
    /// How many worst samples to keep for each thread.
    pub worst: u32,
    /// `response`, `periodic` and `sustained`: the lines, and what is asked of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineSettings>,
    /// In kernel space: where the task does its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handler: Option<Handler>,
    /// The command line that asked for the run.
    #[serde(default)]
    pub command: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            interval: Nanos(1_000_000),
            distance: Nanos(0),
            start_offset: Nanos(0),
            duration: None,
            loops: None,
            threads: 1,
            cpus: Vec::new(),
            migrate: false,
            policy: Policy::Fifo,
            priority: 95,
            priority_descends: false,
            mlockall: true,
            hold_dma_latency: true,
            break_above: None,
            linear_bins: None,
            samples: false,
            worst: 32,
            lines: None,
            handler: None,
            command: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_read_as_they_are_written() {
        for (policy, text, priority) in [
            (Policy::Fifo, "fifo", true),
            (Policy::Rr, "rr", true),
            (Policy::Other, "other", false),
            (Policy::Deadline, "deadline", false),
        ] {
            assert_eq!((policy.as_str(), policy.has_priority()), (text, priority));
            assert_eq!(format!("{policy:9}|"), format!("{text:9}|"));
            assert_eq!(text.parse(), Ok(policy));
            assert_eq!(format!("SCHED_{}", text.to_uppercase()).parse(), Ok(policy));
        }
        assert_eq!("normal".parse(), Ok(Policy::Other));
        assert_eq!("batch".parse::<Policy>(), Err("`batch` is not a scheduling policy: use fifo, rr, other or deadline".into()));
    }
}
