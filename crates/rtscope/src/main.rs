//! `rtscope`: parses the command line, calls the other crates, maps errors to exit codes. Nothing else.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)] // the one crate that prints; it does so in `output`

mod args;
mod cmd;
mod completions;
mod config;
mod error;
#[cfg(test)]
mod errors_golden;
mod hints;
mod keys;
#[cfg(feature = "live")]
mod live;
#[cfg(not(feature = "live"))]
#[path = "live/left_out.rs"]
mod live;
#[cfg(test)]
mod manual;
mod origin;
mod output;
mod progress;
mod select;

use args::{Cli, Command};
use clap::ValueEnum;
use error::Code;
use rtscope_failure::Failure;
use rtscope_probe::build;
use std::process::ExitCode;

/// Enforces the memory limit of commands that only read.
#[global_allocator]
static MEMORY: rtscope_sys::memory::LimitedAllocator = rtscope_sys::memory::LimitedAllocator;

fn main() -> ExitCode {
    build::begin(build::COMMIT);
    rtscope_files::private_by_default();
    if completions::answered() {
        return Code::Done.into();
    }
    let words: Vec<String> = std::env::args_os().skip(1).map(|w| w.to_string_lossy().into_owned()).collect();
    match words.first().map(String::as_str) {
        // Stages that this program starts itself as; the ordinary command line must not be parsed for them.
        Some(cmd::run::SUPERVISOR) => return ExitCode::from(rtscope_load::supervisor::main(words.into_iter().skip(1))),
        Some(cmd::run::PROBE) => {
            let arguments: Vec<_> = std::env::args_os().skip(2).collect();
            return ExitCode::from(rtscope_run::board::main(&arguments));
        }
        _ => rtscope_sys::signals::at_start(),
    }
    let named = std::env::args_os().next().is_some_and(|own| std::path::Path::new(&own).file_name() == Some("cyclictest".as_ref()));
    if named || words.first().is_some_and(|w| w == "cyclictest") {
        // cyclictest's own option syntax is not clap's.
        output::about("docs/cyclictest.md");
        return finish(cmd::cyclictest::run(std::env::args_os().skip(if named { 1 } else { 2 }).collect()));
    }
    if words.is_empty() {
        return finish(cmd::start::run());
    }
    if let Some(page) = page(&words) {
        output::about(page);
    }
    match args::parse(std::env::args_os()) {
        Ok(cli) => finish(run(&cli)),
        Err(e) => refused(&e, &words),
    }
}

/// Answers a command line that is none to carry out. Help and version are results; a wrong command line is an error.
fn refused(error: &clap::Error, words: &[String]) -> ExitCode {
    match hints::hint(error, words) {
        Some(failure) => finish(Err(failure)),
        None if error.use_stderr() => {
            output::note(&(harmless(error).trim_end().to_owned() + &output::see()));
            Code::Usage.into()
        }
        None => finish(output::written(error.print()).map(|()| Code::Done)),
    }
}

/// The text of an error. If the command line has characters that a terminal would act on, it is parsed again without them, since
/// clap repeats words unescaped.
fn harmless(error: &clap::Error) -> String {
    let foreign: Vec<String> = std::env::args_os().map(|w| w.to_string_lossy().into_owned()).collect();
    if !foreign.iter().any(|w| w.contains(rtscope_record::text::acts)) && !error.to_string().contains(rtscope_record::text::acts) {
        return error.to_string();
    }
    let again = args::parse(foreign.iter().map(|w| rtscope_record::text::visible_line(w).into_owned()));
    again.err().map_or_else(|| error.to_string(), |e| e.to_string())
}

