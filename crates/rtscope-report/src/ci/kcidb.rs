//! KCIDB, the results database of Linux kernel CI systems: one test for each verdict and figure, by schema 5.3.

use super::cases::{CaseOutcome, suite};
use super::lines::{name, of_suite};
use super::statistics::statistics;
use crate::ReportError;
use rtscope_record::Record;
use serde_json::{Value, json};

/// Who submits, as KCIDB calls it: ids begin with it.
const ORIGIN: &str = "rtscope";

/// All records as one report. Where a submitter has an origin and builds of its own, it replaces `origin` and `build_id`.
pub fn kcidb(records: &[Record]) -> Result<String, ReportError> {
    let mut tests: Vec<Value> = Vec::new();
    for r in records {
        let p = r.parts();
        let suite = suite(r, &[])?;
        let word = |outcome: &CaseOutcome| match outcome {
            CaseOutcome::Passed => "PASS",
            CaseOutcome::Failed(_) => "FAIL",
            CaseOutcome::Error(_) => "ERROR",
            CaseOutcome::Skipped(_) => "SKIP",
        };
        let comment: Vec<&str> =
            [p.system.board.as_deref().unwrap_or_default(), &p.target, &p.load].into_iter().filter(|t| !t.is_empty()).collect();
        let mut test = |suffix: &str, status: &str, number: Option<Value>| {
            let path = format!("{}.{suffix}", of_suite(&suite));
            let mut one = json!({
                "id": format!("{ORIGIN}:{}", name(&[r.id(), suffix])),
                "origin": ORIGIN,
                "build_id": format!("{ORIGIN}:{}", name(&[if p.system.kernel.release.is_empty() { "unknown" } else { &p.system.kernel.release }])),
                "path": path,
                "status": status,
                "start_time": p.started,
                "environment": {"comment": comment.join(", ")},
                "misc": {"rtscope": {"record": r.id(), "verdict": r.verdict().as_str(), "load": p.load, "fingerprint": r.fingerprint()}},
            });
            if let Some(number) = number {
                one["number"] = number;
            }
            tests.push(one);
        };
        for case in &suite.cases {
            test(&name(&[&case.name]), word(&case.outcome), None);
        }
        // A figure of a run that does not stand is no result.
        let of_figures = if matches!(suite.cases[0].outcome, CaseOutcome::Error(_)) { "ERROR" } else { "DONE" };
        for s in statistics(r)? {
            let number = if s.is_time {
                json!({"value": s.value / 1e9, "unit": "s", "prefix": "metric"})
            } else {
                json!({"value": s.value})
            };
            test(&name(&[&s.label, &s.name]), of_figures, Some(number));
        }
    }
    Ok(json!({"version": {"major": 5, "minor": 3}, "tests": tests}).to_string() + "\n")
}
