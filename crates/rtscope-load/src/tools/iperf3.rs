//! iperf3: a client, its server, and the traffic between them.

use super::tool::{Achieved, Part, Paths, Said, Seen, Tool, Workers, figure};
use crate::job::Iperf3Job;
use crate::process_tree;

/// Bytes after which a client counts as at work.
const AT_WORK_BYTES: u64 = 1 << 20;
const BY_HAND: &str = "check that iperf3 works: `iperf3 -s -1 &` then `iperf3 -c 127.0.0.1 -t 1`";

/// The sending end.
#[derive(Debug)]
pub(crate) struct Client;

/// The receiving end.
#[derive(Debug)]
pub(crate) struct Server;

impl Client {
    /// Arguments of a client for the server at `address` and `port`.
    pub(crate) fn args(job: &Iperf3Job, address: &str, port: u16) -> Vec<String> {
        let (port, streams) = (port.to_string(), job.streams.to_string());
        // Limited by bytes, not by time: `-t` allows a day at most, and this many bytes take a thousand years.
        let mut args = words(&["-c", address, "-p", &port, "-P", &streams, "-n", "9000000T", "-J", "-i", "0"]);
        if let Some(window) = &job.window {
            args.extend(["-w".to_owned(), window.clone()]);
        }
        args
    }
}

impl Server {
    /// Arguments of a server at `address` and `port`.
    pub(crate) fn args(address: &str, port: u16) -> Vec<String> {
        // One client (-1), and JSON figures only at the end (-i 0): with 100 streams, an hour of interval reports would
        // fill the memory.
        words(&["-s", "-1", "-J", "-i", "0", "-B", address, "-p", &port.to_string()])
    }
}

fn words(text: &[&str]) -> Vec<String> {
    text.iter().map(|&w| w.to_owned()).collect()
}

impl Tool for Client {
    fn program(&self) -> &'static str {
        "iperf3"
    }

    fn role(&self) -> &'static str {
        "iperf3 client"
    }

    fn part(&self) -> Part {
        Part::Client
    }

    fn in_guests(&self) -> Option<&'static str> {
        Some("/usr/bin/iperf3")
    }

    fn command(&self, args: &[String], _: &Paths<'_>) -> Vec<String> {
        args.to_vec()
    }

    fn prints_figures(&self) -> bool {
        true
    }

    fn not_at_work(&self, seen: &Seen<'_>) -> Option<String> {
        let bytes = process_tree::bytes_written(seen.pid).unwrap_or(0);
        (bytes < AT_WORK_BYTES).then(|| format!("it has sent {bytes} bytes"))
    }

    fn account(&self, seen: &Seen<'_>) -> Option<(&'static str, f64)> {
        Some(("iperf3.bytes_written", process_tree::bytes_written(seen.pid).unwrap_or(0) as f64))
    }

    fn workers(&self) -> Workers {
        Workers::Itself
    }

    fn said(&self, text: &str) -> Said {
        figures(text, "sum_sent")
    }

    /// An interrupted client exits with 1 and reports the interruption.
    fn ends_with(&self, _: Option<i32>) -> bool {
        true
    }

    fn by_hand(&self) -> &'static str {
        BY_HAND
    }
}

impl Tool for Server {
    fn program(&self) -> &'static str {
        Client.program()
    }

    fn role(&self) -> &'static str {
        "iperf3 server"
    }

    fn part(&self) -> Part {
        Part::Server
    }

    fn in_guests(&self) -> Option<&'static str> {
        Client.in_guests()
    }

    fn command(&self, args: &[String], _: &Paths<'_>) -> Vec<String> {
        args.to_vec()
    }

    fn prints_figures(&self) -> bool {
        true
    }

    /// The server is at work when its client is.
    fn not_at_work(&self, _: &Seen<'_>) -> Option<String> {
        None
    }

    fn account(&self, _: &Seen<'_>) -> Option<(&'static str, f64)> {
        None
    }

    fn workers(&self) -> Workers {
        Workers::Itself
    }

    fn said(&self, text: &str) -> Said {
        figures(text, "sum_received")
    }

    fn ends_with(&self, _: Option<i32>) -> bool {
        true
    }

    fn by_hand(&self) -> &'static str {
        BY_HAND
    }
}

/// `iperf3.bytes`, and for a client also `iperf3.gbit_per_s` and `iperf3.retransmits`; empty when the summary
/// is missing. An interrupted client also has an error.
///
/// Reads what `iperf3 -J` prints (3.1 to 3.19). `side` is the summary that this end knows: `sum_sent` for a
/// client, `sum_received` for a server; an interrupted run lacks the other end's figures.
pub(super) fn figures(json: &str, side: &str) -> Said {
    let Ok(said) = serde_json::from_str::<serde_json::Value>(json) else { return Said::default() };
    let sum = &said["end"][side];
    let number = |key: &str| sum[key].as_f64().and_then(figure);
    let mut achieved = Achieved::new();
    if let Some(bytes) = number("bytes") {
        achieved.insert("iperf3.bytes".into(), bytes);
        // A server ended by its client's interruption divides by a wrong time (3.12 said 0.008 for 17 Gbit/s).
        if let Some(bits) = number("bits_per_second").filter(|_| side == "sum_sent") {
            achieved.insert("iperf3.gbit_per_s".into(), bits / 1e9);
        }
        if let Some(retransmits) = number("retransmits") {
            achieved.insert("iperf3.retransmits".into(), retransmits);
        }
    }
    Said { achieved, error: said["error"].as_str().map(Into::into) }
}
