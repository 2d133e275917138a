//! The fastest bootable form of a kernel: unpacked, where QEMU can enter it that way.
//!
//! A bzImage unpacks itself, which takes up to a third of a lab machine's boot. QEMU enters an x86 ELF kernel
//! through its PVH note (of Xen's boot protocol, docs/misc/pvh.pandoc there), which Debian's kernels have. It
//! is the same kernel, at the address it was linked for.

use super::{Arch, CachedKernel, KernelError};
use elf::ElfBytes;
use elf::endian::LittleEndian;
use elf::note::Note;
use flate2::bufread::GzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;
use std::fs;
use std::io::Read;
use std::path::PathBuf;

/// The unpacked kernel, beside the packed one.
const VMLINUX: &str = "vmlinux";
/// Type of the ELF note with the entry point (`XEN_ELFNOTE_PHYS32_ENTRY`).
const PVH: u64 = 18;
/// Limit for unpacking, bytes: more than any kernel, so that a damaged one does not unpack without end.
const MOST: u64 = 1 << 30;

impl CachedKernel {
    /// The file that a machine boots: the unpacked kernel, which is made in the cache on first use where possible;
    /// else the kernel as it is.
    pub(crate) fn bootable(&self) -> Result<PathBuf, KernelError> {
        let (packed, unpacked) = (self.vmlinuz(), self.dir().join(VMLINUX));
        if self.arch != Arch::Amd64 || unpacked.is_file() {
            return Ok(if unpacked.is_file() { unpacked } else { packed });
        }
        let bytes = rtscope_files::read(&packed, rtscope_files::LARGE).map_err(KernelError::io(&packed))?;
        let Some(kernel) = unpack(&bytes).filter(|k| has_pvh(k)) else { return Ok(packed) };
        // Written under another name and renamed, so that nothing boots half a kernel.
        let unfinished = self.dir().join(format!("{VMLINUX}.{}", std::process::id()));
        let written = fs::write(&unfinished, kernel).and_then(|()| fs::rename(&unfinished, &unpacked));
        if let Err(e) = written {
            let _ = fs::remove_file(&unfinished);
            return Err(KernelError::io(&unpacked)(e));
        }
        Ok(unpacked)
    }
}

/// The kernel in a bzImage packed by gzip (the kernel configuration's default), xz or zstd; `None` for anything
/// else. Layout: Documentation/arch/x86/boot.rst, `setup_sects`, `payload_offset`, `payload_length`.
fn unpack(image: &[u8]) -> Option<Vec<u8>> {
    let word = |at: usize| image.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize);
    if image.get(0x202..0x206)? != b"HdrS" {
        return None;
    }
    let start = (usize::from(*image.get(0x1f1)?) + 1).checked_mul(512)?.checked_add(word(0x248)?)?;
    let payload = image.get(start..start.checked_add(word(0x24c)?)?)?;
    let mut kernel = Vec::new();
    let read = if payload.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]) {
        // The uncompressed size follows the stream and is not part of it.
        XzReader::new(payload, false).take(MOST).read_to_end(&mut kernel)
    } else if payload.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        StreamingDecoder::new(payload).ok()?.take(MOST).read_to_end(&mut kernel)
    } else if payload.starts_with(&[0x1f, 0x8b, 8]) {
        GzDecoder::new(payload).take(MOST).read_to_end(&mut kernel)
    } else {
        return None;
    };
    read.ok().map(|_| kernel)
}

/// Whether an ELF kernel has a PVH entry point.
fn has_pvh(kernel: &[u8]) -> bool {
    let notes = || -> Option<bool> {
        let file = ElfBytes::<LittleEndian>::minimal_parse(kernel).ok()?;
        let segments = file.segments()?;
        Some(segments.iter().filter(|s| s.p_type == elf::abi::PT_NOTE).any(|s| {
            let notes = file.segment_data_as_notes(&s).into_iter().flatten();
            notes.into_iter().any(|n| matches!(n, Note::Unknown(n) if n.name.starts_with(b"Xen") && n.n_type == PVH))
        }))
    };
    notes().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A bzImage with this payload.
    fn image(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 0x400];
        image[0x1f1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x248..0x24c].copy_from_slice(&16u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&u32::try_from(payload.len()).unwrap().to_le_bytes());
        image.extend([0; 16]);
        image.extend(payload);
        image
    }

    #[test]
    fn a_payload_is_unpacked_with_its_size_behind_it() {
        // "kernel" packed by `xz --check=crc32`, `zstd` and `gzip -n`; the test appends the size, as the kernel's build does.
        let xz = "fd377a585a0000016922de36020021011600000074 2fe5a30100056b65726e656c000000ab9ad25d00011a06c5eac8799042990d010000000001595a";
        let zstd = "28b52ffd0458310000 6b65726e656c18d08aee";
        let gzip = "1f8b0800000000000203cb4e2dca4bcd0100ab9ad25d06000000";
        for hex in [xz, zstd, gzip] {
            let digits: Vec<u8> = hex.bytes().filter(|b| *b != b' ').collect();
            let byte = |d: &[u8]| u8::from_str_radix(std::str::from_utf8(d).unwrap(), 16).unwrap();
            let mut payload: Vec<u8> = digits.chunks(2).map(byte).collect();
            payload.extend(6u32.to_le_bytes());
            assert_eq!(unpack(&image(&payload)).as_deref(), Some(&b"kernel"[..]));
            // A truncated payload is refused.
            assert_eq!(unpack(&image(&payload[..payload.len() - 12])), None);
        }
        assert!(!has_pvh(b"kernel"));
    }

    proptest! {
        #[test]
        fn any_image_is_unpacked_or_not(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let _ = unpack(&image(&bytes));
            let _ = unpack(&bytes);
            let _ = has_pvh(&bytes);
        }
    }
}
