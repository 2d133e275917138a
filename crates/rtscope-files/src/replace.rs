//! Outputs: files that appear under their name completely or not at all, whatever was there before.

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

/// How many temporary names are tried.
const TRIES: u32 = 100;

/// A file that is written under an unpredictable name beside its place and renamed when it is complete. If it is dropped before,
/// it is deleted. A device named by its path in `/dev`, and one's own FIFO that has a reader, is written to directly.
#[derive(Debug)]
pub struct Replacement {
    file: File,
    path: PathBuf,
    /// The temporary path; `None` when writing directly.
    part: Option<PathBuf>,
}

impl Replacement {
    /// Begins a file that will be at `path` with `mode`: 0600 for private files, 0666 for what the user asked for by name. The
    /// user's own umask applies to the latter ([`private_by_default`](crate::private_by_default)).
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

    /// Gives the file its name, replacing what was there; a link is replaced, not followed.
    pub fn commit(mut self) -> io::Result<()> {
        self.publish()
    }

    /// [`Self::commit`], after writing the file to the disk.
    pub fn commit_synced(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        self.publish()
    }

    /// [`Self::commit_synced`] if the name is free. Otherwise `AlreadyExists`, and the file can still be committed under another
    /// name.
    pub fn commit_new(&mut self) -> io::Result<()> {
        self.file.sync_all()?;
        let Some(part) = &self.part else { return Ok(()) };
        match fs::hard_link(part, &self.path) {
            // Dropping this removes the temporary name.
            Ok(()) => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Err(e),
            // The file system has no hard links.
            Err(_) if fs::symlink_metadata(&self.path).is_err() => {}
            Err(_) => return Err(io::Error::from(io::ErrorKind::AlreadyExists)),
        }
        self.publish()
    }

    /// Changes the path at which the file will appear.
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

impl Write for Replacement {
    /// Waits for a slow reader, until the process is asked to end.
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

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            let _ = fs::remove_file(part);
        }
    }
}

/// Makes a new private file with mode 0600, replacing what was at `path`; a link there is not followed.
pub fn fresh(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).custom_flags(bits(OFlags::NOFOLLOW)).open(path)
}

/// Writes a file completely or not at all, or directly to a device or FIFO as [`Replacement`] does.
pub fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut out = Replacement::new(path, mode)?;
    out.write_all(bytes)?;
    out.commit()
}

/// Opens what is at `path` if it must be written to directly.
fn stream(path: &Path) -> io::Result<Option<File>> {
    // Links in these directories (/dev/stdout, /proc/self/fd/1) belong to the system and are followed.
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

/// An unpredictable hidden name beside `name`.
fn hidden(name: &std::ffi::OsStr) -> OsString {
    let random = std::hash::RandomState::new().build_hasher().finish();
    let mut hidden = OsString::from(".");
    // Leaves room for the suffix where names are limited to 255 bytes.
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
        let mut second = Replacement::new(&at("page"), 0o600).unwrap();
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
        // More than a pipe's buffer.
        write(Path::new(&format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&to))), &vec![b'x'; 200_000], 0o600).unwrap();
        drop(to);
        assert_eq!(child.wait_with_output().unwrap().stdout, b"200000\n");
    }
}
