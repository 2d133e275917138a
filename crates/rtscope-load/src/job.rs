//! The job that rtscope hands to the supervisor: what a load runs, how it is isolated, and what it needs on the disk.

use rtscope_sys as sys;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// How strongly a load is isolated from the rest of the machine, strongest first. Each level falls back to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Isolation {
    /// PID, mount, IPC and network namespaces; needs root.
    #[default]
    Namespaces,
    /// The same inside a user namespace.
    UserNamespace,
    /// No namespaces: a process tree that is killed as a whole.
    ProcessTree,
}

/// How to start this program again as a stage of the supervisor. The program must call `supervisor::main` with
/// the arguments that follow `args`.
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

    /// The same, seen from within a stage: the running program with its arguments, less the last three, which are
    /// the stage's own.
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

/// What the supervisor runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    /// How to start the next stage.
    pub(crate) reexec: Reexec,
    /// Tools that need no partner.
    pub(crate) tools: Vec<ToolJob>,
    /// iperf3 client and server.
    pub(crate) iperf3: Option<Iperf3Job>,
    /// Strongest isolation to try.
    pub(crate) isolation: Isolation,
    /// The load's directory. The outer stage makes it; its parent exists.
    pub(crate) scratch: PathBuf,
    /// The token in the directory's name and in its marker file.
    pub(crate) token: String,
    /// Directory of the journal.
    pub(crate) journal: PathBuf,
    /// The load leaves no CPU idle.
    pub(crate) fills_cpus: bool,
    /// Time limit for the start.
    pub(crate) up_timeout: Duration,
    /// Time that processes get to end on request before they are killed.
    pub(crate) stop_timeout: Duration,
}

/// One process of a tool that needs no partner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToolJob {
    /// The tool's role.
    pub(crate) role: String,
    /// Arguments that say what the tool does.
    pub(crate) args: Vec<String>,
    /// The tool is up once at least this many of its processes have used CPU time.
    pub(crate) workers: u32,
    /// What of it the arguments leave out, by name, with the reason.
    #[serde(default)]
    pub(crate) left_out: BTreeMap<String, String>,
}

/// An iperf3 pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Iperf3Job {
    /// `-P`
    pub(crate) streams: u32,
    /// `-w`
    pub(crate) window: Option<String>,
}

/// Everything that a load runs, sized for a number of CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Workload {
    pub(crate) tools: Vec<ToolJob>,
    pub(crate) iperf3: Option<Iperf3Job>,
    /// The load's directory must lie on a disk.
    pub(crate) on_disk: bool,
    /// Free disk space needed before the start, MiB.
    pub(crate) need_mib: u64,
    /// The load leaves no CPU idle.
    pub(crate) fills_cpus: bool,
}
