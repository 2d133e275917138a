//! Why a file was not imported, or a record not exported.

use super::format::Format;
use crate::signature::SignatureError;
use rtscope_failure::Problem;
use rtscope_record::{DistributionError, RecordError};

/// Why a file was not imported. Nothing of it was.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// No known format.
    #[error(
        "the format is not known: it starts like neither a record of rtscope, cyclictest's text, `-v` stream or JSON, nor Adam's report, nor a capture (VCD, sigrok's .sr, CSV with times); name it with --format"
    )]
    Unknown,
    /// rtscope does not read this format.
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
    /// Something is wrong that has no one line.
    #[error("{0}")]
    File(String),
    /// It is not valid JSON.
    #[error("invalid JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// What it says can't be a distribution.
    #[error("the counts do not add up: {0}")]
    Distribution(#[from] DistributionError),
    /// What it says can't be a record.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// It says that somebody signed it, who did not.
    #[error("{id}: {error}")]
    Signature {
        /// The record's id.
        id: String,
        /// What is wrong with it.
        error: SignatureError,
    },
}

impl Problem for ImportError {
    fn remedy(&self) -> String {
        match self {
            // Says it.
            Self::Unknown => String::new(),
            Self::NotRead(_) => "export the record as json: that comes back whole".into(),
            Self::Line { .. } | Self::File(_) => {
                "mend the file, or name its format with --format if it was taken for another".into()
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
    /// Distributions with bins of different width can't stand in one table.
    #[error("{label} has bins of {found} ns, the text is to be in units of {wanted} ns")]
    Unit {
        /// Which distribution.
        label: String,
        /// Its bin width, ns.
        found: u64,
        /// The width asked for, ns.
        wanted: u64,
    },
    /// A dense table of that many rows helps nobody.
    #[error("the histogram would have {rows} rows (cyclictest itself stops at 1000000): export cyclictest-b, csv, hdr or json")]
    TooManyRows {
        /// How many.
        rows: u64,
    },
    /// A record keeps no samples in order.
    #[error(
        "a record keeps no samples in the order they were taken, which cyclictest -v prints: keep the raw samples when measuring"
    )]
    NoSamples,
    /// cyclictest measures timers only.
    #[error("cyclictest's formats are for the timer test, this record is of the test {0}")]
    Test(String),
    /// Adam's programs answer edges.
    #[error("Adam's text is of the tests response and periodic, this record is of the test {0}")]
    NotOverLines(String),
    /// An imported distribution without bins.
    #[error("{label} has samples that its histogram does not hold: their figures can't be made anew")]
    NoSlots {
        /// Which distribution.
        label: String,
    },
    /// Lines that the record keeps of the file it came from mean something else in this one.
    #[error("lines that the record keeps of its file would be misread in this format ({0}): export csv, hdr or json")]
    Kept(String),
    /// The distributions can't be merged.
    #[error(transparent)]
    Distribution(#[from] DistributionError),
    /// With equal-width bins the record does not hold together.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The record can't be written as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl Problem for ExportError {
    fn remedy(&self) -> String {
        match self {
            // These say it.
            Self::NoBins { .. } | Self::TooManyRows { .. } | Self::NoSamples | Self::Kept(_) => String::new(),
            Self::Unit { .. } | Self::Test(_) | Self::NotOverLines(_) | Self::NoSlots { .. } => {
                "export csv, hdr or json: `rtscope export --format json`".into()
            }
            Self::Distribution(e) => e.remedy(),
            Self::Record(e) => e.remedy(),
            Self::Json(_) => "report this".into(),
        }
    }
}
