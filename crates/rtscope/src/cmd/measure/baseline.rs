//! `measure --baseline`: the new runs beside earlier ones.

use super::super::fail_if::{held, tally};
use super::super::style;
use crate::args::Measure;
use crate::config::Context;
use crate::error::Code;
use crate::output;
use crate::select::Selection;
use rtscope_analysis::compare::{Comparison, Tally};
use rtscope_analysis::compare_tallies;
use rtscope_failure::Failure;
use rtscope_record::Record;
use rtscope_report::table;

/// The earlier runs, read before the new ones are kept; `None` without `--baseline`.
pub(super) fn earlier(context: &Context, a: &Measure) -> Result<Option<Tally>, Failure> {
    a.baseline.as_ref().map(|word| tally(&Selection::of(context, std::slice::from_ref(word))?)).transpose()
}

/// Compares the new runs with the earlier ones, prints it, and holds it to `--fail-if`.
pub(super) fn compared(earlier: &Tally, records: &[Record], a: &Measure) -> Result<(Comparison, Code), Failure> {
    let comparison = compare_tallies(earlier, &Tally::of(records), false)?;
    if !a.json {
        output::result("\nB, these runs, beside A, the baseline\n")?;
        output::result(&table::comparison(&comparison, style()))?;
    }
    let code = held(&a.fail_if, a.json, &comparison.runs.iter().collect::<Vec<_>>())?;
    Ok((comparison, code))
}
