//! What the start of a load needs to know.

use crate::job::{Isolation, Reexec};
use crate::journal::{Journal, JournalError};
use crate::stop::StopHandle;
use std::path::PathBuf;
use std::time::Duration;

/// What a start needs to know.
#[derive(Debug, Clone)]
pub struct StartOptions {
    /// How to start the supervisor.
    pub reexec: Reexec,
    /// Number of CPUs to size the load by.
    pub cpus: u32,
    /// Directory in which the load makes its own; `None` for `$TMPDIR` or /var/tmp, whichever is on a disk.
    pub dir: Option<PathBuf>,
    /// Where to write down what must be undone after a crash.
    pub journal: Journal,
    /// Strongest isolation to try.
    pub isolation: Isolation,
    /// How long the load may take until it is up.
    pub up_timeout: Duration,
    /// How long its processes may take to end when asked, before they are killed.
    pub stop_timeout: Duration,
    /// Ends the start early.
    pub stop: StopHandle,
}

impl StartOptions {
    /// The usual: sized by all CPUs of this machine, the user's journal, the strongest isolation, 30 s to start, 15 s to stop.
    pub fn new(reexec: Reexec) -> Result<Self, JournalError> {
        let cpus = std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1));
        Ok(Self {
            reexec,
            cpus,
            dir: None,
            journal: Journal::of_user()?,
            isolation: Isolation::default(),
            up_timeout: Duration::from_secs(30),
            stop_timeout: Duration::from_secs(15),
            stop: StopHandle::new(),
        })
    }
}
