//! Builds kernels that differ in nothing but the preemption model, or in what else is varied, from one source with one
//! configuration. They are in the cache afterwards as a user's own.

mod config;
mod deb;
mod error;
mod kconfig;
mod kernel;
mod order;
mod process;
mod profile;
mod series;
mod set;
mod source;
mod toolchain;
mod vary;

pub use config::{Dropped, OptionChange};
pub use error::BuildError;
pub use order::{BuildOrder, BuildSource, BuildStep};
pub use set::{Built, ConfigDifference, Set, build};
pub use vary::Vary;
