//! The result of a run, or why there is none: types shared by every test and its callers.

use rtscope_record::{Distribution, InstrumentFacts, Warning};

/// Why nothing could be measured.
pub use rtscope_failure::Failure;

/// The result of a test.
#[derive(Debug)]
pub struct Measured {
    /// One distribution for each thread.
    pub distributions: Vec<Distribution>,
    /// Warnings for the readers of the record.
    pub warnings: Vec<Warning>,
    /// Time from the common start to the end, ns.
    pub elapsed_ns: u64,
    /// The run was ended early.
    pub interrupted: bool,
    /// The instrument, for a test over lines.
    pub instrument: Option<InstrumentFacts>,
    /// What the witness saw of the run.
    pub witness: Option<rtscope_record::Witness>,
}
