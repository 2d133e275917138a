//! The command line: one definition for parsing, help, man pages and completions.

pub(crate) mod board;
pub(crate) mod campaign;
pub(crate) mod capture;
pub(crate) mod explain;
pub(crate) mod fpga;
mod help;
pub(crate) mod hunt;
pub(crate) mod kernel;
pub(crate) mod key;
pub(crate) mod lab;
pub(crate) mod limits;
pub(crate) mod lines;
pub(crate) mod measure;
pub(crate) mod papers;
pub(crate) mod plan;
pub(crate) mod reference;
pub(crate) mod tail;
pub(crate) mod values;

pub(crate) use capture::{CaptureArgs, Edges};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use limits::JudgeArgs;
pub(crate) use measure::{Measure, MeasureTest};
use rtscope_record::Nanos;
use rtscope_record::units::micros;
use std::path::PathBuf;
use std::sync::LazyLock;
use values::{FailIf, Json, Size, fail_if, name, size};

/// The command line as it is parsed, shown and documented.
pub(crate) fn command() -> clap::Command {
    help::arranged(Cli::command())
}

/// Parses the words of a command line, the program's name first.
pub(crate) fn parse(words: impl IntoIterator<Item = impl Into<std::ffi::OsString> + Clone>) -> Result<Cli, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut command))
}

/// An instrument for real-time Linux: measures how late a board and its kernel can be, and proves it.
#[derive(Debug, Parser)]
#[command(name = "rtscope", version = described(), max_term_width = 110, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Version, commit and the probe's protocol.
fn described() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(rtscope_probe::build::described);
    &TEXT
}

const EXAMPLES: &str = "\
Examples:
  rtscope check                                        is this machine fit to measure?
  rtscope measure timer -S -i 200us -D 1m --load full  every CPU under full load for a minute
  rtscope campaign run plan.toml                       a matrix of kernels, loads and tests
  rtscope list                                         what was measured
  rtscope report last=6 -o report.html                 the last six runs as one page

Exit codes: 0 done and passed; 1 an --assert failed; 2 usage; 3 could not measure, read or write;
4 measured but INVALID (with --strict also INCONCLUSIVE); 130 interrupted, partial results kept.";

const EVERY: &str = "Options of every command";

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// The archive (default: $XDG_DATA_HOME/rtscope/archive.db)
    #[arg(long, global = true, env = "RTSCOPE_ARCHIVE", value_name = "FILE", help_heading = EVERY)]
    pub archive: Option<PathBuf>,
    /// Memory that a command may use to read records or files
    #[arg(long, global = true, env = "RTSCOPE_MEMORY_LIMIT", value_name = "SIZE", default_value = "1GiB", value_parser = size, help_heading = EVERY, hide_short_help = true)]
    pub memory_limit: Size,
    /// No progress, no remarks: only results and errors
    #[arg(long, global = true, help_heading = EVERY)]
    pub quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Is this machine fit to measure? Every finding with its remedy
    Check(Check),
    /// See what rtscope does, here and in the lab: some minutes
    Demo(Demo),
    /// Take a measurement and keep its record
    Measure(Box<Measure>),
    /// Boards over ssh: a first look at one, and those that were measured
    Board(board::Board),
    /// Be the device under test: answer a line, or drive a wave
    Dut(lines::Dut),
    /// Run a matrix of measurements that can be interrupted and taken up again
    Campaign(campaign::Campaign),
    /// Drop-in for cyclictest: its flags, its text, its JSON
    #[command(disable_help_flag = true)]
    Cyclictest {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "CYCLICTEST OPTIONS")]
        options: Vec<String>,
    },
    /// The runs in the archive, newest first
    List(List),
    /// One run in full
    Show(Show),
    /// Take records or cyclictest's files into the archive
    Import(Import),
    /// Write runs in a foreign format
    Export(Export),
    /// Remove runs from the archive
    Remove(Remove),
    /// Check the whole archive: the database, every record's counts and signatures
    Verify,
    /// Your key, which signs what you measure, and the keys that you trust
    Key(key::Key),
    /// One self-contained HTML page
    Report(Report),
    /// Search for the load under which a target is latest
    Hunt(Box<hunt::Hunt>),
    /// Why the worst samples of a run in the lab were so late
    Explain(explain::Explain),
    /// What others published: latencies with their source, conditions and caveats
    Reference(reference::Reference),
    /// Two selections side by side, or stock kernels against PREEMPT_RT, with ratios
    Compare(Compare),
    /// How long to measure: what a claim takes, and what a time can claim
    Plan(plan::Plan),
    /// The four papers that rtscope reproduces: their tables and claims beside your runs
    Papers(papers::Papers),
    /// Bounds on a tail: extreme-value fits, after gates, with intervals
    Tail(Box<tail::Tail>),
    /// The loads that can be measured under
    Loads(Json),
    /// Virtual machines with real kernels
    Lab(lab::Lab),
    /// Kernels that differ in the preemption model and in nothing else, built from source
    Kernel(kernel::Kernel),
    /// The FPGA instrument: what is connected, and whether it works
    Fpga(fpga::Fpga),
    /// Summarize a file of raw samples (packed little-endian ns)
    Summarize(Summarize),
    /// The JSON Schema of a record
    Schema,
    /// Shell completions, which know loads, targets, kernels and runs
    #[command(after_help = COMPLETIONS)]
    Completions {
        /// Which shell
        #[arg(value_parser = ["bash", "elvish", "fish", "powershell", "zsh"])]
        shell: String,
    },
    /// Write the man pages into a directory
    Man {
        /// Where to
        dir: PathBuf,
    },
}

