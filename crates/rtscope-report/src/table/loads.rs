//! Load by load, a table for each test, with the records' caveats.

use super::caveats::caveats;
use super::grid::{render, title};
use super::text::Style;
use crate::{ReportError, sheets};
use rtscope_record::Record;

/// A table for each test with a row for each record: load (and kernel where they differ), mean, max, min, standard
/// deviation (us), then samples, missed, p99.9, verdict and clock. Jitter has signs instead of percentiles; a sustained
/// frequency precedes the latencies measured at it.
pub fn loads(records: &[Record], style: Style) -> Result<String, ReportError> {
    if records.is_empty() {
        return Err(ReportError::Empty);
    }
    let sheets = sheets::loads::loads(records)?;
    let tables: Vec<String> = sheets.into_iter().map(|s| title(&s, style) + "\n" + &render(s, style)).collect();
    Ok(tables.join("\n") + &caveats(style, records))
}

/// [`loads`] without titles and remarks, for scripts: verdict and clock are columns.
pub fn loads_bare(records: &[Record], style: Style) -> Result<String, ReportError> {
    let bare = |s: crate::sheet::Sheet<'_>| render(crate::sheet::Sheet { notes: Vec::new(), ..s }, style);
    Ok(sheets::loads::loads(records)?.into_iter().map(bare).collect::<Vec<_>>().join("\n"))
}
