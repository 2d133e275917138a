//! The probe's protocol, the same on every target: a [`ProbePlan`] in (one line of JSON), [`Event`]s out (one JSON
//! object per line).
//!
//! To end a run early, the driver closes the probe's standard input, or sends SIGINT or SIGTERM. What was measured is kept.

use rtscope_failure::{Failure, Fault};
use rtscope_record::{DutSettings, LoadProof, Record, Settings, Space, System, Test, Warning};
use serde::{Deserialize, Serialize};

/// Name and version of the protocol.
pub const PROTOCOL: &str = "rtscope-probe/1";

/// What the probe shall measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbePlan {
    /// [`PROTOCOL`].
    pub protocol: String,
    /// Id of the future record.
    pub id: String,
    /// What to measure.
    pub test: Test,
    /// Where the task runs.
    pub space: Space,
    /// Name of the load that the driver keeps running.
    pub load: String,
    /// Where the driver runs the probe.
    pub target: String,
    /// All settings.
    pub settings: Settings,
    /// Send a progress event this often, ms; 0 for never.
    #[serde(default)]
    pub progress_ms: u32,
    /// Put [`Live::histogram`] and [`Live::worst`] into progress events: of the timer test in user space.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub picture: bool,
    /// Stop the kernel's tracer at the first latency above [`Settings::trace_above`]: the directory of the tracing instance, which the
    /// driver has armed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

impl Work {
    /// Whether it takes more than a probe: a load, or a machine that is set up for it.
    pub fn needs_session(&self) -> bool {
        match self {
            Self::Measure(plan) => plan.load != "none" || !plan.settings.tuning.is_empty(),
            Self::Dut(plan) => plan.load != "none",
        }
    }
}

/// An order to a keeper ([`crate::spool`]): one line of JSON, the answer to its [`Event::Hello`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkOrder {
    /// [`PROTOCOL`].
    pub protocol: String,
    /// The driver that sends it.
    pub driver: Identity,
    /// Directories of [`Event::Hello::unattended`] whose drivers are dead. Their work is ended.
    #[serde(default)]
    pub abandoned: Vec<String>,
    /// How long the work continues while nobody follows it, ms.
    pub patience_ms: u64,
    /// The work.
    pub work: Work,
}

/// What a keeper can run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Work {
    /// A measurement.
    Measure(Box<ProbePlan>),
    /// A DUT, until it is asked to end.
    Dut(DutPlan),
}

/// The plan of a DUT.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DutPlan {
    /// Its lines, priority and faults.
    pub settings: DutSettings,
    /// The semi-period of the wave it makes, ns; `None` for a DUT that answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave: Option<u64>,
    /// The load that is kept running on its machine meanwhile.
    #[serde(default = "no_load")]
    pub load: String,
}

fn no_load() -> String {
    "none".into()
}

/// Identifies a process uniquely among all machines and boots.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Identity {
    /// The machine's boot (`/proc/sys/kernel/random/boot_id`); empty if unknown.
    pub boot: String,
    /// The PID namespace that `pid` belongs to.
    #[serde(default)]
    pub space: String,
    /// Process id.
    pub pid: u32,
    /// Start time, ticks since boot.
    pub start: u64,
}

/// Work that nobody currently follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unattended {
    /// Its directory.
    pub dir: String,
    /// The driver that sent it.
    pub driver: Identity,
}

/// Live figures of one measuring thread.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Live {
    /// Label of the future distribution.
    pub label: String,
    /// Thread id.
    pub tid: u32,
    /// Priority in force.
    pub priority: u8,
    /// Interval of the grid, ns.
    pub interval: u64,
    /// Samples so far.
    pub count: u64,
    /// Grid points passed over so far.
    pub missed: u64,
    /// Lowest latency so far, ns.
    pub min: u64,
    /// Latest latency, ns.
    pub last: u64,
    /// Sum of the latencies so far, ns.
    pub sum: u64,
    /// Highest latency so far, ns.
    pub max: u64,
    /// The histogram so far, in eighths of an octave: the lowest value of each, ns, and its samples, ascending, without empty ones. Empty
    /// unless the plan asks for a [`ProbePlan::picture`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<(u64, u64)>,
    /// The worst samples so far, the highest first: latency, and when it was taken since the start, ns. Empty as `histogram` is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worst: Vec<(u64, u64)>,
}

