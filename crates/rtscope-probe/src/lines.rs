//! Lines: carry edges from the instrument to the DUT and back, whatever they are made of.

mod error;
pub mod gpio;
mod line;
pub mod serial;
pub mod soft;
pub mod spec;
pub mod sysfs;

pub use error::LineError;
pub use line::{Abilities, Input, Output, Span};
pub use spec::LineSpec;
