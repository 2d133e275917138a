//! The machines of the lab: Debian kernels and the user's own, the guest's image, rtscope's kernel modules
//! built and loaded, virtual machines in instruction-counted time, and the cost of elementary operations in
//! them.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // what a test starts for itself may take signals as it likes

pub mod build;
mod cache;
pub mod costs;
pub mod debian;
pub mod image;
pub mod inside;
pub mod kernels;
pub mod modules;
pub mod vm;
