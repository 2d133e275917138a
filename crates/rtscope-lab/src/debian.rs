//! Debian packages for guests of any architecture, by an apt with directories, lists and status of its own: the host's packages and
//! architectures are never touched, and no root is needed.

mod apt;
pub(crate) mod control;

pub use apt::DebianError;
pub(crate) use apt::{Apt, Package, mirror_in_use};
pub(crate) use control::{Paragraph, upstream};
