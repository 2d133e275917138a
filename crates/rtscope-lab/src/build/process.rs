//! Runs a program of a build: its output goes to a log, and it ends with this process or when it is told to.

use super::error::BuildError;
use rtscope_load::StopHandle;
use rtscope_sys as sys;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// How often the program and the wish to end are looked at.
const EVERY: Duration = Duration::from_millis(200);
/// How long a program may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(10);
/// How many lines of a failed program are shown.
const TAIL: usize = 15;
/// Most of a log's end that is looked through for them, bytes.
const TAIL_BYTES: u64 = 64 << 10;

/// Runs `command` with its output appended to `log`. `on_compiled` is told how many files it has compiled since it was started.
pub(super) fn run(
    command: &mut Command,
    what: &str,
    log: &Path,
    stop: &StopHandle,
    on_compiled: &mut dyn FnMut(u64),
) -> Result<(), BuildError> {
    if stop.is_stopped() {
        return Err(BuildError::Interrupted);
    }
    let out = OpenOptions::new().create(true).append(true).open(log).map_err(BuildError::io(log))?;
    let beside = out.try_clone().map_err(BuildError::io(log))?;
    let mut heard = Heard::from_here(log).map_err(BuildError::io(log))?;
    // A group of its own: a terminal's Ctrl-C is for this process, which then ends the group.
    command.process_group(0).stdout(out).stderr(beside);
    sys::process::die_with_spawner(command, libc::SIGTERM);
    let program = Path::new(command.get_program()).to_path_buf();
    let mut child = command.spawn().map_err(BuildError::io(&program))?;
    let status = loop {
        match child.try_wait().map_err(BuildError::io(&program))? {
            Some(status) => break status,
            None if stop.is_stopped() => {
                end(&mut child);
                return Err(BuildError::Interrupted);
            }
            None => {
                on_compiled(heard.compiled());
                std::thread::sleep(EVERY);
            }
        }
    };
    if status.success() {
        return Ok(());
    }
    // Ended from outside together with this process, before the wish was seen.
    if stop.is_stopped() {
        return Err(BuildError::Interrupted);
    }
    Err(BuildError::Failed { what: what.to_owned(), said: last_lines(log), log: log.to_path_buf() })
}

/// Asks the whole group to end, then ends it.
fn end(child: &mut Child) {
    let group = i32::try_from(child.id()).unwrap_or(0);
    if group <= 1 {
        let _ = child.kill();
        return;
    }
    let _ = sys::kill(-group, libc::SIGTERM);
    let until = Instant::now() + GRACE;
    while Instant::now() < until {
        if matches!(child.try_wait(), Ok(Some(_))) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = sys::kill(-group, libc::SIGKILL);
    let _ = child.wait();
}

/// What a log gained since a program was started.
struct Heard {
    file: File,
    /// The beginning of a line that is not whole yet.
    line: Vec<u8>,
    compiled: u64,
}

impl Heard {
    fn from_here(log: &Path) -> io::Result<Self> {
        let mut file = File::open(log)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self { file, line: Vec::new(), compiled: 0 })
    }

    /// How many files were compiled so far. kbuild says `  CC      kernel/fork.o`.
    fn compiled(&mut self) -> u64 {
        // What can't be read is not counted; nothing depends on it.
        let _ = self.file.read_to_end(&mut self.line);
        let whole = self.line.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let rest = self.line.split_off(whole);
        let lines = std::mem::replace(&mut self.line, rest);
        let is_compiler = |l: &&[u8]| l.starts_with(b"  CC ") || l.starts_with(b"  AS ") || l.starts_with(b"  CC [M]");
        self.compiled += lines.split(|b| *b == b'\n').filter(is_compiler).count() as u64;
        self.compiled
    }
}

/// The end of a log.
fn last_lines(log: &Path) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let len = file.metadata()?.len();
        file.seek(SeekFrom::Start(len.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    // With several compilers at once the error may be far above the end.
    let error = lines.iter().rposition(|l| l.contains("error:") || l.starts_with("make") && l.contains("***"));
    let first = error.map_or(0, |at| at.saturating_sub(TAIL / 2)).max(lines.len().saturating_sub(10 * TAIL));
    let from = if error.is_some() { first } else { lines.len().saturating_sub(TAIL) };
    lines[from..].iter().take(TAIL).copied().collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
#[path = "process_tests.rs"]
mod tests;
