//! The outer stage: keeps the load's directory and journal, chooses the isolation, and ends everything.

use super::messages::{Order, Report, receive, send};
use super::stage::{Kind, call_myself, ordinary_process, stay_awake};
use crate::job::{Isolation, Job};
use crate::journal::{self, Entered, Journal, MARKER, Undo};
use crate::process_tree;
use crate::programs::find_program;
use rtscope_record::{Effect, Warning};
use rtscope_sys as sys;
use std::fs;
use std::io::{self, BufReader};
use std::os::unix::fs::DirBuilderExt;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How long init may take to end once its standard input has ended or its work is done. It kills at once, but
/// the kernel may have hundreds of processes and gigabytes to release.
const END_LIMIT: Duration = Duration::from_secs(10);
/// What the stages need to stop, beyond the tools' own time-out.
const STOP_OVERHEAD: Duration = Duration::from_secs(10);

enum Message {
    Order(Order),
    /// rtscope is gone or sent something unreadable.
    DriverGone,
    /// A report of the attempt with this number.
    Report(usize, Report),
    InnerGone(usize),
}

/// The outcome of one attempt.
enum Attempt {
    /// The load ran, and has ended.
    Over,
    /// This isolation is not available, and why.
    Refused(String),
}

pub(super) fn run() -> u8 {
    call_myself("rt-load-guard");
    ordinary_process();
    stay_awake();
    // Ctrl-C on a terminal is not for this process and the load.
    let _ = sys::process::new_group();
    let _ = sys::adopt_orphans();
    let (sender, messages) = channel();
    let orders = sender.clone();
    std::thread::spawn(move || {
        stay_awake();
        let mut from = BufReader::new(io::stdin());
        while let Ok(Some(order)) = receive(&mut from) {
            if orders.send(Message::Order(order)).is_err() {
                return;
            }
        }
        let _ = orders.send(Message::DriverGone);
    });
    let Ok(Message::Order(Order::Start(job))) = messages.recv() else { return 2 };
    let entered = match make_scratch(&job) {
        Ok(entered) => entered,
        Err((message, remedy)) => {
            report(&Report::Failed { message, remedy });
            return 3;
        }
    };
    supervise(&job, &sender, &messages);
    let clean = process_tree::kill_descendants(Duration::from_secs(10));
    let removed = journal::remove_scratch(&job.scratch, &job.token);
    if removed.is_ok() {
        entered.close();
    }
    u8::from(!clean || removed.is_err()) * 3
}

fn report(what: &Report) {
    // If rtscope is gone, the end of its orders shows it too.
    let _ = send(&mut io::stdout(), what);
}

/// Writes the journal entry, then makes the directory, then its marker.
fn make_scratch(job: &Job) -> Result<Entered, (String, String)> {
    let undo = Undo::RemoveScratch { path: job.scratch.clone(), token: job.token.clone() };
    let entered = Journal::at(&job.journal)
        .enter(vec![undo])
        .map_err(|e| (e.to_string(), "set HOME or XDG_STATE_HOME to a directory that can be written".to_owned()))?;
    let make = || {
        fs::DirBuilder::new().mode(0o700).create(&job.scratch)?;
        fs::write(job.scratch.join(MARKER), &job.token)
    };
    match make() {
        Ok(()) => Ok(entered),
        Err(e) => {
            let _ = journal::remove_scratch(&job.scratch, &job.token);
            entered.close();
            let message = format!("the load's directory {} can't be made: {e}", job.scratch.display());
            Err((message, "choose another with --load-dir".into()))
        }
    }
}

