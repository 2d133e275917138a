//! What a refused command line meant: options of cyclictest and of other tools, and what they are called here.

use crate::args::MeasureTest;
use clap::ValueEnum;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use rtscope_failure::Failure;

/// Where something is always so.
const LEAVE: &str = "leave it out";
const DROP_IN: &str = "rtscope cyclictest takes cyclictest's options as they are";
const EXPORT: &str = "every record has its histogram: rtscope export latest -f csv -o FILE (or cyclictest-a, hgrm, and others)";
const JSON: &str =
    "--json prints the record on standard output: rtscope measure ... --json > FILE; kept ones: rtscope export -f json -o FILE";
const FILE: &str = "the table goes to standard output and the record to the archive: --json > FILE, rtscope report -o page.html, rtscope export -f FORMAT -o FILE";

/// Options that `measure` does not have: the words for each, what is so here, and what to do.
const ELSEWHERE: &[(&[&str], &str, &str)] = &[
    (&["-m", "--mlockall"], "memory is always locked (--no-mlockall leaves that out)", LEAVE),
    (&["-q"], "--quiet leaves just the table; progress is shown only on a terminal", "--quiet"),
    (&["-n", "--nanosleep", "-c"], "the clock is always CLOCK_MONOTONIC, and the sleep always absolute", LEAVE),
    (
        &["-u", "--unbuffered", "-M", "--refresh_on_max", "--oscope"],
        "progress is shown only on a terminal, and the results at the end",
        LEAVE,
    ),
    (&["-N", "--nsecs"], "records are in nanoseconds, tables in microseconds with two decimals", "--json"),
    (&["-v", "--verbose"], "each sample is kept if asked for", "--raw FILE"),
    (&["-H", "--histogram", "--histofall", "--histfile"], "it is an option of cyclictest", EXPORT),
    (&["-A", "--aligned", "--secaligned"], "the threads start on one instant; --distance staggers them", "--distance TIME"),
    (
        &["--laptop", "--default-system", "--latency"],
        "/dev/cpu_dma_latency is held at 0, unless told otherwise",
        "--no-dma-latency",
    ),
    (&["-y"], "it is called --policy here", "--policy fifo"),
    (
        &["--tracemark", "-f", "--ftrace", "-T"],
        "the kernel's tracer is on with --trace, which says why it was late",
        "--trace 100us",
    ),
    (
        &[
            "-r",
            "--relative",
            "-s",
            "--sys_nanosleep",
            "-x",
            "--posix_timers",
            "-R",
            "--resolution",
            "-X",
            "-F",
            "--fifo",
            "-U",
            "--smi",
            "--spike",
            "--mainaffinity",
            "-V",
        ],
        "it is an option of cyclictest",
        DROP_IN,
    ),
    (&["--export-json", "--json-output", "--jsonfile"], "it is another tool's option", JSON),
    (
        &["-o", "-O", "--output", "--out", "--file", "--save", "--log", "--report", "--html"],
        "it is an option of `report` and `export`",
        FILE,
    ),
    (
        &["--format", "--csv", "--export-csv", "--export", "--export-markdown", "--markdown", "--hgrm", "--prometheus"],
        "other formats are written by `export`",
        "rtscope export latest -f csv -o FILE; for CI: --summary FILE, --junit FILE",
    ),
    (
        &["--runs", "--count", "--iterations", "--times"],
        "whole runs are repeated by --repeat, samples counted by --loops",
        "--repeat N, or --loops N",
    ),
    (&["--time", "--runtime", "--length"], "it is called --duration here", "-D 10s"),
    (&["--cpu", "--cpus", "-C", "--core", "--cores"], "it is called --affinity here", "-a 0,2-3"),
    (&["--kernel"], "a kernel is booted as a target in the lab", "--target lab:debian/6.12-rt"),
    (&["--host", "--ssh", "--remote"], "another machine is a target", "--target ssh:HOST"),
    (&["--stress", "--stressor", "--workload"], "it is called --load here", "--load full"),
    (&["--prio"], "it is called --priority here", "-p 95"),
];

