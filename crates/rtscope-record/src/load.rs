//! The proof of a load: what it achieved, what the kernel saw of it, how its processes ended; and the warnings that follow.

mod course;
mod kept;
mod proof;

pub use kept::{LoadCourse, LoadCpu, LoadProcess, LoadProof, LoadStep, LoadWorkers};
pub use proof::warnings;
