//! Where and under what a probe runs: the loads, the supervisor that keeps them in bounds, the targets, a measuring
//! session, and campaigns of many.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // what a test starts for itself may take signals as it likes

pub mod board;
pub mod campaign;
pub mod costs;
pub mod debian;
mod digest;
pub mod guest;
pub mod image;
mod job;
pub mod journal;
pub mod kernels;
pub mod lines;
pub mod load;
pub mod local;
mod lock;
pub mod modules;
mod process_tree;
mod programs;
pub mod session;
pub mod ssh;
pub mod supervisor;
pub mod target;
mod tools;
pub mod vm;

pub use debian::DebianError;
pub use image::{Image, ImageError, Images};
pub use job::{Isolation, Reexec};
pub use journal::{Journal, JournalError, Replayed};
pub use kernels::{Arch, Kernel, KernelError, KernelName, Kernels};
pub use lines::LineOptionsError;
pub use load::{Load, LoadError, LoadHandle, StartOptions};
pub use local::{Local, ProbeCommand, run_local};
pub use modules::ModuleError;
pub use session::{MeasureError, measure};
pub use ssh::{Address, RemoteDut, Ssh, SshOptions};
pub use target::{StopHandle, Target, TargetError};
