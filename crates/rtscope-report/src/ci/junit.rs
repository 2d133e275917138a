//! JUnit XML, as GitLab, Jenkins and GitHub's actions read it.

use super::cases::{CaseOutcome, Suite};
use crate::ReportError;
use crate::format::xml_characters;
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;

/// All suites as one document. Controls that XML can not hold are left out, noncharacters are replaced.
pub fn junit(suites: &[Suite]) -> Result<String, ReportError> {
    let mut report = Report::new("rtscope");
    for s in suites {
        let mut suite = TestSuite::new(xml_characters(&s.name));
        suite.set_time(Duration::from_nanos(s.elapsed_ns));
        suite.add_properties(s.properties.iter().map(|(name, value)| Property::new(xml_characters(name), xml_characters(value))));
        for c in &s.cases {
            let status = |kind, message: &str| {
                let mut status = TestCaseStatus::non_success(kind);
                status.set_message(xml_characters(message));
                status
            };
            let status = match &c.outcome {
                CaseOutcome::Passed => TestCaseStatus::success(),
                CaseOutcome::Failed(why) => status(NonSuccessKind::Failure, why),
                CaseOutcome::Error(why) => status(NonSuccessKind::Error, why),
                CaseOutcome::Skipped(why) => {
                    let mut status = TestCaseStatus::skipped();
                    status.set_message(xml_characters(why));
                    status
                }
            };
            let mut case = TestCase::new(xml_characters(&c.name), status);
            case.set_classname(xml_characters(&s.name));
            if !c.output.is_empty() {
                case.set_system_out(xml_characters(&c.output));
            }
            suite.add_test_case(case);
        }
        report.add_test_suite(suite);
    }
    report.to_string().map_err(|e| ReportError::Format { format: "JUnit", error: e.to_string() })
}
