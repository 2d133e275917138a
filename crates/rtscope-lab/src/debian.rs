//! Packages of Debian and its relatives, and of Fedora, for guests of any architecture. A private apt (or dnf) with its own directories,
//! lists and status fetches them, so that the host's packages and architectures stay untouched and no root is needed.

mod apt;
mod archive;
pub(crate) mod control;
mod dnf;
mod error;
mod version;

pub(crate) use apt::{Apt, Package};
pub(crate) use archive::{Archive, DEBIAN, DEBIAN_12, DEBIAN_12_SOURCES, DEBIAN_VARIABLE, DEBIANS_KEYS, Format, Keys};
pub(crate) use control::Paragraph;
pub(crate) use dnf::Dnf;
pub use error::DebianError;
pub(crate) use version::compare as compare_versions;
