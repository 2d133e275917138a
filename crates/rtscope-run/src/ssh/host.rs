//! A machine that is reached over ssh: its address, how it is reached, and its CPUs.

use super::address::Address;
use super::connection::{Connection, Way};
use super::probe::Probe;
use super::scripts;
use crate::target::TargetError;
use rtscope_record::system::parse_cpu_list;
use std::path::PathBuf;
use std::time::Duration;

/// How a target is reached, and where its programs are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshOptions {
    /// How ssh is started.
    pub way: Way,
    /// Directories with the static programs: `rtscope-probe-ARCH`, and `rtscope-board-ARCH` for runs under a load.
    pub probes: Vec<PathBuf>,
    /// How long to try to reconnect before the run is given up.
    pub patience: Duration,
}

/// A machine that is reached over ssh, as a [`Target`](crate::target::Target).
#[derive(Debug, Clone)]
pub struct Ssh {
    pub(super) address: Address,
    pub(super) options: SshOptions,
}

impl Ssh {
    /// The machine at `address`; does not connect yet.
    pub fn new(address: Address, options: SshOptions) -> Self {
        Self { address, options }
    }

    /// Name of the target, as in records.
    pub(crate) fn name(&self) -> String {
        self.address.to_string()
    }

    /// The CPUs that the user may use there. Connects; also fails when there is no probe for this kind of machine.
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
