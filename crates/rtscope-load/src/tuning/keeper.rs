//! The process that sets a machine up and puts back what was when its standard input ends: also after SIGKILL of who started it.

use super::changes::{Change, changes, refused};
use super::error::TuningError;
use super::place::Files;
use crate::journal::{Entered, Journal, Undo};
use rtscope_failure::{Fault, Problem as _};
use rtscope_files::Lock;
use rtscope_record::Tuning;
use rtscope_sys as sys;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The stage's name among the supervisor's.
pub(crate) const STAGE: &str = "tuning";
/// The line that asks it to put back what was, and to say how it went.
pub(super) const END: &str = "end";
/// Longest line, bytes.
const LONGEST: u64 = 1 << 20;
/// Changes in one entry of the journal, whose size is limited.
const IN_ENTRY: usize = 100;
/// How long the settings of a run that has just been killed may take to be put back.
const LINGER: Duration = Duration::from_secs(5);

/// What is to be set; a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    /// Below which directory the kernel's files are.
    pub(super) root: PathBuf,
    pub(super) tuning: Tuning,
    /// The journal's directory.
    pub(super) journal: PathBuf,
}

/// What came of it; a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// All of it holds.
    Set,
    /// It could not be set; all is as before.
    Failed {
        /// Why.
        message: String,
        /// What to do.
        remedy: String,
        /// The request is wrong, not the machine.
        usage: bool,
    },
    /// What was is back.
    Ended {
        /// What was not as it had been set any more.
        changed: Vec<String>,
        /// What could not be put back.
        left: Vec<String>,
    },
}

/// Sets the machine up, and waits for the end.
pub(crate) fn run() -> u8 {
    let _ = std::fs::write("/proc/self/comm", "rt-tuning-guard");
    sys::signals::at_start();
    // Ctrl-C on a terminal is not for this process.
    let _ = sys::process::new_session();
    let mut input = io::stdin().lock();
    let Some(order) = line(&mut input).and_then(|line| serde_json::from_slice::<Order>(&line).ok()) else { return 2 };
    let set = match Set::make(&order) {
        Ok(set) => set,
        Err(e) => {
            let usage = e.fault() == Fault::Usage;
            say(&Report::Failed { message: e.to_string(), remedy: e.remedy(), usage });
            return 3;
        }
    };
    say(&Report::Set);
    let asked = line(&mut input).is_some_and(|line| line.strip_suffix(b"\n") == Some(END.as_bytes()));
    let (changed, left) = set.end();
    let code = if left.is_empty() { 0 } else { 3 };
    if asked {
        say(&Report::Ended { changed, left });
    }
    code
}

/// A line, its end included; `None` at the end of the input.
fn line(input: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let n = input.by_ref().take(LONGEST).read_until(b'\n', &mut line).ok()?;
    (n > 0).then_some(line)
}

fn say(report: &Report) {
    let mut out = io::stdout().lock();
    // If nobody reads, the end of the input shows it too.
    let _ = serde_json::to_writer(&mut out, report).map(|()| out.write_all(b"\n").and_then(|()| out.flush()));
}

/// A machine that is set up.
struct Set {
    files: Files,
    changes: Vec<Change>,
    entered: Vec<Entered>,
    /// One run at a time sets a machine up: the second would take the first one's settings for the machine's own.
    _lock: Lock,
}

impl Set {
    fn make(order: &Order) -> Result<Self, TuningError> {
        let lock = lock(&order.root)?;
        let journal = Journal::at(&order.journal);
        // What a killed run left must not be taken for the machine's own.
        journal.replay();
        let files = Files::below(&order.root);
        let changes = changes(&files, &order.tuning)?;
        let undo = |c: &Change| Undo::RestoreSetting {
            root: order.root.clone(),
            place: c.place.clone(),
            set: c.wanted.clone(),
            before: c.before.clone(),
        };
        let mut entered = Vec::new();
        for part in changes.chunks(IN_ENTRY) {
            let journal_error =
                |e: crate::JournalError| TuningError::Refused { message: e.to_string(), remedy: e.remedy(), usage: false };
            entered.push(journal.enter(part.iter().map(undo).collect()).map_err(journal_error)?);
        }
        let mut set = Self { files, changes: Vec::new(), entered, _lock: lock };
        for change in changes {
            set.changes.push(change);
            let change = &set.changes[set.changes.len() - 1];
            if let Err(e) = set.apply(change) {
                set.end();
                return Err(e);
            }
        }
        Ok(set)
    }

