//! A guest's memory on the host: a file that its boot is written to, and that every run then reads, with a copy of its own of what it changes.

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

/// Bytes that are copied at once: whole pages.
const PIECE: u64 = 1 << 20;
/// A page of nothing: it may be in the file, or be a hole of it.
const NOTHING: [u8; 4096] = [0; 4096];

/// How a machine uses the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// It is the machine's memory.
    Written,
    /// The machine begins with what is in it, and leaves it as it is.
    Read,
}

/// The file, open.
#[derive(Debug)]
pub(super) struct Memory(File);

impl Memory {
    /// An empty one of so many MiB, in the host's memory: where nothing was written it takes none.
    pub(super) fn new(mib: u32) -> Result<Self, VmError> {
        let make = || -> io::Result<File> {
            let file = File::from(memfd_create("rtscope-guest", MemfdFlags::CLOEXEC)?);
            file.set_len(u64::from(mib) << 20)?;
            Ok(file)
        };
        make().map(Self).map_err(VmError::io("memory for the guest"))
    }

    /// The one that is kept at `path`. QEMU opens it for writing, whatever it does with it: where that is refused, a copy in memory serves.
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

    /// Copies it to an empty file; where nothing was written stays a hole.
    pub(super) fn copy_to(&self, to: &File) -> io::Result<()> {
        to.set_len(self.0.metadata()?.len())?;
        self.each_piece(|at, piece| to.write_all_at(piece, at))
    }

    /// A CRC-32 over what is in it, whichever parts of the nothing are holes: it tells what a disk or a cut of the power did to it. No
    /// cryptographic hash: nobody is to be kept out, and each start takes it.
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

    /// Reads what was written to it, from the start of a page each time: where it stands, and the bytes.
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

    /// Gives it to the machine that `command` will be, of `mib` MiB.
    pub(super) fn give(&self, command: &mut Command, mib: u32, how: Use) {
        let share = if how == Use::Written { "on" } else { "off" };
        let fd = self.0.as_raw_fd();
        sys::process::inherit(command, fd);
        command.arg("-object").arg(format!("memory-backend-file,id={ID},size={mib}M,share={share},mem-path=/proc/self/fd/{fd}"));
    }

    /// Arguments for a machine whose memory nobody else reads.
    pub(super) fn own(mib: u32) -> [OsString; 2] {
        ["-object".into(), format!("memory-backend-ram,id={ID},size={mib}M").into()]
    }
}

/// What the machine calls its memory (`-M memory-backend=`).
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
        // Nothing is nothing, whether it was written or not; anything else is not.
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
        // What is done with a copy does not reach what is kept.
        Memory::copy_of(&path).unwrap().0.write_all_at(b"else", 4096).unwrap();
        Memory::open(&path).unwrap().0.read_exact_at(&mut read, 4096).unwrap();
        assert_eq!(&read, b"word");
        assert!(Memory::open(&dir.path().join("none")).is_err());
    }
}
