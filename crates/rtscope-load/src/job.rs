//! What a load is to run, how it is kept apart, and what it takes on the disk: the words between who starts a load and its supervisor.

use rtscope_sys as sys;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// How strongly a load is kept apart from the rest of the machine, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Isolation {
    /// PID, mount, IPC and network namespaces (root), else as below.
    #[default]
    Namespaces,
    /// The same in a user namespace, else as below.
    UserNamespace,
    /// No namespaces: a process tree that is killed as one.
    ProcessTree,
}

/// How to start this program again as a stage of the supervisor: it must call `supervisor::main` with what follows `args`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reexec {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// Its first arguments: the hidden sub-command.
    pub args: Vec<String>,
}

impl Reexec {
    /// The running program, with `sub_command` as its first argument.
    pub fn this_program(sub_command: &str) -> io::Result<Self> {
        Ok(Self { program: std::env::current_exe()?, args: vec![sub_command.into()] })
    }

    /// From within a stage: the running program with the arguments before the stage's own three.
    pub(crate) fn of_this_stage() -> io::Result<Self> {
        let args: Vec<String> = std::env::args().skip(1).collect();
        let own = args.len().saturating_sub(3);
        Ok(Self { program: std::env::current_exe()?, args: args[..own].to_vec() })
    }

    pub(crate) fn stage(&self, words: &[&str]) -> Command {
        let mut command = sys::process::command(&self.program);
        command.args(&self.args).args(words);
        command
    }
}

/// What is to run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    /// How to start the next stage.
    pub(crate) reexec: Reexec,
    /// Tools that stand alone.
    pub(crate) tools: Vec<ToolJob>,
    /// iperf3 client and server.
    pub(crate) iperf3: Option<Iperf3Job>,
    /// Strongest isolation to try.
    pub(crate) isolation: Isolation,
    /// The load's directory, made by the outer stage in an existing one.
    pub(crate) scratch: PathBuf,
    /// Token in its name and its marker.
    pub(crate) token: String,
    /// Directory of the journal.
    pub(crate) journal: PathBuf,
    /// It leaves no CPU idle.
    pub(crate) fills_cpus: bool,
    /// How long the load may take until it is up.
    pub(crate) up_timeout: Duration,
    /// How long its processes may take to end when asked, before they are killed.
    pub(crate) stop_timeout: Duration,
}

/// One process of a tool that stands alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToolJob {
    /// The tool's role.
    pub(crate) role: String,
    /// Arguments that say what it is to do.
    pub(crate) args: Vec<String>,
    /// It is up when at least this many processes of it have had CPU time.
    pub(crate) workers: u32,
}

/// An iperf3 pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Iperf3Job {
    /// `-P`
    pub(crate) streams: u32,
    /// `-w`
    pub(crate) window: Option<String>,
}

/// Everything to be run for a load on so many CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Workload {
    pub(crate) tools: Vec<ToolJob>,
    pub(crate) iperf3: Option<Iperf3Job>,
    /// The directory must lie on a disk.
    pub(crate) on_disk: bool,
    /// MiB to be free before it starts.
    pub(crate) need_mib: u64,
    /// It leaves no CPU idle.
    pub(crate) fills_cpus: bool,
}
