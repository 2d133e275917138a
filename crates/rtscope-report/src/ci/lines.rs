//! Formats of one line a case: TAP and LAVA's test cases.

use super::cases::{Case, CaseOutcome, Suite};
use super::statistics::{Statistic, shown};
use std::fmt::Write as _;

/// A text that fits on a line: what would end or change the line becomes a blank.
fn flat(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A description in TAP: `#` begins a directive there, and a backslash escapes it.
fn described(text: &str) -> String {
    flat(text).replace('\\', "\\\\").replace('#', "\\#")
}

/// TAP version 14 (testanything.org): a plan, a line for each case, and why in a YAML block.
pub fn tap(suites: &[Suite]) -> String {
    let cases: Vec<(&Suite, &Case)> = suites.iter().flat_map(|s| s.cases.iter().map(move |c| (s, c))).collect();
    let mut out = format!("TAP version 14\n1..{}\n", cases.len());
    for (i, (suite, case)) in cases.into_iter().enumerate() {
        let name = described(&format!("{}: {}", suite.name, case.name));
        let (word, directive, why) = match &case.outcome {
            CaseOutcome::Passed => ("ok", String::new(), None),
            CaseOutcome::Failed(why) | CaseOutcome::Error(why) => ("not ok", String::new(), Some(why)),
            CaseOutcome::Skipped(why) => ("ok", format!(" # SKIP {}", described(why)), None),
        };
        let _ = writeln!(out, "{word} {} - {name}{directive}", i + 1);
        if let Some(why) = why {
            // JSON strings are YAML strings.
            let _ = writeln!(out, "  ---\n  message: {}\n  ...", serde_json::json!(flat(why)));
        }
    }
    out
}

/// A name without white space or anything that a shell or LAVA takes for more than a name.
pub(super) fn name(parts: &[&str]) -> String {
    let clean = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' };
    let one = |part: &&str| part.trim().chars().map(clean).collect::<String>();
    parts.iter().filter(|p| !p.is_empty()).map(one).collect::<Vec<_>>().join(".")
}

/// The parts of a suite's name: `rtscope`, the test, the load.
pub(super) fn of_suite(suite: &Suite) -> String {
    name(&suite.name.splitn(3, ['.', ' ']).collect::<Vec<_>>())
}

/// Calls of LAVA's `lava-test-case` for each case and figure of a run: a script to run in a LAVA test. Figures of a run that does not stand are failures,
/// those of an INCONCLUSIVE one are skipped.
pub fn lava(suite: &Suite, figures: &[Statistic]) -> String {
    let word = |outcome: &CaseOutcome| match outcome {
        CaseOutcome::Passed => "pass",
        CaseOutcome::Failed(_) | CaseOutcome::Error(_) => "fail",
        CaseOutcome::Skipped(_) => "skip",
    };
    let mut out = String::new();
    let of_figures = suite.cases.first().map_or("fail", |verdict| word(&verdict.outcome));
    for c in &suite.cases {
        let _ = writeln!(
            out,
            "lava-test-case {} --result {}",
            format_args!("{}.{}", of_suite(suite), name(&[&c.name])),
            word(&c.outcome)
        );
    }
    for s in figures {
        let units = if s.is_time { "us" } else { "count" };
        let _ = writeln!(
            out,
            "lava-test-case {} --result {of_figures} --measurement {} --units {units}",
            format_args!("{}.{}", of_suite(suite), name(&[&s.label, &s.name])),
            shown(s)
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn suite(name: &str, case: &str, outcome: CaseOutcome) -> Suite {
        let cases = vec![Case { name: case.into(), outcome, output: String::new() }];
        Suite { name: name.into(), elapsed_ns: 0, properties: Vec::new(), cases }
    }

    #[test]
    fn cases_in_lines() {
        let all = [
            suite("rtscope.timer full", "p99.9<80us", CaseOutcome::Passed),
            suite("rtscope.timer #1", "max<1ms", CaseOutcome::Failed("max is \"2ms\"".into())),
            suite("rtscope.timer none", "verdict", CaseOutcome::Skipped("INCONCLUSIVE: a VM".into())),
        ];
        assert_eq!(
            tap(&all),
            "TAP version 14\n1..3\nok 1 - rtscope.timer full: p99.9<80us\nnot ok 2 - rtscope.timer \\#1: max<1ms\n  ---\n  \
             message: \"max is \\\"2ms\\\"\"\n  ...\nok 3 - rtscope.timer none: verdict # SKIP INCONCLUSIVE: a VM\n"
        );
        let figure = |name: &str, value, is_time| Statistic { label: "cpu0".into(), name: name.into(), value, is_time };
        assert_eq!(
            lava(&all[1], &[figure("corrected p99.9", 81_250.0, true), figure("missed", 3.0, false)]),
            "lava-test-case rtscope.timer._1.max_1ms --result fail\n\
             lava-test-case rtscope.timer._1.cpu0.corrected_p99_9 --result fail --measurement 81.250 --units us\n\
             lava-test-case rtscope.timer._1.cpu0.missed --result fail --measurement 3 --units count\n"
        );
    }

    proptest! {
        #[test]
        fn any_names_stay_on_their_lines(name in "\\PC*|[\\x00-\\x20;#$`\"'\\\\]*", why in "(?s).*") {
            let all = [suite(&name, &name, CaseOutcome::Failed(why.clone())), suite(&name, "x", CaseOutcome::Skipped(why))];
            let text = tap(&all);
            prop_assert_eq!(text.lines().count(), 7, "{}", text);
            prop_assert!(text.lines().nth(2).unwrap().starts_with("not ok 1 - "));
            let script = lava(&all[0], &[]);
            prop_assert_eq!(script.lines().count(), 1);
            let harmless = |c: char| c.is_ascii_alphanumeric() || " -_.\n".contains(c);
            prop_assert!(script.chars().all(harmless), "{}", script);
        }
    }
}
