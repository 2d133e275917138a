//! Captures of logic analyzers and oscilloscopes: from their files to channels, and from a channel to its edges.
//!
//! Every file is reduced to times and levels: whether it holds samples or transitions no longer matters then. A file that does not say when a
//! row was taken (no column of times, no sample rate) is refused, since rows of transitions read as samples give wrong figures silently.

mod analog;
mod decimal;
mod sigrok;
mod table;
mod vcd;

pub use analog::Threshold;

use rtscope_record::Source;
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

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

    /// Finds the kind of a file by looking into it; `None` when it is no capture.
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
    #[error("there is no channel `{wanted}` in it: it has {}", .has.iter().take(40).map(String::as_str).collect::<Vec<_>>().join(", "))]
    NoChannel {
        /// As asked for.
        wanted: String,
        /// Those that there are.
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
}

/// A capture, its times in picoseconds from its first moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Capture {
    /// Of which kind the file is.
    pub kind: Kind,
    /// In words, as far as the file says: what wrote it.
    pub writer: String,
    /// Its channels, in the file's order.
    pub channels: Vec<Channel>,
    /// How finely times are known, ps: the sample interval or the unit of time.
    pub resolution: u64,
    /// Its last moment, ps.
    pub end: u64,
}

/// A channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    /// Its name.
    pub name: String,
    /// What it did.
    pub signal: Signal,
}

/// What a channel did.
#[derive(Debug, Clone, PartialEq)]
pub enum Signal {
    /// Levels.
    Digital(Levels),
    /// Samples: time in ps, and voltage.
    Analog(Vec<(u64, f64)>),
}

/// Levels of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Levels {
    /// When it became high or low, ps: levels alternate, times rise. The first known level is no edge.
    pub edges: Vec<(u64, bool)>,
    /// The latest level, and at the end the last one.
    level: Option<bool>,
    /// How often it was undefined or of high impedance.
    pub unknown: u64,
}

impl Levels {
    /// The level from `at` on.
    fn set(&mut self, at: u64, level: bool) {
        if self.level.is_some_and(|l| l != level) {
            self.edges.push((at, level));
        }
        self.level = Some(level);
    }
}

/// Where a record of the capture `bytes` came from.
pub fn source(kind: Kind, bytes: &[u8], file: &str) -> Source {
    Source { format: kind.as_str().into(), file: file.into(), sha256: hex(&Sha256::digest(bytes)), kept: Vec::new() }
}

/// The id of a record from `source` that started then (RFC 3339) and was read in this way.
pub fn id(started: &str, source: &Source, way: &str) -> String {
    let digits: String = started.split('.').next().unwrap_or(started).chars().filter(char::is_ascii_alphanumeric).collect();
    let hash = hex(&Sha256::digest(format!("{} {way}", source.sha256)));
    format!("{}Z-{}", digits.trim_end_matches('Z'), &hash[..8])
}

fn hex(digest: &[u8]) -> String {
    digest.iter().fold(String::new(), |text, b| text + &format!("{b:02x}"))
}

impl Capture {
    /// Reads a file of this kind.
    pub fn read(bytes: &[u8], kind: Kind) -> Result<Self, CaptureError> {
        let capture = match kind {
            Kind::Vcd => vcd::read(bytes),
            Kind::Sigrok => sigrok::read(bytes),
            Kind::Csv => table::read(bytes),
        }?;
        if capture.channels.is_empty() {
            return Err(CaptureError::File("it has no channel that could be a line".into()));
        }
        Ok(capture)
    }

    /// The names of its channels.
    pub fn names(&self) -> Vec<String> {
        self.channels.iter().map(|c| c.name.clone()).collect()
    }

    /// A channel by its name (case does not matter where that leaves one), or by its place: `#1` is the first.
    pub fn channel(&self, wanted: &str) -> Result<&Channel, CaptureError> {
        if let Some(channel) = wanted.strip_prefix('#').and_then(|n| n.parse::<usize>().ok()).and_then(|n| self.place(n)) {
            return Ok(channel);
        }
        let same: Vec<_> = self.channels.iter().filter(|c| c.name == wanted).collect();
        let alike: Vec<_> = self.channels.iter().filter(|c| c.name.eq_ignore_ascii_case(wanted)).collect();
        match (&same[..], &alike[..]) {
            ([one], _) | ([], [one]) => Ok(one),
            ([], []) => Err(CaptureError::NoChannel { wanted: wanted.into(), has: self.names() }),
            (several, alike) => {
                let count = several.len().max(alike.len());
                Err(CaptureError::Ambiguous { wanted: wanted.into(), count, all: self.channels.len() })
            }
        }
    }

    fn place(&self, number: usize) -> Option<&Channel> {
        self.channels.get(number.checked_sub(1)?)
    }
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
