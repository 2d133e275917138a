//! Percentiles with their confidence bounds.

use crate::format::us_opt;
use crate::names::run_names;
use crate::sheet::{Cell, Columns, Sheet};
use rtscope_analysis::confidence::{Bounded, Confidence, bounded};
use rtscope_record::Record;

/// The standard percentiles of every distribution, each with a lower and an upper bound.
pub(crate) fn intervals(records: &[Record], confidence: Confidence) -> Sheet<'static> {
    let names = run_names(&records.iter().collect::<Vec<_>>());
    let mut rows: Vec<(String, Bounded)> = Vec::new();
    for (record, name) in records.iter().zip(names) {
        for d in record.distributions() {
            let label = if records.len() > 1 { format!("{name} {}", d.label()) } else { d.label().to_owned() };
            rows.extend(bounded(record, d, confidence).into_iter().map(|b| (label.clone(), b)));
        }
    }
    let columns = Columns::new()
        .left("", 0, |r: &(String, Bounded)| Cell::from(r.0.as_str()))
        .left("", 0, |r| r.1.percentile.as_str().into())
        .right("seen us", 0, |r| us_opt(r.1.value).into())
        .right("at least us", 0, |r| us_opt(r.1.interval.low).into())
        .right("at most us", 0, |r| us_opt(r.1.interval.high).into());
    let title = format!("Percentiles, and where they lie with {confidence} confidence (each bound by itself)");
    columns.sheet_of(rows).titled(title)
}
