//! `rtscope papers`: the four papers beside one's own runs.

use super::report::{for_a_page, page_of_papers};
use super::style;
use crate::args::papers::Papers;
use crate::config::Context;
use crate::error::Code;
use crate::output;
use crate::select::Selection;
use rtscope_analysis::papers::{Paper, PaperRun, papers};
use rtscope_failure::Failure;
use rtscope_report::table;
use serde::Serialize;
use std::collections::BTreeSet;

/// What `--json` prints; times in ns.
#[derive(Serialize)]
struct Printed {
    /// Names the form of this document.
    schema: &'static str,
    #[serde(flatten)]
    found: rtscope_analysis::papers::Papers,
}

/// Holds the selected runs against the papers and prints.
pub(crate) fn run(context: &Context, a: &Papers) -> Result<Code, Failure> {
    let everything = ["all".to_owned()];
    let selection = Selection::of(context, if a.selection.is_empty() { &everything } else { &a.selection })?;
    let mut runs: Vec<PaperRun> = Vec::new();
    selection.each(PaperRun::of, |run| {
        runs.extend(run?);
        Ok(())
    })?;
    let asked =
        if a.only.is_empty() { Paper::ALL.to_vec() } else { Paper::ALL.into_iter().filter(|p| a.only.contains(p)).collect() };
    let found = papers(&asked, &runs)?;
    if let Some(path) = &a.output {
        let ids: BTreeSet<&str> = runs.iter().map(|r| r.id.as_str()).collect();
        let mut records = for_a_page(&selection)?;
        records.retain(|r| ids.contains(r.id()));
        page_of_papers(context, path, &records, &found)?;
        context.say(&format!("the page is in {}", path.display()));
    }
    if a.json {
        output::json(&Printed { schema: "rtscope-papers/1", found })?;
    } else if a.claims {
        output::result(&table::claims(&found, a.comparisons, style()))?;
    } else {
        output::result(&table::papers(&found, a.comparisons, style()))?;
    }
    Ok(Code::Done)
}
