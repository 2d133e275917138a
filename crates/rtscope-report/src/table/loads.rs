//! Load by load: mean, maximum, minimum and standard deviation in the layout of Vinh & Chau's tables, and what they leave out.

use super::grid::{Cell, Grid};
use super::{Paint, Style, caveats, heading, verdict_paint};
use crate::facts::run_names;
use crate::format::{NONE, count, us_f64, us_opt};
use crate::sheet::signed_us;
use crate::shown::{RULE_NOTE, any_guess, by_test, corrected_cell, hertz, signed, troubles};
use crate::{ReportError, summarize};
use rtscope_analysis::virtual_machine;
use rtscope_record::{Record, Test};

/// A table for each test with one row for each record: load (and kernel where they differ), mean, max, min, standard deviation (us), then
/// samples, missed, p99.9, verdict and clock. Jitter has signs instead of percentiles; a sustained frequency stands before the latencies at it.
pub fn loads(records: &[Record], style: Style) -> Result<String, ReportError> {
    if records.is_empty() {
        return Err(ReportError::Empty);
    }
    let mut out = String::new();
    for (test, members) in by_test(records) {
        let gap = if out.is_empty() { "" } else { "\n" };
        let own: Vec<Record> = members.iter().map(|&i| records[i].clone()).collect();
        out += &format!("{gap}{}\n{}", heading(style, &own), of_test(test, &own)?.render(style));
    }
    if any_guess(records) {
        out += &super::wrapped(style, "", RULE_NOTE);
    }
    Ok(out + &caveats(style, records))
}

fn of_test(test: Test, records: &[Record]) -> Result<Grid, ReportError> {
    let summaries = records.iter().map(summarize).collect::<Result<Vec<_>, _>>()?;
    let [late, spurious] = [0, 1].map(|i| summaries.iter().any(|s| troubles(s)[i] > 0));
    let mut grid = Grid::new().left("load", 0);
    let wave = test == Test::Periodic;
    grid = match test {
        Test::Sustained => grid.right("sustained Hz", 0).right("edge every us", 1).group("latency at it, us"),
        _ => grid,
    };
    let unit = if test == Test::Sustained { "" } else { " us" };
    let [high, low] = if wave { ["latest", "earliest"] } else { ["max", "min"] };
    for head in ["mean", high, low, "std dev"] {
        grid = grid.right(&format!("{head}{unit}"), 0);
    }
    grid = grid.group("").right("samples", 2).right("missed", 0);
    for (shown, head) in [(late, "of them late"), (spurious, "spurious")] {
        if shown {
            grid = grid.right(head, 0);
        }
    }
    grid = if wave { grid.right("drift ppm", 1) } else { grid.right("p99.9 us", 1).right("corr. p99.9", 3) };
    grid = grid.left("verdict", 0).left("clock", 0);
    for ((r, s), name) in records.iter().zip(summaries).zip(run_names(records)) {
        let all = s.merged.as_ref();
        let facts = r.parts().instrument.as_ref();
        let mut row: Vec<Cell> = vec![name.into()];
        if test == Test::Sustained {
            let interval = facts.and_then(|i| i.sustained).map(|n| n.0);
            row.push(interval.map_or_else(|| Cell::from(NONE), |ns| Cell::painted(hertz(ns), Paint::Bold)));
            row.push(us_opt(interval).into());
        }
        row.extend::<Vec<Cell>>(match signed(r)? {
            Some(j) => vec![
                j.mean.map_or_else(|| NONE.into(), |m| format!("{:+.2}", m / 1e3)).into(),
                signed_us(test, j.max).into(),
                signed_us(test, j.min).into(),
                us_f64(j.stddev).into(),
            ],
            None => vec![
                us_f64(all.and_then(|a| a.mean)).into(),
                us_opt(all.and_then(|a| a.max)).into(),
                us_opt(all.and_then(|a| a.min)).into(),
                us_f64(all.and_then(|a| a.stddev)).into(),
            ],
        });
        row.push(all.map_or_else(|| NONE.into(), |a| count(a.count)).into());
        let trouble = |n: u64| if n > 0 { Cell::painted(count(n), Paint::Doubtful) } else { count(n).into() };
        row.push(trouble(all.map_or(0, |a| a.missed)));
        let found = troubles(&s);
        row.extend([late, spurious].into_iter().zip(found).filter(|t| t.0).map(|t| trouble(t.1)));
        if wave {
            let drift = facts.and_then(|i| i.grid).map(|g| format!("{:+.3}", g.drift_ppb as f64 / 1e3));
            row.push(drift.unwrap_or_else(|| NONE.into()).into());
        } else {
            let p999 = all.and_then(|a| a.percentile("p99.9"));
            row.extend([us_opt(p999.and_then(|p| p.raw)).into(), corrected_cell(all, p999).into()]);
        }
        row.push(Cell::painted(s.verdict.as_str(), verdict_paint(s.verdict)));
        row.push(if virtual_machine(r) { Cell::painted(s.clock_words, Paint::Doubtful) } else { s.clock_words.into() });
        grid.row(row);
    }
    Ok(grid)
}
