//! A machine set up for a run: what may be set while the kernel runs is set, read back, and put back in any case, also when rtscope is
//! killed.

mod changes;
mod error;
pub(crate) mod keeper;
pub(crate) mod place;

pub use error::TuningError;
pub use place::Place;

use crate::job::Reexec;
use crate::journal::Journal;
use keeper::{Order, Report};
use rtscope_record::Tuning;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// A machine that is set up. Dropping it puts back what was.
#[derive(Debug)]
pub struct Tuned {
    keeper: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
}

/// How it was when it was put back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PutBack {
    /// What was not as it had been set any more, each in words.
    pub changed: Vec<String>,
    /// What could not be put back, and why.
    pub left: Vec<String>,
}

impl Tuned {
    /// Sets this machine up. When it returns, all of `tuning` holds.
    pub fn start(reexec: &Reexec, journal: &Journal, tuning: &Tuning) -> Result<Self, TuningError> {
        Self::start_in(Path::new("/"), reexec, journal, tuning)
    }

    /// [`Tuned::start`] on the files below `root`.
    pub fn start_in(root: &Path, reexec: &Reexec, journal: &Journal, tuning: &Tuning) -> Result<Self, TuningError> {
        let mut keeper = reexec.stage(&[keeper::STAGE]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (input, output) = (keeper.stdin.take(), keeper.stdout.take().map(BufReader::new));
        let mut made = Self { keeper, input, output };
        let journal = std::path::absolute(journal.dir())?;
        let order = Order { root: root.into(), tuning: tuning.clone(), journal };
        made.say(&serde_json::to_string(&order).map_err(io::Error::from)?)?;
        match made.hear()? {
            Report::Set => Ok(made),
            Report::Failed { message, remedy, usage } => Err(TuningError::Refused { message, remedy, usage }),
            Report::Ended { .. } => Err(io::Error::from(io::ErrorKind::InvalidData).into()),
        }
    }

    /// Puts back what was, and says whether all of it had held until then.
    pub fn end(mut self) -> Result<PutBack, TuningError> {
        self.say(keeper::END)?;
        match self.hear()? {
            Report::Ended { changed, left } => Ok(PutBack { changed, left }),
            Report::Failed { message, remedy, usage } => Err(TuningError::Refused { message, remedy, usage }),
            Report::Set => Err(io::Error::from(io::ErrorKind::InvalidData).into()),
        }
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        let Some(input) = &mut self.input else { return Err(io::ErrorKind::BrokenPipe.into()) };
        input.write_all(format!("{line}\n").as_bytes())
    }

    fn hear(&mut self) -> io::Result<Report> {
        let mut line = String::new();
        if let Some(output) = &mut self.output {
            output.read_line(&mut line)?;
        }
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Tuned {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.keeper.wait();
    }
}
