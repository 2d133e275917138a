//! `rtscope-guest`: `/init` of the lab's virtual machines.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(rtscope_run::guest::main(std::env::args().skip(1)))
}
