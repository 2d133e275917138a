//! Kernels beside each other, as text.

use super::caveats;
use super::grid::titled;
use super::text::{Style, finding, wrapped};
use crate::ReportError;
use crate::caveats::Caveats;
use crate::sheets::variants as sheets;
use rtscope_analysis::versus::Variants;
use rtscope_record::Record;

/// What parameters of the command line and settings change, as [`variants`]; `None` for records of runs without any.
pub fn settings(records: &[Record], style: Style) -> Result<Option<String>, ReportError> {
    let found = rtscope_analysis::versus::settings(records)?;
    Ok(found.map(|v| variants(&v, &Caveats::of_all(records), style)))
}

/// A table for each place, findings and caveats.
pub fn variants(v: &Variants, caveats: &Caveats, style: Style) -> String {
    let mut out = v.places.iter().map(|p| titled(sheets::variants(p), style)).collect::<Vec<_>>().join("\n");
    out.push('\n');
    out.extend(v.findings.iter().map(|f| finding(style, f)));
    out += &caveats::lines(caveats, style);
    out + &wrapped(style, "Note: ", sheets::NOTE)
}
