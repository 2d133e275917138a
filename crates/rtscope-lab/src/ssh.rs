//! The target `ssh:HOST`: the probe on another machine, over the user's own ssh.
//!
//! The probe is copied into a private directory and does its work there apart from the connection (`rtscope_probe::spool`); this side follows
//! what it says, over one connection after the other if need be, and has everything removed at the end.

mod address;
mod connection;
mod dut;
mod errand;
mod scripts;

pub use address::{Address, AddressError, is_ssh};
pub use connection::Way;
pub use dut::RemoteDut;

use crate::digest;
use crate::kernels::Arch;
use crate::target::{StopHandle, Target, TargetError};
use connection::Connection;
use errand::Followed;
use rtscope_probe::protocol::{Event, Plan, Work};
use rtscope_record::system::parse_cpu_list;
use rtscope_record::{Effect, Record, Warning};
use std::path::PathBuf;
use std::time::Duration;

/// How a target is reached, and what goes there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshOptions {
    /// How ssh is started.
    pub way: Way,
    /// Directories where static probes are looked for, as `rtscope-probe-ARCH`, and, for runs under a load, `rtscope-board-ARCH`.
    pub probes: Vec<PathBuf>,
    /// How long a lost connection is tried again before the run is given up.
    pub patience: Duration,
}

/// A machine that is reached over ssh, as a [`Target`].
#[derive(Debug, Clone)]
pub struct Ssh {
    address: Address,
    options: SshOptions,
}

impl Ssh {
    /// The machine at `address`; nothing is connected yet.
    pub fn new(address: Address, options: SshOptions) -> Self {
        Self { address, options }
    }

    /// Its name, as records say it.
    pub fn name(&self) -> String {
        self.address.to_string()
    }

    /// The CPUs that its user may use. Connects; fails when there is no probe for such a machine.
    pub fn cpus(&self) -> Result<Vec<u32>, TargetError> {
        let mut connection = Connection::open(&self.options.way, &self.address, scripts::LOOK)?;
        let line = connection.marked()?;
        let (machine, cpus) = line.split_once(' ').unwrap_or((&line, ""));
        Probe::find(&self.options.probes, machine, false, &self.name())?;
        parse_cpu_list(cpus).filter(|cpus| !cpus.is_empty()).ok_or_else(|| TargetError::Probe {
            message: format!("{} does not say which CPUs may be used: `{cpus}`", self.address),
            remedy: "rtscope measures Linux with /proc; else name them: --affinity 0,1".into(),
        })
    }
}

impl Target for Ssh {
    fn run(&self, plan: &Plan, stop: &StopHandle, on_event: &mut dyn FnMut(&Event)) -> Result<Record, TargetError> {
        let mut work = Followed::begin(self, Work::Measure(Box::new(plan.clone())), stop)?;
        let outcome = loop {
            match work.next(on_event)? {
                Event::Record { record } => break Ok(*record),
                // Before its load was up, for example.
                Event::Error { .. } if stop.is_stopped() => break Err(TargetError::Interrupted),
                Event::Error { message, remedy, usage: true } => break Err(TargetError::Usage { message, remedy }),
                Event::Error { message, remedy, usage: false } => break Err(TargetError::Probe { message, remedy }),
                event => on_event(&event),
            }
        };
        if let Err(message) = work.let_go() {
            on_event(&Event::Connection { message });
        }
        let record = outcome?;
        if record.id() != plan.id {
            return Err(TargetError::Record(format!("it is called `{}`, the plan `{}`", record.id(), plan.id)));
        }
        if work.losses.is_empty() {
            return Ok(record);
        }
        let mut parts = record.into_parts();
        parts.warnings.push(lost(&self.name(), &work.losses));
        Ok(Record::new(parts)?)
    }
}

/// The connection was lost and came back: nothing is missing, but who looks for a reason of a latency should know.
fn lost(name: &str, losses: &[Duration]) -> Warning {
    let seconds: f64 = losses.iter().map(Duration::as_secs_f64).sum();
    let times = if losses.len() == 1 { "once".into() } else { format!("{} times", losses.len()) };
    Warning::new(
        "connection-lost",
        Effect::Note,
        format!(
            "the connection to {name} was lost {times}, for {seconds:.1}s in all; the probe went on and kept its figures: none is missing"
        ),
        "look for the cause in the network; a login on the target is work for it, too",
    )
}

/// A static probe, read and ready to be sent.
#[derive(Debug)]
struct Probe {
    arch: Arch,
    path: PathBuf,
    bytes: Vec<u8>,
    sha256: String,
}

impl Probe {
    /// The one for a machine, by `uname -m`: the probe alone, or with what a load needs.
    fn find(dirs: &[PathBuf], machine: &str, loaded: bool, target: &str) -> Result<Self, TargetError> {
        let failure = |message: String, remedy: String| TargetError::Probe { message, remedy };
        let arch = match machine {
            "x86_64" => Arch::Amd64,
            "aarch64" => Arch::Arm64,
            "armv7l" | "armv8l" => Arch::Armhf,
            other => {
                return Err(failure(
                    format!("there is no probe for {target}, whose processor is `{other}`"),
                    "probes are built for x86_64, aarch64 and armv7l".into(),
                ));
            }
        };
        let name = format!("rtscope-{}-{arch}", if loaded { "board" } else { "probe" });
        let Some(path) = dirs.iter().map(|dir| dir.join(&name)).find(|path| path.is_file()) else {
            let looked: Vec<String> = dirs.iter().map(|d| d.display().to_string()).collect();
            return Err(failure(
                format!("there is no probe for {target} ({machine}): {name} is not in {}", looked.join(", ")),
                format!("build it: ./x probe {arch}; or name its directory: RTSCOPE_PROBES=DIR"),
            ));
        };
        let bytes = rtscope_files::read(&path, rtscope_files::LARGE)
            .map_err(|e| failure(format!("{}: {e}", path.display()), "make it readable".into()))?;
        Ok(Self { arch, sha256: digest::bytes(&bytes), path, bytes })
    }
}
