//! Tables, SVG and self-contained HTML, computed from records alone.
//!
//! No I/O: every function returns a `String`. A live record and the same record from the archive give the same output.
//! Clock, machine and verdict are shown next to every figure.
#![forbid(unsafe_code)]

pub mod html;
pub mod perfetto;
pub mod svg;
pub mod table;

mod caveats;
pub mod ci;
mod curve;
mod format;
mod instrument;
mod names;
mod properties;
mod sheet;
mod sheets;
mod words;

use rtscope_failure::Problem;
use rtscope_record::DistributionError;

/// Why a report can't be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReportError {
    /// There is nothing to report on.
    #[error("no record is selected: measure first (`rtscope measure timer`), or see `rtscope list` for what the archive holds")]
    Empty,
    /// The summed counts of a record's distributions exceed a u64.
    #[error("the distributions of {id} can't be merged: {error}")]
    Merge {
        /// Which record.
        id: String,
        /// Why.
        error: DistributionError,
    },
    /// Stock kernels and PREEMPT_RT can't be compared.
    #[error(transparent)]
    Versus(#[from] rtscope_analysis::VersusError),
    /// Tests over lines can't be compared.
    #[error(transparent)]
    LineTests(#[from] rtscope_analysis::LineTestsError),
    /// The papers' figures can't be drawn.
    #[error(transparent)]
    Papers(#[from] rtscope_analysis::papers::PaperFigureError),
    /// A record can't be written as JSON.
    #[error("record {id} can't be written as JSON: {error}")]
    Json {
        /// Which record.
        id: String,
        /// Why.
        error: String,
    },
    /// A library refused what was to be written.
    #[error("{format}: {error}")]
    Format {
        /// The format.
        format: &'static str,
        /// What it said.
        error: String,
    },
}

impl Problem for ReportError {
    fn remedy(&self) -> String {
        match self {
            // The message already says what to do.
            Self::Empty => String::new(),
            Self::Merge { error, .. } => error.remedy(),
            Self::Versus(e) => e.remedy(),
            Self::LineTests(e) => e.remedy(),
            Self::Papers(e) => e.remedy(),
            Self::Json { .. } => "report this".into(),
            Self::Format { .. } => "export csv or json, and report this".into(),
        }
    }
}

pub(crate) fn summarize(record: &rtscope_record::Record) -> Result<rtscope_analysis::Summary, ReportError> {
    rtscope_analysis::summarize(record).map_err(|error| ReportError::Merge { id: record.id().into(), error })
}
