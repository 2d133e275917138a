//! The built program from end to end: every case starts `rtscope` in a home of its own and looks at what it prints, keeps and leaves.
//!
//! Nothing here depends on a latency being small: counts must add up however busy the machine is.
#![allow(clippy::disallowed_methods)] // what a test starts for itself may take signals as it likes

mod archive;
mod campaign;
mod captures;
mod dropin;
mod fake;
mod fpga;
mod golden;
mod lab_kernels;
mod lines;
mod loads;
mod mishaps;
mod signals;
mod ssh;
mod sshd;
mod stall;
mod timer;
mod world;
