//! The keeper: accepts a work order, runs it independently of any connection, and in every case ends and removes everything.

use super::events::{has_last_word, last_line, say};
use super::files::{POLL_INTERVAL, put, read};
use super::{follow, identity};
use crate::protocol::{Event, PROTOCOL, Work, WorkOrder};
use crate::serve::hello;
use rtscope_failure::Failure;
use rtscope_sys as sys;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, Read, Seek, SeekFrom, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// First arguments of the program for a plan and a DUT plan that need a load, which the probe alone can't do
/// (`rtscope-board` can).
pub const LOADED: [&str; 2] = ["session", "loaded-dut"];
/// Longest work order (one line), bytes.
const LONGEST_ORDER: u64 = 1 << 20;
/// How long work may take to end on request before it is killed.
const END_LIMIT: Duration = Duration::from_secs(10);
/// The same for work whose result is no longer wanted.
const DROP_LIMIT: Duration = Duration::from_secs(2);
/// How much of the end of standard error is reported, bytes.
const TAIL: usize = 2000;

/// Removes what dead keepers left, says hello, reads a work order from `input`, starts its keeper and follows
/// it. Returns the exit code.
pub fn keep(dir: &Path, mut input: impl Read + Send + 'static, out: &mut dyn Write) -> u8 {
    let unattended = identity::sweep(dir);
    if say(out, &hello(unattended)).is_err() {
        let _ = fs::remove_dir_all(dir);
        return 3;
    }
    match read_order(&mut input).and_then(|order| start(dir, &order)) {
        Ok(()) => follow::pass_on(dir, 0, input, out),
        Err(e) => {
            let remedy = "driver and probe must be of one version of rtscope, and there must be room for a directory";
            let _ = say(out, &Failure::machine(format!("the errand: {e}"), remedy).into());
            let _ = fs::remove_dir_all(dir);
            3
        }
    }
}

fn read_order(input: &mut impl Read) -> io::Result<WorkOrder> {
    let mut line = Vec::new();
    // One byte at a time, because what follows is for the follower.
    io::BufReader::with_capacity(1, input.take(LONGEST_ORDER)).read_until(b'\n', &mut line)?;
    let order: WorkOrder = serde_json::from_slice(&line)?;
    if order.protocol == PROTOCOL {
        Ok(order)
    } else {
        Err(io::Error::other(format!("the driver speaks `{}`, this probe {PROTOCOL}", order.protocol)))
    }
}

fn start(dir: &Path, order: &WorkOrder) -> io::Result<()> {
    for abandoned in &order.abandoned {
        let abandoned = Path::new(abandoned);
        // Accept only names that `sweep` can return.
        let named = abandoned.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with(identity::PREFIX));
        if named && !identity::is_followed(abandoned) {
            end_other(abandoned);
        }
    }
    put(dir, "driver", &serde_json::to_vec(&order.driver)?)?;
    put(dir, "errand.json", &serde_json::to_vec(order)?)?;
    File::create(dir.join("events"))?;
    let words = OpenOptions::new().create(true).append(true).open(dir.join("words"))?;
    let mut command = sys::process::command(dir.join("rtscope-probe"));
    command.arg("keeper").arg(dir).current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(words);
    let keeper = command.spawn()?;
    put(dir, "owner", &serde_json::to_vec(&identity::of(keeper.id()))?)
}

