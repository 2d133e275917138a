//! Load by load: mean, maximum, minimum and standard deviation in the layout of Vinh & Chau's tables, and what they leave out.

use super::grid::{Cell, Grid};
use super::{Paint, Style, caveats, heading, verdict_paint};
use crate::facts::run_names;
use crate::format::{NONE, count, us_f64, us_opt};
use crate::{ReportError, summarize};
use rtscope_analysis::virtual_machine;
use rtscope_record::Record;

/// One row for each record: load (and kernel where they differ), mean, max, min, standard deviation (us), then samples, missed, p99.9, verdict and clock.
pub fn loads(records: &[Record], style: Style) -> Result<String, ReportError> {
    if records.is_empty() {
        return Err(ReportError::Empty);
    }
    let mut grid = Grid::new()
        .left("load", 0)
        .right("mean us", 0)
        .right("max us", 0)
        .right("min us", 0)
        .right("std dev us", 0)
        .right("samples", 2)
        .right("missed", 0)
        .right("p99.9 us", 1)
        .right("corr. p99.9", 3)
        .left("verdict", 0)
        .left("clock", 0);
    for (r, name) in records.iter().zip(run_names(records)) {
        let s = summarize(r)?;
        let all = s.merged.as_ref();
        let p999 = all.and_then(|a| a.percentile("p99.9"));
        let missed = all.map_or(0, |a| a.missed);
        grid.row(vec![
            name.into(),
            us_f64(all.and_then(|a| a.mean)).into(),
            us_opt(all.and_then(|a| a.max)).into(),
            us_opt(all.and_then(|a| a.min)).into(),
            us_f64(all.and_then(|a| a.stddev)).into(),
            all.map_or_else(|| NONE.into(), |a| count(a.count)).into(),
            if missed > 0 { Cell::painted(count(missed), Paint::Doubtful) } else { count(missed).into() },
            us_opt(p999.and_then(|p| p.raw)).into(),
            us_opt(p999.and_then(|p| p.corrected)).into(),
            Cell::painted(s.verdict.as_str(), verdict_paint(s.verdict)),
            if virtual_machine(r) { Cell::painted(s.clock_words, Paint::Doubtful) } else { s.clock_words.into() },
        ]);
    }
    Ok(heading(style, records) + "\n" + &grid.render(style) + &caveats(style, records))
}
