//! From edges and times to distributions: what the measuring loops write into, which edge answers which stimulus, and the samples
//! of a wave. Pure, so that a run over lines, a capture and a simulation are judged by the same code.
#![forbid(unsafe_code)]

pub mod blocks;
pub mod edge;
mod memory;
pub mod narrow;
pub mod outcome;
pub mod pairing;
pub mod passed;
pub mod phase;
pub mod recorded;
pub mod responses;
pub mod sampler;
pub mod stimuli;
pub mod warnings;
pub mod wave;

pub use edge::Edge;
