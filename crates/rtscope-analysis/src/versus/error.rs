//! Why kernels can't be compared.

use rtscope_failure::{Fault, Problem};
use rtscope_record::DistributionError;

/// Why there is nothing to compare.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum VersusError {
    /// No timer record is selected.
    #[error("the selection holds no record of the test timer: nothing to compare (see `rtscope list`)")]
    Empty,
    /// No stock kernel has an RT partner.
    #[error(
        "no stock kernel beside its PREEMPT_RT partner in this selection, only {0}; it takes both, of one series (6.12 and 6.12-rt), measured on \
         the same machine in the same time (host, or virtual in one time model): measure the other kernel too, or name two selections: rtscope compare A B"
    )]
    NoPair(String),
    /// Nothing to hold a kernel against.
    #[error("the selection holds one kernel only ({0}): measure on another too, such as lab:debian/6.12/amd64+preempt=full")]
    OneKernel(String),
    /// No kernel has this in its name.
    #[error("no kernel of the selection has `{0}` in its name: use part of one of these: {1}")]
    NoBase(String, String),
    /// The counts exceed a u64.
    #[error("the records of {kernel} under `{load}` can't be merged: {error}")]
    Merge {
        /// Which kernel.
        kernel: String,
        /// Which load.
        load: String,
        /// Why.
        error: DistributionError,
    },
}

impl Problem for VersusError {
    fn remedy(&self) -> String {
        match self {
            // The message already says what to do.
            Self::Empty | Self::NoPair(_) | Self::OneKernel(_) | Self::NoBase(..) => String::new(),
            Self::Merge { error, .. } => error.remedy(),
        }
    }

    fn fault(&self) -> Fault {
        Fault::Usage
    }
}
