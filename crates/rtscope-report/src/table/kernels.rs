//! Kernel by kernel: average, maximum and standard deviation in the layout of Dewit's Table I.

use super::grid::{Cell, Grid};
use super::{Paint, Style, caveats, heading, verdict_paint};
use crate::ReportError;
use crate::format::{count, us_f64, us_opt};
use rtscope_analysis::{clock_words, virtual_machine};
use rtscope_record::{Distribution, Record, Verdict};

struct Group<'a> {
    key: (String, &'static str, &'a str, String),
    virtual_machine: bool,
    verdict: Verdict,
    runs: usize,
    all: Option<Distribution>,
}

/// One row for each kernel, preemption model, load and clock: average, max and std (us); its runs merged exactly.
pub fn kernels(records: &[Record], style: Style) -> Result<String, ReportError> {
    if records.is_empty() {
        return Err(ReportError::Empty);
    }
    let mut groups: Vec<Group<'_>> = Vec::new();
    for r in records {
        let p = r.parts();
        let failed = |error| ReportError::Merge { id: r.id().into(), error };
        let kernel = &p.system.kernel;
        let release = if kernel.release.is_empty() { "unknown" } else { kernel.release.as_str() };
        let key = (release.to_owned(), kernel.preemption.as_str(), p.load.as_str(), clock_words(r));
        let own = r.merged().map_err(failed)?;
        match groups.iter_mut().find(|g| g.key == key) {
            None => {
                groups.push(Group { key, virtual_machine: virtual_machine(r), verdict: r.verdict(), runs: 1, all: own });
            }
            Some(g) => {
                g.runs += 1;
                g.verdict = g.verdict.max(r.verdict());
                g.all = match (g.all.take(), own) {
                    (Some(a), Some(b)) => Some(a.merge(&b, "all", 1).map_err(failed)?),
                    (a, b) => a.or(b),
                };
            }
        }
    }
    let mut grid = Grid::new()
        .left("kernel", 0)
        .left("preemption", 0)
        .right("average us", 0)
        .right("max us", 0)
        .right("std us", 0)
        .left("load", 0)
        .right("runs", 2)
        .right("samples", 3)
        .right("missed", 0)
        .left("verdict", 0)
        .left("clock", 0);
    for g in groups {
        let all = g.all.as_ref();
        let (release, preemption, load, clock) = g.key;
        grid.row(vec![
            release.into(),
            preemption.into(),
            us_f64(all.and_then(Distribution::mean)).into(),
            us_opt(all.and_then(Distribution::max)).into(),
            us_f64(all.and_then(Distribution::stddev)).into(),
            load.into(),
            g.runs.to_string().into(),
            count(all.map_or(0, Distribution::count)).into(),
            count(all.map_or(0, Distribution::missed)).into(),
            Cell::painted(g.verdict.as_str(), verdict_paint(g.verdict)),
            if g.virtual_machine { Cell::painted(clock, Paint::Doubtful) } else { clock.into() },
        ]);
    }
    Ok(heading(style, records) + "\n" + &grid.render(style) + &caveats(style, records))
}
