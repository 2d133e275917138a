//! The kernel's tracer, armed for a run: an instance of its own that is removed in any case, also when rtscope is killed.

mod dat;
pub(crate) mod instance;
pub(crate) mod keeper;

use crate::job::Reexec;
use crate::journal::Journal;
use keeper::{Order, Report};
use rtscope_failure::Problem;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};

/// Why nothing can be traced.
#[derive(Debug, thiserror::Error)]
pub enum TracerError {
    /// The kernel or the system refuses it.
    #[error("{message}")]
    Refused {
        /// Why.
        message: String,
        /// What to do.
        remedy: String,
    },
    /// The process that keeps the instance can't be started, or ended.
    #[error("the process that keeps the tracer can't be started: {0}")]
    Keeper(#[from] io::Error),
}

impl Problem for TracerError {
    fn remedy(&self) -> String {
        match self {
            Self::Refused { remedy, .. } => remedy.clone(),
            Self::Keeper(_) => "is memory free? may processes be started?".into(),
        }
    }
}

/// An instance that is armed. Dropping it removes the instance.
#[derive(Debug)]
pub struct Tracer {
    keeper: Child,
    input: Option<ChildStdin>,
    dir: PathBuf,
    functions: bool,
}

impl Tracer {
    /// Makes an instance that records what `cpus` do once 1 is written to its `tracing_on`.
    pub fn start(reexec: &Reexec, journal: &Journal, cpus: &[u32]) -> Result<Self, TracerError> {
        let mut keeper = reexec.stage(&[keeper::STAGE]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (input, output) = (keeper.stdin.take(), keeper.stdout.take());
        let mut made = Self { keeper, input, dir: PathBuf::new(), functions: false };
        let journal = std::path::absolute(journal.dir())?;
        let mut order = serde_json::to_vec(&Order { cpus: cpus.to_vec(), journal }).map_err(io::Error::from)?;
        order.push(b'\n');
        if let Some(input) = &mut made.input {
            input.write_all(&order)?;
        }
        let mut line = String::new();
        if let Some(output) = output {
            BufReader::new(output).read_line(&mut line)?;
        }
        match serde_json::from_str(&line).map_err(io::Error::from)? {
            Report::Made { dir, functions } => (made.dir, made.functions) = (dir, functions),
            Report::Failed { message, remedy } => return Err(TracerError::Refused { message, remedy }),
        }
        Ok(made)
    }

    /// The instance's directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether functions are recorded, not only events.
    pub fn functions(&self) -> bool {
        self.functions
    }

    /// What was recorded of a CPU, as the kernel prints it: the oldest line first.
    pub fn text(&self, cpu: u32) -> io::Result<impl BufRead> {
        Ok(BufReader::with_capacity(1 << 16, File::open(self.dir.join(format!("per_cpu/cpu{cpu}/trace")))?))
    }

    /// The same as a file for trace-cmd and KernelShark. It takes it out of the buffer.
    pub fn file(&self, cpu: u32) -> io::Result<Vec<u8>> {
        dat::of(&self.dir, cpu)
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.keeper.wait();
    }
}
