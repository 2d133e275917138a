//! Inputs: files that are read, with a bounded size.

use crate::own::me;
use crate::regular::{bits, kind, refused, regular};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Size limit for files of settings, state or metadata, bytes.
pub const SMALL: u64 = 64 << 20;
/// Size limit for programs, kernels and modules, bytes.
pub const LARGE: u64 = 1 << 30;

/// Size limit for files that are read as a stream, bytes: these need little memory, but must not be read for ever.
pub const STREAMED: u64 = 64 << 30;

/// Open without blocking, and without making the file this process's controlling terminal.
fn flags() -> i32 {
    bits(OFlags::NONBLOCK | OFlags::NOCTTY)
}

/// Opens a regular file for reading. Anything else is refused without opening it, because opening some devices has side effects.
pub fn open(path: &Path) -> io::Result<File> {
    regular(&fs::metadata(path)?)?;
    let file = OpenOptions::new().read(true).custom_flags(flags()).open(path)?;
    // It may have been replaced since.
    regular(&file.metadata()?)?;
    Ok(file)
}

/// [`open`], which also takes a stream where the path clearly names one: `/dev/stdin`, or `/dev/fd/63` from a shell's `<(...)`.
/// Reads from the stream block; a signal that ends the process ends them.
pub fn open_stream(path: &Path) -> io::Result<File> {
    let named = ["/dev", "/proc"].iter().any(|dir| path.starts_with(dir));
    let found = fs::metadata(path)?;
    if !named || found.is_file() {
        return open(path);
    }
    streams(&found)?;
    let file = OpenOptions::new().read(true).custom_flags(flags()).open(path)?;
    streams(&file.metadata()?)?;
    // Only opening had to be non-blocking.
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Standard input, unless it is a directory or a device that never ends.
pub fn standard_input() -> io::Result<io::StdinLock<'static>> {
    streams(&fs::metadata("/proc/self/fd/0").or_else(|_| fs::metadata("/dev/stdin"))?)?;
    Ok(io::stdin().lock())
}

/// Refuses anything that is neither a file nor a stream with an end. Devices may never end; a terminal and `/dev/null` do.
fn streams(m: &Metadata) -> io::Result<()> {
    let t = m.file_type();
    let (major, minor) = (rustix::fs::major(m.rdev()), rustix::fs::minor(m.rdev()));
    // Linux's devices.txt: 1 memory devices, 4 and 5 terminals, 136 to 143 pseudo-terminal slaves.
    let ends = t.is_char_device() && ((major, minor) == (1, 3) || matches!(major, 4 | 5 | 136..=143));
    if t.is_file() || t.is_fifo() || t.is_socket() || ends {
        return Ok(());
    }
    Err(refused(format!("it is {}, where a file or a pipe is expected", kind(t))))
}

/// Reads a whole file of at most `most` bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let size = file.metadata()?.len();
    if size > most {
        return Err(too_large(most));
    }
    // Capacity for one byte more, so that finding the end needs no reallocation. The file may have grown: checked again below.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0).saturating_add(1));
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large(most)) } else { Ok(bytes) }
}

/// Reads a stream of at most `most` bytes to its end, without excess memory.
pub fn read_bounded(from: &mut impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        // Grows by half, where a vector by itself would double.
        let step = (bytes.len() / 2).max(1 << 16);
        bytes.reserve_exact(step + 64);
        if from.by_ref().take(step as u64).read_to_end(&mut bytes)? == 0 {
            return Ok(bytes);
        }
        if bytes.len() as u64 > most {
            return Err(too_large(most));
        }
    }
}

/// [`read`] of text.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Reads a whole state file: a regular file with a single name that belongs to this user or to user `also`, not a link.
pub fn read_own(path: &Path, most: u64, also: Option<u32>) -> io::Result<Vec<u8>> {
    let found = fs::symlink_metadata(path)?;
    regular(&found)?;
    let file = OpenOptions::new().read(true).custom_flags(flags() | bits(OFlags::NOFOLLOW)).open(path)?;
    let found = file.metadata()?;
    regular(&found)?;
    if found.nlink() > 1 {
        return Err(refused("it has several names (hard links), where a file of one's own is expected"));
    }
    if found.uid() != me() && Some(found.uid()) != also {
        return Err(refused(format!("it belongs to user {}, not to user {}", found.uid(), me())));
    }
    if found.len() > most {
        return Err(too_large(most));
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(super) fn too_large(most: u64) -> io::Error {
    let most = if most >= 1 << 20 { format!("{} MiB", most >> 20) } else { format!("{most} bytes") };
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than the {most} that are read of such a file"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::process::{Command, Stdio};

    #[test]
    fn only_what_is_a_file_is_read_and_only_so_much() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "four").unwrap();
        symlink("file", at("link")).unwrap();
        symlink("/dev/zero", at("device")).unwrap();
        let fifo = Command::new("mkfifo").arg(at("fifo")).status().unwrap();
        assert!(fifo.success());
        assert_eq!(read(&at("file"), 4).unwrap(), b"four");
        assert_eq!(read_text(&at("link"), 9).unwrap(), "four");
        assert_eq!(read_own(&at("file"), 4, None).unwrap(), b"four");
        assert!(read_own(&at("link"), 4, None).unwrap_err().to_string().contains("link"));
        fs::hard_link(at("file"), at("second")).unwrap();
        assert!(read_own(&at("file"), 4, None).unwrap_err().to_string().contains("names"));
        assert_eq!(read_bounded(&mut open(&at("file")).unwrap(), 4).unwrap(), b"four");
        assert!(read_bounded(&mut open(&at("file")).unwrap(), 3).is_err());
        assert!(read_bounded(&mut io::repeat(0), 1 << 20).is_err());
        assert_eq!(read(&at("file"), 3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        for (name, what) in [("fifo", "a FIFO"), ("device", "a device"), (".", "a directory")] {
            for refusal in [open(&at(name)), open_stream(&at(name))] {
                assert!(refusal.unwrap_err().to_string().contains(what), "{name}");
            }
        }
        assert!(open_stream(Path::new("/dev/zero")).is_err() && open_stream(Path::new("/dev/full")).is_err());
        assert!(open_stream(Path::new("/dev/null")).is_ok());
        assert_eq!(open(&at("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_pipe_that_is_named_as_a_stream_is_read() {
        let mut child = Command::new("echo").arg("text").stdout(Stdio::piped()).spawn().unwrap();
        let from = child.stdout.take().unwrap();
        let path = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&from));
        let mut text = String::new();
        open_stream(Path::new(&path)).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "text\n");
        child.wait().unwrap();
    }
}
