//! Explains a late wake-up by the kernel's own trace: the text of the tracefs file `trace` of the CPU that it was late on.
//!
//! The kernel prints whole microseconds, and what it does not print is not known: which part of the thread's own time was in user
//! space, and, without its function tracer, which functions ran and who kept interrupts off.

mod line;
mod steps;

use crate::account::{Account, Steps};
use crate::explanation::{Explanation, Means, Milestones, UnwinderAgreement};
use crate::path::Path;
use line::{Level, Line};
use rtscope_failure::Problem;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use steps::Known;

/// Longest text of a trace that is kept, bytes.
pub const LONGEST: usize = 4 << 20;
/// The kernel's resolution, ns.
const RESOLUTION: u64 = 1_000;

/// The first latency above a limit, with the trace that was stopped at it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traced {
    /// The label of the distribution that it is in.
    pub distribution: String,
    /// The thread.
    pub tid: u32,
    /// When it was taken, ns since the start of the run.
    pub at: u64,
    /// The grid point, ns of `CLOCK_MONOTONIC`.
    pub expiry: u64,
    /// The latency, ns.
    pub latency: u64,
    /// What the trace was taken with.
    pub means: Means,
    /// The trace of the thread's CPU, as the kernel prints it.
    pub text: String,
    /// The same as a file for trace-cmd, base64; empty if there is none.
    #[serde(default)]
    pub file: String,
}

/// How long before the expiry a trace is kept, ns: who switched something off may have done so long before.
const BEFORE: u64 = 20_000_000;

/// The lines of a trace that are of interest for a sample: from shortly before its timer's expiry on.
#[derive(Debug)]
pub struct Kept {
    from: u64,
    head: Vec<String>,
    lines: VecDeque<(Option<u64>, String)>,
    size: usize,
}

impl Kept {
    /// Of a sample with this grid point and latency, ns.
    pub fn new(expiry: u64, latency: u64) -> Self {
        let from = expiry.saturating_sub(BEFORE.max(latency));
        Self { from, head: Vec::new(), lines: VecDeque::new(), size: 0 }
    }

    /// The next line of the trace.
    pub fn line(&mut self, line: &str) {
        if line.starts_with('#') {
            if self.head.len() < 32 {
                self.head.push(line.to_owned());
            }
            return;
        }
        let at = Line::parse(line).map(|l| l.at);
        self.size += line.len() + 1;
        self.lines.push_back((at, line.to_owned()));
        // One from before stays: it says what was so at the beginning.
        let old = |of: Option<&(Option<u64>, String)>| of.is_some_and(|(at, _)| at.is_none_or(|at| at < self.from));
        while self.lines.len() > 1 && (self.size > LONGEST || old(self.lines.get(1))) {
            self.size -= self.lines.pop_front().map_or(0, |(_, line)| line.len() + 1);
        }
    }

    /// The kept lines with the kernel's heading.
    pub fn text(self) -> String {
        let lines = self.head.into_iter().chain(self.lines.into_iter().map(|(_, line)| line));
        lines.map(|line| line + "\n").collect()
    }
}

/// Why a trace gives no explanation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// The buffer was too small for it, or it is another run's.
    #[error("the kernel's trace begins {0} us after the timer's expiry: what was before is overwritten")]
    TooShort(u64),
    /// The trace has no line before the expiry, or none at all.
    #[error("the kernel's trace has no line of the time from the expiry to the thread's read of the clock")]
    Nothing,
    /// The thread did not run in it.
    #[error("the kernel's trace does not show how the thread {0} came to run: it ran on another CPU, or events are missing")]
    NoThread(u32),
}

impl Problem for TraceError {
    fn remedy(&self) -> String {
        match self {
            Self::TooShort(_) => "take a lower limit, so that the trace stops at a shorter latency: --trace 100us".into(),
            Self::Nothing | Self::NoThread(_) => {
                "look at the trace, which is kept with the run: rtscope explain RUN --files DIR".into()
            }
        }
    }
}

