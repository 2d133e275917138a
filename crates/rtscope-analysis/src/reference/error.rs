//! Why published latencies can't be had.

use super::row::KEYS;
use rtscope_failure::{Fault, Problem};

/// Why published latencies can't be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// A row of the data contradicts itself.
    #[error("published latencies, row {row}: {what}")]
    Row {
        /// Its id, or its number where it has none.
        row: String,
        /// What is wrong with it.
        what: String,
    },
    /// No row has this id.
    #[error("no published figure has the id `{0}`")]
    Unknown(String),
    /// A word that is no filter.
    #[error("`{0}` is not a filter of published latencies")]
    Filter(String),
}

impl Problem for ReferenceError {
    fn remedy(&self) -> String {
        match self {
            Self::Row { .. } => "report this".into(),
            Self::Unknown(_) => "rtscope reference list".into(),
            Self::Filter(_) => format!("use {}=, separated by commas", KEYS.join("=, ")),
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Row { .. } => Fault::Machine,
            Self::Unknown(_) | Self::Filter(_) => Fault::Usage,
        }
    }
}