fn run(cli: &Cli) -> Result<Code, Failure> {
    if reads(&cli.command) {
        rtscope_sys::memory::limit(cli.global.memory_limit.0);
    }
    let context = config::Context::new(&cli.global)?;
    match &cli.command {
        Command::Check(a) => cmd::check::run(&context, a),
        Command::Demo(a) => cmd::demo::run(&context, a),
        Command::Measure(a) => cmd::measure::run(&context, a),
        Command::Board(a) => cmd::board::run(&context, a),
        Command::Dut(a) => cmd::dut::run(&context, a),
        Command::Cyclictest { .. } => cmd::cyclictest::help(),
        Command::Campaign(a) => cmd::campaign::run(&context, a),
        Command::List(a) => cmd::archive::list(&context, a),
        Command::Show(a) => cmd::archive::show(&context, a),
        Command::Import(a) => cmd::archive::import(&context, a),
        Command::Export(a) => cmd::archive::export(&context, a),
        Command::Remove(a) => cmd::archive::remove(&context, a),
        Command::Verify => cmd::archive::verify(&context),
        Command::Report(a) => cmd::report::report(&context, a),
        Command::Hunt(a) => cmd::hunt::run(&context, a),
        Command::Explain(a) => cmd::explain::run(&context, a),
        Command::Compare(a) => cmd::report::compare(&context, a),
        Command::Plan(a) => cmd::plan::run(&context, a),
        Command::Papers(a) => cmd::papers::run(&context, a),
        Command::Tail(a) => cmd::tail::run(&context, a),
        Command::Reference(a) => cmd::reference::run(a),
        Command::Loads(a) => cmd::meta::loads(a),
        Command::Fpga(a) => cmd::fpga::run(a),
        Command::Key(a) => cmd::key::run(a),
        Command::Lab(a) => cmd::lab::run(&context, a),
        Command::Kernel(a) => cmd::kernel::run(&context, a),
        Command::Summarize(a) => cmd::meta::summarize(a),
        Command::Schema => cmd::meta::schema(),
        Command::Completions { shell } => cmd::meta::completions(shell),
        Command::Man { dir } => cmd::meta::man(dir),
    }
}

/// The page of the manual about the command in these words, which need not be right.
fn page(words: &[String]) -> Option<&'static str> {
    let commands = args::command();
    let name = words.iter().find_map(|w| commands.find_subcommand(w))?.get_name();
    let on = |machine: &str| words.iter().any(|w| w.strip_prefix("--target=").unwrap_or(w).starts_with(machine));
    let test = |t: &args::MeasureTest| t.to_possible_value().is_some_and(|v| words.iter().any(|w| w == v.get_name()));
    Some(match name {
        "check" => "docs/check.md",
        "demo" => "docs/getting-started.md",
        "measure" if on("lab:") => "docs/lab.md",
        "measure" if on("ssh:") => "docs/targets.md",
        "measure" if args::MeasureTest::value_variants().iter().any(|t| *t != args::MeasureTest::Timer && test(t)) => {
            "docs/response.md"
        }
        "measure" => "docs/measuring.md",
        "board" => "docs/board.md",
        "dut" => "docs/response.md",
        "campaign" => "docs/campaigns.md",
        "list" | "show" | "remove" | "verify" | "key" => "docs/archive.md",
        "import" => "docs/imports.md",
        "export" | "cyclictest" => "docs/cyclictest.md",
        "report" | "compare" => "docs/report.md",
        "hunt" => "docs/hunt.md",
        "explain" => "docs/explain.md",
        "plan" => "docs/plan.md",
        "papers" => "docs/papers.md",
        "tail" => "docs/tail.md",
        "reference" => "docs/published.md",
        "loads" => "docs/loads.md",
        "lab" => "docs/lab.md",
        "kernel" => "docs/kernels.md",
        "fpga" => "docs/fpga.md",
        _ => return None,
    })
}

/// Whether a command only reads what others wrote. Commands that measure have no limit: reaching it would cost the measurement.
fn reads(command: &Command) -> bool {
    matches!(
        command,
        Command::List(_)
            | Command::Show(_)
            | Command::Import(_)
            | Command::Export(_)
            | Command::Remove(_)
            | Command::Verify
            | Command::Report(_)
            | Command::Explain(_)
            | Command::Compare(_)
            | Command::Papers(_)
            | Command::Plan(_)
            | Command::Tail(_)
            | Command::Summarize(_)
    )
}

fn finish(result: Result<Code, Failure>) -> ExitCode {
    match result {
        Ok(code) => code.into(),
        // The reader has gone away: there is nothing to report.
        Err(_) if output::is_unread() => Code::Done.into(),
        Err(failure) => {
            output::failure(&failure);
            Code::from(failure.fault).into()
        }
    }
}
