//! What a run of a test gives, or why there was none: the words that every test, and whoever calls one, has in common.

use rtscope_record::{Distribution, Instrument, Warning};

/// Why nothing could be measured.
pub use rtscope_failure::Failure;

/// What a run of the test gives.
#[derive(Debug)]
pub struct Measured {
    /// One for each thread.
    pub distributions: Vec<Distribution>,
    /// What its readers must know.
    pub warnings: Vec<Warning>,
    /// From the common start to the end, ns.
    pub elapsed_ns: u64,
    /// It was ended before its time.
    pub interrupted: bool,
    /// What stimulated and timed, for a test over lines.
    pub instrument: Option<Instrument>,
    /// What was seen of the run while it ran.
    pub witness: Option<rtscope_record::Witness>,
}
