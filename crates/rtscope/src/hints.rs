//! What a refused command line meant: options of cyclictest and of other tools, and what they are called here.

use crate::args::{MeasureTest, command};
use clap::ValueEnum;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use rtscope_failure::Failure;
use rtscope_lab::kernels::KernelError;
use std::error::Error as _;

/// Where something is always so.
const LEAVE: &str = "leave it out";
const DROP_IN: &str = "rtscope cyclictest takes cyclictest's options as they are";
const EXPORT: &str = "every record has its histogram: rtscope export latest -f csv -o FILE (or cyclictest-a, hgrm, and others)";
const JSON: &str =
    "--json prints the record on standard output: rtscope measure ... --json > FILE; kept ones: rtscope export -f json -o FILE";
const FILE: &str = "the table goes to standard output and the record to the archive: --json > FILE, rtscope report -o page.html, rtscope export -f FORMAT -o FILE";

/// The words for an option, what is so here, and what to do.
type Elsewhere = (&'static [&'static str], &'static str, &'static str);

/// Ways to write results that neither `measure` nor the commands that show runs have.
const WRITTEN: &[Elsewhere] = &[
    (&["--export-json", "--json-output", "--jsonfile"], "it is another tool's option", JSON),
    (
        &["-o", "-O", "--output", "--out", "--file", "--save", "--log", "--report", "--html"],
        "it is an option of `report` and `export`",
        FILE,
    ),
    (
        &["--format", "--csv", "--export-csv", "--export", "--export-markdown", "--markdown", "--hgrm", "--prometheus"],
        "other formats are written by `export`",
        "rtscope export latest -f csv -o FILE; for CI: rtscope measure ... --summary FILE --junit FILE",
    ),
];

/// Options that `measure` does not have.
const ELSEWHERE: &[Elsewhere] = &[
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

/// Options of `measure` that need a value, and those of cyclictest do not: what is so without it, and what to do.
const BARE: &[(&str, &str, &str)] = &[
    ("--threads", "-t takes a number, and without -t there is a thread on each CPU", "leave it out, or -t 2"),
    ("--affinity", "-a takes CPUs, and without -a each CPU has its thread", "leave it out, or -a 0,2-3"),
];

/// A failure in place of what clap answers, where more is known of what was meant; `words` are the command line without the program.
pub(crate) fn hint(error: &clap::Error, words: &[String]) -> Option<Failure> {
    if let Some(e) = error.source().and_then(|e| e.downcast_ref::<KernelError>()) {
        return Some(Failure::of(e));
    }
    let commands = command();
    match words.iter().map(String::as_str).find(|w| commands.find_subcommand(w).is_some()) {
        Some("measure") => of_measure(error, words),
        Some(of @ ("list" | "show")) if error.kind() == ErrorKind::UnknownArgument => elsewhere(of, &invalid(error)?, WRITTEN),
        Some(_) => None,
        None => of_no_command(error, words),
    }
}

fn of_measure(error: &clap::Error, words: &[String]) -> Option<Failure> {
    if error.kind() == ErrorKind::DisplayHelp {
        let bins = histogram(words)?;
        return Some(Failure::usage(format!("`measure` has no -h {bins}: here -h is the help, not a histogram"), EXPORT));
    }
    let said = invalid(error)?;
    match error.kind() {
        ErrorKind::MissingRequiredArgument if said == "<TEST>" => Some(which_test()),
        ErrorKind::UnknownArgument => elsewhere("measure", &said, ELSEWHERE).or_else(|| elsewhere("measure", &said, WRITTEN)),
        ErrorKind::InvalidValue if error.get(ContextKind::InvalidValue) == Some(&ContextValue::String(String::new())) => {
            let (_, so, instead) = BARE.iter().find(|(name, ..)| said.split(' ').next() == Some(*name))?;
            Some(Failure::usage(*so, *instead))
        }
        // `--json=FILE`, as cyclictest has it.
        ErrorKind::TooManyValues if said.starts_with("--json") => Some(Failure::usage("--json takes no file", JSON)),
        _ => None,
    }
}

/// The failure for an option that the command `of` does not have, if one of `table` has the word.
fn elsewhere(of: &str, said: &str, table: &[Elsewhere]) -> Option<Failure> {
    let word = said.split('=').next().unwrap_or_default();
    let (_, so, instead) = table.iter().find(|(names, ..)| names.contains(&word))?;
    Some(Failure::usage(format!("`{of}` has no {word}: {so}"), *instead))
}

/// Options or a test where the command belongs.
fn of_no_command(error: &clap::Error, words: &[String]) -> Option<Failure> {
    const INSTEAD: &str =
        "rtscope measure timer -S -p 90 -i 200us, or with cyclictest's options as they are: rtscope cyclictest ...";
    let option = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
            let test = MeasureTest::from_str(word, false).ok()?;
            let name = test.to_possible_value()?.get_name().to_owned();
            return Some(Failure::usage(format!("`{name}` is a test, not a command"), format!("rtscope measure {name}")));
        }
        ErrorKind::DisplayHelp => format!("-h {}", histogram(words)?),
        ErrorKind::UnknownArgument => {
            let said = invalid(error)?;
            let word = said.split('=').next().unwrap_or_default();
            let of_cyclictest = ELSEWHERE.iter().any(|(names, ..)| names.contains(&word));
            Some(word).filter(|w| of_cyclictest || is_option_of_measure(w))?.to_owned()
        }
        _ => return None,
    };
    Some(Failure::usage(format!("no command stands before {option}"), INSTEAD))
}

