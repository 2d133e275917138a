//! Kernel by kernel: average, maximum and standard deviation in the layout of Dewit's Table I.

use super::caveats::caveats;
use super::grid;
use super::text::Style;
use crate::{ReportError, sheets};
use rtscope_record::Record;

/// A row for each kernel, preemption model, load and clock: average, max and std (us), over its runs merged exactly.
pub fn kernels(records: &[Record], style: Style) -> Result<String, ReportError> {
    if records.is_empty() {
        return Err(ReportError::Empty);
    }
    let sheet = sheets::kernels::kernels(records)?;
    Ok(grid::title(&sheet, style) + "\n" + &grid::render(sheet, style) + &caveats(style, records))
}
