//! The proof of a load: what it achieved, what the kernel saw of it, how each of its processes ended; and what that says of the figures.

mod course;
mod kept;
mod proof;

pub use kept::{LoadCourse, LoadCpu, LoadProcess, LoadProof, LoadStep, LoadWorkers};
pub use proof::warnings;
