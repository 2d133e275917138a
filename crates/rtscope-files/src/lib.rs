//! Files that somebody else may have had a hand in: the one place where they are opened, made and replaced. Knows nobody.
//!
//! What is opened as a file is a regular file, or refused at once: a FIFO would be waited for, a device read without an end, a link lead
//! elsewhere. What is kept for oneself (locks, state) is also one's own, under one name. Every wait ends when the process is asked to.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // what a test starts for itself may take signals as it likes

mod input;
mod own;
mod replace;
mod streamed;
mod wait;

pub use input::{open, open_stream, read, read_bounded, read_own, read_text, standard_input};
pub use own::{check_private, me, open_own, output_dir, private_by_default, private_dir, user_dir};
pub use replace::{Beside, fresh, write};
pub use streamed::Streamed;
pub use wait::{interrupt, interrupted, lock_patiently};

use rustix::fs::OFlags;
use std::fs::{self, FileType, Metadata};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// An error that says what is wrong with a file; who prints it puts the path before it.
fn refused(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what.into())
}

/// Largest file of settings, state or metadata that is read, bytes.
pub const SMALL: u64 = 64 << 20;
/// Largest file of a program, kernel or module that is read, bytes.
pub const LARGE: u64 = 1 << 30;

/// Largest file that is read as a stream, bytes: what reads it holds little of it, but is not to go on for ever.
pub const STREAMED: u64 = 64 << 30;

/// What something is that is no regular file.
fn kind(t: FileType) -> &'static str {
    match () {
        () if t.is_dir() => "a directory",
        () if t.is_symlink() => "a symbolic link",
        () if t.is_fifo() => "a FIFO",
        () if t.is_socket() => "a socket",
        () if t.is_char_device() || t.is_block_device() => "a device",
        () => "of no known kind",
    }
}

/// Flags as the standard library takes them.
fn bits(flags: OFlags) -> i32 {
    i32::from_ne_bytes(flags.bits().to_ne_bytes())
}

/// Refuses what is there and is no regular file; `follow`: a link may stand for one.
pub fn check_file(path: &Path, follow: bool) -> io::Result<()> {
    match if follow { fs::metadata(path) } else { fs::symlink_metadata(path) } {
        Ok(found) => regular(&found),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
    }
}

/// Refuses what is no regular file.
fn regular(m: &Metadata) -> io::Result<()> {
    if m.is_file() { Ok(()) } else { Err(refused(format!("it is {}, where a file is expected", kind(m.file_type())))) }
}
