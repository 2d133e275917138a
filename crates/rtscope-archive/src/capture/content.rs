//! A capture in memory: its channels and their edges.

use super::analog::Analog;
use super::error::CaptureError;
use super::kind::CaptureKind;
use super::levels::Levels;
use super::names::Names;

/// A capture; times are in picoseconds from its first moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Capture {
    /// The kind of the file.
    pub kind: CaptureKind,
    /// The program or instrument that wrote it, as far as the file says.
    pub writer: String,
    /// SHA-256 of the file, in hexadecimal digits.
    pub sha256: String,
    /// Resolution of the times, ps: the sample interval or the unit of time.
    pub resolution: u64,
    /// Time of the end of the capture, ps.
    pub end: u64,
    /// The requested channels that exist, in the file's order.
    pub(super) channels: Vec<Channel>,
    pub(super) names: Names,
}

/// A channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    /// Its name.
    pub name: String,
    /// Its position among the file's channels, from 0.
    pub place: usize,
    /// Its levels over time.
    pub levels: Levels,
    /// How its levels were made from voltages; `None` for a digital channel.
    pub analog: Option<Analog>,
}

impl Capture {
    /// The names of the first channels, limited to what is useful in a message.
    pub fn names(&self) -> &[String] {
        self.names.first()
    }

    /// Number of channels in the file.
    pub fn count(&self) -> usize {
        self.names.count()
    }

    /// One of the requested channels, by the text of the request.
    pub fn channel(&self, wanted: &str) -> Result<&Channel, CaptureError> {
        let found = self.names.find(wanted, self.channels.iter().map(|c| (c.place, c.name.as_str())))?;
        let none = || CaptureError::NoChannel { wanted: wanted.into(), has: self.names().to_vec() };
        self.channels.iter().find(|c| c.place == found).ok_or_else(none)
    }
}
