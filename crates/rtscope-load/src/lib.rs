//! Loads: the work that the machine does while it is measured, the tools that produce it, the supervisor that
//! keeps them in bounds, the kernel's tracer, and the journal of what must be undone after a crash.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // what a test starts for itself may take signals as it likes

pub mod awake;
mod job;
pub mod journal;
pub mod kernel_modules;
mod load;
pub mod process_tree;
pub mod programs;
mod stop;
pub mod supervisor;
pub mod tools;
pub mod tracer;
pub mod tuning;

pub use job::{Isolation, Reexec};
pub use journal::{Journal, JournalError};
pub use load::{Load, LoadError, LoadHandle, StartOptions};
pub use stop::StopHandle;
