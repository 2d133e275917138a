//! `rtscope lab boot`: whether a kernel boots.

use super::guest::open;
use crate::args::lab::Boot;
use crate::config::{Context, cache_root};
use crate::error::Code;
use crate::output;
use crate::progress::Progress;
use rtscope_failure::Failure;
use rtscope_lab::kernels::{Arch, KernelName, Kernels};
use rtscope_lab::vm::LabOptions;
use rtscope_record::{Clock, Nanos};
use rtscope_run::session::SessionStep;
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// The result of a boot, as `--json` prints it.
#[derive(Serialize)]
struct Booted {
    kernel: String,
    release: String,
    version: String,
    virtual_boot_ns: u64,
    wall_ms: u64,
    memory_used_kib: u64,
    memory_kib: u64,
    host_memory_kib: Option<u64>,
    problems: Vec<String>,
    machine: String,
}

/// Boots a kernel up to the state in which runs would start.
pub(super) fn boot(context: &Context, a: &Boot) -> Result<Code, Failure> {
    let name = match (&a.kernel, &a.vmlinuz) {
        (Some(name), _) => name.clone(),
        (None, Some(vmlinuz)) => take_in(vmlinuz, a)?.into(),
        (None, None) => return Err(Failure::usage("no kernel is named", "rtscope lab boot --help")),
    };
    let options = LabOptions { keep_state: false, ..a.guest.options()? };
    let clock = options.clock;
    let guest = open(context, &name, options)?;
    let stop = crate::cmd::stop::stop_on_signals()?;
    let progress = Progress::new("boot", 0, context.quiet);
    let begun = Instant::now();
    let started = guest.start(&stop, &mut |p| progress.step(&SessionStep::Guest(p)));
    progress.clear();
    let started = started?;
    let facts = started.facts.clone();
    let booted = Booted {
        kernel: name.to_string(),
        release: facts.release,
        version: facts.version,
        virtual_boot_ns: facts.uptime_ns,
        wall_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        memory_used_kib: facts.memory_kib.0,
        memory_kib: facts.memory_kib.1,
        host_memory_kib: started.resident_kib(),
        problems: facts.problems,
        machine: guest.describe(),
    };
    if a.json {
        output::json(&booted)?;
    } else {
        output::result(&text(&booted, clock))?;
    }
    Ok(Code::Done)
}

fn text(b: &Booted, clock: Clock) -> String {
    let mut out = format!("{} booted: {} {}\n", b.kernel, b.release, b.version);
    let (guest, host) = (Nanos(b.virtual_boot_ns), Nanos(b.wall_ms * 1_000_000));
    let pace = if clock == Clock::Virtual { " (8 ns for each instruction of a boot)" } else { "" };
    out += &format!("  ready after {guest} of {clock} time{pace}, {host} of this host's\n");
    out += &format!("  memory: {} of {} KiB used in the guest", b.memory_used_kib, b.memory_kib);
    out += &b.host_memory_kib.map_or_else(|| "\n".into(), |kib| format!("; {kib} KiB of this host's\n"));
    out += &format!("  {}\n", b.machine);
    if b.problems.is_empty() {
        out += "  disk and network for the loads are there\n";
    }
    for problem in &b.problems {
        out += &format!("  ! {problem}\n");
    }
    out
}

/// Adds the user's own kernel to the cache as `own/boot`, replacing the previous one.
fn take_in(vmlinuz: &Path, a: &Boot) -> Result<KernelName, Failure> {
    let arch = a.arch.unwrap_or_else(Arch::host);
    let kernels = Kernels::new(cache_root()?);
    let taken = KernelName::own("boot", arch)
        .and_then(|name| kernels.add_own(&name, vmlinuz, a.modules.as_deref(), a.config.as_deref(), None));
    Ok(taken?.name)
}
