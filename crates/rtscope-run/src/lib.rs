//! Takes runs: the targets that a probe can run on; one run under one load, and campaigns of many; the programs at the other end
//! of a target over ssh and in a virtual machine.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // a process that a test starts for itself may inherit any signal settings

pub mod board;
pub mod campaign;
pub mod explain;
pub mod guest;
pub mod hunt;
pub mod lab;
pub mod lines;
pub mod local;
pub mod session;
pub mod ssh;
pub mod stress_ng;
pub mod target;
pub mod targets;
