//! Whole runs as replicates, as text.

use super::grid;
use super::text::{Style, wrapped};
use crate::sheets::replicates as sheet;
use rtscope_analysis::replicates::LoadRuns;

/// A table for each load with intervals, what is to be read of them, and the loads with too few runs. `names`: of the sides.
pub(super) fn replicates(all: &[LoadRuns], names: [&str; 2], style: Style) -> String {
    let mut out = String::new();
    for l in all.iter().filter(|l| sheet::shown(l)) {
        out += &format!("\n{}", grid::titled(sheet::replicates(l, names), style));
    }
    for text in sheet::legend(all, names).into_iter().chain(sheet::too_few(all)) {
        out += &wrapped(style, "", &text);
    }
    out
}
