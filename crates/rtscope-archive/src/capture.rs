//! Captures of logic analyzers and oscilloscopes: from their files to channels, and from a channel to its edges.
//!
//! Every file is reduced to times and levels: whether it holds samples or transitions no longer matters then. A file that does not say when a
//! row was taken (no column of times, no sample rate) is refused, since rows of transitions read as samples give wrong figures silently.
//!
//! Files are read as streams, and of them only the edges of the channels that are asked for are kept: a file may be much larger than the
//! memory. What can't be known before the end (the swing of a voltage, which tells its threshold) is found by reading once more.

mod analog;
mod decimal;
mod input;
mod levels;
mod names;
mod sigrok;
mod table;
mod vcd;

pub use analog::{Analog, Threshold};
pub use levels::Levels;

use crate::hex::hex;
use input::Patient;
use names::Names;
use rtscope_record::Source;
use sha2::{Digest, Sha256};
use std::fmt;
use std::io::{Read, Seek};
use std::str::FromStr;

/// Longest line of a table and longest word of a dump, bytes: one without an end is found out within bounded memory.
const LONGEST: usize = 1 << 20;

/// Kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Value change dump (IEEE 1364).
    Vcd,
    /// sigrok's session file (`.sr`, a ZIP archive, versions 1 and 2).
    Sigrok,
    /// Comma-separated values with a column of times or a sample rate: Saleae, sigrok, Rigol, Siglent and others.
    Csv,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Vcd, Self::Sigrok, Self::Csv];

    /// Its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Vcd => "vcd",
            Self::Sigrok => "sigrok",
            Self::Csv => "capture-csv",
        }
    }

    /// Finds the kind of a file by looking at its first bytes (1 MiB of them tell); `None` when it is no capture.
    pub fn detect(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(b"PK\x03\x04") {
            return Some(Self::Sigrok);
        }
        let start = bytes.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(0);
        if bytes[start..].starts_with(b"$") {
            return Some(Self::Vcd);
        }
        table::looks_like_one(bytes).then_some(Self::Csv)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|k| k.as_str() == text).ok_or_else(|| format!("`{text}` is no kind of capture"))
    }
}

/// Why a capture can't be used. Nothing of it was.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file is not what it should be.
    #[error("{0}")]
    File(String),
    /// Something is wrong at a line.
    #[error("line {line}: {what}")]
    Line {
        /// From 1.
        line: u64,
        /// What is wrong, and what was expected.
        what: String,
    },
    /// There is no such channel (usage).
    #[error("there is no channel `{wanted}` in it: it has {}", .has.join(", "))]
    NoChannel {
        /// As asked for.
        wanted: String,
        /// Those that there are, as many as one may read.
        has: Vec<String>,
    },
    /// Several channels have this name (usage).
    #[error("{count} channels are called `{wanted}`: name one by its place, from #1 to #{all}")]
    Ambiguous {
        /// As asked for.
        wanted: String,
        /// How many have the name.
        count: usize,
        /// Number of channels.
        all: usize,
    },
}

impl CaptureError {
    /// The request was wrong (exit code 2), not the file (exit code 3).
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::NoChannel { .. } | Self::Ambiguous { .. })
    }

    fn line(line: u64, what: impl Into<String>) -> Self {
        Self::Line { line, what: what.into() }
    }

    /// A line or word that goes on for ever.
    fn endless(line: u64, what: &str) -> Self {
        Self::line(line, format!("{what} is longer than {} MiB: this is no such file, or it is damaged", LONGEST >> 20))
    }
}

/// What is to be read of a capture.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    /// Channels by their names (case does not matter where that leaves one), or by their places: `#1` is the first.
    pub channels: Vec<String>,
    /// Voltages from here on are high; else from the middle of a channel's swing.
    pub threshold: Option<f64>,
    /// How far a voltage must pass over the threshold, in all, V; else a tenth of the swing.
    pub hysteresis: Option<f64>,
}

/// A capture, its times in picoseconds from its first moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Capture {
    /// Of which kind the file is.
    pub kind: Kind,
    /// In words, as far as the file says: what wrote it.
    pub writer: String,
    /// Of the file, in hexadecimal digits.
    pub sha256: String,
    /// How finely times are known, ps: the sample interval or the unit of time.
    pub resolution: u64,
    /// Its last moment, ps.
    pub end: u64,
    /// The channels that were asked for and are there, in the file's order.
    channels: Vec<Channel>,
    names: Names,
}

/// A channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    /// Its name.
    pub name: String,
    /// Its place among the channels of the file, from 0.
    pub place: usize,
    /// What it did.
    pub levels: Levels,
    /// How its levels came from voltages, where it had those.
    pub analog: Option<Analog>,
}

/// Where a record of the capture came from.
pub fn source(capture: &Capture, file: &str) -> Source {
    Source { format: capture.kind.as_str().into(), file: file.into(), sha256: capture.sha256.clone(), kept: Vec::new() }
}

/// The id of a record from `source` that started then (RFC 3339) and was read in this way.
pub fn id(started: &str, source: &Source, way: &str) -> String {
    let digits: String = started.split('.').next().unwrap_or(started).chars().filter(char::is_ascii_alphanumeric).collect();
    let hash = hex(&Sha256::digest(format!("{} {way}", source.sha256)));
    format!("{}Z-{}", digits.trim_end_matches('Z'), &hash[..8])
}

impl Capture {
    /// Reads a file of this kind: from its start to its end, and once more where voltages have to become levels.
    pub fn read(input: impl Read + Seek, kind: Kind, request: &Request) -> Result<Self, CaptureError> {
        let mut input = Patient(input);
        let capture = match kind {
            Kind::Vcd => vcd::read(&mut input, request),
            Kind::Sigrok => sigrok::read(&mut input, request),
            Kind::Csv => table::read(&mut input, request),
        }?;
        if capture.names.count() == 0 {
            return Err(CaptureError::File("it has no channel that could be a line".into()));
        }
        Ok(capture)
    }

    /// The names of its first channels, as many as one may read.
    pub fn names(&self) -> &[String] {
        self.names.first()
    }

    /// How many channels it has.
    pub fn count(&self) -> usize {
        self.names.count()
    }

    /// One of the channels that were asked for, as it was asked for.
    pub fn channel(&self, wanted: &str) -> Result<&Channel, CaptureError> {
        let found = self.names.find(wanted, self.channels.iter().map(|c| (c.place, c.name.as_str())))?;
        let none = || CaptureError::NoChannel { wanted: wanted.into(), has: self.names().to_vec() };
        self.channels.iter().find(|c| c.place == found).ok_or_else(none)
    }
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
