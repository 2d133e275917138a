//! Summaries, comparisons and assertions: records in, findings out.
//!
//! Pure: no input or output, no clock. Everything here is computed from [`rtscope_record::Record`]s, so that live and archived
//! records give the same answer.
#![forbid(unsafe_code)]

pub mod adam;
pub mod agreement;
pub mod assertion;
pub mod compare;
pub mod corrected;
pub mod share;
pub mod summary;
pub mod versus;

pub use adam::{Adam, AdamError, adam};
pub use agreement::Agreement;
pub use assertion::{Assertion, Evaluation, Outcome};
pub use compare::{Comparison, Finding, compare, compare_views};
pub use share::Share;
pub use summary::{Percentile, Row, Summary, clock_and_machine, clock_words, is_virtual, summarize, virtual_machine};
pub use versus::{Versus, VersusError, versus};

#[cfg(test)]
mod fixtures;
