//! Results of cyclictest and other rt-tests in LAVA and KernelCI, as Linaro's test-definitions report them: minimum,
//! average and maximum of each thread as test cases `t0-min-latency` and so on.
//!
//! Read are the forms in which they are found, according to the source of test-definitions and LAVA: lines of `result.txt`
//! (`t0-max-latency pass 82 us`), calls of `lava-test-case`, and in a log `<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=...>` or
//! `<TEST_CASE_ID=...>`. Numbers of samples and histograms stay behind in the job.

use super::error::ImportError;
use super::foreign::{Column, Mean, Sheet, number};
use super::format::ImportOptions;
use rtscope_record::{Effect, Record, Space, limits};
use std::collections::BTreeMap;

/// Most distributions.
const MOST: usize = limits::DISTRIBUTIONS;

/// A test case.
#[derive(Debug, Default, PartialEq)]
struct Case<'a> {
    name: &'a str,
    result: &'a str,
    measurement: Option<&'a str>,
    units: Option<&'a str>,
}

impl<'a> Case<'a> {
    /// The test case of a line, in any of the forms.
    fn of(line: &'a str) -> Option<Self> {
        let bare = |t: &'a str| t.trim_matches(['"', '\'']);
        if let Some(at) = line
            .find("TEST_CASE_ID=")
            .filter(|&at| line[..at].trim_end().ends_with("LAVA_SIGNAL_TESTCASE") || line[..at].ends_with('<'))
        {
            let inside = line[at..].split('>').next().unwrap_or_default();
            let mut case = Self::default();
            for word in inside.split_ascii_whitespace() {
                match word.split_once('=')? {
                    ("TEST_CASE_ID", v) => case.name = bare(v),
                    ("RESULT", v) => case.result = bare(v),
                    ("MEASUREMENT", v) => case.measurement = Some(bare(v)).filter(|v| !v.is_empty()),
                    ("UNITS", v) => case.units = Some(bare(v)).filter(|v| !v.is_empty()),
                    _ => {}
                }
            }
            return Some(case);
        }
        let words: Vec<&str> = line.split_ascii_whitespace().map(bare).collect();
        if let Some(at) = words.iter().position(|w| *w == "lava-test-case" || w.ends_with("/lava-test-case")) {
            let value = |key: &str| words.iter().position(|w| *w == key).and_then(|i| words.get(i + 1)).copied();
            let (name, result) = (words.get(at + 1).copied()?, value("--result")?);
            return Some(Self { name, result, measurement: value("--measurement"), units: value("--units") });
        }
        match words[..] {
            [name, result] if is_result(result) => Some(Self { name, result, measurement: None, units: None }),
            [name, result, m] if is_result(result) => Some(Self { name, result, measurement: Some(m), units: None }),
            [name, result, m, u] if is_result(result) => Some(Self { name, result, measurement: Some(m), units: Some(u) }),
            _ => None,
        }
    }

    /// What it is of: what stands ahead (`iteration-2-`), thread or interrupt, its number, which figure.
    fn figure(&self) -> Option<(&'a str, char, u64, usize)> {
        let rest = self.name.strip_suffix("-latency")?;
        let (rest, which) = rest.rsplit_once('-')?;
        let which = ["min", "avg", "max"].iter().position(|w| *w == which)?;
        let (prefix, thread) = rest.rfind('-').map_or(("", rest), |at| rest.split_at(at + 1));
        let kind = thread.chars().next().filter(|k| matches!(k, 't' | 'i'))?;
        Some((prefix, kind, number(&thread[1..])?, which))
    }
}

fn is_result(word: &str) -> bool {
    matches!(word, "pass" | "fail" | "skip" | "unknown")
}

/// Whether the text has such test cases.
pub(super) fn detect(text: &str) -> bool {
    text.lines().any(|l| l.contains("-latency") && Case::of(l).is_some_and(|c| c.figure().is_some()))
}

/// A figure with its line.
type Found<'a> = [Option<(usize, &'a str, &'a str)>; 3];
/// The figures of threads or interrupts by their numbers.
type Threads<'a> = BTreeMap<u64, Found<'a>>;

