//! `rtscope-board`: what goes to a board over ssh: the probe, and what keeps a load up around it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    ExitCode::from(rtscope_run::board::main(&arguments))
}
