//! Loads with the real tools: each comes up, does work, and leaves nothing, whoever is killed. Re-executes itself as the supervisor's
//! stages and as a driver that is killed.
//!
//! Traffic goes to loopback and to the namespaces that the loads make. Every check of what is left is by files and processes of this
//! very program, so that other loads on the same machine do no harm.
#![allow(clippy::disallowed_methods)] // what a test starts for itself may take signals as it likes

mod supervision {
    pub(crate) mod cases;
    mod sessions;
    pub(crate) mod world;
}

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("__load") => return ExitCode::from(rtscope_lab::supervisor::main(args)),
        Some("__driver") => return supervision::world::driver(&args.collect::<Vec<_>>()),
        _ => {}
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    let wanted: Vec<&String> = args.iter().filter(|a| !a.starts_with('-')).collect();
    let mut failed = 0;
    let mut out = std::io::stdout();
    for (name, case) in supervision::cases::ALL {
        if args.iter().any(|a| a == "--list") {
            let _ = writeln!(out, "{name}: test");
            continue;
        }
        if !wanted.is_empty() && !wanted.iter().any(|w| name.contains(w.as_str())) {
            continue;
        }
        let begin = std::time::Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| case(&supervision::world::World::new())));
        let word = match result {
            Ok(None) => "ok".to_owned(),
            Ok(Some(why)) => format!("skipped: {why}"),
            Err(_) => {
                failed += 1;
                "FAILED".to_owned()
            }
        };
        let _ = writeln!(out, "test {name} ... {word} ({:.1} s)", begin.elapsed().as_secs_f64());
    }
    ExitCode::from(u8::from(failed > 0))
}
