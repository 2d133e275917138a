//! A machine that is reached over ssh: its address, how it is reached, and its CPUs.

use super::address::Address;
use super::connection::{Connection, Way};
use super::probe::Probe;
use super::scripts;
use crate::stress_ng::StressNg;
use crate::target::TargetError;
use rtscope_record::system::parse_cpu_list;
use std::path::PathBuf;
use std::time::Duration;

/// Most lines, and bytes of each kind, that are read of what stress-ng says; its help has some 1,500 lines.
const MOST_LINES: usize = 20_000;
const LONGEST: usize = 4 << 20;

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

    /// The release of the kernel there, and what its stress-ng says. Connects.
    pub fn stress_ng(&self) -> Result<(String, StressNg), TargetError> {
        let mut connection = Connection::open(&self.options.way, &self.address, scripts::STRESSORS)?;
        let (mut kernel, mut said) = (String::new(), StressNg::default());
        for _ in 0..MOST_LINES {
            let line = connection.marked()?;
            let (kind, text) = line.split_once(' ').unwrap_or((&line, ""));
            let to = match kind {
                "kernel" => &mut kernel,
                "list" => &mut said.list,
                "class" => &mut said.classes,
                "help" => &mut said.help,
                _ => return Ok((kernel.trim().to_owned(), said)),
            };
            to.push_str(text);
            to.push('\n');
            if to.len() > LONGEST {
                break;
            }
        }
        Err(TargetError::Probe {
            message: format!("stress-ng on {} says more than can be read", self.address),
            remedy: format!("look what `ssh {} stress-ng --help` says", self.address.login()),
        })
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