const COMPLETIONS: &str = "\
To install them, once:
  rtscope completions bash >~/.local/share/bash-completion/completions/rtscope
      for bash; make the directory first, and start a new shell
  echo 'source <(rtscope completions zsh)' >>~/.zshrc
      for zsh; after the line with compinit
  rtscope completions fish >~/.config/fish/completions/rtscope.fish
      for fish
  echo 'eval (rtscope completions elvish | slurp)' >>~/.config/elvish/rc.elv
      for elvish
The script asks the `rtscope` on the PATH, so it need not be renewed with rtscope.";

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rtscope check            what is found, why it matters, the command that mends it
  rtscope check --strict   exit code 4 when a measurement here would be INCONCLUSIVE
  rtscope check --json | jq '.findings[].code'")]
pub(crate) struct Check {
    /// JSON: the system snapshot and the findings
    #[arg(long)]
    pub json: bool,
    /// Exit with 4 also when a measurement would be INCONCLUSIVE
    #[arg(long)]
    pub strict: bool,
    /// The measuring priority to check for
    #[arg(short, long, default_value_t = crate::cmd::check::PRIORITY, value_parser = clap::value_parser!(u8).range(1..=99))]
    pub priority: u8,
}

/// Options of `demo`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rtscope demo               every command that it runs is printed
  rtscope demo --no-lab      this machine alone: under a minute
  rtscope demo --dir demo    archive and page in ./demo, apart from your own runs")]
pub(crate) struct Demo {
    /// Where its archive and its page go [default: rtscope/demo in the data directory]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Without the virtual machines, for which kernels are fetched the first time
    #[arg(long)]
    pub no_lab: bool,
}

const SELECTION: &str = "\
A SELECTION is `latest` (the default), `last=N`, `all`, ids or their unique beginnings separated by commas, the path of a
record's JSON file, or filters separated by commas: load=full,kernel=6.12,test=timer,target=local,since=2026-11-01";

const COMPARE: &str = "\
With A and B, each figure of B is divided by that of A, load by load. With A alone, each stock
kernel in it stands beside the PREEMPT_RT kernel of the same series, and its figures are divided by
those of RT; response and periodic tests are shown as with --table adam.
From three runs a side on, whole runs are compared too: each ratio with its interval, and a word:
better, worse, no difference shown, or too few runs.

Examples:
  rtscope compare kernel=6.12,load=full kernel=6.18,load=full
  rtscope compare software.json scope.json   one run, two instruments: their offset and its spread
  rtscope compare last=12           six loads on a stock and an RT kernel
  rtscope compare test=response --table adam --below 50us --below 160us
  rtscope compare kernel=6.12.95 kernel=6.12.107 --fail-if worse:p99.9:10     for CI: exit code 1
  rtscope compare load=none load=full --with-reference=board=rpi,rt=yes
  rtscope compare --values may.txt august.txt    two lists of numbers, by any tool

A SELECTION is `latest`, `last=N`, `all`, ids or their unique beginnings separated by commas, the
path of a record's JSON file, or filters separated by commas:
load=full,kernel=6.12,test=timer,target=local,since=2026-11-01";

