//! The boards that were measured over ssh.

use super::grid;
use super::text::Style;
use crate::sheets;
pub use crate::sheets::boards::BoardRow;

/// The boards, a row each.
pub fn boards(rows: &[BoardRow], style: Style) -> String {
    grid::titled(sheets::boards::boards(rows), style)
}
