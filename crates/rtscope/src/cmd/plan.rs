//! `rtscope plan`: how long to measure.

use super::style;
use crate::args::plan::Plan;
use crate::config::Context;
use crate::error::Code;
use crate::output;
use crate::select::Selection;
use rtscope_analysis::Assertion;
use rtscope_analysis::plan::{ClaimPlan, DifferencePlan, Pilot, TimePlan, plan_claim, plan_difference, plan_time};
use rtscope_failure::Failure;
use rtscope_record::{Record, Test};
use rtscope_report::table;
use serde::Serialize;

/// Interval of a grid where nothing else is said, ns: that of `measure timer`.
const INTERVAL: u64 = 1_000_000;

/// What `--json` prints; times in ns.
#[derive(Serialize)]
struct Printed<'a> {
    /// Names the form of this document.
    schema: &'static str,
    confidence: String,
    interval_ns: u64,
    /// Earlier runs that the plan rests on.
    runs: usize,
    /// Of these: the share of samples that are worth an independent one; null where not every run has block maxima.
    extremal_index: Option<f64>,
    claim: Option<&'a ClaimPlan>,
    time: Option<&'a TimePlan>,
    difference: Option<&'a DifferencePlan>,
}

/// Plans and prints.
pub(crate) fn run(context: &Context, a: &Plan) -> Result<Code, Failure> {
    let claim = a.claim.as_deref().map(str::parse::<Assertion>).transpose()?;
    let mut pilot = Pilot::default();
    if let Some(word) = &a.from {
        let selection = Selection::of(context, std::slice::from_ref(word))?;
        if selection.tests()?.iter().any(|t| *t != Test::Timer) {
            return Err(Failure::usage("a plan rests on runs of the timer test", "select them: test=timer"));
        }
        selection.each(Record::clone, |r| pilot.add(&r, claim.as_ref()).map_err(Failure::from))?;
    }
    let interval = a.interval.map(|i| i.0).or((pilot.interval_ns > 0).then_some(pilot.interval_ns)).unwrap_or(INTERVAL);
    let claimed = claim.map(|c| plan_claim(&c, a.confidence, interval, &pilot)).transpose()?;
    let time = a.duration.map(|d| plan_time(d.0, a.confidence, interval, &pilot));
    let difference = a.difference.map(|p| plan_difference(p, usize::from(a.loads), &pilot));
    if a.json {
        output::json(&Printed {
            schema: "rtscope-plan/1",
            confidence: a.confidence.to_string(),
            interval_ns: interval,
            runs: pilot.runs,
            extremal_index: pilot.bursts.map(|b| b.index()),
            claim: claimed.as_ref(),
            time: time.as_ref(),
            difference: difference.as_ref(),
        })?;
    } else {
        let made = table::Planned {
            confidence: &a.confidence.to_string(),
            interval_ns: interval,
            pilot: &pilot,
            claim: claimed.as_ref(),
            time: time.as_ref(),
            difference: difference.as_ref(),
        };
        output::result(&table::plan(&made, style()))?;
    }
    Ok(Code::Done)
}
