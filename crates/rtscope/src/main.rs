//! `rtscope`: parses the command line, calls the other crates, maps errors to exit codes. Nothing else.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)] // the one crate that prints; it does so in `output`

mod args;
mod cmd;
mod config;
mod error;
#[cfg(test)]
mod errors_golden;
mod keys;
#[cfg(test)]
mod manual;
mod origin;
mod output;
mod progress;
mod select;

use args::{Cli, Command};
use clap::Parser;
use error::Code;
use rtscope_failure::Failure;
use rtscope_probe::build;
use std::process::ExitCode;

/// Enforces the memory limit of commands that only read.
#[global_allocator]
static MEMORY: rtscope_sys::memory::Limited = rtscope_sys::memory::Limited;

fn main() -> ExitCode {
    build::begin(build::COMMIT);
    rtscope_files::private_by_default();
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
    if words.first().is_some_and(|w| w == "cyclictest") {
        // cyclictest's own option syntax is not clap's.
        return finish(cmd::cyclictest::run(std::env::args_os().skip(2).collect()));
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            if let Some(shown) = e.use_stderr().then(|| harmless(&e)).flatten() {
                output::note(shown.trim_end());
                return Code::Usage.into();
            }
            // Help and version are results; a wrong command line is an error.
            return match e.print() {
                Err(error) if !e.use_stderr() => finish(output::written(Err(error)).map(|()| Code::Done)),
                _ => if e.use_stderr() { Code::Usage } else { Code::Done }.into(),
            };
        }
    };
    finish(run(&cli))
}

/// The error text for a command line with characters that a terminal would act on, since clap repeats words unescaped; `None` if
/// there are none.
fn harmless(error: &clap::Error) -> Option<String> {
    let foreign: Vec<String> = std::env::args_os().map(|w| w.to_string_lossy().into_owned()).collect();
    if !foreign.iter().any(|w| w.contains(rtscope_record::text::acts)) && !error.to_string().contains(rtscope_record::text::acts) {
        return None;
    }
    let again = Cli::try_parse_from(foreign.iter().map(|w| rtscope_record::text::visible_line(w).into_owned()));
    Some(again.err().map_or_else(|| error.to_string(), |e| e.to_string()))
}

fn run(cli: &Cli) -> Result<Code, Failure> {
    if reads(&cli.command) {
        rtscope_sys::memory::limit(cli.global.memory_limit.0);
    }
    let context = config::Context::new(&cli.global)?;
    match &cli.command {
        Command::Check(a) => cmd::check::run(&context, a),
        Command::Measure(a) => cmd::measure::run(&context, a),
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
        Command::Completions { shell } => cmd::meta::completions(*shell),
        Command::Man { dir } => cmd::meta::man(dir),
    }
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
