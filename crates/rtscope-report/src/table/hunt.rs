//! The ranking of a hunt.

use super::grid;
use super::text::Style;
use crate::sheets;
pub use crate::sheets::hunt::HuntRow;

/// The loads that a hunt found, the worst first.
pub fn hunt(rows: &[HuntRow], style: Style) -> String {
    grid::titled(sheets::hunt::ranking(rows), style)
}
