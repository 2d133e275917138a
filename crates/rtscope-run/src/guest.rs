//! The guest's side of the lab: the first process of a virtual machine, and the agent that it starts.
//!
//! The program `rtscope-guest` is all of rtscope's user space in the guest: first process, agent, supervisor of the loads and
//! probe. The agent sets the machine up, pauses it (the host keeps that state), and does one job once the machine goes on. It
//! waits for nothing outside of the guest.

mod mailbox;
mod part;
mod set_aside;
mod setup;
mod work;

use mailbox::Mailbox;
use part::{AGENT, PROBE, SUPERVISOR};
use rtscope_load::supervisor;
use rtscope_sys as sys;
use std::time::Duration;

/// How long the machine is left alone before the pause, so that work which the kernel defers past the boot is not part of every
/// run.
const SETTLE: Duration = Duration::from_secs(1);

/// Main function of `rtscope-guest`; returns the exit code.
pub fn main(mut args: impl Iterator<Item = String>) -> u8 {
    match args.next().as_deref() {
        None => first_process(),
        Some(AGENT) => agent(),
        Some(SUPERVISOR) => supervisor::main(args),
        Some(PROBE) => rtscope_probe::serve::serve(std::io::stdin(), &mut std::io::stdout(), false),
        // The kernel passes on as arguments what it does not know of its command line.
        Some(_) if std::process::id() == 1 => first_process(),
        Some(_) => 2,
    }
}

/// Starts the agent and reaps every process that ends. When the agent ends, restarts the machine, which ends it.
fn first_process() -> u8 {
    setup::console(&format!("rtscope-guest {}", env!("CARGO_PKG_VERSION")));
    let how = match setup::mounts().and_then(|()| sys::process::command("/proc/self/exe").arg(AGENT).spawn()) {
        Ok(agent) => loop {
            match sys::process::reap_next() {
                Ok((pid, status)) if pid == agent.id() => break format!("the agent ended: {status}"),
                Ok(_) => {}
                Err(e) => break format!("waiting for the agent: {e}"),
            }
        },
        Err(e) => format!("the agent can't be started: {e}"),
    };
    setup::console(&format!("rtscope-guest: {how}"));
    setup::console(&format!("rtscope-guest: {}", sys::machine::restart()));
    3
}

fn agent() -> u8 {
    // Started from /proc/self/exe, the agent would be named `exe`, and the witness would take it for a rival.
    let _ = std::fs::write("/proc/self/comm", "rtscope-guest");
    let facts = setup::prepare();
    let mut mailbox = match Mailbox::find() {
        Ok(mailbox) => mailbox,
        Err(e) => {
            // Random, so that nothing in the shell can say by accident that it has ended.
            let token = setup::token();
            setup::console(&format!("rtscope-guest: no job will come ({e}); here is a shell, `exit` ends the machine [{token}]"));
            let status = setup::shell();
            setup::console(&format!("rtscope-guest: [{token}] the shell ended: {status}"));
            return status;
        }
    };
    std::thread::sleep(SETTLE);
    if let Err(e) = mailbox.pause(&facts) {
        setup::console(&format!("rtscope-guest: the machine can't be paused: {e}"));
        return 3;
    }
    // From here on the machine may run on the host at another time, maybe another day.
    let job = match mailbox.await_job() {
        Ok(job) => job,
        Err(e) => {
            mailbox.fail(&format!("the job is not understood: {e}"), "rtscope and its guest must be of one version", false);
            return 3;
        }
    };
    work::run(job, &mut mailbox);
    // The host takes the answer and ends the machine.
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}
