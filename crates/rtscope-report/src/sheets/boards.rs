//! The boards that were measured over ssh.

use crate::format::{clean, count, us_opt};
use crate::sheet::{Cell, Columns, Sheet};
use rtscope_record::Verdict;
use serde::Serialize;

/// A board as its runs show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BoardRow {
    /// How it is reached, as `--target` takes it.
    pub target: String,
    /// What board it is, else its host name.
    pub machine: String,
    /// Kernel release in its newest run.
    pub kernel: String,
    /// Preemption model then, as people write it.
    pub preemption: String,
    /// Number of runs.
    pub runs: u64,
    /// Highest latency of its timer tests in user space with that kernel, ns; without INVALID runs.
    pub timer_max: Option<u64>,
    /// Start of the newest run, RFC 3339 in UTC.
    pub last: String,
    /// Verdict of the newest run.
    pub verdict: Verdict,
}

pub(crate) fn boards(rows: &[BoardRow]) -> Sheet<'_> {
    Columns::new()
        .left("target", 0, |r: &BoardRow| clean(&r.target).into())
        .left("machine", 4, |r| clean(&r.machine).into())
        .left("kernel", 2, |r| clean(&r.kernel).into())
        .left("preemption", 1, |r| clean(&r.preemption).into())
        .right("runs", 3, |r| count(r.runs).into())
        .right("timer max us", 0, |r| Cell::main(us_opt(r.timer_max)))
        .left("last run", 5, |r| clean(&r.last).into())
        .whole("its verdict", 0, |r| Cell::verdict(r.verdict))
        .sheet(rows)
}
