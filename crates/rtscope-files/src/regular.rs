//! What is a regular file and what is something else, and the refusal that says so.

use rustix::fs::OFlags;
use std::fs::{self, FileType, Metadata};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// An error that says what is wrong with a file; who prints it puts the path before it.
pub(crate) fn refused(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what.into())
}

/// What something is that is not a regular file.
pub(crate) fn kind(t: FileType) -> &'static str {
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
pub(crate) fn bits(flags: OFlags) -> i32 {
    i32::from_ne_bytes(flags.bits().to_ne_bytes())
}

/// Refuses what is there and is not a regular file; `follow`: a link may stand for one.
pub fn check_file(path: &Path, follow: bool) -> io::Result<()> {
    match if follow { fs::metadata(path) } else { fs::symlink_metadata(path) } {
        Ok(found) => regular(&found),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
    }
}

/// Refuses what is not a regular file.
pub(crate) fn regular(m: &Metadata) -> io::Result<()> {
    if m.is_file() { Ok(()) } else { Err(refused(format!("it is {}, where a file is expected", kind(m.file_type())))) }
}
