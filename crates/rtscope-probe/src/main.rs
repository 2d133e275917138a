//! `rtscope-probe`: reads one plan from standard input (or from a file), measures, and writes events to standard output.
//!
//! The C library calls `main` directly, without Rust's runtime. The runtime would look up the end of the first
//! stack with `sscanf`, which pulls in 150 KiB of the static C library, and would give each thread a second
//! stack, all of it locked memory. A stack overflow still ends the process with SIGSEGV at the guard page, but
//! without a message.
#![cfg_attr(all(target_env = "gnu", not(test)), no_main)]
#![deny(unsafe_code)]

use std::io::Write;

fn run() -> u8 {
    rtscope_probe::build::begin(rtscope_probe::build::COMMIT);
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    let code = rtscope_probe::program::main(&arguments);
    let _ = std::io::stdout().flush();
    code
}

/// Called by the C library. The arguments are read from where the library keeps them (its `.init_array`
/// functions get them too).
#[cfg(all(target_env = "gnu", not(test)))]
#[allow(unsafe_code)] // nothing else in this program has this name
#[unsafe(no_mangle)]
extern "C" fn main(_: i32, _: *const *const std::ffi::c_char) -> i32 {
    rtscope_sys::entry::prepare();
    run().into()
}

#[cfg(not(all(target_env = "gnu", not(test))))]
fn main() -> std::process::ExitCode {
    run().into()
}
