//! Keeps a load in bounds: nothing of it survives the run, even when rtscope is killed.
//!
//! rtscope starts itself again as a chain of stages, each in its own process:
//! - **outer** makes and removes the load's directory, keeps the journal, and tries one isolation after the
//!   other. It has its own process group and no terminal, so that Ctrl-C does not reach the load before the measurement
//!   has ended. Its standard input ends when rtscope does.
//! - **space** enters the namespaces and starts the first process in them.
//! - **init**, process 1 of the PID namespace, starts the tools, waits until they are at work, ends them and
//!   reads their figures. When it ends, the kernel kills everything in the namespace; with the last process the
//!   network namespaces and all in them disappear.
//! - **server** enters a second network namespace and becomes the iperf3 server.
//!
//! - **tracer** is no stage of a load: it makes a tracing instance and removes it when rtscope ends; **tuning**
//!   does the same with settings of the machine.
//!
//! Each stage ends when the one above it does: by the end of its standard input, and by `PR_SET_PDEATHSIG`.
//! outer has only the former, because that signal is sent when the spawning *thread* ends, and a driver may
//! start its load on any thread. Without privilege and without user namespaces, init is an ordinary process,
//! and outer kills all its descendants (the kernel reparents orphans to outer).

mod init;
mod load_tools;
pub(crate) mod messages;
mod network;
mod outer;
mod running;
mod space;
mod stage;
mod watch;

use crate::{tracer, tuning};
use stage::Kind;

/// Runs one stage. The hidden sub-command of the command line calls this with the arguments after its name, and
/// exits with the code it returns. It must be called early, from the only thread, with standard input and
/// output untouched.
pub fn main(args: impl IntoIterator<Item = String>) -> u8 {
    let args: Vec<String> = args.into_iter().collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["outer"] => outer::run(),
        ["space", kind, net] => Kind::of(kind).map_or(2, |kind| space::run(kind, *net == "net")),
        ["init", kind, net] => Kind::of(kind).map_or(2, |kind| init::run(kind, *net == "net")),
        [tracer::keeper::STAGE] => tracer::keeper::run(),
        [tuning::keeper::STAGE] => tuning::keeper::run(),
        ["server", interface, address, command @ ..] => network::server(interface, address, command),
        _ => 2,
    }
}
