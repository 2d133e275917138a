//! What rtscope must know of a tool to run it as a load and to prove that it worked.

use crate::process_tree::{self, Process};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;

/// Name with unit to figure, as in a record's load proof.
pub(crate) type Achieved = BTreeMap<String, f64>;

/// One kind of process that loads are made of. Adding a tool is one file with this, and its line in the table `tools.rs`.
pub(crate) trait Tool: Debug + Sync {
    /// Name of the program, and of Debian's package that has it.
    fn program(&self) -> &'static str;

    /// What it is called in a job: the program's name, unless the program has several parts to play.
    fn role(&self) -> &'static str {
        self.program()
    }

    /// The part that it plays beside others.
    fn part(&self) -> Part {
        Part::Alone
    }

    /// Where its program is in a guest of the lab, which has it from the package of its name; `None`: guests do without it.
    fn in_guests(&self) -> Option<&'static str>;

    /// What may be asked of it by `NAME:ARGS`; `None`: it takes no arguments of the user's.
    fn own(&self) -> Option<&'static WithArguments> {
        None
    }

    /// Its command line after the program's name: `args` of the job, and what it must be told besides.
    fn command(&self, args: &[String], paths: &Paths<'_>) -> Vec<String>;

    /// It prints its figures on standard output; else it writes them to [`Paths::figures`], and what it prints is for people.
    fn prints_figures(&self) -> bool;

    /// Why it is not at work yet; `None` when it is.
    fn not_at_work(&self, seen: &Seen<'_>) -> Option<String>;

    /// What the kernel says it has done, by name with unit: the proof of a tool that can't be ended in time and leaves no figures of its own.
    fn account(&self, seen: &Seen<'_>) -> Option<(&'static str, f64)>;

    /// Whose work is watched: one of them that uses no CPU time, and waits neither for a CPU nor for a disk, is idle.
    fn workers(&self) -> Workers;

    /// Reads the figures that it left: whole, damaged, or none.
    fn said(&self, figures: &str) -> Said;

    /// Whether it ends with this exit status when it is asked to end.
    fn ends_with(&self, exit_code: Option<i32>) -> bool;

    /// What to try by hand when it ends before it was at work.
    fn by_hand(&self) -> &'static str;
}

/// What a tool is to others of the same load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Nothing.
    Alone,
    /// It is asked to end first.
    Client,
    /// It ends by itself after its clients, so that its own words say less.
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
    /// What it says to programs.
    pub(crate) figures: &'a Path,
    /// A directory of its own, in which it is started.
    pub(crate) dir: &'a Path,
}

/// A tool that runs, in one look at all processes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) pid: u32,
    /// It is at work when at least this many processes of it have had CPU time.
    pub(crate) workers: u32,
    pub(crate) processes: &'a [Process],
}

impl Seen<'_> {
    /// Why its children are not at work yet: so many of them, and `least_ns` of CPU time of all together.
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

    /// CPU time that it has had with all its children, s.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        let own = self.processes.iter().filter(|p| p.pid == self.pid);
        let ns: u64 = process_tree::descendants(self.processes, self.pid).into_iter().chain(own).map(process_tree::cpu_ns).sum();
        ns as f64 / 1e9
    }
}

/// What a tool says it did.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Said {
    /// Its figures; empty when there are none.
    pub(crate) achieved: Achieved,
    /// Its own error message among them.
    pub(crate) error: Option<String>,
}

/// What a tool takes from users.
#[derive(Debug)]
pub(crate) struct WithArguments {
    /// One line for the help.
    pub(crate) about: &'static str,
    /// Reads the words that follow its name. They never reach a shell.
    pub(crate) read: fn(&[String]) -> Result<ArgumentsJob, Refused>,
}

/// What a user's words ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArgumentsJob {
    /// Arguments of the job.
    pub(crate) args: Vec<String>,
    /// As in [`Seen::workers`].
    pub(crate) workers: u32,
    /// Most that it may have on disk, MiB, as far as that is known before. It is ended when it leaves too little.
    pub(crate) disk_mib: u64,
}

/// Words that would break the proof, escape the load's directory, or outlive the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The word, or all of them.
    pub(crate) word: String,
    /// Why.
    pub(crate) reason: &'static str,
}

impl Refused {
    /// As a result.
    pub(crate) fn because<T>(word: &str, reason: &'static str) -> Result<T, Self> {
        Err(Self { word: word.into(), reason })
    }
}

/// A finite, non-negative number.
pub(crate) fn figure(number: f64) -> Option<f64> {
    Some(number).filter(|f| f.is_finite() && *f >= 0.0)
}
