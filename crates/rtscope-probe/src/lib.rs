//! Takes measurements on the machine it runs on: a library, and a small static binary that speaks [`protocol`].
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // what a test starts for itself may take signals as it likes

pub mod build;
mod by_hand;
pub mod fake;
pub mod line_tests;
pub mod lines;
pub mod measured;
pub mod program;
pub mod protocol;
mod reporter;
pub mod serve;
pub mod snapshot;
pub mod spool;
pub mod timer;
pub mod witness;
