//! The figures of a record by name, one by one, for formats that hold one figure a line.

use crate::{ReportError, summarize};
use rtscope_analysis::Row;
use rtscope_record::Record;

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistic {
    /// The distribution that it is of, such as `cpu0`; `all` for all together.
    pub label: String,
    /// Its name, such as `p99.9`, `corrected p99.9` or `missed`.
    pub name: String,
    /// ns, or a count.
    pub value: f64,
    /// Whether it is a time.
    pub is_time: bool,
}

/// The figures of all distributions together, then of each. Percentiles only as far as the samples support them; counts of what was missed, lost or
/// beyond a histogram stand beside them.
pub fn statistics(record: &Record) -> Result<Vec<Statistic>, ReportError> {
    let s = summarize(record)?;
    let several = s.rows.len() > 1;
    let rows = s.merged.iter().chain(s.rows.iter().filter(|_| several));
    Ok(rows.flat_map(of_row).collect())
}

fn of_row(row: &Row) -> Vec<Statistic> {
    let mut all = Vec::new();
    let mut push = |name: &str, value: Option<f64>, is_time: bool| {
        if let Some(value) = value {
            all.push(Statistic { label: row.label.clone(), name: name.into(), value, is_time });
        }
    };
    let float = |v: Option<u64>| v.map(|v| v as f64);
    push("samples", Some(row.count as f64), false);
    push("missed", Some(row.missed as f64), false);
    push("overflow", Some(row.overflow as f64), false);
    push("dropped", Some(row.dropped as f64), false);
    push("min", float(row.min), true);
    push("mean", row.mean, true);
    push("stddev", row.stddev, true);
    for p in &row.percentiles {
        push(&p.name, float(p.raw), true);
    }
    push("max", float(row.max), true);
    // What is guessed by HdrHistogram's rule has no name here that says so: it is left out.
    for p in row.percentiles.iter().filter(|p| p.corrected != p.raw && !row.by_rule()) {
        push(&format!("corrected {}", p.name), float(p.corrected), true);
    }
    all
}

/// A figure as text: us with three decimals, or a whole count.
pub(super) fn shown(s: &Statistic) -> String {
    if s.is_time { format!("{:.3}", s.value / 1e3) } else { format!("{:.0}", s.value) }
}
