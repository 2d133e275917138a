//! Why a machine can't be set up as asked.

use rtscope_failure::{Fault, Problem};
use std::io;

/// Why a machine can't be set up as asked.
#[derive(Debug, thiserror::Error)]
pub enum TuningError {
    /// A setting is not there, or did not take.
    #[error("{message}")]
    Refused {
        /// Which, and why.
        message: String,
        /// What to do.
        remedy: String,
        /// The request is wrong, not the machine.
        usage: bool,
    },
    /// The process that keeps the settings can't be started, or ended.
    #[error("the process that keeps the machine's settings can't be used: {0}")]
    Keeper(#[from] io::Error),
}

impl Problem for TuningError {
    fn remedy(&self) -> String {
        match self {
            Self::Refused { remedy, .. } => remedy.clone(),
            Self::Keeper(_) => "is memory free? may processes be started?".into(),
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Refused { usage: true, .. } => Fault::Usage,
            Self::Refused { .. } | Self::Keeper(_) => Fault::Machine,
        }
    }
}
