//! Lines: what carries an edge from the instrument to the device under test and back, whatever it is made of.

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
