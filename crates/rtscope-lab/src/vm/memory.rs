//! A guest's memory as a file on the host. The boot writes it; every run then maps it copy-on-write.

use super::VmError;
use rtscope_sys as sys;
use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

/// Bytes copied at a time: whole pages.
const PIECE: u64 = 1 << 20;
/// A page of zeros. In the file it may be data or a hole.
const NOTHING: [u8; 4096] = [0; 4096];

/// How a machine uses the memory file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// The file is the machine's memory.
    Written,
    /// The machine starts with the file's contents and does not change the file.
    Read,
}

/// The memory file, open.
#[derive(Debug)]
pub(super) struct Memory(File);

impl Memory {
    /// New empty memory of `mib` MiB, as a sparse file in the host's memory.
    pub(super) fn new(mib: u32) -> Result<Self, VmError> {
        let make = || -> io::Result<File> {
            let file = File::from(memfd_create("rtscope-guest", MemfdFlags::CLOEXEC)?);
            file.set_len(u64::from(mib) << 20)?;
            Ok(file)
        };
        make().map(Self).map_err(VmError::io("memory for the guest"))
    }

    /// The memory kept at `path`. QEMU always opens it for writing; where that is not permitted, a copy in memory is used.
    pub(super) fn open(path: &Path) -> Result<Self, VmError> {
        let opened = match OpenOptions::new().read(true).write(true).open(path) {
            Err(e) if matches!(e.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => {
                Self::copy_of(path)
            }
            opened => opened.map(Self),
        };
        opened.map_err(VmError::io(path.display().to_string()))
    }

    fn copy_of(path: &Path) -> io::Result<Self> {
        let copy = File::from(memfd_create("rtscope-guest", MemfdFlags::CLOEXEC)?);
        Self(File::open(path)?).copy_to(&copy)?;
        Ok(Self(copy))
    }

    /// Copies the memory to an empty file. Unwritten parts stay holes.
    pub(super) fn copy_to(&self, to: &File) -> io::Result<()> {
        to.set_len(self.0.metadata()?.len())?;
        self.each_piece(|at, piece| to.write_all_at(piece, at))
    }

    /// A CRC-32 of the contents, independent of which zero pages are holes. It detects damage by a disk or a power
    /// cut. It is not cryptographic, because it defends against nobody and every start computes it.
    pub(super) fn checksum(&self) -> io::Result<u32> {
        let mut sum = crc32fast::Hasher::new();
        self.each_piece(|at, piece| {
            for (i, page) in piece.chunks(NOTHING.len()).enumerate() {
                if *page != NOTHING[..page.len()] {
                    sum.update(&(at + (i * NOTHING.len()) as u64).to_le_bytes());
                    sum.update(page);
                }
            }
            Ok(())
        })?;
        Ok(sum.finalize())
    }

    /// Reads the written parts, each piece starting at a page boundary. `take` gets the offset and the bytes.
    fn each_piece(&self, mut take: impl FnMut(u64, &[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut piece = vec![0; usize::try_from(PIECE).unwrap_or(0)];
        let mut at = 0;
        while let Ok(data) = seek(&self.0, SeekFrom::Data(at)) {
            let hole = seek(&self.0, SeekFrom::Hole(data))?;
            at = at.max(data - data % NOTHING.len() as u64);
            while at < hole {
                let piece = &mut piece[..usize::try_from((hole - at).min(PIECE)).unwrap_or(0)];
                self.0.read_exact_at(piece, at)?;
                take(at, piece)?;
                at += piece.len() as u64;
            }
        }
        Ok(())
    }

    /// Passes the memory to the machine that `command` will start, of `mib` MiB.
    pub(super) fn give(&self, command: &mut Command, mib: u32, how: Use) {
        let share = if how == Use::Written { "on" } else { "off" };
        let fd = self.0.as_raw_fd();
        sys::process::inherit(command, fd);
        command.arg("-object").arg(format!("memory-backend-file,id={ID},size={mib}M,share={share},mem-path=/proc/self/fd/{fd}"));
    }

    /// Arguments for a machine with private memory.
    pub(super) fn own(mib: u32) -> [OsString; 2] {
        ["-object".into(), format!("memory-backend-ram,id={ID},size={mib}M").into()]
    }
}

/// The id of the machine's memory (`-M memory-backend=`).
pub(super) const ID: &str = "ram";

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_copy_has_the_same_bytes_and_the_same_holes() {
        let memory = Memory::new(64).unwrap();
        for at in [0, 5_000_000, 40_000_000] {
            memory.0.write_all_at(&vec![0xa5; 1_500_000], at).unwrap();
        }
        let copy = Memory(tempfile::tempfile().unwrap());
        memory.copy_to(&copy.0).unwrap();
        let read = |m: &Memory| {
            let mut bytes = vec![0; 64 << 20];
            m.0.read_exact_at(&mut bytes, 0).unwrap();
            bytes
        };
        assert!(read(&memory) == read(&copy));
        let sum = memory.checksum().unwrap();
        assert_eq!(copy.checksum().unwrap(), sum);
        // Zeros do not change the checksum, written or not; any other byte does.
        copy.0.write_all_at(&vec![0; 100_000], 20_000_000).unwrap();
        assert_eq!(copy.checksum().unwrap(), sum);
        copy.0.write_all_at(&[1], 41_000_000).unwrap();
        assert_ne!(copy.checksum().unwrap(), sum);
        assert_eq!(copy.0.metadata().unwrap().len(), 64 << 20);
        assert!(copy.0.metadata().unwrap().blocks() * 512 < 16 << 20);
    }

    #[test]
    fn a_kept_one_is_opened_or_copied() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ram");
        let memory = Memory::new(1).unwrap();
        memory.0.write_all_at(b"word", 4096).unwrap();
        memory.copy_to(&File::create(&path).unwrap()).unwrap();
        let mut read = [0; 4];
        for opened in [Memory::open(&path).unwrap(), Memory::copy_of(&path).unwrap()] {
            opened.0.read_exact_at(&mut read, 4096).unwrap();
            assert_eq!((&read, opened.0.metadata().unwrap().len()), (b"word", 1 << 20));
        }
        // Writes to a copy do not reach the kept file.
        Memory::copy_of(&path).unwrap().0.write_all_at(b"else", 4096).unwrap();
        Memory::open(&path).unwrap().0.read_exact_at(&mut read, 4096).unwrap();
        assert_eq!(&read, b"word");
        assert!(Memory::open(&dir.path().join("none")).is_err());
    }
}
