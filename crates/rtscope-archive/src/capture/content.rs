//! A capture that was read: its channels with what they did.

use super::analog::Analog;
use super::error::CaptureError;
use super::kind::Kind;
use super::levels::Levels;
use super::names::Names;

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
    pub(super) channels: Vec<Channel>,
    pub(super) names: Names,
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

impl Capture {
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
