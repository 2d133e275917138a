//! The probe's one protocol, the same on every target: a [`Plan`] in (one line of JSON), [`Event`]s out (one JSON object a line).
//!
//! The driver closes the probe's standard input, or sends SIGINT or SIGTERM, to end a run early; what was measured is kept.

use rtscope_record::{DutSettings, LoadProof, Record, Settings, Space, System, Test, Warning};
use serde::{Deserialize, Serialize};

/// Name and version of the protocol.
pub const PROTOCOL: &str = "rtscope-probe/1";

/// What the probe is to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// [`PROTOCOL`].
    pub protocol: String,
    /// Id of the record to be.
    pub id: String,
    /// What to measure.
    pub test: Test,
    /// Where the task runs.
    pub space: Space,
    /// Name of the load that the driver keeps up.
    pub load: String,
    /// Where the driver runs the probe.
    pub target: String,
    /// All that is asked for.
    pub settings: Settings,
    /// Send a progress event this often, ms; 0 for never.
    #[serde(default)]
    pub progress_ms: u32,
}

/// What a keeper ([`crate::spool`]) is to have done: one line of JSON, the answer to its [`Event::Hello`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkOrder {
    /// [`PROTOCOL`].
    pub protocol: String,
    /// Who sends it.
    pub driver: Identity,
    /// Directories of [`Event::Hello::unattended`] whose drivers are dead: their work is ended.
    #[serde(default)]
    pub abandoned: Vec<String>,
    /// How long the work goes on while nobody follows it, ms.
    pub patience_ms: u64,
    /// The work.
    pub work: Work,
}

/// What can be kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Work {
    /// A measurement.
    Measure(Box<Plan>),
    /// A device under test, until it is asked to end.
    Dut(DutPlan),
}

/// What a device under test is to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DutPlan {
    /// Its lines, priority and faults.
    pub settings: DutSettings,
    /// The semi-period of the wave that it makes, ns; `None`: it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave: Option<u64>,
    /// The load that is kept up on its machine meanwhile.
    #[serde(default = "no_load")]
    pub load: String,
}

fn no_load() -> String {
    "none".into()
}

/// A process, told from any other of any machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Identity {
    /// The machine's boot (`/proc/sys/kernel/random/boot_id`); empty when it does not say.
    pub boot: String,
    /// Its PID namespace, in which its number counts.
    #[serde(default)]
    pub space: String,
    /// Process id.
    pub pid: u32,
    /// Start time, ticks since boot.
    pub start: u64,
}

/// Work that nobody follows at present.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unattended {
    /// Its directory.
    pub dir: String,
    /// Who sent it.
    pub driver: Identity,
}

/// Live figures of one measuring thread.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Live {
    /// As in the distribution to be.
    pub label: String,
    /// Thread id.
    pub tid: u32,
    /// Priority in force.
    pub priority: u8,
    /// Grid, ns.
    pub interval: u64,
    /// Samples so far.
    pub count: u64,
    /// Grid points passed over so far.
    pub missed: u64,
    /// Lowest so far, ns.
    pub min: u64,
    /// Latest, ns.
    pub last: u64,
    /// Sum so far, ns.
    pub sum: u64,
    /// Highest so far, ns.
    pub max: u64,
}

/// What the probe says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    /// First of all: who is speaking.
    Hello {
        /// [`PROTOCOL`].
        protocol: String,
        /// The probe's version.
        version: String,
        /// Work of the same user on this machine that nobody follows (a keeper's hello only).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unattended: Vec<Unattended>,
    },
    /// The device under test has its lines and listens.
    Listening {
        /// What it is, in words: its machine, kernel and priority.
        what: String,
        /// What the kernel refused it.
        warning: Option<Warning>,
        /// Its machine.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        system: Option<Box<System>>,
    },
    /// The end of a device under test that was asked to end.
    Done {
        /// Edges taken from its line, or grid points of its wave.
        edges: u64,
        /// Answers given, or edges of its wave.
        answers: u64,
        /// Edges that its line reported as lost.
        lost: u64,
        /// What its load did, where there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        load_proof: Option<Box<LoadProof>>,
        /// What is to be said of that load.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<Warning>,
    },
    /// Said by the driver's side of a connection, not by the probe: it was lost, or is there again.
    Connection {
        /// Which, and since when.
        message: String,
    },
    /// The threads are about to enter their loops.
    Started,
    /// How far it is.
    Progress {
        /// Since the start, ns.
        elapsed_ns: u64,
        /// Every thread's figures.
        threads: Vec<Live>,
    },
    /// One raw sample, in the order in which each thread took them (only when asked for).
    Sample {
        /// Index of the thread.
        thread: u32,
        /// Cycle number, from 0.
        cycle: u64,
        /// Latency, ns.
        value: u64,
    },
    /// The end: what was measured. The load proof is the driver's to add.
    Record {
        /// The record.
        record: Box<Record>,
    },
    /// The end: it could not measure.
    Error {
        /// What failed.
        message: String,
        /// What to do about it.
        remedy: String,
        /// The request itself was wrong (exit code 2), not the machine (exit code 3).
        usage: bool,
    },
}

impl Event {
    /// The names of those that are the last of a probe or device.
    pub const LAST: [&str; 3] = ["record", "error", "done"];

    /// Whether it is the last that a probe or device says.
    pub fn is_last(&self) -> bool {
        matches!(self, Self::Record { .. } | Self::Error { .. } | Self::Done { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_record::{RecordParts, fixtures};

    /// A tagged event buffers its fields, which once turned the CPU numbers of a system's maps into unreadable text.
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
}
