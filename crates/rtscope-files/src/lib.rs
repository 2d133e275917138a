//! Files that somebody else may have had a hand in: the one place where they are opened, made, replaced and locked; and their digests. Knows nobody.
//!
//! What is opened as a file is a regular file, or refused at once: a FIFO would be waited for, a device read without an end, a link lead
//! elsewhere. What is kept for oneself (locks, state) is also one's own, under one name. Every wait ends when the process is asked to.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // what a test starts for itself may take signals as it likes

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
pub use replace::{Beside, fresh, write};
pub use streamed::Streamed;
pub use wait::{interrupt, interrupted, lock_patiently};