/// Explains the sample of `traced`.
pub fn explain(traced: &Traced) -> Result<Explanation, TraceError> {
    let (expiry, latency) = (traced.expiry, traced.latency);
    let end = expiry.saturating_add(latency);
    let text = &traced.text[first_kept(&traced.text)..];
    let lines: Vec<Line<'_>> = text.lines().filter_map(Line::parse).take_while(|l| l.at < end).collect();
    let first = lines.first().ok_or(TraceError::Nothing)?.at;
    if first > expiry {
        return Err(TraceError::TooShort((first - expiry) / 1_000));
    }
    let seen = Seen::of(&lines, traced)?;
    let since = |at: u64| at.clamp(expiry, end) - expiry;
    let known = Known {
        thread: traced.tid,
        interrupt: seen.interrupt.or(seen.woken).or(seen.switched).unwrap_or(0),
        asleep: seen.asleep,
        functions: traced.means == Means::Functions,
    };
    let (all, calls) = steps::steps(&lines, &known);
    let names = names(&lines);
    let task = |pid: u64| names.get(&pid).map_or_else(|| format!("task {pid}"), |comm| format!("{comm}[{pid}]"));
    let chain = |n: usize| calls.of(n);
    let steps = Steps { all: &all, end, since: &since, task: &task, calls: &chain, switched_before: false };
    let Account { causes, tasks, functions, hold, chart, stacks } = Account::of(&steps);
    let at = |of: Option<u64>| of.map(since);
    let milestones = Milestones {
        interrupt: at(seen.interrupt),
        woken: at(seen.woken),
        due: at(seen.due),
        switched: at(seen.switched),
        ..Milestones::default()
    };
    let (unwinder, traced) = (UnwinderAgreement::default(), Some(traced.means));
    let (path, jitter) = (Path::WakeUp, None);
    Ok(Explanation { path, latency, jitter, expiry, milestones, causes, tasks, functions, hold, unwinder, traced, chart, stacks })
}

/// Where the part of a text begins that is looked at: its end counts.
fn first_kept(text: &str) -> usize {
    let from = text.len().saturating_sub(LONGEST);
    (from..=text.len()).find(|&i| text.is_char_boundary(i)).unwrap_or(text.len())
}

/// The tasks' names, of those that the kernel still knew.
fn names<'a>(lines: &[Line<'a>]) -> BTreeMap<u64, &'a str> {
    let mut names = BTreeMap::new();
    for line in lines {
        for (comm, pid) in [("prev_comm", "prev_pid"), ("next_comm", "next_pid")] {
            if let (true, Some(comm), Some(pid)) = (line.is("sched_switch"), line.field(comm), line.field(pid)) {
                pid.parse().ok().map(|pid: u64| names.insert(pid, comm));
            }
        }
        if line.comm != "<...>" {
            names.insert(u64::from(line.pid), line.comm);
        }
    }
    names.insert(0, "idle");
    names
}

/// When what was seen, ns of the trace's clock.
struct Seen {
    interrupt: Option<u64>,
    woken: Option<u64>,
    due: Option<u64>,
    switched: Option<u64>,
    /// Until when the thread was not asleep; 0 if it was.
    asleep: u64,
}

impl Seen {
    fn of(lines: &[Line<'_>], traced: &Traced) -> Result<Self, TraceError> {
        let after = lines.partition_point(|l| l.at + RESOLUTION <= traced.expiry);
        // Some kernels do not show the switch away from the idle task: then the thread's first line does.
        let ran = |l: &Line<'_>| l.switched_to().unwrap_or(l.pid) == traced.tid;
        let left = |l: &Line<'_>| l.pid == traced.tid && l.switched_to().is_some();
        // Who runs when the timer expires: whoever the last line before it, or the first one after it, is of.
        let running = lines[..after].last().map(|l| l.switched_to().unwrap_or(l.pid));
        let awake = running == Some(traced.tid);
        let asleep = if awake { lines[after..].iter().find(|l| left(l)).map_or(u64::MAX, |l| l.at) } else { 0 };
        let from = if awake { lines.partition_point(|l| l.at <= asleep) } else { after };
        let switched = (from..lines.len()).find(|&i| ran(&lines[i]));
        let until = switched.unwrap_or(lines.len());
        let woken = (from..until).find(|&i| lines[i].woken() == Some(traced.tid));
        if switched.or(woken).is_none() && !awake {
            return Err(TraceError::NoThread(traced.tid));
        }
        let interrupt = woken.and_then(|i| interrupt_of(lines, i));
        let due = woken.and_then(|from| (from..until).find(|&i| lines[i].flags.due));
        let at = |i: Option<usize>| i.map(|i| lines[i].at);
        Ok(Self { interrupt: at(interrupt), woken: at(woken), due: at(due), switched: at(switched), asleep })
    }
}

/// The first line of the interrupt that line `i` is of.
fn interrupt_of(lines: &[Line<'_>], i: usize) -> Option<usize> {
    let from = lines[..=i].iter().rposition(|l| steps::level(l) < Level::Hard).map_or(0, |before| before + 1);
    let entry = |l: &Line<'_>| l.is("local_timer_entry") || l.is("irq_handler_entry");
    // Without functions nothing is seen between two interrupts that follow on each other.
    lines[from..=i].iter().rposition(entry).map(|at| from + at).or((from <= i).then_some(from))
}

#[cfg(test)]
#[path = "trace_tests.rs"]
mod tests;
