//! What rtscope must know of a tool to run it as a load and to prove that it worked.

use crate::process_tree::{self, Process};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;

/// Figures by name with unit, as in a record's load proof.
pub(crate) type Achieved = BTreeMap<String, f64>;

/// One kind of process that loads are made of. To add a tool, implement this in one file and add it to the table `tools.rs`.
pub(crate) trait Tool: Debug + Sync {
    /// Name of the program, and of the Debian package that contains it.
    fn program(&self) -> &'static str;

    /// The tool's name in a job: the program's name, unless the program plays several parts.
    fn role(&self) -> &'static str {
        self.program()
    }

    /// The part that it plays beside other tools.
    fn part(&self) -> Part {
        Part::Alone
    }

    /// Path of the program in a guest of the lab, which gets it from the package of that name; `None`: guests do without it.
    fn in_guests(&self) -> Option<&'static str>;

    /// What users may ask of it by `NAME:ARGS`; `None`: it takes no user arguments.
    fn own(&self) -> Option<&'static WithArguments> {
        None
    }

    /// The arguments after the program's name: those of the job, and those that rtscope adds.
    fn command(&self, args: &[String], paths: &Paths<'_>) -> Vec<String>;

    /// Whether it prints its figures on standard output. If not, it writes them to [`Paths::figures`], and its
    /// output is for people.
    fn prints_figures(&self) -> bool;

    /// Why it is not at work yet; `None` when it is.
    fn not_at_work(&self, seen: &Seen<'_>) -> Option<String>;

    /// What the kernel has accounted to it, by name with unit: the proof of a tool that can't be ended in time and
    /// leaves no figures of its own.
    fn account(&self, seen: &Seen<'_>) -> Option<(&'static str, f64)>;

    /// Which processes are watched. One that uses no CPU time, and waits neither for a CPU nor for a disk, is idle.
    fn workers(&self) -> Workers;

    /// Reads its figures, which may be damaged or missing.
    fn said(&self, figures: &str) -> Said;

    /// What its log says that it left out, by name, with the reason.
    fn left_out(&self, _log: &str) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Whether this is its exit status after a request to end.
    fn ends_with(&self, exit_code: Option<i32>) -> bool;

    /// A hint what to try by hand when the tool ends before it is at work.
    fn by_hand(&self) -> &'static str;
}

/// The part of a tool beside the other tools of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// It has no partner.
    Alone,
    /// It is asked to end first.
    Client,
    /// It ends by itself after its clients, so its own last output matters less.
    Server,
}

/// Which processes of a tool do its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workers {
    /// Its direct children, each with all that it starts.
    Children,
    /// The tool itself.
    Itself,
}

/// Where a tool may write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paths<'a> {
    /// File for machine-readable figures.
    pub(crate) figures: &'a Path,
    /// The tool's own directory, which is its working directory.
    pub(crate) dir: &'a Path,
}

/// A running tool in one snapshot of all processes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) pid: u32,
    /// The tool is at work once at least this many of its processes have used CPU time.
    pub(crate) workers: u32,
    pub(crate) processes: &'a [Process],
}

impl Seen<'_> {
    /// Why the children are not at work yet: too few have used CPU time, or all together less than `least_ns`;
    /// `None` when they are.
    pub(crate) fn children_not_at_work(&self, least_ns: u64) -> Option<String> {
        let mut total: u64 = 0;
        let mut running = 0;
        for worker in process_tree::descendants(self.processes, self.pid).into_iter().filter(|p| !p.ended) {
            let cpu = process_tree::cpu_ns(worker);
            total = total.saturating_add(cpu);
            running += u32::from(cpu > 0);
        }
        let at_work = running >= self.workers && total >= least_ns;
        (!at_work).then(|| format!("{running} of {} workers have run, for {} ms of CPU time", self.workers, total / 1_000_000))
    }

    /// CPU time of the tool and its descendants, s.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        let own = self.processes.iter().filter(|p| p.pid == self.pid);
        let ns: u64 = process_tree::descendants(self.processes, self.pid).into_iter().chain(own).map(process_tree::cpu_ns).sum();
        ns as f64 / 1e9
    }
}

/// What a tool reported.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Said {
    /// Its figures; empty when there are none.
    pub(crate) achieved: Achieved,
    /// Its error message, if the output contains one.
    pub(crate) error: Option<String>,
}

/// How a tool takes arguments from users.
#[derive(Debug)]
pub(crate) struct WithArguments {
    /// One line for the help.
    pub(crate) about: &'static str,
    /// Checks the words after the tool's name. They never reach a shell.
    pub(crate) read: fn(&[String]) -> Result<ArgumentsJob, Refused>,
}

/// The job that a user's words ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArgumentsJob {
    /// Arguments of the job.
    pub(crate) args: Vec<String>,
    /// As in [`Seen::workers`].
    pub(crate) workers: u32,
    /// Upper bound of its disk space, MiB, as far as known in advance. The tool is ended when it leaves too little free.
    pub(crate) disk_mib: u64,
}

/// Why a user's words are refused: they would break the proof, escape the load's directory, or outlive the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The refused word, or all of them.
    pub(crate) word: String,
    /// Why.
    pub(crate) reason: &'static str,
}

impl Refused {
    /// Makes the error result.
    pub(crate) fn because<T>(word: &str, reason: &'static str) -> Result<T, Self> {
        Err(Self { word: word.into(), reason })
    }
}

/// A finite, non-negative number.
pub(crate) fn figure(number: f64) -> Option<f64> {
    Some(number).filter(|f| f.is_finite() && *f >= 0.0)
}
