//! `import` of a capture: from a file of a logic analyzer or oscilloscope to a record.

use crate::args::{CaptureArgs, Edges};
use crate::cmd::input::{Input, nothing_of};
use rtscope_archive::capture::{self, Capture, CaptureError, CaptureKind, CaptureRequest, Reading};
use rtscope_failure::{Explain, Failure};
use rtscope_record::{Record, Space};
use std::io::Cursor;
use std::time::SystemTime;

/// The capture format of a file: as named, else detected from its start. If the user named an answer channel, the file counts as
/// a capture; if its format is unknown, the CSV reader says why it can't be read.
pub(super) fn kind(format: Option<&str>, bytes: &[u8], a: &CaptureArgs) -> Option<CaptureKind> {
    match format {
        Some(name) => name.parse().ok(),
        None => CaptureKind::detect(bytes).or(a.answer.as_ref().map(|_| CaptureKind::Csv)),
    }
}

/// What is known about the file.
pub(super) struct File<'a> {
    pub name: &'a str,
    pub time: SystemTime,
    pub load: Option<&'a str>,
    pub space: Option<Space>,
}

/// Reads a capture according to the options.
pub(super) fn import(file: &File<'_>, input: &mut Input, kind: CaptureKind, a: &CaptureArgs) -> Result<Record, Failure> {
    let wrong = |e: CaptureError| nothing_of(file.name, e);
    let channels = a.stimulus.iter().filter(|_| a.answer.is_some()).chain(&a.answer).cloned().collect();
    let request = CaptureRequest { channels, threshold: a.threshold, hysteresis: a.hysteresis };
    let capture = match input {
        Input::Held(bytes) => Capture::read(Cursor::new(bytes), kind, &request),
        Input::Streamed(stream) => {
            let capture = Capture::read(&mut *stream, kind, &request);
            // A file that changed meanwhile explains whatever else is wrong with it, so that is reported first.
            let unfinished = |e: std::io::Error| Failure::machine(e.to_string(), "import it when it is finished");
            stream.check_unchanged().map_err(|e| nothing_of(file.name, unfinished(e)))?;
            capture
        }
    };
    let capture = capture.map_err(wrong)?;
    let Some(answer) = &a.answer else {
        let names = capture.names();
        let (first, second) = (&names[0], names.get(1).unwrap_or(&names[0]));
        return Err(Failure::usage(
            format!("{} is a capture ({}) with the channels {}", file.name, kind, listed(&capture)),
            format!(
                "say what it shows: --stimulus '{first}' --answer '{second}', or for a wave --answer '{first}' --semi-period TIME"
            ),
        ));
    };
    if let Some(stimulus) = &a.stimulus {
        if capture.channel(stimulus).map_err(wrong)?.place == capture.channel(answer).map_err(wrong)?.place {
            let twice = Failure::usage(format!("{stimulus} can't be stimulus and answer at once"), "name two channels");
            return Err(nothing_of(file.name, twice));
        }
    }
    let reading = Reading {
        stimulus: a.stimulus.as_deref(),
        answer,
        stimulus_edges: a.stimulus_edges.into(),
        answer_edges: a.answer_edges.map(Into::into),
        inverted: a.inverted,
        min_width: a.min_width,
        timeout: a.timeout,
        semi_period: a.semi_period,
        warmup: a.warmup,
        worst: a.worst,
        threshold_named: a.threshold.is_some(),
    };
    let command = super::measure::command();
    let way = format!("{a:?}");
    let started = rtscope_archive::started(file.time).or_machine(file.name, "set the file's time: touch FILE")?;
    let about = capture::File { name: file.name, started, load: file.load, space: file.space, command, way };
    capture.record(&reading, &about).map_err(wrong)
}

impl From<Edges> for capture::Edges {
    fn from(edges: Edges) -> Self {
        match edges {
            Edges::Both => Self::Both,
            Edges::Rising => Self::Rising,
            Edges::Falling => Self::Falling,
        }
    }
}

/// The names of the channels, for messages; at most as many as one would read.
fn listed(capture: &Capture) -> String {
    let more = capture.count() - capture.names().len();
    capture.names().join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}