/// Tries one isolation after the other, strongest first, and runs the first that works to its end.
fn supervise(job: &Job, sender: &Sender<Message>, messages: &Receiver<Message>) {
    let kinds: &[Kind] = match job.isolation {
        Isolation::Namespaces => &[Kind::Root, Kind::User, Kind::Tree],
        Isolation::UserNamespace => &[Kind::User, Kind::Tree],
        Isolation::ProcessTree => &[Kind::Tree],
    };
    let mut refusals: Vec<String> = Vec::new();
    for (number, &kind) in kinds.iter().enumerate() {
        if kind == Kind::Tree && !refusals.is_empty() {
            let why = refusals.join("; ");
            report(&Report::Warning(Warning::new(
                "load-without-namespaces",
                Effect::Note,
                format!(
                    "the load ran without namespaces of its own ({why}), so its network traffic went over the machine's loopback"
                ),
                "run as root, or allow unprivileged user namespaces",
            )));
        }
        match attempt(job, kind, number, sender, messages) {
            Ok(Attempt::Over) => return,
            Ok(Attempt::Refused(why)) => refusals.push(why),
            Err(e) => refusals.push(format!("{}: {e}", job.reexec.program.display())),
        }
    }
    let message = format!("the load's supervisor can't start: {}", refusals.join("; "));
    report(&Report::Failed { message, remedy: "this is not expected: please report it with the output of `rtscope check`".into() });
}

fn attempt(job: &Job, kind: Kind, number: usize, sender: &Sender<Message>, messages: &Receiver<Message>) -> io::Result<Attempt> {
    let net = if kind != Kind::Tree && find_program("ip").is_some() { "net" } else { "no-net" };
    let mut command = job.reexec.stage(&["space", kind.word(), net]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    // This is the main thread, which lives as long as the process.
    sys::process::die_with_spawner(&mut command, libc::SIGKILL);
    let mut child = command.spawn()?;
    let mut orders = child.stdin.take();
    if let Some(reports) = child.stdout.take() {
        let sender = sender.clone();
        std::thread::spawn(move || {
            stay_awake();
            let mut from = BufReader::new(reports);
            while let Ok(Some(report)) = receive(&mut from) {
                if sender.send(Message::Report(number, report)).is_err() {
                    return;
                }
            }
            let _ = sender.send(Message::InnerGone(number));
        });
    }
    if let Some(to) = &mut orders {
        // If the stage is gone already, the end of its reports shows it.
        let _ = send(to, &Order::Start(Box::new(job.clone())));
    }
    Ok(follow(job, &mut child, orders, number, messages))
}

/// Passes orders down and reports up until the stages below have ended.
fn follow(job: &Job, child: &mut Child, mut orders: Option<ChildStdin>, number: usize, messages: &Receiver<Message>) -> Attempt {
    let mut isolated = false;
    let mut refused = None;
    let mut finished = false;
    // No deadline until there is a reason to end.
    let mut deadline = None::<Instant>;
    loop {
        let wait = deadline.map_or(Duration::from_secs(3600), |d| d.saturating_duration_since(Instant::now()));
        match messages.recv_timeout(wait) {
            Ok(Message::Order(Order::Stop)) => {
                if let Some(to) = &mut orders {
                    let _ = send(to, &Order::Stop);
                }
                deadline.get_or_insert(Instant::now() + job.stop_timeout + STOP_OVERHEAD);
            }
            Ok(Message::Order(Order::Start(_)) | Message::DriverGone) => {
                orders = None;
                finished = true;
                deadline = Some(Instant::now() + END_LIMIT);
            }
            Ok(Message::Report(n, what)) if n == number => match what {
                Report::NotIsolated(why) => refused = Some(why),
                what => {
                    isolated |= matches!(what, Report::Isolated(_));
                    if matches!(what, Report::Done(_) | Report::Failed { .. }) {
                        finished = true;
                        deadline.get_or_insert(Instant::now() + END_LIMIT);
                    }
                    report(&what);
                }
            },
            Ok(Message::InnerGone(n)) if n == number => break,
            Ok(Message::Report(..) | Message::InnerGone(_)) => {}
            Err(RecvTimeoutError::Timeout) if deadline.is_none() => {}
            Err(_) => {
                if !finished {
                    report(&Report::Died("the load did not end in time and was killed".into()));
                    finished = true;
                }
                break;
            }
        }
    }
    let _ = child.kill();
    let status = child.wait();
    if finished {
        Attempt::Over
    } else if isolated {
        report(&Report::Died("the load's first process was killed, and everything of the load with it".into()));
        Attempt::Over
    } else {
        let how = status.map_or_else(|e| e.to_string(), |s| s.to_string());
        Attempt::Refused(refused.unwrap_or_else(|| format!("the stage that enters the namespaces ended with {how}")))
    }
}
