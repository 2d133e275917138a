//! Everything that was requested for a run.

use crate::handler::Handler;
use crate::line_options::LineSettings;
use crate::policy::Policy;
use crate::tuning::Tuning;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// The requested settings: everything that is needed to repeat the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settings {
    /// Interval of the first thread's grid, ns; in tests over lines the time between two stimuli, in `periodic` the semi-period.
    pub interval: Nanos,
    /// Added to the interval for each further thread (cyclictest's `-d`), ns.
    #[serde(default)]
    pub distance: Nanos,
    /// Offset of the grid of each further thread against the thread before, ns (cyclictest's `-A`).
    #[serde(default)]
    pub start_offset: Nanos,
    /// Duration of the measurement, ns; null if `loops` limits it, or if it runs until interrupted.
    #[serde(default)]
    pub duration: Option<Nanos>,
    /// Number of samples that each thread takes (timer in kernel space: grid points; tests over lines: stimuli, or edges of the
    /// wave, without the warm-up). null if `duration` limits the run.
    #[serde(default)]
    pub loops: Option<u64>,
    /// Number of measuring threads.
    pub threads: u32,
    /// CPUs to measure on: thread `i` runs on entry `i` modulo their number. Empty with `migrate`.
    #[serde(default)]
    pub cpus: Vec<u32>,
    /// Threads are free to migrate (as in Dewit 2024) instead of pinned (as in Balci 2017).
    #[serde(default)]
    pub migrate: bool,
    /// Scheduling policy of the measuring threads.
    pub policy: Policy,
    /// Priority of the first thread, 1 to 99; 0 for policies without priority.
    pub priority: u8,
    /// Each further thread has a priority lower by one, but at least 1 (cyclictest without `-S`).
    #[serde(default)]
    pub priority_descends: bool,
    /// Lock all memory (`mlockall`).
    pub mlockall: bool,
    /// Keep the CPUs out of deep idle states by holding `/dev/cpu_dma_latency` at 0 us.
    pub hold_dma_latency: bool,
    /// End the run at the first latency above this, ns (cyclictest's `-b`).
    #[serde(default)]
    pub break_above: Option<Nanos>,
    /// The kernel's tracer is on, and is stopped at the first latency above this, ns. Absent: not traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_above: Option<Nanos>,
    /// Equal-width bins to keep beside the histogram: (number of bins, width in ns) (cyclictest's `-h`).
    #[serde(default)]
    pub linear_bins: Option<(u64, u64)>,
    /// Output every sample in the order taken (cyclictest's `-v`): raw samples beside the record.
    #[serde(default)]
    pub samples: bool,
    /// Number of worst samples to keep for each thread.
    pub worst: u32,
    /// Settings of tests over lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineSettings>,
    /// In kernel space: the context in which the task works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handler: Option<Handler>,
    /// What of the machine was set for the run while the kernel ran, and put back after it. Absent: nothing.
    #[serde(default, skip_serializing_if = "Tuning::is_empty")]
    pub tuning: Tuning,
    /// Command line of the run, word by word.
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
            trace_above: None,
            linear_bins: None,
            samples: false,
            worst: 32,
            lines: None,
            handler: None,
            tuning: Tuning::default(),
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
