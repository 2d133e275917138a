//! Kernels in the cache: Debian's, fetched by name, and the user's own.
//!
//! A fetched kernel changes only when the user fetches it again, so that tomorrow's run boots the same kernel as today's.

mod boot;
mod cache;
mod candidate;
mod error;
mod fetch;
mod headers;
mod manifest;
mod name;
mod own;
mod parse;
mod to_boot;

pub use cache::{Kernels, Listed};
pub use error::KernelError;
pub use manifest::Kernel;
pub use name::{Arch, KernelName};
pub(crate) use name::{Series, Source};
pub(crate) use own::Files;
pub use to_boot::ToBoot;
