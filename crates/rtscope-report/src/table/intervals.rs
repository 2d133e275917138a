//! Percentiles with their confidence bounds.

use super::grid;
use super::text::Style;
use crate::sheets;
use rtscope_analysis::confidence::Confidence;
use rtscope_record::Record;

/// The standard percentiles of every distribution, each with a lower and an upper bound.
pub fn intervals(records: &[Record], confidence: Confidence, style: Style) -> String {
    format!("\n{}", grid::titled(sheets::intervals::intervals(records, confidence), style))
}
