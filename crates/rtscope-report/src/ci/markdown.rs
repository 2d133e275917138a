//! Tables for others' documents: Markdown, as a CI job's summary shows it, and LaTeX.

use super::cases::{CaseOutcome, Suite};
use crate::format::{count, us_f64, us_opt};
use crate::sheets::replicates::{amount, metric, word};
use crate::{ReportError, summarize};
use rtscope_analysis::replicates::LoadRuns;
use rtscope_record::Record;
use std::fmt::Write as _;

const HEADS: [&str; 13] = [
    "run", "load", "target", "kernel", "verdict", "samples", "missed", "overflow", "dropped", "mean us", "p99 us", "p99.9 us",
    "max us",
];

/// The cells of a record. Times are of all events where each of them is known, else of the samples.
fn row(r: &Record) -> Result<[String; 13], ReportError> {
    let s = summarize(r)?;
    let all = s.merged.as_ref();
    let events = all.is_some_and(|a| a.corrected_count.is_some() && !a.by_rule());
    let percentile = |name: &str| all.and_then(|a| a.percentile(name)).and_then(|p| if events { p.corrected } else { p.raw });
    let number = |of: fn(&rtscope_analysis::Row) -> u64| count(all.map_or(0, of));
    Ok([
        s.id.clone(),
        s.load.clone(),
        s.target.clone(),
        format!("{} {}", s.kernel, s.preemption).trim().to_owned(),
        s.verdict.to_string(),
        number(|a| a.count),
        number(|a| a.missed),
        number(|a| a.overflow),
        number(|a| a.dropped),
        us_f64(all.and_then(|a| if events { a.corrected_mean } else { a.mean })),
        us_opt(percentile("p99")),
        us_opt(percentile("p99.9")),
        us_opt(all.and_then(|a| if events { a.corrected_max } else { a.max })),
    ])
}

/// A cell of a Markdown table: one line, in which nothing is markup.
fn cell(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            _ if c.is_control() => out.push(' '),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '#' | '!' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

fn rows(out: &mut String, heads: &[&str], all: impl IntoIterator<Item = Vec<String>>) {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    *out += &line(&heads.iter().map(|h| cell(h)).collect::<Vec<_>>());
    *out += &format!("|{}\n", "---|".repeat(heads.len()));
    for cells in all {
        *out += &line(&cells.iter().map(|c| cell(c)).collect::<Vec<_>>());
    }
}

/// A row for each record.
pub fn markdown(records: &[Record]) -> Result<String, ReportError> {
    let mut out = String::new();
    let all = records.iter().map(|r| row(r).map(Vec::from)).collect::<Result<Vec<_>, _>>()?;
    rows(&mut out, &HEADS, all);
    Ok(out)
}

/// The summary of a job: the runs, what they were held to, and how they compare with a baseline.
pub fn summary(records: &[Record], suites: &[Suite], baseline: &[LoadRuns]) -> Result<String, ReportError> {
    let mut out = format!("### rtscope\n\n{}", markdown(records)?);
    let told = |(suite, case): (&Suite, &super::Case)| {
        let (word, why) = match &case.outcome {
            CaseOutcome::Passed => ("pass", String::new()),
            CaseOutcome::Failed(why) => ("**FAIL**", why.clone()),
            CaseOutcome::Error(why) => ("**ERROR**", why.clone()),
            CaseOutcome::Skipped(why) => ("not concluded", why.clone()),
        };
        format!("| {word} | {} | {} | {} |\n", cell(&suite.name), cell(&case.name), cell(&why))
    };
    let cases: Vec<String> = suites.iter().flat_map(|s| s.cases.iter().map(move |c| (s, c))).map(told).collect();
    if !cases.is_empty() {
        let _ = write!(out, "\n| | run | held to | why |\n|---|---|---|---|\n{}", cases.concat());
    }
    for l in baseline {
        let _ = write!(out, "\nLoad {}: these runs ({}) beside the baseline ({})\n\n", cell(&l.load), l.runs[1], l.runs[0]);
        let of = |r: &rtscope_analysis::replicates::RunRow| {
            let d = &r.difference;
            let ends = d
                .interval
                .map_or_else(|| "-".into(), |[low, high]| format!("{} to {}", amount(d.scale, low), amount(d.scale, high)));
            vec![metric(l, r), us_f64(Some(d.a)), us_f64(Some(d.b)), amount(d.scale, d.estimate), ends, word(d.word)]
        };
        rows(&mut out, &["of each run", "baseline us", "now us", "now/baseline", "interval", "now is"], l.rows.iter().map(of));
        if l.identical {
            out += "\nThe same to the last bit, seed by seed.\n";
        }
    }
    Ok(out)
}

/// A text in LaTeX: what it takes for commands is escaped.
fn tex(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(c);
            }
            _ if c.is_control() => out.push(' '),
            _ => out.push(c),
        }
    }
    out
}

/// A `tabular` with a row for each record; needs the package booktabs.
pub fn latex(records: &[Record]) -> Result<String, ReportError> {
    let line = |cells: &[String]| format!("{} \\\\\n", cells.join(" & "));
    let mut out = String::from("% \\usepackage{booktabs}\n\\begin{tabular}{lllllrrrrrrrr}\n\\toprule\n");
    out += &line(&HEADS.map(tex));
    out += "\\midrule\n";
    for r in records {
        out += &line(&row(r)?.map(|c| tex(&c)));
    }
    Ok(out + "\\bottomrule\n\\end{tabular}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn markup_in_names_is_text() {
        assert_eq!(cell("a|b `c`\n<i>"), "a\\|b \\`c\\` &lt;i&gt;");
        assert_eq!(tex("50% of $x_1\\{"), "50\\% of \\$x\\_1\\textbackslash{}\\{");
    }

    proptest! {
        #[test]
        fn any_text_is_one_cell(text in "(?s).*") {
            let made = cell(&text);
            prop_assert!(!made.contains('\n') && !made.contains('<'));
            // A bar is part of the text only behind a backslash that is not itself escaped.
            let mut escaped = false;
            for c in made.chars() {
                prop_assert!(c != '|' || escaped);
                escaped = c == '\\' && !escaped;
            }
            prop_assert!(!tex(&text).contains('\n'));
        }
    }
}
