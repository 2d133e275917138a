//! Two selections held to `--fail-if`, for `compare` and `measure --baseline`.

use crate::args::values::FailIf;
use crate::error::Code;
use crate::output;
use crate::select::Selection;
use rtscope_analysis::compare::{Entry, Tally};
use rtscope_analysis::replicates::LoadRuns;
use rtscope_failure::Failure;

/// A side of a comparison, read record by record.
pub(super) fn tally(side: &Selection) -> Result<Tally, Failure> {
    let mut all = Tally::default();
    side.each(Entry::of, |entry| {
        all.add(entry);
        Ok(())
    })?;
    Ok(all)
}

/// What is against the runs, for each condition; nothing to compare is against them too.
pub(super) fn against(wanted: &FailIf, all: &[&LoadRuns]) -> Vec<String> {
    if all.is_empty() {
        return vec!["nothing could be compared".into()];
    }
    all.iter().filter_map(|l| l.against(wanted.metric.as_deref(), wanted.percent)).collect()
}

/// Holds the runs to what `--fail-if` names, and prints the outcome, with `json` to standard error.
pub(super) fn held(conditions: &[FailIf], json: bool, all: &[&LoadRuns]) -> Result<Code, Failure> {
    let mut code = Code::Done;
    for wanted in conditions {
        let against = against(wanted, all);
        let line =
            if against.is_empty() { "pass      not worse\n".to_owned() } else { format!("FAIL      {}\n", against.join("; ")) };
        if !against.is_empty() {
            code = Code::Assertion;
        }
        if json { output::note(line.trim_end()) } else { output::result(&line)? }
    }
    Ok(code)
}
