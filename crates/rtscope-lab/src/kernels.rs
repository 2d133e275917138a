//! Kernels in the cache: Debian's and Ubuntu's, fetched by name, and the user's own.
//!
//! A fetched kernel changes only when the user fetches it again, so that tomorrow's run boots the same kernel as today's.

mod arch;
mod boot;
mod cache;
mod candidate;
mod compiler;
mod error;
mod family;
mod fetch;
mod headers;
mod manifest;
mod name;
mod own;
mod parse;
mod place;
mod to_boot;
mod wrap;

pub use arch::Arch;
pub use cache::{Kernels, Listed};
pub(crate) use compiler::FetchedCompiler;
pub use error::KernelError;
pub(crate) use family::DEBIAN_13;
pub use manifest::CachedKernel;
pub use name::KernelName;
pub(crate) use name::Source;
pub(crate) use own::Files;
pub use to_boot::ToBoot;