    /// Sets it, and reads it back.
    fn apply(&self, c: &Change) -> Result<(), TuningError> {
        if c.before != c.wanted {
            self.files.write(&c.place, &c.wanted).map_err(|e| refused(&c.of, &c.place, "set", &e))?;
        }
        let now = self.files.read(&c.place).map_err(|e| refused(&c.of, &c.place, "read", &e))?;
        if now == c.wanted {
            return Ok(());
        }
        let message = format!("{}: it was set, but {} is {now}", c.of, c.place);
        let remedy = "does another program set it too, or does the driver not take it?";
        Err(TuningError::Refused { message, remedy: remedy.into(), usage: false })
    }

    /// Puts back what was, the last first. Returns what was not as set any more, and what could not be put back.
    fn end(self) -> (Vec<String>, Vec<String>) {
        // All are read before one is put back: the CPUs of one cpufreq policy have one governor between them.
        let differs = |c: &Change| match self.files.read(&c.place) {
            Ok(now) if now == c.wanted => None,
            Ok(now) => Some(format!("{}: {} is {now}", c.of, c.place)),
            Err(e) => Some(format!("{}: {}: {e}", c.of, c.place)),
        };
        let changed = self.changes.iter().rev().filter_map(differs).collect();
        let mut left = Vec::new();
        for c in self.changes.iter().rev() {
            if let Err(e) = self.files.put_back(&c.place, &c.wanted, &c.before) {
                left.push(format!("{} is not {} again: {e}", c.place, c.before));
            }
        }
        // Entries that stay are tried again at the next start.
        if left.is_empty() {
            self.entered.into_iter().for_each(Entered::close);
        }
        (changed, left)
    }
}

/// The lock of the machine below `root`.
fn lock(root: &Path) -> Result<Lock, TuningError> {
    let dir = if root == Path::new("/") { rtscope_files::user_dir()? } else { root.to_path_buf() };
    let until = Instant::now() + LINGER;
    loop {
        if let Some(lock) = Lock::try_take(&dir.join("tuning.lock")) {
            return Ok(lock);
        }
        if Instant::now() >= until {
            let message = "another run of rtscope has set this machine up for itself".into();
            return Err(TuningError::Refused { message, remedy: "wait until it has ended".into(), usage: false });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    const CPUS: &str = "sys/devices/system/cpu";

    /// A machine whose two CPUs have one cpufreq policy between them, as most boards' have. The governors' names are equally long, since a file that is
    /// written in place keeps its end, unlike the kernel's.
    fn one_policy() -> (tempfile::TempDir, Order) {
        let dir = tempfile::tempdir().unwrap();
        let cpus = dir.path().join(CPUS);
        let policy = cpus.join("cpufreq/policy0");
        fs::create_dir_all(&policy).unwrap();
        fs::write(policy.join("scaling_governor"), "schedutil").unwrap();
        fs::write(policy.join("scaling_available_governors"), "schedutil powersave").unwrap();
        for cpu in ["cpu0", "cpu1"] {
            fs::create_dir(cpus.join(cpu)).unwrap();
            symlink("../cpufreq/policy0", cpus.join(cpu).join("cpufreq")).unwrap();
        }
        let journal = dir.path().join("journal");
        let tuning = "governor=powersave".parse().unwrap();
        let order = Order { root: dir.path().into(), tuning, journal };
        (dir, order)
    }

    #[test]
    fn cpus_of_one_policy_are_set_and_put_back_together() {
        let (dir, order) = one_policy();
        let governor = || fs::read_to_string(dir.path().join(CPUS).join("cpu1/cpufreq/scaling_governor")).unwrap();
        let set = Set::make(&order).unwrap();
        assert_eq!(governor().trim(), "powersave");
        assert_eq!(set.end(), (Vec::new(), Vec::new()));
        assert_eq!(governor().trim(), "schedutil");
    }

    #[test]
    fn a_policy_that_was_set_meanwhile_is_told_and_left() {
        let (dir, order) = one_policy();
        let file = dir.path().join(CPUS).join("cpufreq/policy0/scaling_governor");
        let set = Set::make(&order).unwrap();
        fs::write(&file, "userspace").unwrap();
        let (changed, left) = set.end();
        assert_eq!((changed.len(), left.len()), (2, 0), "{changed:?} {left:?}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "userspace");
    }
}
