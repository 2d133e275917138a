//! JUnit XML, as GitLab, Jenkins and GitHub's actions read it.

use super::cases::{CaseOutcome, Suite};
use crate::ReportError;
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;

/// All suites as one document. Characters that XML can not hold are left out.
pub fn junit(suites: &[Suite]) -> Result<String, ReportError> {
    let mut report = Report::new("rtscope");
    for s in suites {
        let mut suite = TestSuite::new(s.name.as_str());
        suite.set_time(Duration::from_nanos(s.elapsed_ns));
        suite.add_properties(s.properties.iter().map(|(name, value)| Property::new(name.as_str(), value.as_str())));
        for c in &s.cases {
            let status = |kind, message: &str| {
                let mut status = TestCaseStatus::non_success(kind);
                status.set_message(message);
                status
            };
            let status = match &c.outcome {
                CaseOutcome::Passed => TestCaseStatus::success(),
                CaseOutcome::Failed(why) => status(NonSuccessKind::Failure, why),
                CaseOutcome::Error(why) => status(NonSuccessKind::Error, why),
                CaseOutcome::Skipped(why) => {
                    let mut status = TestCaseStatus::skipped();
                    status.set_message(why.as_str());
                    status
                }
            };
            let mut case = TestCase::new(c.name.as_str(), status);
            case.set_classname(s.name.as_str());
            if !c.output.is_empty() {
                case.set_system_out(c.output.as_str());
            }
            suite.add_test_case(case);
        }
        report.add_test_suite(suite);
    }
    report.to_string().map_err(|e| ReportError::Format { format: "JUnit", error: e.to_string() })
}
