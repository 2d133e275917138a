//! Captures of logic analyzers and oscilloscopes: from files to channels, and from a channel to its edges.
//!
//! Every file is reduced to times and levels, so that samples and transitions are treated alike from there on. A file
//! that does not say when its rows were taken (neither a time column nor a sample rate) is refused: transitions misread
//! as samples would silently give wrong figures.
//!
//! Files are streamed, and only the edges of the requested channels are kept, so a file may be much larger than memory.
//! Where something is known only at the end (the swing of a voltage, which gives its threshold), the file is read a
//! second time.

mod analog;
mod content;
mod decimal;
mod error;
mod input;
mod kind;
mod levels;
mod names;
mod record;
mod request;
mod sigrok;
mod table;
mod vcd;

pub use analog::{Analog, Threshold};
pub use content::{Capture, Channel};
pub use error::CaptureError;
pub use kind::CaptureKind;
pub use levels::Levels;
pub use record::{Edges, File, Reading};
pub use request::CaptureRequest;

use input::Patient;
use std::io::{Read, Seek};

impl CaptureKind {
    /// Detects the kind of a file from its first bytes (1 MiB is enough); `None` when it is not a capture.
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

impl Capture {
    /// Reads a file of this kind from start to end, and a second time where voltages must be turned into levels.
    pub fn read(input: impl Read + Seek, kind: CaptureKind, request: &CaptureRequest) -> Result<Self, CaptureError> {
        let mut input = Patient(input);
        let capture = match kind {
            CaptureKind::Vcd => vcd::read(&mut input, request),
            CaptureKind::Sigrok => sigrok::read(&mut input, request),
            CaptureKind::Csv => table::read(&mut input, request),
        }?;
        if capture.names.count() == 0 {
            return Err(CaptureError::File("it has no channel that could be a line".into()));
        }
        Ok(capture)
    }
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
