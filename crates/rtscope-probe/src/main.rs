//! `rtscope-probe`: takes one plan on standard input (or from the file named), measures, and writes events to standard output.
//!
//! The C library calls `main` here, without Rust's runtime before it: that looks where the first stack ends, by a `sscanf` that brings 150 KiB of
//! the static C library, and gives each thread a second stack, all of it locked memory. A stack that is full still ends the process, by SIGSEGV
//! at its guard page, but without words.
#![cfg_attr(all(target_env = "gnu", not(test)), no_main)]
#![deny(unsafe_code)]

use std::io::Write;

fn run() -> u8 {
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    let code = rtscope_probe::program::main(&arguments);
    let _ = std::io::stdout().flush();
    code
}

/// Called by the C library; the arguments come from where it keeps them (its `.init_array` has them too).
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
