//! Why two selections can't be compared.

use rtscope_failure::{Fault, Problem};
use rtscope_record::DistributionError;

/// Why two selections can't be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CompareError {
    /// A selection is empty.
    #[error("selection {0} holds no record: nothing to compare (see `rtscope list`)")]
    Empty(&'static str),
    /// The sides share no load.
    #[error("A was measured under {a}, B under {b}: they have no load in common; measure both under the same load (--load)")]
    NoCommonLoad {
        /// Loads of A.
        a: String,
        /// Loads of B.
        b: String,
    },
    /// The sides were measured in different time models of the lab.
    #[error(
        "A is in time model {a} of the lab, B in time model {b}: what things cost differs, so there is no ratio; measure both in one model (--model N; \
         records without a model are of model 1)"
    )]
    NoCommonModel {
        /// Models of A.
        a: String,
        /// Models of B.
        b: String,
    },
    /// The counts of one side exceed a u64.
    #[error("the records of {side} under `{load}` can't be merged: {error}")]
    Merge {
        /// "A" or "B".
        side: &'static str,
        /// Which load.
        load: String,
        /// Why.
        error: DistributionError,
    },
}

impl Problem for CompareError {
    fn remedy(&self) -> String {
        match self {
            // The message already says what to do.
            Self::Empty(_) | Self::NoCommonLoad { .. } | Self::NoCommonModel { .. } => String::new(),
            Self::Merge { error, .. } => error.remedy(),
        }
    }

    fn fault(&self) -> Fault {
        Fault::Usage
    }
}
