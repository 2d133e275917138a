//! Keeps a load in bounds: nothing of it survives the run, also when rtscope is killed.
//!
//! rtscope starts itself again as a chain of stages, each a process of its own:
//! - **outer** (session of its own, so that a terminal's Ctrl-C does not reach the load before the measurement has ended): makes and
//!   removes the load's directory, keeps the journal, tries one isolation after the other. Its standard input ends with rtscope.
//! - **space** enters the namespaces and starts the first process in them.
//! - **init**, process 1 of the PID namespace: starts the tools, waits until they do work, ends them, reads what they did. When it ends,
//!   the kernel kills everything in the namespace, and with the last process go the network namespaces and what was in them.
//! - **server** enters a second network namespace and becomes the iperf3 server.
//!
//! Each stage ends when the one above it does: by the end of its standard input, and by `PR_SET_PDEATHSIG`. outer has the former only: the
//! signal goes by the spawning *thread*, and a driver may start its load on any. Without privilege, and without user namespaces, init is
//! an ordinary process, and outer kills all its descendants (orphans are handed to it by the kernel).

mod init;
mod load_tools;
pub(crate) mod messages;
mod network;
mod outer;
mod running;
mod space;
mod stage;
mod watch;

use stage::Kind;

/// Runs one stage. The command line's hidden sub-command calls this with the arguments that follow its name, and exits with what it
/// returns; it must call it early, from its only thread, with standard input and output as it found them.
pub fn main(args: impl IntoIterator<Item = String>) -> u8 {
    let args: Vec<String> = args.into_iter().collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["outer"] => outer::run(),
        ["space", kind, net] => Kind::of(kind).map_or(2, |kind| space::run(kind, *net == "net")),
        ["init", kind, net] => Kind::of(kind).map_or(2, |kind| init::run(kind, *net == "net")),
        ["server", interface, address, command @ ..] => network::server(interface, address, command),
        _ => 2,
    }
}
