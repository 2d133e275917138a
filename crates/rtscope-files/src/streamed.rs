//! Files too large for memory: read as streams, and more than once.

use crate::input::too_large;
use crate::regular::regular;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::time::SystemTime;

/// A regular file that is read as a stream, up to its size when it was opened here: what is appended later is not read.
#[derive(Debug)]
pub struct Streamed {
    file: File,
    size: u64,
    modified: Option<SystemTime>,
    at: u64,
}

impl Streamed {
    /// Streams an open regular file from its start.
    pub fn new(mut file: File) -> io::Result<Self> {
        let found = file.metadata()?;
        regular(&found)?;
        file.rewind()?;
        Ok(Self { file, size: found.len(), modified: found.modified().ok(), at: 0 })
    }

    /// Refuses a file of more than `most` bytes.
    pub fn check_size(&self, most: u64) -> io::Result<()> {
        if self.size > most { Err(too_large(most)) } else { Ok(()) }
    }

    /// An error if the file was written to since: what was read would be a mixture of two versions.
    pub fn check_unchanged(&self) -> io::Result<()> {
        let found = self.file.metadata()?;
        if found.len() == self.size && found.modified().ok() == self.modified {
            return Ok(());
        }
        Err(io::Error::other("it changed while it was read"))
    }
}

impl Read for Streamed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.size.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let most = buffer.len().min(left);
        let n = self.file.read(&mut buffer[..most])?;
        self.at += n as u64;
        Ok(n)
    }
}

impl Seek for Streamed {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let beyond = || io::Error::new(io::ErrorKind::InvalidInput, "a place before the file");
        let to = match to {
            SeekFrom::Start(at) => Some(at),
            // From the end as first seen, not the current one.
            SeekFrom::End(by) => self.size.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = self.file.seek(SeekFrom::Start(to.ok_or_else(beyond)?))?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    #[test]
    fn a_file_is_read_as_it_was_and_a_change_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "0123456789").unwrap();
        assert!(Streamed::new(File::open(dir.path()).unwrap()).unwrap_err().to_string().contains("directory"));
        let mut file = Streamed::new(File::open(&path).unwrap()).unwrap();
        file.check_size(10).unwrap();
        assert_eq!(file.check_size(9).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        let mut text = String::new();
        file.seek(SeekFrom::End(-3)).unwrap();
        file.seek(SeekFrom::Current(1)).unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "89");
        assert!(file.seek(SeekFrom::Current(-11)).is_err());
        file.check_unchanged().unwrap();
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"more").unwrap();
        file.rewind().unwrap();
        text.clear();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "0123456789");
        assert!(file.check_unchanged().unwrap_err().to_string().contains("changed"));
    }
}
