//! A machine that is reached over ssh: its address, how it is reached, and what is known of it before anything goes there.

use super::address::Address;
use super::connection::{Connection, Way};
use super::probe::Probe;
use super::scripts;
use crate::target::TargetError;
use rtscope_record::system::parse_cpu_list;
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

/// A machine that is reached over ssh, as a [`Target`](crate::target::Target).
#[derive(Debug, Clone)]
pub struct Ssh {
    pub(super) address: Address,
    pub(super) options: SshOptions,
}

impl Ssh {
    /// The machine at `address`; nothing is connected yet.
    pub fn new(address: Address, options: SshOptions) -> Self {
        Self { address, options }
    }

    /// Its name, as records say it.
    pub(crate) fn name(&self) -> String {
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
