//! Reads a file from its start and hashes it on the way.

use super::error::CaptureError;
use crate::hex::hex;
use sha2::{Digest, Sha256};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

/// Bytes read at a time.
pub(super) const CHUNK: usize = 1 << 18;

/// An error while reading.
pub(super) fn unread(e: &io::Error) -> CaptureError {
    CaptureError::File(e.to_string())
}

/// A file whose reads are retried after a signal: the format readers would take the interruption for an error.
pub(super) struct Patient<R>(pub(super) R);

impl<R: Read> Read for Patient<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

impl<R: Seek> Seek for Patient<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

/// A file read from its start and hashed.
pub(super) struct Hashed<'a, R> {
    from: &'a mut R,
    hash: Sha256,
}

impl<'a, R: Read + Seek> Hashed<'a, R> {
    pub(super) fn new(from: &'a mut R) -> Result<Self, CaptureError> {
        from.rewind().map_err(|e| unread(&e))?;
        Ok(Self { from, hash: Sha256::new() })
    }

    /// The hash of the whole file, including what was not read yet.
    pub(super) fn digest(mut self) -> Result<String, CaptureError> {
        let mut rest = BufReader::with_capacity(CHUNK, &mut self);
        loop {
            let length = rest.fill_buf().map_err(|e| unread(&e))?.len();
            if length == 0 {
                break;
            }
            rest.consume(length);
        }
        Ok(hex(&self.hash.finalize()))
    }
}

impl<R: Read> Read for Hashed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(buffer)?;
        self.hash.update(&buffer[..n]);
        Ok(n)
    }
}
