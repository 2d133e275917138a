//! The list of runs, from records or from the archive's summary columns.

use super::grid::{Cell, Grid};
use super::{Paint, Style, verdict_paint};
use crate::format::{count, us_f64, us_opt};
use crate::{ReportError, summarize};
use rtscope_analysis::virtual_machine;
use rtscope_record::{Record, Verdict};

/// One run of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Id of its record.
    pub id: String,
    /// RFC 3339 in UTC.
    pub started: String,
    /// What was measured, such as "timer".
    pub test: String,
    /// Name of the load.
    pub load: String,
    /// Where the probe ran.
    pub target: String,
    /// Kernel release.
    pub kernel: String,
    /// Preemption model as people write it.
    pub preemption: String,
    /// Clock, machine and origin in words, as [`rtscope_analysis::clock_words`] gives them.
    pub clock: String,
    /// Whether it was taken in a virtual machine.
    pub virtual_machine: bool,
    /// Whether the figures may be trusted.
    pub verdict: Verdict,
    /// Samples of all distributions.
    pub count: u64,
    /// Missed events of all distributions.
    pub missed: u64,
    /// Mean, ns.
    pub mean: Option<f64>,
    /// p99.9, ns.
    pub p99_9: Option<u64>,
    /// Highest sample, ns.
    pub max: Option<u64>,
}

impl Entry {
    /// The entry of a record.
    pub fn of(record: &Record) -> Result<Self, ReportError> {
        let s = summarize(record)?;
        let all = s.merged.as_ref();
        Ok(Self {
            count: all.map_or(0, |a| a.count),
            missed: all.map_or(0, |a| a.missed),
            mean: all.and_then(|a| a.mean),
            p99_9: all.and_then(|a| a.percentile("p99.9")).and_then(|p| p.raw),
            max: all.and_then(|a| a.max),
            virtual_machine: virtual_machine(record),
            id: s.id,
            started: s.started,
            test: s.test.to_string(),
            load: s.load,
            target: s.target,
            kernel: s.kernel,
            preemption: s.preemption,
            clock: s.clock_words,
            verdict: s.verdict,
        })
    }
}

/// What stands in place of a list of nothing.
pub const NO_RUNS: &str = "no runs yet: rtscope measure timer\n";

/// A list of any length, of which no row is kept: each is measured, then written.
pub struct List {
    grid: Grid,
    style: Style,
}

impl List {
    /// A list without rows.
    pub fn new(style: Style) -> Self {
        let grid = Grid::new()
            .left("id", 0)
            .left("test", 2)
            .left("load", 0)
            .left("target", 5)
            .left("kernel", 4)
            .left("preemption", 6)
            .right("mean us", 0)
            .right("p99.9 us", 3)
            .right("max us", 0)
            .right("missed", 0)
            .right("samples", 7)
            .left("verdict", 0)
            .left("clock", 0);
        Self { grid, style }
    }

    /// Makes room for a run.
    pub fn measure(&mut self, e: &Entry) {
        self.grid.measure(cells(e));
    }

    /// What stands above the runs.
    pub fn head(&self) -> String {
        self.grid.head(self.style)
    }

    /// A run that was measured.
    pub fn line(&self, e: &Entry) -> String {
        self.grid.line(self.style, cells(e))
    }

    /// What stands below the runs.
    pub fn foot(&self) -> String {
        self.grid.foot(self.style)
    }
}

fn cells(e: &Entry) -> Vec<Cell> {
    vec![
        e.id.as_str().into(),
        e.test.as_str().into(),
        e.load.as_str().into(),
        e.target.as_str().into(),
        e.kernel.as_str().into(),
        e.preemption.as_str().into(),
        us_f64(e.mean).into(),
        us_opt(e.p99_9).into(),
        us_opt(e.max).into(),
        count(e.missed).into(),
        count(e.count).into(),
        Cell::painted(e.verdict.as_str(), verdict_paint(e.verdict)),
        if e.virtual_machine { Cell::painted(e.clock.as_str(), Paint::Doubtful) } else { e.clock.as_str().into() },
    ]
}

/// One row for each run, in the order given.
pub fn list(entries: &[Entry], style: Style) -> String {
    if entries.is_empty() {
        return NO_RUNS.into();
    }
    let mut list = List::new(style);
    for e in entries {
        list.measure(e);
    }
    let lines: String = entries.iter().map(|e| list.line(e)).collect();
    list.head() + &lines + &list.foot()
}