/// A failure in place of clap's own error, where more is known of what was meant; `words` are the command line without the program.
pub(crate) fn hint(error: &clap::Error, words: &[String]) -> Option<Failure> {
    let measure = words.iter().find(|w| !w.starts_with('-')).is_some_and(|w| w == "measure");
    if !measure {
        return None;
    }
    let said = invalid(error)?;
    match error.kind() {
        ErrorKind::MissingRequiredArgument if said == "<TEST>" => Some(which_test()),
        ErrorKind::UnknownArgument => {
            let word = said.split('=').next().unwrap_or_default();
            let (_, so, instead) = ELSEWHERE.iter().find(|(names, ..)| names.contains(&word))?;
            Some(Failure::usage(format!("`measure` has no {word}: {so}"), *instead))
        }
        // `--json=FILE`, as cyclictest has it.
        ErrorKind::TooManyValues if said.starts_with("--json") => Some(Failure::usage("--json takes no file", JSON)),
        _ => None,
    }
}

/// The argument that an error is about.
fn invalid(error: &clap::Error) -> Option<String> {
    match error.get(ContextKind::InvalidArg)? {
        ContextValue::String(one) => Some(one.clone()),
        ContextValue::Strings(all) => all.first().cloned(),
        _ => None,
    }
}

/// `measure` alone. It does not mean `timer`: who wants to see what there is should not have to wait for 10 s on every CPU.
fn which_test() -> Failure {
    let example = |test: MeasureTest| match test {
        MeasureTest::Timer => "rtscope measure timer -D 10s",
        MeasureTest::Response => "rtscope measure response --stimulus soft:a --answer soft:b -D 5s",
        MeasureTest::Periodic => "rtscope measure periodic --answer soft:w -i 500us -D 5s",
        MeasureTest::Sustained => "rtscope measure sustained --stimulus soft:a --answer soft:b -D 2s",
    };
    let mut text = String::from("measure what? These are the tests:");
    for test in MeasureTest::value_variants() {
        let value = test.to_possible_value();
        let about = value.as_ref().and_then(|v| v.get_help()).map(ToString::to_string).unwrap_or_default();
        let name = value.as_ref().map(|v| v.get_name().to_owned()).unwrap_or_default();
        text += &format!("\n  {name}: {about}\n    {}", example(*test));
    }
    Failure::usage(text, "rtscope measure --help")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::parse;

    fn told(line: &str) -> Option<Failure> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let error = parse(std::iter::once("rtscope".to_owned()).chain(words.iter().cloned())).unwrap_err();
        hint(&error, &words)
    }

    #[test]
    fn no_word_of_the_table_is_an_option_of_measure() {
        for (names, so, instead) in ELSEWHERE {
            assert!(!so.is_empty() && !instead.is_empty());
            for name in *names {
                let f = told(&format!("measure timer {name}")).unwrap_or_else(|| panic!("{name}"));
                assert!(f.is_usage() && f.message.contains(name), "{f:?}");
            }
        }
    }

    #[test]
    fn every_test_is_listed_with_an_example_that_parses() {
        for line in ["measure", "--quiet measure", "measure -D 10s"] {
            let f = told(line).unwrap();
            let examples: Vec<&str> = f.message.lines().filter_map(|l| l.strip_prefix("    ")).collect();
            assert_eq!(examples.len(), MeasureTest::value_variants().len());
            assert!(examples.iter().all(|e| parse(e.split_whitespace()).is_ok()), "{examples:?}");
        }
    }

    #[test]
    fn others_are_left_to_clap() {
        assert!(
            told("measure timer --nonsense").is_none() && told("list --output x").is_none() && told("measure timer -i x").is_none()
        );
        assert!(told("measure timer --json=x").unwrap().remedy.contains("> FILE"));
        assert!(told("measure timer -Sm").unwrap().message.contains("-m"));
        assert!(told("measure timer --output=x").unwrap().message.contains("--output"));
    }
}
