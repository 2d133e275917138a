//! `measure --baseline`: the new runs beside earlier ones; `--junit` and `--summary`: what became of them, as files.

use super::super::fail_if::{against, held, tally};
use super::super::{ci, report, style};
use crate::args::Measure;
use crate::args::values::FailIf;
use crate::config::Context;
use crate::error::Code;
use crate::output;
use crate::select::Selection;
use rtscope_analysis::compare::{Comparison, Tally};
use rtscope_analysis::{Evaluation, compare_tallies};
use rtscope_failure::Failure;
use rtscope_record::{Record, Test};
use rtscope_report::table;

/// The earlier runs of the same test, read before the new ones are taken; `None` without `--baseline`.
pub(super) fn earlier(context: &Context, a: &Measure, test: Test) -> Result<Option<Tally>, Failure> {
    let Some(word) = &a.baseline else { return Ok(None) };
    let selection = Selection::of(context, std::slice::from_ref(word))?;
    report::of_one_test(&[("the baseline", selection.tests()?), ("this measurement", vec![test])])?;
    tally(&selection).map(Some)
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

/// Writes the files that were asked for.
pub(super) fn written(records: &[Record], held: &[Evaluation], compared: Option<&Comparison>, a: &Measure) -> Result<(), Failure> {
    if a.junit.is_none() && a.summary.is_none() {
        return Ok(());
    }
    let mut suites = ci::suites(records, held)?;
    let runs = compared.map_or(&[][..], |c| &c.runs);
    if !a.fail_if.is_empty() {
        let all: Vec<_> = runs.iter().collect();
        let one = |c: &FailIf| (format!("not {c}"), against(c, &all));
        suites.push(ci::baseline_suite(&a.fail_if.iter().map(one).collect::<Vec<_>>(), runs));
    }
    if let Some(path) = &a.junit {
        report::write(path, rtscope_report::ci::junit(&suites)?.as_bytes())?;
    }
    match &a.summary {
        Some(path) => ci::append(path, &rtscope_report::ci::summary(records, &suites, runs)?),
        None => Ok(()),
    }
}