fn is_option_of_measure(word: &str) -> bool {
    let commands = command();
    let named = |a: &clap::Arg| {
        word.strip_prefix("--").is_some_and(|w| a.get_long() == Some(w)) || a.get_short().is_some_and(|c| word == format!("-{c}"))
    };
    commands.find_subcommand("measure").is_some_and(|m| m.get_arguments().any(named))
}

/// The bins of cyclictest's `-h400`, `-h 400` or `-Sh400`, whose letter clap takes for a call for help.
fn histogram(words: &[String]) -> Option<&str> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    words.iter().enumerate().find_map(|(at, word)| {
        let rest = word.strip_prefix('-')?.trim_start_matches('S').strip_prefix('h')?.trim();
        let next = words.get(at + 1).filter(|_| rest.is_empty()).map_or("", String::as_str);
        [rest, next].into_iter().find(|bins| is_number(bins))
    })
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
        told_of(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    fn told_of(words: &[String]) -> Option<Failure> {
        let error = parse(std::iter::once("rtscope".to_owned()).chain(words.iter().cloned())).unwrap_err();
        hint(&error, words)
    }

    #[test]
    fn no_word_of_the_table_is_an_option_of_measure() {
        for (names, so, instead) in ELSEWHERE.iter().chain(WRITTEN) {
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
            told("measure timer --nonsense").is_none() && told("list --nonsense").is_none() && told("measure timer -i x").is_none()
        );
        for line in ["--nonsense", "nonsense", "-h", "--version", "measure -h", "measure timer -Sh", "list -h 400", "remove"] {
            assert!(told(line).is_none(), "{line}");
        }
        assert!(told("measure timer --json=x").unwrap().remedy.contains("> FILE"));
        assert!(told("measure timer -Sm").unwrap().message.contains("-m"));
        assert!(told("measure timer --output=x").unwrap().message.contains("--output"));
    }

    #[test]
    fn a_histogram_is_not_taken_for_help() {
        for line in ["-Sp90 -i200 -h400", "-h 400", "-Sh400", "-i 200us -Sh 400 -D 1s", "-h400 --help"] {
            let f = told(&format!("measure timer {line}")).unwrap_or_else(|| panic!("{line}"));
            assert!(f.is_usage() && f.message.contains("-h 400") && f.remedy.contains("export"), "{line}: {f:?}");
        }
        let f = told_of(&["measure", "timer", "-h 3500"].map(str::to_owned)).unwrap();
        assert!(f.message.contains("-h 3500"), "{f:?}");
    }

    #[test]
    fn what_may_stand_alone_in_cyclictest_is_told() {
        for (line, option) in [("-t -a", "-t "), ("-p 95 -t", "-t "), ("-a", "-a "), ("-Sa -p95", "-a "), ("-a --quiet", "-a ")] {
            let f = told(&format!("measure timer {line}")).unwrap_or_else(|| panic!("{line}"));
            assert!(f.message.starts_with(option) && f.remedy.starts_with("leave it out"), "{line}: {f:?}");
        }
        assert!(told("measure timer -i").is_none(), "it takes a value in cyclictest too");
    }

    #[test]
    fn the_command_is_found_wherever_it_stands_or_missed() {
        assert!(told("--archive x.db measure timer -m").unwrap().message.contains("`measure` has no -m"));
        for line in ["-Sp90 -i200", "-p 90", "-m", "--policy=fifo", "-h400 -q", "-t -a", "--histogram=400 -q"] {
            let f = told(line).unwrap_or_else(|| panic!("{line}"));
            assert!(f.message.starts_with("no command") && f.remedy.contains("rtscope cyclictest"), "{line}: {f:?}");
        }
        assert_eq!(told("timer -D 10s").unwrap().remedy, "rtscope measure timer");
        for line in ["show --csv", "list --output x", "show latest --export-json=x"] {
            assert!(told(line).unwrap_or_else(|| panic!("{line}")).remedy.contains("export"), "{line}");
        }
    }

    #[test]
    fn a_misspelt_kernel_has_its_remedy_wherever_it_is_named() {
        for command in [
            "kernels fetch",
            "kernels remove",
            "kernels verify",
            "boot",
            "shell",
            "model",
            "verify",
            "run debian/6.21-rt -- true #",
        ] {
            let f = told(&format!("lab {command} debian/6.21-rt")).unwrap_or_else(|| panic!("{command}"));
            assert!(f.is_usage() && f.remedy.contains("did you mean `debian/6.12-rt`?"), "{command}: {f:?}");
        }
    }
}
