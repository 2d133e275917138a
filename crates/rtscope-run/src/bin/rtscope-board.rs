//! `rtscope-board`: the program that is copied to a board over ssh. It holds the probe, and the session and supervisor that a
//! load needs.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    rtscope_probe::build::begin(rtscope_probe::build::COMMIT);
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    ExitCode::from(rtscope_run::board::main(&arguments))
}
