//! The lab's runs over all seeds, and the seeds' maxima.

use super::caveats::caveats;
use super::grid;
use super::text::Style;
use crate::{ReportError, sheets};
use rtscope_record::Record;

/// A row for each kernel and load of the lab's runs. `None` where nothing has two seeds.
pub fn seeds(records: &[Record], style: Style) -> Result<Option<String>, ReportError> {
    Ok(sheets::lab::seeds(records)?.map(|sheet| grid::titled(sheet, style) + &caveats(style, records)))
}
