//! zlib streams, packed and unpacked with state that each thread reuses: for a few hundred bytes, initializing a new compressor
//! (some 300 KB of tables) costs several times as much as the work.

use miniz_oxide::deflate::core::{CompressorOxide, TDEFLFlush, TDEFLStatus, compress, create_comp_flags_from_zip_params};
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};
use std::cell::RefCell;

/// zlib's default level.
const LEVEL: i32 = 6;

thread_local! {
    static PACKER: RefCell<Option<Box<CompressorOxide>>> = const { RefCell::new(None) };
    static UNPACKER: RefCell<Option<Box<DecompressorOxide>>> = const { RefCell::new(None) };
}

/// `bytes` as a zlib stream; the result does not depend on what was packed before.
pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    PACKER.with_borrow_mut(|kept| {
        let packer = kept.get_or_insert_with(|| Box::new(CompressorOxide::new(create_comp_flags_from_zip_params(LEVEL, 1, 0))));
        packer.reset();
        let mut out = vec![0; bytes.len() / 2 + 64];
        let (mut read, mut written) = (0, 0);
        loop {
            let (status, more_read, more_written) = compress(packer, &bytes[read..], &mut out[written..], TDEFLFlush::Finish);
            (read, written) = (read + more_read, written + more_written);
            // Any other status is the end: a full output gives `Okay`, and all input is available.
            if status != TDEFLStatus::Okay {
                out.truncate(written);
                return out;
            }
            out.resize(out.len() * 2, 0);
        }
    })
}

/// The content of a zlib stream of at most `most` bytes; `None` for a damaged or a longer one.
pub(crate) fn unpack(packed: &[u8], most: usize) -> Option<Vec<u8>> {
    UNPACKER.with_borrow_mut(|kept| {
        let unpacker = kept.get_or_insert_with(Box::default);
        unpacker.init();
        let flags = inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let mut out = vec![0; packed.len().saturating_mul(4).min(most)];
        let (mut read, mut written) = (0, 0);
        loop {
            let (status, more_read, more_written) = decompress(unpacker, packed.get(read..)?, &mut out, written, flags);
            (read, written) = (read + more_read, written + more_written);
            match status {
                TINFLStatus::Done => {
                    out.truncate(written);
                    return Some(out);
                }
                TINFLStatus::HasMoreOutput if out.len() < most => out.resize((out.len() * 2).max(64).min(most), 0),
                _ => return None,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use miniz_oxide::{deflate::compress_to_vec_zlib, inflate::decompress_to_vec_zlib_with_limit};
    use proptest::prelude::*;

    /// Bytes that compress well, and others.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![4 => prop::collection::vec(any::<u8>(), 0..3000), 1 => prop::collection::vec(0u8..3, 0..100_000)]
    }

    proptest! {
        #[test]
        fn each_is_packed_and_unpacked_as_by_new_machinery(all in prop::collection::vec(bytes(), 1..5), most in 0usize..6000) {
            for bytes in &all {
                let packed = pack(bytes);
                prop_assert_eq!(&packed, &compress_to_vec_zlib(bytes, 6));
                prop_assert_eq!(unpack(&packed, bytes.len()), Some(bytes.clone()));
                prop_assert_eq!(unpack(&packed, most), (bytes.len() <= most).then(|| bytes.clone()));
                // A stream that ends too early must not affect the next one.
                prop_assert_eq!(unpack(&packed[..packed.len() - 1], bytes.len()), None);
            }
        }

        #[test]
        fn what_is_no_stream_is_refused_as_by_the_library(bytes in prop::collection::vec(any::<u8>(), 0..200), most in 0usize..500) {
            for bytes in [bytes.clone(), [&[0x78, 0x9c], bytes.as_slice()].concat()] {
                prop_assert_eq!(unpack(&bytes, most), decompress_to_vec_zlib_with_limit(&bytes, most).ok());
            }
        }
    }

    #[test]
    fn a_small_stream_of_much_is_unpacked_up_to_the_limit() {
        let much = vec![7; 1_000_000];
        let packed = pack(&much);
        assert!(packed.len() < 2000);
        assert_eq!(unpack(&packed, 1_000_000).as_ref(), Some(&much));
        assert_eq!(unpack(&packed, 999_999), None);
        // As zlib itself packs a hundred sevens.
        let sevens = [0x78, 0x9c, 0x63, 0x67, 0xa7, 0x3d, 0x00, 0x00, 0x8a, 0x7a, 0x02, 0xbd];
        assert_eq!((unpack(&sevens, 100), unpack(&sevens, 63)), (Some(vec![7; 100]), None), "the limit is below the least room");
        assert_eq!((unpack(&[], 10), unpack(&pack(&[]), 0)), (None, Some(Vec::new())));
    }

    #[test]
    fn what_packs_badly_is_taken_in_several_rounds() {
        let mut state = 1u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .take(300_000)
        .collect();
        let packed = pack(&noise);
        assert!(packed == compress_to_vec_zlib(&noise, 6) && packed.len() > noise.len());
        assert!(unpack(&packed, noise.len()) == Some(noise));
    }
}
