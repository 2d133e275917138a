//! What can be concluded from samples of runs: bounds on the tail, and differences with their intervals.
//!
//! Pure: numbers in, figures out. Knows no records; every random choice follows from a seed that the caller gives.

pub mod replicates;
pub mod seeded;
pub mod tail;
