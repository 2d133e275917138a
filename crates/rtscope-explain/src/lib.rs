//! What a late wake-up was: from what a guest executed to causes, functions and tasks.
//!
//! A log of executed blocks (`log`) and the kernel's symbols and types (`symbols`, `btf`) in, or the kernel's own trace (`trace`), an
//! explanation out. Pure: no I/O, no clock.

mod account;
mod activity;
mod arm64;
pub mod btf;
mod cause;
mod chains;
pub mod chart;
pub mod clock;
pub mod executed;
pub mod explained;
pub mod explanation;
pub mod frame_pointers;
mod gap;
pub mod groups;
pub mod log;
mod milestones;
pub mod orc;
mod own;
pub mod path;
mod stacks;
pub mod symbols;
pub mod trace;
pub mod unwinder;
mod unwound;

pub use cause::Cause;
