//! The options for starting a load.

use crate::job::{Isolation, Reexec};
use crate::journal::{Journal, JournalError};
use crate::stop::StopHandle;
use std::path::PathBuf;
use std::time::Duration;

/// The options for starting a load.
#[derive(Debug, Clone)]
pub struct StartOptions {
    /// How to start the supervisor.
    pub reexec: Reexec,
    /// The number of CPUs that the load is sized for.
    pub cpus: u32,
    /// The directory in which the load makes its own; `None` for `$TMPDIR`, /var/tmp or /tmp, the first that is on
    /// a disk with enough room.
    pub dir: Option<PathBuf>,
    /// Where to record what must be undone after a crash.
    pub journal: Journal,
    /// Strongest isolation to try.
    pub isolation: Isolation,
    /// Time limit for the start.
    pub up_timeout: Duration,
    /// Time that processes get to end on request before they are killed.
    pub stop_timeout: Duration,
    /// Ends the start early.
    pub stop: StopHandle,
}

impl StartOptions {
    /// The defaults: sized for all CPUs of this machine, the user's journal, the strongest isolation, 30 s to
    /// start, 15 s to stop.
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
