//! Why a capture can't be used, and the limit for lines and words.

use rtscope_failure::{Fault, Problem};
use rtscope_record::RecordError;
use rtscope_samples::recorded::RecordedError;

/// Longest line of a table and longest word of a dump, bytes: bounds the memory that an endless line or word could take.
pub(super) const LONGEST: usize = 1 << 20;

/// Why a capture can't be used. Nothing of it was imported.
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
    /// The capture does not show what was requested.
    #[error("{what}")]
    Shows {
        /// What it shows instead.
        what: String,
        /// What to ask for.
        remedy: String,
    },
    /// Its edges can't be turned into samples.
    #[error(transparent)]
    Recorded(#[from] RecordedError),
    /// The result is not a valid record.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// There is no such channel (usage).
    #[error("there is no channel `{wanted}` in it: it has {}", .has.join(", "))]
    NoChannel {
        /// The requested name.
        wanted: String,
        /// The names that exist, limited to what is useful in a message.
        has: Vec<String>,
    },
    /// Several channels have this name (usage).
    #[error("{count} channels are called `{wanted}`: name one by its place, from #1 to #{all}")]
    Ambiguous {
        /// The requested name.
        wanted: String,
        /// How many have the name.
        count: usize,
        /// Number of channels.
        all: usize,
    },
}

impl Problem for CaptureError {
    fn remedy(&self) -> String {
        match self {
            Self::File(_) | Self::Line { .. } => {
                "look at it with the instrument's own program; --format names what it is if it was taken for something else".into()
            }
            Self::Shows { remedy, .. } => remedy.clone(),
            Self::Recorded(e) => e.remedy(),
            Self::Record(e) => e.remedy(),
            Self::NoChannel { .. } => "name one of these, or its place such as #1".into(),
            // The message already says what to do.
            Self::Ambiguous { .. } => String::new(),
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::NoChannel { .. } | Self::Ambiguous { .. } => Fault::Usage,
            Self::Recorded(e) => e.fault(),
            Self::Record(e) => e.fault(),
            Self::File(_) | Self::Line { .. } | Self::Shows { .. } => Fault::Machine,
        }
    }
}

impl CaptureError {
    pub(super) fn line(line: u64, what: impl Into<String>) -> Self {
        Self::Line { line, what: what.into() }
    }

    /// A line or word above the length limit.
    pub(super) fn endless(line: u64, what: &str) -> Self {
        Self::line(line, format!("{what} is longer than {} MiB: the file is of another format, or damaged", LONGEST >> 20))
    }
}
