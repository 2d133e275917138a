//! The target `local`: a probe as a child process on this machine.

use crate::target::{Target, TargetError};
use rtscope_load::StopHandle;
use rtscope_load::process_tree;
use rtscope_probe::build;
use rtscope_probe::protocol::{Event, ProbePlan};
use rtscope_record::{Nanos, Record};
use rtscope_sys as sys;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Longest line that is read from a probe, bytes. The longest is the record, which stays below this with a million bins for each
/// of 64 CPUs.
const LONGEST_LINE: u64 = 256 << 20;
/// How long the probe may take to end, once it was asked to or has sent its record. Without a priority it may wait for seconds for a CPU.
const END_LIMIT: Duration = Duration::from_secs(60);
/// How much of the probe's standard error is kept, bytes.
const TAIL: usize = 4096;

/// How to start the probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// This machine, as a [`Target`].
#[derive(Debug, Clone)]
pub struct Local {
    /// How to start the probe.
    pub probe: ProbeCommand,
}

impl Target for Local {
    fn run(&self, plan: &ProbePlan, stop: &StopHandle, on_event: &mut dyn FnMut(&Event)) -> Result<Record, TargetError> {
        run_local(plan, &self.probe, stop, on_event)
    }
}

/// Runs the probe on this machine and returns its record. The probe stays in our process group, so signals to the group (Ctrl-C,
/// SIGSTOP) reach it, and it is killed when the calling thread ends. `stop` closes its standard input, upon which it ends with a
/// partial record; if it does not end within 60 s, it is killed.
fn run_local(
    plan: &ProbePlan,
    probe: &ProbeCommand,
    stop: &StopHandle,
    on_event: &mut dyn FnMut(&Event),
) -> Result<Record, TargetError> {
    let mut command = sys::process::command(&probe.program);
    command.args(&probe.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    sys::process::die_with_spawner(&mut command, libc::SIGKILL);
    sys::signals::hold_back(&mut command);
    let mut line = serde_json::to_vec(plan).map_err(std::io::Error::from)?;
    line.push(b'\n');
    let program = probe.program.display().to_string();
    let child = command.spawn().map_err(|source| TargetError::Start { program: program.clone(), source })?;
    let mut probe = Running { child, stop: stop.clone(), said: None };
    probe.said = probe.child.stderr.take().map(keep_tail);
    // A broken pipe is ignored here: a probe that ended at once gives its reason in what it says.
    if let Some(mut input) = probe.child.stdin.take() {
        let written = input.write_all(&line);
        let pid = probe.child.id();
        let start = process_tree::start_time(pid);
        stop.on_stop(move || {
            drop(input);
            std::thread::spawn(move || kill_later(pid, start));
        });
        if let Err(e) = written {
            if e.kind() != std::io::ErrorKind::BrokenPipe {
                return Err(e.into());
            }
        }
    }
    let Some(output) = probe.child.stdout.take() else { return Err(TargetError::Record("it has no output".into())) };
    let mut output = BufReader::with_capacity(64 << 10, output);
    let mut progress = String::new();
    loop {
        match next_event(&mut output)? {
            Some(Event::Record { record }) => {
                probe.end();
                return if record.id() == plan.id {
                    Ok(*record)
                } else {
                    Err(TargetError::Record(format!("it is called `{}`, the plan `{}`", record.id(), plan.id)))
                };
            }
            Some(event) => {
                let event = event.or_failure().inspect_err(|_| {
                    probe.end();
                })?;
                match &event {
                    Event::Hello { protocol, version, commit, .. } => {
                        let it = build::describe(version, commit, protocol);
                        if !build::is_same(&it) {
                            probe.end();
                            return Err(TargetError::Probe {
                                message: format!("{program} is of rtscope {it}, this is {}", build::described()),
                                remedy: "build both: ./x build; or name another probe: RTSCOPE_PROBE=FILE; if rtscope was replaced while it ran, \
                                         start it again"
                                    .into(),
                            });
                        }
                    }
                    Event::Started => progress = ", before its first figures".into(),
                    Event::Progress { elapsed_ns, threads } => {
                        let samples = threads.iter().fold(0u64, |sum, t| sum.saturating_add(t.count));
                        progress = format!(", after {} and {samples} samples", Nanos(*elapsed_ns));
                    }
                    _ => {}
                }
                on_event(&event);
            }
            None => {
                let how = probe.end().map_or_else(|| "it closed its output".to_owned(), |s| s.to_string());
                let said = probe.last_words();
                let said = if said.is_empty() { said } else { format!("; it said: {said}") };
                return Err(TargetError::Ended { how, progress, said });
            }
        }
    }
}

/// Kills a probe that was asked to end and did not. Compares the start time too, as the PID may have been reused.
fn kill_later(pid: u32, start: Option<u64>) {
    let end = Instant::now() + END_LIMIT;
    while Instant::now() < end {
        std::thread::sleep(Duration::from_millis(100));
        if start.is_none() || process_tree::start_time(pid) != start {
            return;
        }
    }
    let _ = i32::try_from(pid).map(|pid| sys::kill(pid, libc::SIGKILL));
}

/// Reads one event; `None` at the end of the stream.
fn next_event(from: &mut impl BufRead) -> Result<Option<Event>, TargetError> {
    let mut line = Vec::new();
    from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    let garbled = |reason: String| {
        let shown: String = String::from_utf8_lossy(&line).chars().take(200).collect();
        TargetError::Garbled { line: shown.trim_end().escape_debug().to_string(), reason }
    };
    if line.last() != Some(&b'\n') {
        return Err(garbled(if line.len() as u64 >= LONGEST_LINE {
            "the line is too long".into()
        } else {
            "the line is cut short".into()
        }));
    }
    serde_json::from_slice(&line).map(Some).map_err(|e| garbled(e.to_string()))
}

/// The probe while it runs. Dropping it kills it.
struct Running {
    child: Child,
    stop: StopHandle,
    said: Option<Receiver<String>>,
}

impl Running {
    /// Waits for the probe to end; kills it and returns `None` if that takes too long.
    fn end(&mut self) -> Option<ExitStatus> {
        let end = Instant::now() + END_LIMIT;
        while Instant::now() < end {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(2)),
                Ok(status) => return status,
                Err(_) => break,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        None
    }

    /// The last lines of its standard error. The wait is short: a process that the probe left behind may hold the pipe open.
    fn last_words(&mut self) -> String {
        self.said.take().and_then(|said| said.recv_timeout(Duration::from_secs(1)).ok()).unwrap_or_default()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Frees the standard input that the handler holds.
        if !self.stop.is_stopped() {
            self.stop.on_stop(|| {});
        }
    }
}

/// Reads all of `from`; sends its last lines when it ends.
pub(crate) fn keep_tail(mut from: ChildStderr) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut kept: Vec<u8> = Vec::new();
        let mut part = [0; 4096];
        while let Ok(n @ 1..) = from.read(&mut part) {
            kept.extend_from_slice(&part[..n]);
            let surplus = kept.len().saturating_sub(TAIL);
            kept.drain(..surplus);
        }
        let text = String::from_utf8_lossy(&kept);
        let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
        // There may be no receiver left.
        let _: Result<(), _> = sender.send(lines[lines.len().saturating_sub(8)..].join("\n"));
    });
    receiver
}

#[cfg(test)]
#[path = "local_tests.rs"]
pub(crate) mod tests;
