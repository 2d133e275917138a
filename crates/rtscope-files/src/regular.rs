//! Checks for regular files, and the error that names what was found instead.

use rustix::fs::OFlags;
use std::fs::{self, FileType, Metadata};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// An error that says what is wrong with a file; the caller adds the path.
pub(crate) fn refused(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what.into())
}

/// The name of a file type other than a regular file.
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

/// Flags in the type that the standard library takes.
pub(crate) fn bits(flags: OFlags) -> i32 {
    i32::from_ne_bytes(flags.bits().to_ne_bytes())
}

/// Refuses an existing `path` that is not a regular file. With `follow`, a link to one is accepted.
pub fn check_file(path: &Path, follow: bool) -> io::Result<()> {
    match if follow { fs::metadata(path) } else { fs::symlink_metadata(path) } {
        Ok(found) => regular(&found),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
    }
}

/// Refuses anything but a regular file.
pub(crate) fn regular(m: &Metadata) -> io::Result<()> {
    if m.is_file() { Ok(()) } else { Err(refused(format!("it is {}, where a file is expected", kind(m.file_type())))) }
}
