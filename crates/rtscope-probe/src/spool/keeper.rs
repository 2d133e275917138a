//! The keeper: takes a work order, has it done apart from any connection, and ends and removes everything in every case.

use super::events::{has_last_word, last_line, say};
use super::files::{POLL_INTERVAL, put, read};
use super::{follow, identity};
use crate::protocol::{Event, PROTOCOL, Work, WorkOrder};
use crate::serve::hello;
use rtscope_sys as sys;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, Read, Seek, SeekFrom, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// First arguments of the program for a plan, and for a DUT's, with a load: more than the probe alone can do (`rtscope-board`).
pub const LOADED: [&str; 2] = ["session", "loaded-dut"];
/// A work order is a line of at most this many bytes.
const LONGEST_ORDER: u64 = 1 << 20;
/// How long work that was asked to end may take before it is killed.
const END_LIMIT: Duration = Duration::from_secs(10);
/// The same for work whose result nobody wants any more.
const DROP_LIMIT: Duration = Duration::from_secs(2);
/// How much of the last words is told, bytes.
const TAIL: usize = 2000;

/// Says hello, reads a work order from `input`, starts its keeper and follows it; what dead keepers left is removed first. The exit code.
pub fn keep(dir: &Path, mut input: impl Read + Send + 'static, out: &mut dyn Write) -> u8 {
    let unattended = identity::sweep(dir);
    if say(out, &hello(unattended)).is_err() {
        let _ = fs::remove_dir_all(dir);
        return 3;
    }
    match read_order(&mut input).and_then(|order| start(dir, &order)) {
        Ok(()) => follow::pass_on(dir, 0, input, out),
        Err(e) => {
            let remedy = "driver and probe must be of one version of rtscope, and there must be room for a directory".into();
            let _ = say(out, &Event::Error { message: format!("the errand: {e}"), remedy, usage: false });
            let _ = fs::remove_dir_all(dir);
            3
        }
    }
}

fn read_order(input: &mut impl Read) -> io::Result<WorkOrder> {
    let mut line = Vec::new();
    // One byte at a time: what follows is for the follower.
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
        // Only what `sweep` could have named.
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

/// Ends work whose driver is dead, and waits for its end.
fn end_other(dir: &Path) {
    if File::create(dir.join("drop")).is_err() {
        return;
    }
    let end = Instant::now() + DROP_LIMIT * 2;
    while dir.exists() && Instant::now() < end {
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Does the work order in `dir`; the exit code.
pub fn keeper(dir: &Path) -> u8 {
    // A terminal's signals, and those to the connection's processes, are not for it.
    let _ = sys::process::new_session();
    let outcome =
        read::<WorkOrder>(dir, "errand.json").ok_or_else(|| io::Error::other("the errand can't be read")).and_then(|order| {
            let child = begin(dir, &order.work)?;
            tend(dir, child, Duration::from_millis(order.patience_ms))
        });
    let Err(e) = outcome else { return 0 };
    let event = Event::Error {
        message: format!("the probe can't be kept in {}: {e}", dir.display()),
        remedy: "is there room on that file system, and may programs run there?".into(),
        usage: false,
    };
    let _ = finish(dir, &event);
    3
}

fn begin(dir: &Path, work: &Work) -> io::Result<Child> {
    let plan = dir.join("plan.json");
    let mut command = sys::process::command(dir.join("rtscope-probe"));
    match work {
        Work::Measure(work) => {
            fs::write(&plan, serde_json::to_vec(work)?)?;
            if work.load != "none" {
                command.arg(LOADED[0]);
            }
        }
        Work::Dut(work) => {
            fs::write(&plan, serde_json::to_vec(work)?)?;
            command.arg(if work.load == "none" { "dut" } else { LOADED[1] });
        }
    }
    command.arg(plan).current_dir("/").stdin(Stdio::null());
    command.stdout(OpenOptions::new().append(true).open(dir.join("events"))?);
    command.stderr(OpenOptions::new().create(true).append(true).open(dir.join("words"))?);
    sys::process::die_with_spawner(&mut command, libc::SIGTERM);
    command.spawn()
}

/// Looks after the work until its directory is to go.
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

/// The child has not been waited for, so that its number is still its own.
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

/// The work has ended: where its last word is missing, it is said here.
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
    finish(dir, &Event::Error { message, remedy: remedy.into(), usage: false })
}

/// Takes half a line from the spool's end and writes the last event.
fn finish(dir: &Path, event: &Event) -> io::Result<()> {
    let (begin, line) = last_line(dir)?;
    let whole = if line.ends_with(b"\n") { begin + line.len() as u64 } else { begin };
    let mut spool = OpenOptions::new().write(true).open(dir.join("events"))?;
    spool.set_len(whole)?;
    spool.seek(SeekFrom::End(0))?;
    say(&mut spool, event)?;
    fs::write(dir.join("done"), b"")
}
