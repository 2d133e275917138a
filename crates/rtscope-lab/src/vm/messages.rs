//! The messages between rtscope and its guest, and the layout of the mailbox: memory shared by both, so that
//! neither waits for the other or interrupts it.
//!
//! The mailbox is a shared-memory device (`ivshmem-plain`): a file of the host backs it in QEMU, and the guest
//! maps it. Writing to it costs the guest only the stores. Numbers are 64-bit, little-endian.
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
use rtscope_explain::trace::Traced;
use rtscope_probe::protocol::{Event, ProbePlan};
use rtscope_record::{LoadProof, Processor, Record, Warning};
use serde::{Deserialize, Serialize};

/// Written by a guest of this version when it is ready. Other versions write another number.
pub const MAGIC: u64 = u64::from_le_bytes(*b"RTSCOPE3");
/// Offset of the magic number.
pub const MAGIC_AT: usize = 0;
/// Offset of the job's length.
pub const JOB_LEN_AT: usize = 8;
/// Offset of the length of the guest's output.
pub const SAID_LEN_AT: usize = 16;
/// Offset of the time of the pause.
pub const NOW_AT: usize = 24;
/// Offset of the job.
pub const JOB: usize = 4096;
/// Offset of the guest's output.
pub const SAID: usize = 16 << 20;
/// Size of the mailbox, bytes: a power of two, as for any PCI region.
pub const SIZE: usize = 64 << 20;
/// PCI vendor and device of the mailbox (`ivshmem-plain`).
pub const MAILBOX_PCI: (&str, &str) = ("0x1af4", "0x1110");
/// PCI vendor and device of the device that pauses the machine (`pvpanic-pci`, with `-action panic=pause`).
pub const PAUSE_PCI: (&str, &str) = ("0x1b36", "0x0011");
/// The byte written to [`PAUSE_PCI`] to pause the machine (docs/specs/pvpanic: the guest has panicked).
pub const PAUSE: u8 = 1;

/// An order to a guest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Selects one of the possible runs from this state: it seeds the guest's random numbers and shifts the moment
    /// at which it begins.
    pub seed: u64,
    /// The processor's CPUID at boot. The guest refuses the job on any other processor.
    pub cpuid: Vec<String>,
    /// Kernel modules to load first and unload last.
    pub modules: Vec<JobModule>,
    /// Files to write first.
    pub files: Vec<JobFile>,
    /// The work.
    pub work: GuestWork,
}

/// A kernel module that goes with the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobModule {
    /// Its file name.
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
pub enum GuestWork {
    /// Measure according to the plan, under its load.
    Measure {
        /// The plan for the probe.
        plan: Box<ProbePlan>,
    },
    /// Run a program under a load.
    Run {
        /// Program and arguments.
        command: Vec<String>,
        /// Name of the load.
        load: String,
    },
    /// Time the elementary operations.
    Costs,
}

/// What the guest found after its boot.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GuestFacts {
    /// `uname -r`
    pub release: String,
    /// `uname -v`
    pub version: String,
    /// Virtual time since the kernel started, ns.
    pub uptime_ns: u64,
    /// Number of online CPUs.
    pub cpus: u32,
    /// Memory in use and in total, KiB.
    pub memory_kib: (u64, u64),
    /// The guest's processor.
    pub processor: Processor,
    /// What could not be set up, each with its reason. A load that needs it reports that again.
    pub problems: Vec<String>,
    /// Words and assignments of the command line that the kernel did not take, and passed on to the first process.
    #[serde(default)]
    pub not_taken: Vec<String>,
    /// The CPUs that the kernel set aside, where its command line asks for some.
    #[serde(default)]
    pub set_aside: SetAside,
}

/// The CPUs that a kernel set aside, as it shows them: lists such as `1-3`; `None` where it shows nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SetAside {
    /// Without ordinary tasks: `isolcpus=`.
    pub isolated: Option<String>,
    /// Without a tick while one task runs: `nohz_full=`.
    pub nohz_full: Option<String>,
    /// Whose RCU callbacks other CPUs run: `rcu_nocbs=`, and `nohz_full=`.
    pub rcu_nocbs: Option<String>,
}

impl SetAside {
    /// The parameters of the command line that ask for them.
    pub const ASKED_BY: [&str; 3] = ["isolcpus", "nohz_full", "rcu_nocbs"];
}

/// A message of the guest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// The guest has booted and is about to pause the machine.
    Ready(GuestFacts),
    /// A load of this name is being started.
    LoadStarting(String),
    /// The load is at work.
    LoadUp,
    /// The probe sent an event.
    Event(Box<Event>),
    /// The kernel's trace of the first latency above the limit.
    Traced(Box<Traced>),
    /// A process of the load ended early.
    LoadDied(String),
    /// The measurement is over.
    LoadStopping,
    /// The last message: the record.
    Record(Box<Record>),
    /// The last message: what the program did.
    Ran(Ran),
    /// The last message: the cost of elementary operations.
    Costs(Vec<Cost>),
    /// The last message: the work could not be done.
    Failed {
        /// What failed.
        message: String,
        /// What to do.
        remedy: String,
        /// The request itself was wrong.
        usage: bool,
    },
}

/// How a program of [`GuestWork::Run`] ended.
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
    /// From start to end, virtual ns.
    pub elapsed_ns: u64,
    /// The load's proof.
    pub load_proof: Option<LoadProof>,
    /// Warnings about the load.
    pub warnings: Vec<Warning>,
}