/// Reads the results: a record for each iteration, and for threads and interrupts apart.
pub(super) fn read(bytes: &[u8], options: &ImportOptions) -> Result<Vec<Record>, ImportError> {
    let text = String::from_utf8_lossy(bytes);
    super::foreign::whole(&text)?;
    let mut groups: BTreeMap<(&str, char), Threads<'_>> = BTreeMap::new();
    let (mut failed, mut distributions) = (Vec::new(), 0usize);
    for (i, line) in text.lines().enumerate() {
        let Some(case) = Case::of(line) else {
            if line.contains("-latency") && line.contains("TEST_CASE_ID=") {
                return Err(ImportError::line(i + 1, "a test case that can't be read"));
            }
            continue;
        };
        let Some((prefix, kind, nr, which)) = case.figure() else {
            if case.result == "fail" {
                failed.push(limits::cut(case.name, 60));
            }
            continue;
        };
        let (Some(value), Some(units)) = (case.measurement, case.units) else {
            return Err(ImportError::line(i + 1, format!("`{}` has no measurement with its units", limits::cut(case.name, 60))));
        };
        if case.result == "fail" {
            failed.push(limits::cut(case.name, 60));
        }
        let found = groups.entry((prefix, kind)).or_default().entry(nr).or_insert_with(|| {
            distributions += 1;
            Found::default()
        });
        if let Some((first, before, its)) = found[which] {
            // A log has the call, its echo and the signal: the same figure again is no second one.
            if (before.parse::<f64>().ok(), its) != (value.parse::<f64>().ok(), units) {
                let told = format!("another `{}` than at line {first}: two runs in one file?", limits::cut(case.name, 60));
                return Err(ImportError::line(i + 1, told));
            }
        } else {
            found[which] = Some((i + 1, value, units));
        }
        if distributions > MOST {
            return Err(ImportError::line(i + 1, format!("more than {MOST} threads")));
        }
    }
    if groups.is_empty() {
        return Err(ImportError::File("there is no test case `t0-min-latency` or the like in it".into()));
    }
    let several = groups.len() > 1;
    let record = |nr: usize, (prefix, kind): (&str, char), threads: Threads<'_>| {
        let what = if kind == 't' { "thread" } else { "irq" };
        let columns = threads.into_iter().map(|(nr, found)| column(prefix, what, nr, &found)).collect::<Result<_, _>>()?;
        let mut sheet = Sheet::new(if kind == 't' { "lava/thread" } else { "lava/irq" }, columns);
        if several {
            sheet.suffix = format!("-{}", nr + 1);
        }
        if kind == 'i' {
            sheet.space = Some(Space::Kernel);
            sheet.warn_of_quantity("these are latencies of interrupts");
        }
        sheet.warn(
            "count-unknown",
            Effect::Inconclusive,
            "the results state minimum, average and maximum of each thread, not how many samples there were: the lowest and the highest are counted",
            "import the JSON or text that cyclictest itself wrote in the job",
        );
        sheet.warn_of_missed("the tool");
        sheet.warn(
            "tool-unknown",
            Effect::Note,
            "the results do not say which tool measured: cyclictest, or another of rt-tests",
            "import the JSON or text that the tool itself wrote in the job",
        );
        if !failed.is_empty() {
            let names = limits::cut(&failed.join(", "), 1000);
            sheet.warn(
                "tool-failed",
                Effect::Inconclusive,
                format!("the job says of these test cases that they failed: {names}"),
                "look into the job's log",
            );
        }
        sheet.into_record(bytes, options)
    };
    groups.into_iter().enumerate().map(|(nr, (key, threads))| record(nr, key, threads)).collect()
}

fn column(prefix: &str, what: &str, nr: u64, found: &Found<'_>) -> Result<Column, ImportError> {
    let name = ["min", "avg", "max"];
    let tag = if what == "thread" { 't' } else { 'i' };
    let last = found.iter().flatten().map(|f| f.0).max().unwrap_or(1);
    let mut values = [0.0f64; 3];
    let mut unit = None;
    for ((value, found), name) in values.iter_mut().zip(found).zip(name) {
        let (line, text, units) =
            found.ok_or_else(|| ImportError::line(last, format!("`{prefix}{tag}{nr}` has no `{name}`: is the file cut off?")))?;
        *value = super::foreign::decimal(text)
            .filter(|v| *v < 9e15)
            .ok_or_else(|| ImportError::line(line, format!("`{}` is not a latency", limits::cut(text, 40))))?;
        let its = match units {
            "us" | "usec" | "usecs" => 1000,
            "ns" => 1,
            _ => return Err(ImportError::line(line, format!("the units `{}` are not known", limits::cut(units, 40)))),
        };
        if unit.replace(its).is_some_and(|before| before != its) {
            return Err(ImportError::line(line, "other units than of the thread's other figures"));
        }
    }
    let [min, avg, max] = values;
    if min.fract() != 0.0 || max.fract() != 0.0 {
        return Err(ImportError::line(last, format!("`{prefix}{tag}{nr}`: minimum and maximum are not whole")));
    }
    if !(min - 1.0 <= avg && avg <= max + 1.0 && min <= max) {
        return Err(ImportError::line(
            last,
            format!("`{prefix}{tag}{nr}`: {min}, {avg} and {max} are not minimum, average and maximum"),
        ));
    }
    let label = format!("{}{what}{nr}", prefix.replace('-', " ").trim_start());
    let mut column = Column::empty(label, unit.unwrap_or(1000));
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // whole, and below 2^53
    let extremes = (min as u64, max as u64);
    // One sample is known to be at either end.
    column.count = if extremes.0 == extremes.1 { 1 } else { 2 };
    column.extremes = Some(extremes);
    column.mean = Mean::Decimal(avg, 0.005);
    Ok(column)
}
