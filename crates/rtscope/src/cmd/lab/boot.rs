//! `rtscope lab boot` and `rtscope lab shell`: whether a kernel boots, and a look inside.

use super::guest::open;
use crate::args::lab::{Boot, Shell};
use crate::config::{Context, cache_root};
use crate::error::Code;
use crate::output;
use crate::progress::Progress;
use rtscope_failure::{Explain, Failure};
use rtscope_lab::kernels::{Arch, KernelName, Kernels};
use rtscope_lab::vm::LabOptions;
use rtscope_record::{Clock, Nanos};
use rtscope_run::session::SessionStep;
use serde::Serialize;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
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

/// Runs a shell in the guest, on this terminal.
pub(super) fn shell(context: &Context, a: &Shell) -> Result<Code, Failure> {
    let guest = open(context, &a.kernel, a.guest.options()?)?;
    context.say("the guest boots; `exit` ends it");
    let mut command = guest.interactive();
    let started = "QEMU can't be started";
    let status = if io::stdin().is_terminal() {
        command.status().or_machine(started, "is it installed?")?
    } else {
        let guest = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().or_machine(started, "is it installed?")?;
        typed(guest)?
    };
    if status.success() { Ok(Code::Done) } else { Err(Failure::machine(format!("QEMU ended: {status}"), "see what it said")) }
}

/// Prompt of the guest's shell, when it is ready for input.
const PROMPT: &[u8] = b"lab# ";
/// Ctrl-D.
const END_OF_INPUT: u8 = 4;

/// Passes our standard input, then its end, to the guest's terminal, and prints the guest's output. Input is sent only after the
/// prompt: a booting machine loses it.
fn typed(mut guest: Child) -> Result<ExitStatus, Failure> {
    let failed = |e: io::Error| Failure::machine(format!("following the guest: {e}"), "report this");
    let (mut keyboard, mut screen) = (guest.stdin.take(), guest.stdout.take());
    let (mut shown, mut piece) = (Vec::new(), [0; 4096]);
    while let Some(n) = screen.as_mut().map(|s| s.read(&mut piece)).transpose().map_err(failed)?.filter(|n| *n > 0) {
        output::exact(&piece[..n])?;
        shown.extend_from_slice(&piece[..n]);
        if let Some(mut keyboard) = keyboard.take_if(|_| shown.windows(PROMPT.len()).any(|w| w == PROMPT)) {
            shown.clear();
            // This thread ends with the process if the guest ends first.
            thread::spawn(move || io::copy(&mut io::stdin(), &mut keyboard).and_then(|_| keyboard.write_all(&[END_OF_INPUT])));
        }
    }
    guest.wait().map_err(failed)
}
