//! What the supervisor's stages say to each other: orders down by standard input, reports up by standard output, one JSON object a line.

use crate::load::{Isolation, Reexec};
use rtscope_record::{LoadCourse, LoadProcess, Warning};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

/// Longest line, bytes. The longest are reports with the figures of `--all`: some 40 kB.
const LONGEST_LINE: u64 = 4 << 20;

/// What is to run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    /// How to start the next stage.
    pub(crate) reexec: Reexec,
    /// stress-ng processes.
    pub(crate) stress_ng: Vec<StressNgJob>,
    /// iperf3 client and server.
    pub(crate) iperf3: Option<Iperf3Job>,
    /// Strongest isolation to try.
    pub(crate) isolation: Isolation,
    /// The load's directory, made by the outer stage in an existing one.
    pub(crate) scratch: PathBuf,
    /// Token in its name and its marker.
    pub(crate) token: String,
    /// Directory of the journal.
    pub(crate) journal: PathBuf,
    /// It leaves no CPU idle.
    pub(crate) fills_cpus: bool,
    /// How long the load may take until it is up.
    pub(crate) up_timeout: Duration,
    /// How long its processes may take to end when asked, before they are killed.
    pub(crate) stop_timeout: Duration,
}

/// One stress-ng process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StressNgJob {
    /// Arguments that choose the stressors.
    pub(crate) args: Vec<String>,
    /// It is up when at least this many processes of it have had CPU time.
    pub(crate) workers: u32,
}

/// An iperf3 pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Iperf3Job {
    /// `-P`
    pub(crate) streams: u32,
    /// `-w`
    pub(crate) window: Option<String>,
}

/// What a stage is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// First: what to run.
    Start(Box<Job>),
    /// End it, and say what it did.
    Stop,
}

/// What a stage says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The isolation is in force, or changed, in plain words.
    Isolated(String),
    /// This isolation is not to be had here.
    NotIsolated(String),
    /// Something the reader of the figures must know.
    Warning(Warning),
    /// All of it does work.
    Up,
    /// A process ended before it was told to.
    Died(String),
    /// It did not start. Nothing is left running.
    Failed {
        /// What failed.
        message: String,
        /// What to do.
        remedy: String,
    },
    /// What the kernel says of each process, just before all are told to end: the proof of a load that then can't be ended in time.
    Seen(Vec<LoadProcess>),
    /// What the kernel saw of all of them until then.
    Course(LoadCourse),
    /// The end: what each process did.
    Done(Vec<LoadProcess>),
}

/// Writes one line. Fails when the reader is gone.
pub(crate) fn send(to: &mut impl Write, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Reads one line; `None` at the end of the stream.
pub(crate) fn receive<T: for<'a> Deserialize<'a>>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a line without its end"));
    }
    Ok(Some(serde_json::from_slice(&line)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reports_come_back() {
        let said = [Report::Isolated("x".into()), Report::Up, Report::Done(vec![LoadProcess::default()])];
        let mut bytes = Vec::new();
        for report in &said {
            send(&mut bytes, report).unwrap();
        }
        let mut from = bytes.as_slice();
        for report in said {
            assert_eq!(receive(&mut from).unwrap(), Some(report));
        }
        assert_eq!(receive::<Report>(&mut from).unwrap(), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut from = bytes.as_slice();
            while matches!(receive::<Report>(&mut from), Ok(Some(_))) {}
            let mut from = bytes.as_slice();
            while matches!(receive::<Order>(&mut from), Ok(Some(_))) {}
        }
    }
}