#[derive(Debug, Args)]
#[command(after_help = SELECTION)]
pub(crate) struct List {
    /// Filters; all runs when there is none
    pub selection: Vec<String>,
    /// JSON instead of a table
    #[arg(long)]
    pub json: bool,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<u32>,
}

#[derive(Debug, Args)]
#[command(after_help = SELECTION, mut_arg("assertions", |a| a.help("Hold the record to a limit; may be repeated")))]
pub(crate) struct Show {
    /// Which runs
    pub selection: Vec<String>,
    /// The record as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub judge: JudgeArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rtscope import run1.txt run2.json              cyclictest's text (both dialects, -v) and JSON, found by looking
  rtscope import results.json oslat.json trace   files of jitterdebugger, rtla, oslat, stress-ng, hwlat, timerlat, LAVA
  rtscope import --space kernel report.txt       what Adam's response program printed
  rtscope import --load full --format cyclictest-a old.txt
  ssh board cyclictest -Sp90 -i200 -D60 -h400 -q | rtscope import -
  rtscope import --stimulus D0 --answer D1 --timeout 1ms capture.sr
  rtscope import --stimulus CH1 --answer CH2 --threshold 1.65 scope.csv
  rtscope import --answer wave --semi-period 500us --load full capture.vcd")]
pub(crate) struct Import {
    /// Files; `-` is standard input
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// The format, in place of the one found by looking
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// The load that ran during the measurement
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub load: Option<String>,
    /// Where the measured task ran, for files that do not say (captures, Adam's text) [default: user]
    #[arg(long, value_name = "SPACE", value_parser = ["user", "kernel"])]
    pub space: Option<String>,
    /// The figures are in nanoseconds (-N of cyclictest and jitterdebugger)
    #[arg(long)]
    pub nsecs: bool,
    /// The records as JSON instead of their ids
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub capture: CaptureArgs,
}

#[derive(Debug, Args)]
#[command(after_help = SELECTION)]
pub(crate) struct Export {
    /// Which runs
    pub selection: Vec<String>,
    /// json, cyclictest-a (as up to rt-tests 2.6), cyclictest-b, cyclictest-json, adam (the text of Adam's
    /// programs, of response and periodic tests), csv, hdr, hgrm; of several runs one document: junit, tap, lava (calls of
    /// lava-test-case), kcidb, openmetrics (for Prometheus' textfile collector), markdown, latex, parquet (figures), parquet-buckets
    #[arg(short, long, value_name = "FORMAT")]
    pub format: String,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// Ids or their unique beginnings
    #[arg(required = true)]
    pub ids: Vec<String>,
}

const REPORT: &str = "\
Examples:
  rtscope report last=6 -o report.html
  rtscope report load=full,last=1 --svg pictures
  rtscope report load=full --tail -o tails.html    how far the tails may go
  rtscope report --with-reference                  what others published, beside the latest run
  rtscope report --with-reference=board=rpi,rt=yes

A SELECTION is `latest` (the default), `last=N`, `all`, ids or their unique beginnings separated by commas, the path of a
record's JSON file, or filters separated by commas: load=full,kernel=6.12,test=timer,target=local,since=2026-11-01";

#[derive(Debug, Args)]
#[command(after_help = REPORT)]
pub(crate) struct Report {
    /// Which runs
    pub selection: Vec<String>,
    /// Where to write the page
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    /// Title of the page
    #[arg(long)]
    pub title: Option<String>,
    /// Also write the latency plot of each run, of stock against RT, of response tests beside each other, and a paper's histograms
    /// under each load, as SVG files into this directory
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Response and periodic tests: the share of stimuli that were answered below this; may be repeated [default: 160us]
    #[arg(long, value_name = "TIME", value_parser = micros)]
    pub below: Vec<Nanos>,
    /// Also study how the tails end, as `rtscope tail` does, with plots; takes a moment for each CPU under each load
    #[arg(long)]
    pub tail: bool,
    /// Also show published latencies of the same test and space beside the runs; FILTERS as of `reference list` choose among them
    #[arg(long, value_name = "FILTERS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub with_reference: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = COMPARE)]
pub(crate) struct Compare {
    /// The first selection; alone: one that holds stock kernels and their PREEMPT_RT partners
    pub a: String,
    /// A and B are files with a list of numbers each, such as every run's maximum: do they differ? `-` is standard input
    #[arg(long, requires = "b", conflicts_with_all = ["table", "below", "same_runs", "html", "edges", "with_reference"])]
    pub values: bool,
    /// The second selection
    pub b: Option<String>,
    /// The tables of a paper instead of ratios, for response and periodic tests: `adam` (Adam 2021, Tables 1 and 2; B is then the
    /// other instrument's view of the runs in A), or `vinh-chau` (their Tables 1 to 5, load by load)
    #[arg(long, value_name = "NAME", value_parser = ["adam", "vinh-chau"])]
    pub table: Option<String>,
    /// As --table adam, with the share of stimuli that were answered below this; may be repeated [default: 160us]
    #[arg(long, value_name = "TIME", value_parser = micros)]
    pub below: Vec<Nanos>,
    /// A and B are the same runs seen by two instruments: show how these agree, even if the records name only one
    #[arg(long, requires = "b")]
    pub same_runs: bool,
    /// All kernels of the selection in one table, each against a base, with intervals: preemption models, parameters of the command line
    #[arg(long, conflicts_with_all = ["b", "table", "below", "edges", "fail_if", "with_reference"])]
    pub kernels: bool,
    /// With --kernels: the base is the kernel with this in its name [default: the first stock kernel]
    #[arg(long, value_name = "TEXT", requires = "kernels")]
    pub base: Option<String>,
    /// Also write a page with the comparison and all records to this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// As --table adam, with a row for each edge too
    #[arg(long)]
    pub edges: bool,
    /// Exit with 1 if B is shown to be worse, or if there are too few runs to tell: in any figure, in one (mean, p50, p99, p99.9,
    /// block-max), by more than so many percent; may be repeated. With one selection, B is the RT kernel
    #[arg(long, value_name = "worse[:METRIC[:PERCENT]]", value_parser = fail_if, conflicts_with_all = ["table", "below", "values", "edges"])]
    pub fail_if: Vec<FailIf>,
    /// Also show published latencies of the same test and space beside the runs; FILTERS as of `reference list` choose among them
    #[arg(long, value_name = "FILTERS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub with_reference: Option<String>,
    /// JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Summarize {
    /// The file; `-` is standard input
    pub file: PathBuf,
    /// Width of a sample: u32 or u64
    #[arg(long, default_value = "u32", value_parser = ["u32", "u64"])]
    pub width: String,
    /// The distribution as JSON
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
    }

