//! `rtscope reference`: published latencies, listed and in full.

use super::style;
use crate::args::reference::{Reference, ReferenceTask};
use crate::error::Code;
use crate::output;
use rtscope_analysis::reference::{PublishedFilter, all, one};
use rtscope_failure::Failure;
use rtscope_report::table;

/// Carries out the command.
pub(crate) fn run(a: &Reference) -> Result<Code, Failure> {
    match &a.task {
        ReferenceTask::List { filters, json } => {
            let filter = PublishedFilter::parse(filters)?;
            let rows: Vec<_> = all()?.into_iter().filter(|r| filter.takes(r)).collect();
            if *json { output::json(&rows)? } else { output::result(&table::references(&rows, style()))? }
        }
        ReferenceTask::Show { id, json } => {
            let row = one(id)?;
            if *json { output::json(&row)? } else { output::result(&table::reference(&row, style()))? }
        }
    }
    Ok(Code::Done)
}
