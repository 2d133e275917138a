//! Published latencies: what others measured, with source, conditions and doubts, and which of it may stand beside one's own.

mod beside;
mod error;
mod filter;
mod read;
mod row;

pub use beside::{Beside, Own, beside, plotted};
pub use error::ReferenceError;
pub use filter::PublishedFilter;
pub use read::{all, one};
pub use row::{Checked, Evidence, Figure, KEYS, Reference, Standing};

#[cfg(test)]
#[path = "reference_tests.rs"]
mod tests;
