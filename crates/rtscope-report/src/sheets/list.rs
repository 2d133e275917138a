//! The list of runs, from records or the archive's summary columns.

use crate::format::{count, us_f64, us_opt};
use crate::sheet::{Cell, Columns};
use crate::{ReportError, summarize};
use rtscope_analysis::virtual_machine;
use rtscope_record::{Nanos, Record, Verdict};

/// One run of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedRun {
    /// Id of its record.
    pub id: String,
    /// Start of the run, RFC 3339 in UTC.
    pub started: String,
    /// What was measured, such as "timer".
    pub test: String,
    /// Name of the load.
    pub load: String,
    /// Interval asked for, ns, where it is known.
    pub interval: Option<u64>,
    /// Where the probe ran.
    pub target: String,
    /// Kernel release.
    pub kernel: String,
    /// Preemption model as people write it.
    pub preemption: String,
    /// Clock, machine and origin in words, as [`rtscope_analysis::clock_words`] gives them.
    pub clock: String,
    /// Whether it was measured in a virtual machine.
    pub virtual_machine: bool,
    /// Whether the figures may be trusted.
    pub verdict: Verdict,
    /// Number of samples in all distributions.
    pub count: u64,
    /// Number of missed events in all distributions.
    pub missed: u64,
    /// Mean, ns.
    pub mean: Option<f64>,
    /// p99.9, ns.
    pub p99_9: Option<u64>,
    /// Highest sample, ns.
    pub max: Option<u64>,
}

impl ListedRun {
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
            interval: Some(record.parts().settings.interval.0).filter(|&ns| ns > 0),
            target: s.target,
            kernel: s.kernel,
            preemption: s.preemption,
            clock: s.clock_words,
            verdict: s.verdict,
        })
    }
}

/// The columns of the list.
pub(crate) fn columns() -> Columns<'static, ListedRun> {
    Columns::new()
        // A run is named by the beginning of its id as well.
        .left("id", 0, |e: &ListedRun| e.id.as_str().into())
        .least(Some(24))
        .left("test", 2, |e| e.test.as_str().into())
        .context()
        .left("load", 0, |e| e.load.as_str().into())
        .least(Some(super::LOAD))
        .right("interval", 2, |e| e.interval.map_or_else(Cell::none, |ns| Nanos(ns).to_string().into()))
        .context()
        .left("target", 3, |e| e.target.as_str().into())
        .context()
        .left("kernel", 4, |e| e.kernel.as_str().into())
        .context()
        .left("preemption", 7, |e| e.preemption.as_str().into())
        .context()
        .right("mean us", 5, |e| us_f64(e.mean).into())
        .right("p99.9 us", 6, |e| us_opt(e.p99_9).into())
        .right("max us", 0, |e| us_opt(e.max).into())
        .right("missed", 1, |e| count(e.missed).into())
        .right("samples", 8, |e| count(e.count).into())
        .whole("verdict", 0, |e| Cell::verdict(e.verdict))
        .left("clock", 0, |e| Cell::clock(e.clock.as_str(), e.virtual_machine))
        .least(Some(super::CLOCK))
        .context()
}
