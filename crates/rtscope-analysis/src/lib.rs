//! Summaries, comparisons and assertions: records in, findings out.
//!
//! Pure: no input or output, no clock. Everything here is computed from [`rtscope_record::Record`]s, so that live and archived
//! records give the same answer.
#![forbid(unsafe_code)]

pub mod assertion;
pub mod compare;
pub mod corrected;
pub mod summary;
pub mod versus;

pub use assertion::{Assertion, Evaluation, Outcome};
pub use compare::{Comparison, Finding, compare};
pub use summary::{Percentile, Row, Summary, clock_and_machine, clock_words, is_virtual, summarize, virtual_machine};
pub use versus::{Versus, VersusError, versus};

#[cfg(test)]
mod fixtures;
