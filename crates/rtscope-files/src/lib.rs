//! The one place where files that others may have tampered with are opened, made, replaced and locked; and digests of files.
//! Depends on no other crate of the project.
//!
//! What is opened as a file must be a regular file and is refused at once otherwise: a FIFO would block, a device might never end,
//! a link could lead elsewhere. Private files (locks, state) must also belong to this user and have a single name. Every wait ends
//! when the process is asked to end.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // programs that a test starts may inherit any signal settings

pub mod digest;
mod input;
mod lock;
mod own;
mod regular;
mod replace;
mod streamed;
mod wait;

pub use input::{LARGE, SMALL, STREAMED, open, open_stream, read, read_bounded, read_own, read_text, standard_input};
pub use lock::Lock;
pub use own::{check_private, me, open_own, output_dir, private_by_default, private_dir, user_dir};
pub use regular::check_file;
pub use replace::{Replacement, fresh, write};
pub use streamed::Streamed;
pub use wait::{interrupt, interrupted, lock_patiently};
