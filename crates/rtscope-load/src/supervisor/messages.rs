//! Messages between the supervisor's stages, one JSON object per line: orders go down through standard input,
//! reports up through standard output.

use crate::job::Job;
use rtscope_record::{LoadCourse, LoadProcess, Warning};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read, Write};

/// Longest line, bytes. The longest are reports with the figures of `--all`: some 40 kB.
const LONGEST_LINE: u64 = 4 << 20;

/// An order to a stage.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// Comes first: what to run.
    Start(Box<Job>),
    /// End the load and report what it achieved.
    Stop,
}

/// A report from a stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The isolation is in force, or changed, in plain words.
    Isolated(String),
    /// This isolation is not available here, and why.
    NotIsolated(String),
    /// Something the reader of the figures must know.
    Warning(Warning),
    /// The whole load is at work.
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
    /// What the kernel accounted to each process just before all are told to end: the proof of a load that can't be
    /// ended in time.
    Seen(Vec<LoadProcess>),
    /// The course of the whole load until then.
    Course(LoadCourse),
    /// The last report: what each process achieved.
    Done(Vec<LoadProcess>),
}

/// Writes one line. Fails when the reader is gone.
pub(crate) fn send(to: &mut impl Write, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Reads one line; `None` at the end of the stream. Fails when the line is too long, cut off or malformed.
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
