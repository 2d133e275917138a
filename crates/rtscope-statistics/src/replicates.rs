//! Two sets of numbers side by side: what differs, and whether it may be chance.

mod difference;
mod power;
mod two_samples;

pub use difference::{Difference, Runs, Scale, Word, difference};
pub use power::{FEWEST_RUNS, Level, MOST_RUNS, Spread, runs_for};
pub use two_samples::{Cliff, RankSum, TwoSampleError, TwoSamples, two_samples};