/// A latency above the limit of a traced run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Late {
    /// Label of the distribution.
    pub label: String,
    /// The thread.
    pub tid: u32,
    /// The thread's CPU.
    pub cpu: u32,
    /// When the sample was taken, ns since the start of the run.
    pub at: u64,
    /// Its grid point, ns of `CLOCK_MONOTONIC`.
    pub expiry: u64,
    /// The latency, ns.
    pub latency: u64,
}

/// A message of the probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    /// Always first: the protocol and version of the sender.
    Hello {
        /// [`PROTOCOL`].
        protocol: String,
        /// The probe's version.
        version: String,
        /// The commit it was built of; empty if unknown.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        commit: String,
        /// Work of the same user on this machine that nobody follows (a keeper's hello only).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unattended: Vec<Unattended>,
    },
    /// The DUT has its lines and listens.
    Listening {
        /// Description: its machine, kernel and priority.
        what: String,
        /// What the kernel refused to it.
        warning: Option<Warning>,
        /// Its machine.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        system: Option<Box<System>>,
    },
    /// The last event of a DUT that was asked to end.
    Done {
        /// Edges taken from its line, or grid points of its wave.
        edges: u64,
        /// Answers given, or edges of its wave.
        answers: u64,
        /// Edges that its line reported as lost.
        lost: u64,
        /// The proof of its load, if it had one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        load_proof: Option<Box<LoadProof>>,
        /// Warnings about that load.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<Warning>,
    },
    /// The connection was lost or restored. Sent by the driver's side, not by the probe.
    Connection {
        /// What happened, and since when.
        message: String,
    },
    /// The threads are about to enter their loops.
    Started,
    /// How far the run is.
    Progress {
        /// Since the start, ns.
        elapsed_ns: u64,
        /// Every thread's figures.
        threads: Vec<Live>,
    },
    /// One raw sample, in the order in which each thread took them (only on request).
    Sample {
        /// Index of the thread.
        thread: u32,
        /// Cycle number, from 0.
        cycle: u64,
        /// Latency, ns.
        value: u64,
    },
    /// The tracer was stopped at the first latency above the limit.
    Traced(Late),
    /// The last event: the record. The driver adds the load's proof.
    Record {
        /// The record.
        record: Box<Record>,
    },
    /// The last event: the measurement failed.
    Error {
        /// What failed.
        message: String,
        /// What to do about it.
        remedy: String,
        /// The request itself was wrong (exit code 2), not the machine (exit code 3).
        usage: bool,
    },
}

impl From<Failure> for Event {
    fn from(f: Failure) -> Self {
        Self::Error { usage: f.is_usage(), message: f.message, remedy: f.remedy }
    }
}

impl Event {
    /// Returns the event, or the failure that an [`Event::Error`] reports.
    pub fn or_failure(self) -> Result<Self, Failure> {
        match self {
            Self::Error { message, remedy, usage } => {
                Err(Failure { message, remedy, fault: if usage { Fault::Usage } else { Fault::Machine } })
            }
            other => Ok(other),
        }
    }

    /// Names of the events that end the output of a probe or DUT.
    pub const LAST: [&str; 3] = ["record", "error", "done"];

    /// Whether this event ends the output of a probe or DUT.
    pub fn is_last(&self) -> bool {
        matches!(self, Self::Record { .. } | Self::Error { .. } | Self::Done { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_record::{RecordParts, fixtures};

    /// Serde buffers the fields of a tagged event, which once made the CPU numbers of a system's maps unreadable.
    #[test]
    fn a_record_with_a_full_system_survives_its_event() {
        let mut system = System::default();
        system.irq.per_cpu.insert(1, 9);
        system.cpu.governor.insert(0, "performance".into());
        system.cpu.frequency_khz.insert(0, (1, 2));
        let record = Record::new(RecordParts { id: "x".into(), elapsed_ns: 0, system, ..fixtures::parts() });
        let event = Event::Record { record: Box::new(record.unwrap()) };
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    }

    #[test]
    fn a_failure_comes_through_as_it_is() {
        for failure in [Failure::usage("no CPU 99", "use 0 or 1"), Failure::machine("no memory", "free some")] {
            let event = Event::from(failure.clone());
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&text).unwrap().or_failure(), Err(failure));
        }
        let text = serde_json::to_string(&Event::from(Failure::usage("m", "r"))).unwrap();
        assert_eq!(text, r#"{"event":"error","message":"m","remedy":"r","usage":true}"#);
        assert_eq!(Event::Started.or_failure(), Ok(Event::Started));
    }
}
