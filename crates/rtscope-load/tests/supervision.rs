//! Loads with the real tools: each comes up, does work, and leaves nothing, whoever is killed. Re-executes itself as the supervisor's
//! stages and as a driver that is killed.
//!
//! Traffic goes to loopback and to the namespaces that the loads make. Every check of what is left is by files and processes of this
//! very program, so that other loads on the same machine do no harm.
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
