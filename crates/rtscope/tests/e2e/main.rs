//! The built program from end to end: every case starts `rtscope` in its own home directory and checks what it prints, keeps and
//! leaves behind.
//!
//! No test here depends on a latency being small: counts must add up however busy the machine is.
#![allow(clippy::disallowed_methods)] // a process that a test starts for itself may inherit any signal settings

mod archive;
mod busybox;
mod campaign;
mod captures;
mod clients;
mod compare_runs;
mod compare_values;
mod cost;
mod dropin;
mod fake;
mod fpga;
mod golden;
mod hunt;
mod kernel_build;
mod kernel_install;
mod kernel_threads;
mod lab_kernels;
mod lines;
mod live;
mod loads;
mod mishaps;
mod reference;
mod schema;
mod signals;
mod ssh;
mod sshd;
mod stall;
mod tail;
mod timer;
mod trace;
mod tuning;
mod upgrade;
mod world;