    /// The `rtscope` commands among the examples of a help text. Two blanks begin a remark; `|` and `>` end our part of a line.
    fn examples(help: &str) -> Vec<Vec<String>> {
        let help = help.replace(" \\\n      ", " ");
        let lines =
            help.lines().filter_map(|l| l.strip_prefix("  ")).map(|l| l.trim_start().split("  ").next().unwrap_or_default());
        let mut commands = Vec::new();
        for part in lines.flat_map(|l| l.split(" | ")) {
            if let Some(words) = part.strip_prefix("rtscope ").map(|p| p.split(" >").next().unwrap_or_default()) {
                // The quoted words of the examples contain no blanks, so stripping the quotes does what a shell does.
                let words = words.split_whitespace().map(|w| w.trim_matches('\'').to_owned());
                commands.push(std::iter::once("rtscope".to_owned()).chain(words).collect());
            }
        }
        commands
    }

    fn all_examples(command: &mut clap::Command, found: &mut Vec<Vec<String>>) {
        found.extend(examples(&command.render_long_help().to_string()));
        command.get_subcommands_mut().for_each(|c| all_examples(c, found));
    }

    #[test]
    fn every_example_of_the_help_texts_parses() {
        let mut cli = command();
        let mut found = Vec::new();
        all_examples(&mut cli, &mut found);
        assert!(found.len() >= 25, "{found:?}");
        for words in found {
            assert!(parse(&words).is_ok(), "{words:?}: {:?}", parse(&words));
        }
    }

    proptest! {
        #[test]
        fn any_words_are_read_or_refused(
            command in "(measure timer|measure response|dut response|dut periodic|campaign run|campaign status|lab kernels|lab kernels fetch|fpga info|check|list|show|import|export|report|compare|tail|summarize|nonsense)?",
            words in prop::collection::vec("(-{0,2}[a-zA-Z]{0,12}|[0-9]{1,22}|\\PC{0,8})", 0..6),
        ) {
            let words = std::iter::once("rtscope").chain(command.split_whitespace()).chain(words.iter().map(String::as_str));
            let _ = parse(words);
        }
    }
}
