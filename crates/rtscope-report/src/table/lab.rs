//! What the lab's figures depend on: maxima over seeds, and ratios over time models.

use super::grid::{Cell, Grid};
use super::{Paint, Style};
use crate::ReportError;
use crate::facts::kind_names;
use crate::format::{clean, count, times, us_f64, us_opt};
use rtscope_analysis::versus::{Block, Figures};
use rtscope_analysis::{Band, Seeds};
use rtscope_record::{Distribution, Record};
use std::collections::BTreeSet;

/// The maxima of a block's kernels over the seeds, and the ratio of their medians; empty where no kernel has more than one seed.
pub(super) fn seeds_of_block(b: &Block, style: Style) -> String {
    let seeds = |f: &Option<Figures>| f.as_ref().and_then(|f| f.seeds);
    if !b.loads.iter().flat_map(|l| &l.figures).any(|f| seeds(f).is_some_and(|s| s.seeds > 1)) {
        return String::new();
    }
    let mut grid = Grid::new().left("max over seeds", 0);
    for k in &b.kernels {
        grid = grid
            .group(&format!("{} us", k.role.as_str()))
            .right("seeds", 1)
            .right("lowest", 2)
            .right("median", 0)
            .right("highest", 0);
    }
    if b.is_pair() {
        grid = grid.group("stock/RT").right("of medians", 0);
    }
    for l in &b.loads {
        let mut cells: Vec<Cell> = vec![l.load.as_str().into()];
        for f in &l.figures {
            cells.extend(spread(seeds(f)));
        }
        if b.is_pair() {
            cells.push(times(median_ratio(l.figures.iter().map(seeds), l.ratios.is_some())).into());
        }
        grid.row(cells);
    }
    format!("\n{}", grid.render(style))
}

/// Stock/RT of the medians of the seeds' maxima, where there `are` ratios at all.
pub(crate) fn median_ratio(figures: impl Iterator<Item = Option<Seeds>>, are: bool) -> Option<f64> {
    let all: Vec<Option<Seeds>> = figures.collect();
    match all.as_slice() {
        [Some(stock), Some(rt)] if are && rt.median > 0 => Some(stock.median as f64 / rt.median as f64),
        _ => None,
    }
}

fn spread(seeds: Option<Seeds>) -> [Cell; 4] {
    let us = |f: fn(Seeds) -> u64| us_opt(seeds.map(f));
    let number = seeds.map_or_else(|| crate::format::NONE.into(), |s| s.seeds.to_string());
    [number.into(), us(|s| s.lowest).into(), us(|s| s.median).into(), Cell::painted(us(|s| s.highest), Paint::Bold)]
}

/// A line for each kernel and load of the lab's runs: what all seeds gave together, and their maxima. `None` where no load has two seeds.
pub fn seeds(records: &[Record], style: Style) -> Result<Option<String>, ReportError> {
    let names = kind_names(records);
    let mut grid = Grid::new().left("load", 0).right("seeds", 1).right("mean us", 0).right("p99.9 us", 1);
    grid = grid.group("max over seeds, us").right("lowest", 2).right("median", 0).right("highest", 0).group("");
    grid = grid.right("samples", 3).right("missed", 0).left("verdict", 0).left("clock", 0);
    let (mut done, mut several) = (BTreeSet::new(), false);
    for name in &names {
        if !done.insert(name) {
            continue;
        }
        let own: Vec<&Record> = records.iter().zip(&names).filter(|(_, n)| *n == name).map(|(r, _)| r).collect();
        let Some(of) = Seeds::of(&own) else { return Ok(None) };
        several |= of.seeds > 1;
        let mut all: Option<Distribution> = None;
        for r in &own {
            let failed = |error| ReportError::Merge { id: r.id().into(), error };
            all = match (all, r.merged().map_err(failed)?) {
                (Some(sum), Some(d)) => Some(sum.merge(&d, "all", 1).map_err(failed)?),
                (sum, d) => sum.or(d),
            };
        }
        let all = all.as_ref();
        let p999 = rtscope_record::Quantile::STANDARD.into_iter().find(|q| q.to_string() == "p99.9");
        let [number, lowest, median, highest] = spread(Some(of));
        let verdict = own.iter().map(|r| r.verdict()).max().unwrap_or(rtscope_record::Verdict::Invalid);
        grid.row(vec![
            name.as_str().into(),
            number,
            us_f64(all.and_then(Distribution::mean)).into(),
            us_opt(p999.and_then(|q| all.and_then(|d| d.value_at(q)))).into(),
            lowest,
            median,
            highest,
            count(all.map_or(0, Distribution::count)).into(),
            count(all.map_or(0, Distribution::missed)).into(),
            Cell::painted(verdict.as_str(), super::verdict_paint(verdict)),
            Cell::painted(rtscope_analysis::clock_words(own[0]), Paint::Doubtful),
        ]);
    }
    Ok(several.then(|| super::heading(style, records) + &grid.render(style) + &super::caveats(style, records)))
}

/// Ratios over time models: each, their range, and which conclusion flips. Empty without any.
pub(super) fn bands(bands: &[Band], what: &str, style: Style) -> String {
    let models: BTreeSet<u32> = bands.iter().flat_map(|b| b.ratios.keys().copied()).collect();
    let several = bands.iter().map(|b| &b.of).collect::<BTreeSet<_>>().len() > 1;
    if bands.is_empty() {
        return String::new();
    }
    let mut grid = if several { Grid::new().left("kernels", 2).left("load", 0) } else { Grid::new().left("load", 0) };
    grid = grid.left(what, 0);
    for model in &models {
        grid = grid.right(&format!("model {model}"), 0);
    }
    grid = grid.left("range", 0).left("", 0);
    for b in bands {
        let mut cells: Vec<Cell> = if several { vec![clean(&b.of).into()] } else { Vec::new() };
        cells.extend([Cell::from(b.load.as_str()), b.metric.as_str().into()]);
        cells.extend(models.iter().map(|m| Cell::from(times(b.ratios.get(m).copied()))));
        cells.push(Cell::painted(range(b), Paint::Bold));
        cells.push(if b.flips { Cell::painted("FLIPS", Paint::Bad) } else { "".into() });
        grid.row(cells);
    }
    format!("\n{}\n{}", style.paint(Paint::Bold, "Over the time models"), grid.render(style))
}

/// The range of a ratio: "3.1 to 20.4".
pub(crate) fn range(b: &Band) -> String {
    format!("{} to {}", times(Some(b.low)), times(Some(b.high)))
}
