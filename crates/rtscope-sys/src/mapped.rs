//! Device memory mapped into this process: the region of a PCI device, through its file in sysfs, accessed in whole words.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Size of a word, bytes.
pub const WORD: usize = 4;

/// A mapped region. The device or another machine may change its contents at any time.
#[derive(Debug)]
pub struct Mapped {
    base: *mut libc::c_void,
    len: usize,
    /// Offset of the region in its first page, bytes.
    offset: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread; every access is a volatile one of a single word or byte.
unsafe impl Send for Mapped {}

impl Mapped {
    /// Maps `len` bytes of the file `region`, beginning `offset` bytes into its first page (a sysfs `resourceN` maps whole pages).
    pub fn open(region: &Path, offset: usize, len: usize) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(region)?;
        let total = offset.checked_add(len).ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: no address is asked for, so nothing mapped before is touched; the mapping outlives the descriptor.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), total, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if base == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Self { base, len, offset }) }
    }

    /// Size of the region, bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the region has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn at(&self, offset: usize, len: usize, alignment: usize) -> io::Result<*mut u8> {
        let fits = offset.checked_add(len).is_some_and(|end| end <= self.len);
        if !fits || (self.offset + offset) % alignment != 0 {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        // SAFETY: `offset` lies within the mapping, as just checked.
        Ok(unsafe { self.base.cast::<u8>().add(self.offset + offset) })
    }

    /// Fills `into`, whose length must be a multiple of [`WORD`], from `offset`, word by word. `InvalidInput` beyond the end.
    pub fn read(&self, offset: usize, into: &mut [u8]) -> io::Result<()> {
        for (i, word) in into.chunks_exact_mut(WORD).enumerate() {
            let from = self.at(offset + i * WORD, WORD, WORD)?;
            // SAFETY: `at` has checked bounds and alignment of the word.
            #[allow(clippy::cast_ptr_alignment)]
            let value = unsafe { from.cast::<u32>().read_volatile() };
            word.copy_from_slice(&value.to_ne_bytes());
        }
        Ok(())
    }

    /// Writes `from`, padded with zeros to whole words, to `offset`, word by word. `InvalidInput` beyond the end.
    pub fn write(&self, offset: usize, from: &[u8]) -> io::Result<()> {
        for (i, part) in from.chunks(WORD).enumerate() {
            let mut word = [0; WORD];
            word[..part.len()].copy_from_slice(part);
            let to = self.at(offset + i * WORD, WORD, WORD)?;
            // SAFETY: `at` has checked bounds and alignment of the word.
            #[allow(clippy::cast_ptr_alignment)]
            unsafe {
                to.cast::<u32>().write_volatile(u32::from_ne_bytes(word));
            }
        }
        Ok(())
    }

    /// Writes one byte, such as a device's register, at `offset`. `InvalidInput` beyond the end.
    pub fn write_byte(&self, offset: usize, value: u8) -> io::Result<()> {
        let to = self.at(offset, 1, 1)?;
        // SAFETY: `at` has checked that the byte lies within the mapping.
        unsafe { to.write_volatile(value) };
        Ok(())
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: exactly what `open` mapped; nothing borrows from it.
        unsafe { libc::munmap(self.base, self.offset + self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_to_the_file_and_come_back_and_nothing_beyond_the_end_does() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("region");
        std::fs::write(&path, vec![0u8; 8192]).unwrap();
        let region = Mapped::open(&path, 16, 4096).unwrap();
        region.write(8, b"hello").unwrap();
        region.write_byte(3, 7).unwrap();
        let mut back = [0u8; 8];
        region.read(8, &mut back).unwrap();
        assert_eq!(&back, b"hello\0\0\0");
        let file = std::fs::read(&path).unwrap();
        assert_eq!((&file[24..29], file[19]), (&b"hello"[..], 7));
        assert!(region.write(4096, b"x").is_err() && region.write(2, b"x").is_err() && region.write_byte(4096, 0).is_err());
        assert!(region.read(4092, &mut [0; 8]).is_err());
        assert!(region.read(usize::MAX - 3, &mut [0; 4]).is_err());
        assert_eq!((region.len(), region.is_empty()), (4096, false));
    }
}
