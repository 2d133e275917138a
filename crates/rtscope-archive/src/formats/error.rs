//! Why a file was not imported, or a record not exported.

use super::format::Format;
use crate::signature::SignatureError;
use rtscope_failure::Problem;
use rtscope_record::{DistributionError, RecordError};

/// Why a file was not imported. Nothing of it was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The format is unknown.
    #[error(
        "the format is not known: it starts like neither a record of rtscope, cyclictest's text, `-v` stream or JSON, nor a file of jitterdebugger, rtla, oslat, stress-ng, hwlat, timerlat or LAVA, nor Adam's report, nor a capture (VCD, sigrok's .sr, CSV with times); name it with --format"
    )]
    Unknown,
    /// rtscope only writes this format.
    #[error("rtscope writes {0}, but does not read it")]
    NotRead(Format),
    /// Something is wrong at a line.
    #[error("line {line}: {what}")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// What is wrong, and what was expected.
        what: String,
    },
    /// Something is wrong that can't be tied to one line.
    #[error("{0}")]
    File(String),
    /// It is not valid JSON.
    #[error("invalid JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Its figures do not make a valid distribution.
    #[error("the counts do not add up: {0}")]
    Distribution(#[from] DistributionError),
    /// Its contents do not make a valid record.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// It claims a signature that does not hold.
    #[error("{id}: {error}")]
    Signature {
        /// The record's id.
        id: String,
        /// What is wrong with the signature.
        error: SignatureError,
    },
}

impl Problem for ImportError {
    fn remedy(&self) -> String {
        match self {
            // The message already says what to do.
            Self::Unknown => String::new(),
            Self::NotRead(_) => "export the record as json: that comes back whole".into(),
            Self::Line { .. } | Self::File(_) => {
                "correct the file, or name its format with --format if it was taken for another".into()
            }
            Self::Json(_) => "is it cut off? Get the file anew".into(),
            Self::Distribution(e) => e.remedy(),
            Self::Record(e) => e.remedy(),
            Self::Signature { error, .. } => error.remedy(),
        }
    }
}

impl ImportError {
    pub(crate) fn line(line: usize, what: impl Into<String>) -> Self {
        Self::Line { line, what: what.into() }
    }
}

/// Why a record was not exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// cyclictest's histogram needs exact equal-width bins.
    #[error("{label} has no equal-width bins, though other distributions of the record have: export csv, hdr or json")]
    NoBins {
        /// Which distribution.
        label: String,
    },
    /// Distributions with bins of different widths can't share a table.
    #[error("{label} has bins of {found} ns, the text is to be in units of {wanted} ns")]
    Unit {
        /// Which distribution.
        label: String,
        /// Its bin width, ns.
        found: u64,
        /// The width asked for, ns.
        wanted: u64,
    },
    /// A dense table with that many rows would be useless.
    #[error("the histogram would have {rows} rows (cyclictest itself stops at 1000000): export cyclictest-b, csv, hdr or json")]
    TooManyRows {
        /// How many.
        rows: u64,
    },
    /// A record does not keep samples in order.
    #[error(
        "a record keeps no samples in the order they were taken, which cyclictest -v prints: keep the raw samples when measuring"
    )]
    NoSamples,
    /// rtscope only reads this format.
    #[error("rtscope reads {0}, but does not write it")]
    NotWritten(Format),
    /// Another tool's figures would pass for cyclictest's.
    #[error(
        "the record was read from a file of another tool ({0}): written as cyclictest's, its figures would pass for cyclictest's"
    )]
    OtherTool(String),
    /// cyclictest only measures timers.
    #[error("cyclictest's formats are for the timer test, this record is of the test {0}")]
    Test(String),
    /// Adam's programs are about edges.
    #[error("Adam's text is of the tests response and periodic, this record is of the test {0}")]
    NotOverLines(String),
    /// The distribution was imported without bins.
    #[error("{label} has samples that its histogram does not hold: their figures can't be made anew")]
    NoSlots {
        /// Which distribution.
        label: String,
    },
    /// Lines kept from the imported file would be misread in this format.
    #[error("lines that the record keeps of its file would be misread in this format ({0}): export csv, hdr or json")]
    Kept(String),
    /// The distributions can't be merged.
    #[error(transparent)]
    Distribution(#[from] DistributionError),
    /// With equal-width bins added, the record does not add up.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The record can't be written as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl Problem for ExportError {
    fn remedy(&self) -> String {
        match self {
            // The message already says what to do.
            Self::NoBins { .. } | Self::TooManyRows { .. } | Self::NoSamples | Self::Kept(_) => String::new(),
            Self::Unit { .. }
            | Self::Test(_)
            | Self::NotOverLines(_)
            | Self::NoSlots { .. }
            | Self::NotWritten(_)
            | Self::OtherTool(_) => "export csv, hdr or json: `rtscope export --format json`".into(),
            Self::Distribution(e) => e.remedy(),
            Self::Record(e) => e.remedy(),
            Self::Json(_) => "report this".into(),
        }
    }
}
