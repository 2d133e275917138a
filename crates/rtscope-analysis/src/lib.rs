//! Summaries, comparisons and assertions: records in, findings out.
//!
//! Pure: no I/O and no clock. Everything is computed from [`rtscope_record::Record`]s, so live and archived records give
//! the same results.
#![forbid(unsafe_code)]

pub mod agreement;
pub mod assertion;
pub mod band;
pub mod block_series;
mod brief;
pub mod compare;
pub mod confidence;
mod differences;
mod edges;
pub mod effective;
mod finding;
mod kernel;
pub mod line_tests;
pub mod papers;
pub mod plan;
pub mod reference;
pub mod replicates;
pub mod seeds;
pub mod share;
pub mod summary;
pub mod versus;

pub use agreement::Agreement;
pub use assertion::{Assertion, Evaluation, Outcome};
pub use band::Band;
pub use compare::{Comparison, compare, compare_tallies, compare_views};
pub use confidence::Confidence;
pub use finding::Finding;
pub use line_tests::{LineTests, LineTestsError, line_tests};
pub use seeds::Seeds;
pub use share::ShareBelow;
pub use summary::{
    Percentile, Row, Summary, clock_and_machine, clock_words, is_virtual, machine_name, summarize, time_model, virtual_machine,
};
pub use versus::{Versus, VersusError, versus, versus_tally};

#[cfg(test)]
mod fixtures;
