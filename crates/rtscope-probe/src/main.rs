//! `rtscope-probe`: takes one plan on standard input (or from the file named), measures, and writes events to standard output.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    ExitCode::from(rtscope_probe::program::main(&arguments))
}
