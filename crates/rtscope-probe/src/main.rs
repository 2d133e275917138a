//! `rtscope-probe`: takes one plan on standard input (or from the file named), measures, and writes events to standard output.
#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;

const HELP: &str = "\
rtscope-probe: takes a measurement on the machine it runs on (part of rtscope)

Usage: rtscope-probe             one plan (a line of JSON) on standard input; its end ends the run early
       rtscope-probe PLAN.json   the plan from a file; SIGINT or SIGTERM ends the run early
       rtscope-probe --version

Events go to standard output, one JSON object a line; the last is the record or the error.
Exit codes: 0 a record was written, 2 the plan was wrong, 3 it could not measure.
";

fn main() -> ExitCode {
    let mut out = std::io::stdout();
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    let code = match arguments.as_slice() {
        [] => rtscope_probe::serve::serve(std::io::stdin(), &mut out, false),
        [flag] if flag == "--version" || flag == "-V" => {
            say(&mut out, &format!("rtscope-probe {}\n", env!("CARGO_PKG_VERSION")), 0)
        }
        [flag] if flag == "--help" || flag == "-h" => say(&mut out, HELP, 0),
        [file] => match std::fs::File::open(file) {
            Ok(plan) => rtscope_probe::serve::serve(plan, &mut out, true),
            Err(e) => say(&mut std::io::stderr(), &format!("rtscope-probe: {}: {e}\n", file.to_string_lossy()), 2),
        },
        _ => say(&mut std::io::stderr(), HELP, 2),
    };
    ExitCode::from(code)
}

fn say(to: &mut impl Write, text: &str, code: u8) -> u8 {
    if to.write_all(text.as_bytes()).is_ok() { code } else { 3 }
}
