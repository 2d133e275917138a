//! Two sets of numbers side by side: what differs, and whether it may be chance.

mod two_samples;

pub use two_samples::{Cliff, RankSum, TwoSampleError, TwoSamples, two_samples};
