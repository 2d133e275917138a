//! The init stage: the first process in the load's namespaces. The kernel kills whatever it leaves behind.

use super::load_tools::LoadTools;
use super::messages::{Order, Report, receive, send};
use super::stage::{Kind, call_myself, ordinary_process, stay_awake};
use crate::job::Job;
use crate::process_tree;
use crate::programs::ip;
use rtscope_sys as sys;
use std::io::{self, BufReader};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How often ended processes are reaped during the measurement. Seldom, because this is work on the measured machine.
const TICK: Duration = Duration::from_millis(100);
/// How often progress is checked while the load starts.
const START_TICK: Duration = Duration::from_millis(25);

pub(super) fn run(kind: Kind, net: bool) -> u8 {
    if sys::die_with_parent(libc::SIGKILL).is_err() {
        return 3;
    }
    call_myself("rt-load-init");
    ordinary_process();
    stay_awake();
    let (sender, orders) = channel();
    std::thread::spawn(move || {
        stay_awake();
        let mut from = BufReader::new(io::stdin());
        // At the end of the orders the channel closes, which tells the main thread.
        while let Ok(Some(order)) = receive::<Order>(&mut from) {
            if sender.send(order).is_err() {
                return;
            }
        }
    });
    let Ok(Order::Start(job)) = orders.recv() else { return 3 };
    let code = match settle(kind, net) {
        Ok(how) => {
            let own_tmp = private_tmp(&job, kind);
            say(&Report::Isolated(how.clone()));
            work(&job, LoadTools::new(&job, kind, net, own_tmp), &how, &orders)
        }
        Err(why) => {
            say(&Report::NotIsolated(why));
            3
        }
    };
    if kind == Kind::Tree {
        process_tree::kill_descendants(Duration::from_secs(2));
    }
    code
}

fn say(what: &Report) {
    // When outer is gone, its death signal ends this process too.
    let _ = send(&mut io::stdout(), what);
}

/// Prepares the namespaces for use. Returns their description for the record, or the error.
fn settle(kind: Kind, net: bool) -> Result<String, String> {
    if kind == Kind::Tree {
        sys::adopt_orphans().map_err(|e| format!("adopting orphans: {e}"))?;
        return Ok("process tree, no namespaces".into());
    }
    sys::process::make_mounts_private().map_err(|e| format!("private mounts: {e}"))?;
    sys::process::mount_virtual("proc", Path::new("/proc"), "").map_err(|e| format!("/proc of the PID namespace: {e}"))?;
    // The stressors' shared-memory files then disappear with the namespace. Not every machine has the directory.
    let _ = sys::process::mount_virtual("tmpfs", Path::new("/dev/shm"), "");
    if net {
        ip(&["link", "set", "lo", "up"]).map_err(|e| format!("loopback of the network namespace: {e}"))?;
    }
    let user = if kind == Kind::User { ", in a user namespace" } else { "" };
    let net = if net { "PID, mount, IPC and network namespaces" } else { "PID, mount and IPC namespaces" };
    Ok(format!("{net}{user}"))
}

/// Gives the load a small private /tmp in memory: some stressors leave sockets there whatever `--temp-path`
/// says, and `forkheavy` of 0.15 allocates all the disk has (52 GB, seen). Skipped when the load's directory,
/// this program or the journal lies under /tmp. Returns whether it has one.
fn private_tmp(job: &Job, kind: Kind) -> bool {
    let needed = [job.scratch.as_path(), job.reexec.program.as_path(), job.journal.as_path()];
    // If the mount fails, a socket may be left behind; a disk that fills up still ends the load.
    kind != Kind::Tree
        && !needed.iter().any(|p| p.starts_with("/tmp"))
        && sys::process::mount_virtual("tmpfs", Path::new("/tmp"), "size=64m").is_ok()
}

fn work(job: &Job, mut tools: LoadTools<'_>, isolation: &str, orders: &Receiver<Order>) -> u8 {
    let failed = |(message, remedy): (String, String)| {
        say(&Report::Failed { message, remedy });
        3
    };
    match tools.start() {
        Ok(notes) => notes.iter().for_each(say),
        Err(why) => return failed(why),
    }
    say(&Report::Isolated(format!("{isolation}{}", tools.traffic())));
    let end = Instant::now() + job.up_timeout;
    loop {
        match orders.recv_timeout(START_TICK) {
            Ok(_) => return finish(&mut tools),
            Err(RecvTimeoutError::Disconnected) => return 3,
            Err(RecvTimeoutError::Timeout) => {}
        }
        tools.collect(true);
        if let Some(why) = tools.spare_the_disk() {
            return failed((why, "choose a larger disk with --load-dir, or a milder load".into()));
        }
        if let Some(why) = tools.ended_while_starting() {
            return failed(why);
        }
        let missing = tools.not_up();
        if missing.is_empty() {
            break;
        }
        if Instant::now() >= end {
            return failed(tools.too_slow(&missing));
        }
    }
    tools.watch();
    say(&Report::Up);
    loop {
        match orders.recv_timeout(TICK) {
            Ok(_) => return finish(&mut tools),
            Err(RecvTimeoutError::Disconnected) => return 3,
            Err(RecvTimeoutError::Timeout) => {
                tools.look_when_due();
                let spared = tools.spare_the_disk();
                spared.into_iter().chain(tools.collect(true)).for_each(|who| say(&Report::Died(who)));
            }
        }
    }
}

fn finish(tools: &mut LoadTools<'_>) -> u8 {
    say(&Report::Seen(tools.look()));
    tools.course().into_iter().for_each(|course| say(&Report::Course(course)));
    tools.stop();
    say(&Report::Done(tools.achieved()));
    0
}
