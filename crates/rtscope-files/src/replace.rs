//! Outputs: files that appear under their name whole or not at all, whatever lies there.

use crate::own::{me, users_umask};
use crate::regular::{bits, kind, refused};
use crate::wait::interrupted;
use rustix::fs::OFlags;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// How often another name is tried.
const TRIES: u32 = 100;

/// A file that is written beside its place, under a name that nobody foresees, and named when it is whole. Dropped before, it is gone.
/// A device that is named by its path in `/dev`, and a FIFO of one's own that somebody reads, is written to directly.
#[derive(Debug)]
pub struct Beside {
    file: File,
    path: PathBuf,
    /// Where it lies until then; `None` when it is written to directly.
    part: Option<PathBuf>,
}

impl Beside {
    /// Begins a file that is to be at `path` with `mode`: 0600 for what is kept for oneself, 0666 for what the user asked for by name,
    /// of which the user's own umask takes away ([`private_by_default`](crate::private_by_default)).
    pub fn new(path: &Path, mode: u32) -> io::Result<Self> {
        if let Some(file) = stream(path)? {
            return Ok(Self { file, path: path.into(), part: None });
        }
        let name = path.file_name().ok_or_else(|| refused("it names no file"))?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(mode).custom_flags(bits(OFlags::NOFOLLOW));
        for _ in 0..TRIES {
            let part = path.with_file_name(hidden(name));
            match options.open(&part) {
                Ok(file) => {
                    if let (true, Some(umask)) = (mode & 0o077 != 0, users_umask()) {
                        // Some file systems have no modes.
                        let _ = file.set_permissions(Permissions::from_mode(mode & !umask));
                    }
                    return Ok(Self { file, path: path.into(), part: Some(part) });
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists))
    }

    /// Gives it its name. What had it is replaced; a link there is not followed.
    pub fn commit(mut self) -> io::Result<()> {
        self.publish()
    }

    /// [`Self::commit`], once it is on the disk.
    pub fn commit_synced(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        self.publish()
    }

    /// [`Self::commit_synced`], unless something has the name: `AlreadyExists` then, and the file is as it was before this call.
    pub fn commit_new(&mut self) -> io::Result<()> {
        self.file.sync_all()?;
        let Some(part) = &self.part else { return Ok(()) };
        match fs::hard_link(part, &self.path) {
            // What is left of the other name goes with this.
            Ok(()) => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Err(e),
            // A file system without hard links.
            Err(_) if fs::symlink_metadata(&self.path).is_err() => {}
            Err(_) => return Err(io::Error::from(io::ErrorKind::AlreadyExists)),
        }
        self.publish()
    }

    /// Has it appear under another name than was first meant.
    pub fn rename(&mut self, path: &Path) {
        self.path = path.into();
    }

    fn publish(&mut self) -> io::Result<()> {
        if let Some(part) = &self.part {
            fs::rename(part, &self.path)?;
        }
        self.part = None;
        Ok(())
    }
}

impl Write for Beside {
    /// Waits for a reader that is slow, until the process is asked to end.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.file.write(bytes) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock && self.part.is_none() => {
                    if interrupted() {
                        return Err(io::Error::other("interrupted while nobody reads"));
                    }
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                done => return done,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            let _ = fs::remove_file(part);
        }
    }
}

/// Makes a file of one's own anew with mode 0600, whatever lay at `path`; a link there is not followed.
pub fn fresh(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).custom_flags(bits(OFlags::NOFOLLOW)).open(path)
}

/// Writes a file whole or not at all, or to a device or FIFO as [`Beside`] says.
pub fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut out = Beside::new(path, mode)?;
    out.write_all(bytes)?;
    out.commit()
}

/// What is at `path` to be written to directly, if anything is.
fn stream(path: &Path) -> io::Result<Option<File>> {
    // Links in these directories (/dev/stdout, /proc/self/fd/1) are the system's.
    let named = ["/dev", "/proc"].iter().any(|dir| path.starts_with(dir)) && !path.starts_with("/dev/shm");
    let found = if named { fs::metadata(path) } else { fs::symlink_metadata(path) };
    let Ok(found) = found else { return Ok(None) };
    let t = found.file_type();
    if t.is_symlink() || (t.is_file() && !named) {
        return Ok(None);
    }
    let mine = t.is_fifo() && (named || found.uid() == me());
    if !(mine || named && (t.is_char_device() || t.is_file())) {
        return Err(refused(format!("it is {}, where a file is to be written", kind(t))));
    }
    let flags = bits(OFlags::NONBLOCK | OFlags::NOCTTY);
    let file = OpenOptions::new().write(true).custom_flags(flags).open(path).map_err(|e| match e.raw_os_error() {
        Some(code) if code == rustix::io::Errno::NXIO.raw_os_error() => refused("it is a FIFO that nobody reads"),
        _ => e,
    })?;
    Ok(Some(file))
}

/// A name beside `name` that nobody foresees.
fn hidden(name: &std::ffi::OsStr) -> OsString {
    let random = std::hash::RandomState::new().build_hasher().finish();
    let mut hidden = OsString::from(".");
    // Room for the rest, in file systems that take 255 bytes.
    hidden.push(String::from_utf8_lossy(&name.as_encoded_bytes()[..name.len().min(60)]).as_ref());
    hidden.push(format!(".{random:016x}.part"));
    hidden
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::process::{Command, Stdio};

    #[test]
    fn a_file_is_there_whole_or_not_at_all_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let count = || fs::read_dir(dir.path()).unwrap().count();
        write(&at("page"), b"one", 0o600).unwrap();
        let mut second = Beside::new(&at("page"), 0o600).unwrap();
        second.write_all(b"two").unwrap();
        assert_eq!((fs::read(at("page")).unwrap(), count()), (b"one".to_vec(), 2));
        drop(second);
        assert_eq!(count(), 1);
        fs::write(at("precious"), "precious").unwrap();
        symlink("precious", at("link")).unwrap();
        write(&at("link"), b"three", 0o644).unwrap();
        assert_eq!((fs::read(at("precious")).unwrap(), fs::read(at("link")).unwrap()), (b"precious".to_vec(), b"three".to_vec()));
        assert!(!fs::symlink_metadata(at("link")).unwrap().is_symlink());
        assert!(write(dir.path(), b"", 0o600).unwrap_err().to_string().contains("a directory"));
        assert!(write(Path::new("/"), b"", 0o600).is_err() && write(&at("a/b"), b"", 0o600).is_err());
        let long = "x".repeat(255);
        write(&at(&long), b"long", 0o600).unwrap();
    }

    #[test]
    fn what_is_written_to_directly() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        assert!(write(&fifo, b"x", 0o600).unwrap_err().to_string().contains("nobody reads"));
        write(Path::new("/dev/null"), b"x", 0o600).unwrap();
        assert_eq!(write(Path::new("/dev/full"), b"x", 0o600).unwrap_err().kind(), io::ErrorKind::StorageFull);
        let mut child = Command::new("wc").arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let to = child.stdin.take().unwrap();
        // More than a pipe holds.
        write(Path::new(&format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&to))), &vec![b'x'; 200_000], 0o600).unwrap();
        drop(to);
        assert_eq!(child.wait_with_output().unwrap().stdout, b"200000\n");
    }
}
