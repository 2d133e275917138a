//! What the supervisor's stages say to each other: orders down by standard input, reports up by standard output, one JSON object a line.

use crate::job::Job;
use rtscope_record::{LoadCourse, LoadProcess, Warning};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read, Write};

/// Longest line, bytes. The longest are reports with the figures of `--all`: some 40 kB.
const LONGEST_LINE: u64 = 4 << 20;

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
