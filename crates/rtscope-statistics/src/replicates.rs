//! Two sets of numbers side by side: what differs, and whether it may be chance.

mod difference;
mod power;
mod two_samples;

pub use difference::{Difference, FEWEST_RUNS, Level, Runs, Scale, Word, difference};
pub use power::{MOST_RUNS, Spread, runs_for};
pub use two_samples::{Cliff, RankSum, TwoSampleError, TwoSamples, two_samples};
