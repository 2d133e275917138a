//! Runs as replicates: the figures of whole runs on two sides, each difference with its interval and a word.

mod rows;
mod run;

pub use rows::{LoadRuns, METRICS, RunRow};
pub(crate) use rows::{Question, answers, findings, spreads};
pub use rtscope_statistics::replicates::{Difference, Scale, Word};
pub(crate) use run::{Kept, Run};
