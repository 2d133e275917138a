//! Percentiles with their confidence bounds.

use super::grid::Grid;
use super::{Paint, Style};
use crate::facts::run_names;
use crate::format::{clean, us_opt};
use rtscope_analysis::confidence::{Confidence, bounded};
use rtscope_record::Record;

/// The standard percentiles of every distribution, each with a lower and an upper bound.
pub fn intervals(records: &[Record], confidence: Confidence, style: Style) -> String {
    let title = format!("Percentiles, and where they lie with {confidence} confidence (each bound by itself)");
    let mut out = format!("\n{}\n", style.paint(Paint::Bold, &title));
    let mut grid = Grid::new().left("", 0).left("", 0).right("seen us", 0).right("at least us", 0).right("at most us", 0);
    for (record, name) in records.iter().zip(run_names(records)) {
        for d in record.distributions() {
            let label = if records.len() > 1 { format!("{name} {}", clean(d.label())) } else { clean(d.label()) };
            for b in bounded(record, d, confidence) {
                let cells = [label.clone(), b.percentile, us_opt(b.value), us_opt(b.interval.low), us_opt(b.interval.high)];
                grid.row(cells.into_iter().map(Into::into).collect());
            }
        }
    }
    out += &grid.render(style);
    out
}