/// Ends work whose driver is dead, and waits until it is gone.
fn end_other(dir: &Path) {
    if File::create(dir.join("drop")).is_err() {
        return;
    }
    let end = Instant::now() + DROP_LIMIT * 2;
    while dir.exists() && Instant::now() < end {
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Carries out the work order in `dir`. Returns the exit code.
pub fn keeper(dir: &Path) -> u8 {
    // Signals from a terminal, or to the connection's processes, must not reach the keeper.
    let _ = sys::process::new_session();
    let outcome =
        read::<WorkOrder>(dir, "errand.json").ok_or_else(|| io::Error::other("the work order can't be read")).and_then(|order| {
            let child = begin(dir, &order.work)?;
            tend(dir, child, Duration::from_millis(order.patience_ms))
        });
    let Err(e) = outcome else { return 0 };
    let message = format!("the probe can't be kept in {}: {e}", dir.display());
    let _ = finish(dir, &Failure::machine(message, "is there room on that file system, and may programs run there?").into());
    3
}

fn begin(dir: &Path, work: &Work) -> io::Result<Child> {
    let plan = dir.join("plan.json");
    let mut command = sys::process::command(dir.join("rtscope-probe"));
    let session = work.needs_session();
    match work {
        Work::Measure(work) => {
            fs::write(&plan, serde_json::to_vec(work)?)?;
            if session {
                command.arg(LOADED[0]);
            }
        }
        Work::Dut(work) => {
            fs::write(&plan, serde_json::to_vec(work)?)?;
            command.arg(if session { LOADED[1] } else { "dut" });
        }
    }
    command.arg(plan).current_dir("/").stdin(Stdio::null());
    command.stdout(OpenOptions::new().append(true).open(dir.join("events"))?);
    command.stderr(OpenOptions::new().create(true).append(true).open(dir.join("words"))?);
    sys::process::die_with_spawner(&mut command, libc::SIGTERM);
    command.spawn()
}

/// Looks after the work until its directory is removed.
fn tend(dir: &Path, mut child: Child, patience: Duration) -> io::Result<()> {
    let mut followed = Instant::now();
    let mut stopping: Option<Instant> = None;
    let mut done = false;
    loop {
        if !done {
            if let Some(status) = child.try_wait()? {
                done = true;
                if let Err(e) = conclude(dir, status) {
                    let _ = child.wait();
                    return Err(e);
                }
            }
        }
        if identity::is_followed(dir) {
            followed = Instant::now();
        }
        if dir.join("drop").exists() || !dir.join("errand.json").exists() || followed.elapsed() > patience {
            end(&mut child);
            return fs::remove_dir_all(dir);
        }
        if stopping.is_none() && dir.join("stop").exists() {
            stopping = Some(Instant::now());
            signal(&child, libc::SIGINT);
        }
        if !done && stopping.is_some_and(|since| since.elapsed() > END_LIMIT) {
            let _ = child.kill();
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// The child has not been waited for, so its process id is still its own.
fn signal(child: &Child, signal: i32) {
    let _ = i32::try_from(child.id()).map(|pid| sys::kill(pid, signal));
}

fn end(child: &mut Child) {
    let end = Instant::now() + DROP_LIMIT;
    if matches!(child.try_wait(), Ok(None)) {
        signal(child, libc::SIGTERM);
    }
    while Instant::now() < end && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Called when the work has ended. Writes the final event if it is missing.
fn conclude(dir: &Path, status: ExitStatus) -> io::Result<()> {
    if has_last_word(dir)? {
        return fs::write(dir.join("done"), b"");
    }
    let words = fs::read(dir.join("words")).unwrap_or_default();
    let words = String::from_utf8_lossy(&words[words.len().saturating_sub(TAIL)..]);
    let words: Vec<&str> = words.lines().filter(|l| !l.trim().is_empty()).collect();
    let words = words[words.len().saturating_sub(8)..].join("\n");
    let said = if words.is_empty() { words } else { format!("; it said: {words}") };
    let full = sys::process::file_system(dir).is_ok_and(|f| f.free_bytes < 1 << 20);
    let remedy = match status.signal() {
        _ if full => "free space there",
        Some(libc::SIGKILL) => "who killed it? See the kernel's log for a lack of memory: dmesg | tail",
        _ => "report this with what it said",
    };
    let room = if full { format!("; the file system of {} is full", dir.display()) } else { String::new() };
    let message = format!("the program on the target ended before its time ({status}){room}{said}");
    finish(dir, &Failure::machine(message, remedy).into())
}

/// Removes an incomplete line from the spool's end and writes the final event.
fn finish(dir: &Path, event: &Event) -> io::Result<()> {
    let (begin, line) = last_line(dir)?;
    let whole = if line.ends_with(b"\n") { begin + line.len() as u64 } else { begin };
    let mut spool = OpenOptions::new().write(true).open(dir.join("events"))?;
    spool.set_len(whole)?;
    spool.seek(SeekFrom::End(0))?;
    say(&mut spool, event)?;
    fs::write(dir.join("done"), b"")
}
