//! The process that makes a tracing instance and removes it when its standard input ends: also after SIGKILL of who started it.

use super::instance::{self, Instance};
use crate::journal::{Journal, Undo};
use rtscope_failure::Problem as _;
use rtscope_sys as sys;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;

/// The stage's name among the supervisor's.
pub(crate) const STAGE: &str = "tracer";
/// Longest order, bytes.
const LONGEST: u64 = 1 << 20;

/// What is to be recorded; a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    /// What these CPUs do.
    pub(super) cpus: Vec<u32>,
    /// The journal's directory.
    pub(super) journal: PathBuf,
}

/// What came of it; a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// The instance is there.
    Made {
        /// Its directory, as every process of this machine can reach it.
        dir: PathBuf,
        /// Functions are recorded, not only events.
        functions: bool,
    },
    /// It could not be made.
    Failed {
        /// Why.
        message: String,
        /// What to do.
        remedy: String,
    },
}

/// Makes the instance, and waits for the end of standard input.
pub(crate) fn run() -> u8 {
    let _ = std::fs::write("/proc/self/comm", "rt-trace-guard");
    sys::signals::at_start();
    // Ctrl-C on a terminal is not for this process.
    let _ = sys::process::new_session();
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    let read = input.by_ref().take(LONGEST).read_until(b'\n', &mut line);
    let Ok(Ok(order)) = read.map(|_| serde_json::from_slice::<Order>(&line)) else { return 2 };
    let name = instance::name(std::process::id());
    let entered = match Journal::at(order.journal).enter(vec![Undo::RemoveInstance { name: name.clone() }]) {
        Ok(entered) => entered,
        Err(e) => return say(&Report::Failed { message: e.to_string(), remedy: e.remedy() }),
    };
    let made = match Instance::make(&name, &order.cpus) {
        Ok(made) => made,
        Err(why) => {
            entered.close();
            let message = format!("the kernel's tracer can't be set up: {why}");
            let remedy = "run as root, on a kernel with CONFIG_FTRACE; in a container, on the machine itself";
            return say(&Report::Failed { message, remedy: remedy.into() });
        }
    };
    say(&Report::Made { dir: made.dir(), functions: made.functions });
    let _ = io::copy(&mut input, &mut io::sink());
    match made.remove() {
        Ok(_) => {
            entered.close();
            0
        }
        // The entry stays: the next start tries again.
        Err(_) => 3,
    }
}

/// Reports; returns the exit code of one that failed.
fn say(report: &Report) -> u8 {
    let mut out = io::stdout().lock();
    // If nobody reads, the end of the input shows it too.
    let _ = serde_json::to_writer(&mut out, report).map(|()| out.write_all(b"\n").and_then(|()| out.flush()));
    3
}
