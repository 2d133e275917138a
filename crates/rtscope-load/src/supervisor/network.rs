//! The network load's path: two network namespaces joined by a veth pair, or loopback.

use super::stage::{Kind, call_myself};
use crate::process_tree;
use crate::programs::ip;
use rtscope_sys as sys;
use std::fs;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::time::{Duration, Instant};

/// The client's end of the veth pair. Both ends exist only inside the load's own namespaces.
pub(super) const CLIENT_END: &str = "rtload0";
/// The server's end.
pub(super) const SERVER_END: &str = "rtload1";
const CLIENT_ADDRESS: &str = "10.217.0.1/30";
const SERVER_ADDRESS: &str = "10.217.0.2/30";
/// iperf3's default port, always free in the load's own namespace.
const PORT: u16 = 5201;
const LIMIT: Duration = Duration::from_secs(10);

/// Where the server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) address: String,
    pub(super) port: u16,
    /// The server runs in a second network namespace.
    pub(super) apart: bool,
}

impl Place {
    /// The server is in its own namespace.
    pub(super) fn apart() -> Self {
        Self { address: SERVER_ADDRESS.split('/').next().unwrap_or_default().into(), port: PORT, apart: true }
    }

    /// The server is on loopback: the load's own at the default port, or the machine's at a free port.
    pub(super) fn loopback(kind: Kind, net: bool) -> io::Result<Self> {
        let port = if kind != Kind::Tree && net { PORT } else { TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port() };
        Ok(Self { address: Ipv4Addr::LOCALHOST.to_string(), port, apart: false })
    }
}

/// Arguments of the server stage that precede the command it executes.
pub(super) fn server_stage() -> [&'static str; 3] {
    ["server", SERVER_END, SERVER_ADDRESS]
}

/// The server stage: enters a second network namespace, sets up its end of the pair, then becomes iperf3 (exec).
pub(super) fn server(interface: &str, address: &str, command: &[&str]) -> u8 {
    call_myself("rt-load-server");
    let become_server = || -> Result<io::Error, String> {
        let (program, args) = command.split_first().ok_or("no command")?;
        sys::unshare(libc::CLONE_NEWNET).map_err(|e| format!("network namespace: {e}"))?;
        until(|| {
            fs::read_to_string("/proc/self/net/dev")
                .is_ok_and(|t| t.lines().any(|l| l.trim_start().starts_with(&format!("{interface}:"))))
        })
        .map_err(|()| format!("{interface} did not appear"))?;
        ip(&["link", "set", "lo", "up"])?;
        ip(&["address", "add", address, "dev", interface])?;
        ip(&["link", "set", interface, "up"])?;
        Ok(sys::process::command(program).args(args).exec())
    };
    let why = become_server().map_or_else(|e| e, |e| e.to_string());
    let _ = writeln!(io::stderr(), "{why}");
    3
}

fn until(mut done: impl FnMut() -> bool) -> Result<(), ()> {
    let end = Instant::now() + LIMIT;
    while !done() {
        if Instant::now() >= end {
            return Err(());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Connects this network namespace to the server stage's.
pub(super) fn join(server: u32) -> Result<(), String> {
    let space = |who: &str| fs::read_link(format!("/proc/{who}/ns/net")).map_err(|e| e.to_string());
    let own = space("self")?;
    until(|| space(&server.to_string()).map_or(true, |s| s != own)).map_err(|()| "the second network namespace did not come up")?;
    let pid = server.to_string();
    ip(&["link", "add", CLIENT_END, "type", "veth", "peer", "name", SERVER_END, "netns", &pid])?;
    ip(&["address", "add", CLIENT_ADDRESS, "dev", CLIENT_END])?;
    ip(&["link", "set", CLIENT_END, "up"])
}

/// Waits until the process `server` listens at `port`, according to `/proc/PID/net/tcp`.
pub(super) fn wait_for(server: u32, port: u16) -> Result<(), String> {
    let mut gone = false;
    let heard = until(|| {
        gone = process_tree::start_time(server).is_none();
        gone || fs::read_to_string(format!("/proc/{server}/net/tcp")).is_ok_and(|t| listens(&t, port))
    });
    match heard {
        Ok(()) if !gone => Ok(()),
        Ok(()) => Err("it ended at once".into()),
        Err(()) => Err(format!("it does not listen at port {port}")),
    }
}

/// Whether `/proc/net/tcp` shows a listener (state 0A) at `port`.
fn listens(table: &str, port: u16) -> bool {
    let port = format!(":{port:04X}");
    table.lines().any(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        fields.next().is_some_and(|local| local.ends_with(&port)) && fields.nth(1) == Some("0A")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_listener_is_seen_and_its_connections_are_not() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(wait_for(std::process::id(), port), Ok(()));
        let table = "  sl  local_address rem_address   st\n   0: 0100007F:1451 00000000:0000 01 0:0\n   1: 0100007F:0050 00000000:0000 0A 0:0\n";
        assert!(!listens(table, 5201));
        assert!(listens(table, 80));
    }

    proptest! {
        #[test]
        fn any_table_is_read(text in "\\PC{0,200}", port: u16) {
            let _ = listens(&text, port);
        }
    }
}
