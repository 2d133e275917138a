//! What all seeds of the lab's runs gave together, and their maxima.

use super::caveats::caveats;
use super::grid;
use super::text::Style;
use crate::{ReportError, sheets};
use rtscope_record::Record;

/// A line for each kernel and load of the lab's runs. `None` where no load has two seeds.
pub fn seeds(records: &[Record], style: Style) -> Result<Option<String>, ReportError> {
    Ok(sheets::lab::seeds(records)?.map(|sheet| grid::titled(sheet, style) + &caveats(style, records)))
}
