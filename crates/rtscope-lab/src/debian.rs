//! Debian packages for guests of any architecture. A private apt with its own directories, lists and status
//! fetches them, so that the host's packages and architectures stay untouched and no root is needed.

mod apt;
pub(crate) mod control;

pub use apt::DebianError;
pub(crate) use apt::{Apt, Package, mirror_in_use};
pub(crate) use control::{Paragraph, upstream};
