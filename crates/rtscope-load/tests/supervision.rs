//! Tests loads with the real tools: each comes up, works, and leaves nothing behind, whichever process is
//! killed. The test program re-executes itself as the supervisor's stages, and as a driver to be killed.
//!
//! Traffic goes over loopback and over the namespaces that the loads make. Every check for leftovers looks only
//! at files and processes of this program, so that other loads on the same machine do not disturb it.
#![allow(clippy::disallowed_methods)] // what a test starts for itself may take signals as it likes

mod supervision {
    pub(crate) mod cases;
    pub(crate) mod world;
}

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("__load") => return ExitCode::from(rtscope_load::supervisor::main(args)),
        Some("__driver") => return supervision::world::driver(&args.collect::<Vec<_>>()),
        _ => {}
    }
    supervision::world::run(supervision::cases::ALL)
}
