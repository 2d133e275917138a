//! Takes measurements on the machine it runs on. A library, and a small static binary that speaks [`protocol`].
#![deny(unsafe_code)]

pub mod protocol;
pub mod snapshot;
pub mod sys;
