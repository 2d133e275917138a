//! Builds kernels that differ in nothing but the preemption model, or in what else is varied, from one source with one
//! configuration. They are in the cache afterwards as a user's own.

mod config;
mod error;
mod kernel;
mod order;
mod process;
mod profile;
mod set;
mod source;
mod toolchain;
mod vary;

pub use config::{Change, Dropped};
pub use error::BuildError;
pub use order::{BuildSource, Order, Step};
pub use set::{Built, Difference, Set, build};
pub use vary::Vary;
