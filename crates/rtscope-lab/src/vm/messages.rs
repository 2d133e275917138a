//! What rtscope and its guest say to each other, and where it stands in the mailbox: memory that both see, so that neither waits nor interrupts.
//!
//! The mailbox is a device of shared memory (`ivshmem-plain`): QEMU backs it by a file of the host's, the guest maps it. Whatever the guest
//! writes there costs it the stores alone. Numbers are 64-bit, little-endian.
//!
//! | offset | written by | what |
//! |---|---|---|
//! | 0 | guest | [`MAGIC`], when it pauses the machine; 0 when it goes on |
//! | 8 | host | bytes of the job |
//! | 16 | guest | bytes of all that it said so far |
//! | 24 | guest | virtual time at which it paused the machine, ns |
//! | [`JOB`] | host | the job: one [`Job`] as JSON |
//! | [`SAID`] | guest | what it said: one [`Said`] as JSON for each line |

use crate::costs::Cost;
use rtscope_probe::protocol::{Event, Plan};
use rtscope_record::{LoadProof, Processor, Record, Warning};
use serde::{Deserialize, Serialize};

/// Says that a guest of this version is ready; one of another version says another number.
pub const MAGIC: u64 = u64::from_le_bytes(*b"RTSCOPE3");
/// Where the magic number stands.
pub const MAGIC_AT: usize = 0;
/// Where the job's length stands.
pub const JOB_LEN_AT: usize = 8;
/// Where the length of what the guest said stands.
pub const SAID_LEN_AT: usize = 16;
/// Where the time of the pause stands.
pub const NOW_AT: usize = 24;
/// Where the job begins.
pub const JOB: usize = 4096;
/// Where what the guest said begins.
pub const SAID: usize = 16 << 20;
/// Bytes of the mailbox: a power of two, as a PCI region must be.
pub const SIZE: usize = 64 << 20;
/// PCI vendor and device of the mailbox (`ivshmem-plain`).
pub const MAILBOX_PCI: (&str, &str) = ("0x1af4", "0x1110");
/// PCI vendor and device of what pauses the machine (`pvpanic-pci`, with `-action panic=pause`), and the byte that does
/// (docs/specs/pvpanic: the guest has panicked).
pub const PAUSE_PCI: (&str, &str) = ("0x1b36", "0x0011");
/// See [`PAUSE_PCI`].
pub const PAUSE: u8 = 1;

/// What a guest is to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Which of the possible runs from this state: stirred into the guest's random numbers and into the moment at which it begins.
    pub seed: u64,
    /// What the processor said of itself when the machine booted: a job is done on no other.
    pub cpuid: Vec<String>,
    /// Kernel modules to load first and unload last.
    pub modules: Vec<JobModule>,
    /// Files to write first.
    pub files: Vec<JobFile>,
    /// The work.
    pub work: Work,
}

/// A kernel module that goes with the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobModule {
    /// File name.
    pub name: String,
    /// Parameters for insmod.
    pub parameters: Vec<String>,
    /// The file, base64.
    pub data: String,
}

/// A file that goes with the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFile {
    /// Absolute path in the guest.
    pub path: String,
    /// The file, base64.
    pub data: String,
}

/// The work of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Measure as planned, under the plan's load.
    Measure {
        /// The plan for the probe.
        plan: Box<Plan>,
    },
    /// Run a program under a load.
    Run {
        /// Program and arguments.
        command: Vec<String>,
        /// Name of the load.
        load: String,
    },
    /// Time elementary things.
    Costs,
}

/// What the guest found when it had booted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Facts {
    /// `uname -r`
    pub release: String,
    /// `uname -v`
    pub version: String,
    /// Virtual time since the kernel started, ns.
    pub uptime_ns: u64,
    /// CPUs that are online.
    pub cpus: u32,
    /// Memory in use and in all, KiB.
    pub memory_kib: (u64, u64),
    /// The processor that it runs on.
    pub processor: Processor,
    /// What could not be set up, each with its reason: a load that needs it will say so again.
    pub problems: Vec<String>,
}

/// What the guest says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// It has booted and is about to pause the machine.
    Ready(Facts),
    /// A load of this name is being started.
    LoadStarting(String),
    /// The load does work.
    LoadUp,
    /// The probe said something.
    Event(Box<Event>),
    /// A process of the load ended early.
    LoadDied(String),
    /// The measurement is over.
    LoadStopping,
    /// The end: what was measured.
    Record(Box<Record>),
    /// The end: what the program did.
    Ran(Ran),
    /// The end: what elementary things cost.
    Costs(Vec<Cost>),
    /// The end: it could not be done.
    Failed {
        /// What failed.
        message: String,
        /// What to do.
        remedy: String,
        /// The request itself was wrong.
        usage: bool,
    },
}

/// How a program of [`Work::Run`] ended.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Ran {
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// Exit status, when it exited.
    pub code: Option<i32>,
    /// Signal, when one ended it.
    pub signal: Option<i32>,
    /// From its start to its end, virtual ns.
    pub elapsed_ns: u64,
    /// What the load did.
    pub load_proof: Option<LoadProof>,
    /// What must be known of the load.
    pub warnings: Vec<Warning>,
}
