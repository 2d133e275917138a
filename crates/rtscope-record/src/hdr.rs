//! HdrHistogram's V2 wire format, compressed and in base64, as all HdrHistogram libraries read it.
//!
//! An own codec instead of the `hdrhistogram` crate (which is the oracle of the tests): the probe stays small, and reading is
//! strict: another bucket scheme, a damaged count or a trailing byte is an error, never a slightly different histogram. Format:
//! cookie, payload length, normalizing offset, significant digits, lowest and highest trackable value, conversion ratio (all
//! big-endian), then ZigZag LEB128 counts, where a negative number skips that many zero counts; the whole compressed by zlib after
//! a cookie and a length.

use crate::histogram::{ANEW, Histogram, SLOTS, SlotError};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rtscope_failure::Problem;

// The second to last hex digit of a cookie is the format's word size, which is 1 in all of V2.
const V2_COOKIE: u32 = 0x1c84_9313;
const V2_COMPRESSED_COOKIE: u32 = 0x1c84_9314;
const HEADER: usize = 40;
const DIGITS: u32 = 3;
/// At most ten bytes for each count and for one skip before it; longer inflated data are not a histogram of this scheme.
const MOST_INFLATED: usize = HEADER + SLOTS * 20;

/// Bytes that zlib adds to data it can't shrink: header, checksum, the length of a block.
const ZLIB_FRAME: usize = 11;

/// Why a text is not a histogram of rtscope's scheme.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HdrError {
    /// The text is not base64.
    #[error("the histogram is not base64")]
    Base64,
    /// The cookie or length of a frame is wrong.
    #[error("the histogram is not in HdrHistogram's V2 compressed format")]
    Frame,
    /// zlib could not inflate the data.
    #[error("the histogram's compressed data are damaged")]
    Compression,
    /// Digits, lowest value, offset or ratio differ from rtscope's scheme.
    #[error("the histogram has another bucket scheme (rtscope's: lowest value 1, 3 significant digits)")]
    Scheme,
    /// A count is truncated, or a skip goes beyond the last slot.
    #[error("the histogram's counts are damaged")]
    Counts,
    /// Too many samples, or a count beyond the last slot.
    #[error(transparent)]
    Slot(#[from] SlotError),
}

impl Problem for HdrError {
    fn remedy(&self) -> String {
        match self {
            Self::Base64 | Self::Frame | Self::Compression | Self::Counts => ANEW.into(),
            Self::Scheme => "write it with rtscope's scheme, or import the text that it was made of".into(),
            Self::Slot(e) => e.remedy(),
        }
    }
}

/// The histogram as base64 of the compressed V2 format. If it was read from such a text, that text.
pub fn encode(h: &Histogram) -> String {
    h.text().map_or_else(|| pack(h), str::to_owned)
}

/// The highest trackable value in the format's header: the end of the highest occupied slot, at least 2. No higher than needed,
/// since signed readers (Java) expect it below 2^63.
fn highest(h: &Histogram) -> u64 {
    h.iter().next_back().map_or(2, |(_, highest, _)| highest.max(2))
}

fn pack(h: &Histogram) -> String {
    let mut counts = Vec::new();
    let mut next = 0usize;
    for (slot, n) in h.slots() {
        if slot > next {
            zigzag(&mut counts, -i64::try_from(slot - next).unwrap_or(i64::MAX));
        }
        // Counts are signed 64-bit in the format; a histogram counts at most i64::MAX.
        zigzag(&mut counts, i64::try_from(n).unwrap_or(i64::MAX));
        next = slot + 1;
    }
    let mut v2 = Vec::with_capacity(HEADER + counts.len());
    v2.extend(V2_COOKIE.to_be_bytes());
    v2.extend(u32::try_from(counts.len()).unwrap_or(u32::MAX).to_be_bytes());
    v2.extend(0u32.to_be_bytes());
    v2.extend(DIGITS.to_be_bytes());
    v2.extend(1u64.to_be_bytes());
    v2.extend(highest(h).to_be_bytes());
    v2.extend(1f64.to_be_bytes());
    v2.extend(counts);
    let packed = crate::zlib::pack(&v2);
    let mut out = Vec::with_capacity(8 + packed.len());
    out.extend(V2_COMPRESSED_COOKIE.to_be_bytes());
    out.extend(u32::try_from(packed.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend(packed);
    STANDARD.encode(out)
}

/// Reads what [`encode`] wrote, and V2 histograms of the same scheme from any other writer.
pub fn decode(text: &str) -> Result<Histogram, HdrError> {
    let framed = STANDARD.decode(text).map_err(|_| HdrError::Base64)?;
    let (cookie, rest) = take_u32(&framed).ok_or(HdrError::Frame)?;
    let (length, packed) = take_u32(rest).ok_or(HdrError::Frame)?;
    if cookie != V2_COMPRESSED_COOKIE || usize::try_from(length).ok() != Some(packed.len()) {
        return Err(HdrError::Frame);
    }
    let v2 = crate::zlib::unpack(packed, MOST_INFLATED).ok_or(HdrError::Compression)?;
    if v2.len() < HEADER {
        return Err(HdrError::Frame);
    }
    let (header, payload) = v2.split_at(HEADER);
    let (cookie, rest) = take_u32(header).ok_or(HdrError::Frame)?;
    let (length, rest) = take_u32(rest).ok_or(HdrError::Frame)?;
    if cookie != V2_COOKIE || usize::try_from(length).ok() != Some(payload.len()) {
        return Err(HdrError::Frame);
    }
    let scheme: [&[u8]; 2] = [&rest[..16], &rest[24..]];
    let ours = [[0u32.to_be_bytes(), DIGITS.to_be_bytes(), [0; 4], 1u32.to_be_bytes()].concat(), 1f64.to_be_bytes().to_vec()];
    if scheme[0] != ours[0] || scheme[1] != ours[1] {
        return Err(HdrError::Scheme);
    }
    let mut histogram = Histogram::with_room(payload.len() / 2);
    let mut slot = 0u64;
    let mut bytes = payload;
    while !bytes.is_empty() {
        let (n, rest) = unzigzag(bytes).ok_or(HdrError::Counts)?;
        bytes = rest;
        if n < 0 {
            slot = slot.checked_add(n.unsigned_abs()).filter(|&s| s <= SLOTS as u64).ok_or(HdrError::Counts)?;
        } else {
            if n > 0 {
                histogram.add(slot, n.unsigned_abs())?;
            }
            slot += 1;
        }
    }
    // The original text is not kept if its highest value could confuse other readers, or if it is compressed to more than its
    // content.
    let usual = rest[16..24] == highest(&histogram).to_be_bytes() && packed.len() <= v2.len() + ZLIB_FRAME;
    Ok(if usual { histogram.read_from(text) } else { histogram })
}

fn take_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*head), rest))
}

/// ZigZag LEB128 with HdrHistogram's limit of nine bytes: the ninth carries eight bits.
#[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation)] // the encoding works on bits
fn zigzag(out: &mut Vec<u8>, n: i64) {
    let mut v = ((n << 1) ^ (n >> 63)) as u64;
    for _ in 0..8 {
        if v < 0x80 {
            out.push(v as u8);
            return;
        }
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

fn unzigzag(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let mut v = 0u64;
    for i in 0..9 {
        let b = *bytes.get(i)?;
        if i == 8 {
            v |= u64::from(b) << 56;
        } else {
            v |= u64::from(b & 0x7f) << (7 * i);
        }
        if i == 8 || b < 0x80 {
            #[allow(clippy::cast_possible_wrap)] // the encoding works on bits
            let n = ((v >> 1) as i64) ^ -((v & 1) as i64);
            return Some((n, &bytes[i + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram as Theirs;
    use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
    use proptest::prelude::*;

    fn fill(values: &[(u64, u64)]) -> Histogram {
        let mut h = Histogram::new();
        for &(v, n) in values {
            h.record(v, n).unwrap();
        }
        h
    }

    #[test]
    fn a_text_is_passed_on_as_it_was_read_until_something_is_added() {
        let values = [(5, 3), (70_000, 1), (900_000, 2)];
        let plain = fill(&values);
        let ours = encode(&plain);
        let v2 = crate::zlib::unpack(&STANDARD.decode(&ours).unwrap()[8..], 1 << 20).unwrap();
        // The same counts, stored without compression.
        let stored = miniz_oxide::deflate::compress_to_vec_zlib(&v2, 0);
        let text = STANDARD.encode(frame(&stored));
        assert_ne!(text, ours);
        let read = decode(&text).unwrap();
        assert_eq!((&read, encode(&read)), (&plain, text.clone()));
        let mut more = read.clone();
        more.record(5, 0).unwrap();
        assert_eq!(encode(&more), text);
        more.record(5, 1).unwrap();
        assert_eq!(encode(&more), encode(&fill(&[(5, 4), (70_000, 1), (900_000, 2)])));
        for (mut sum, other) in [(read.clone(), fill(&[(1, 1)])), (read.clone(), read.clone())] {
            sum.merge(&other).unwrap();
            assert_ne!(encode(&sum), text);
            assert_eq!(decode(&encode(&sum)), Ok(sum));
        }
        // Compressed to more than its content, or with a wrong highest value: encoded anew.
        let padded = [&stored[..2], &[0, 0, 0, 0xff, 0xff].repeat(3), &stored[2..]].concat();
        assert_eq!(encode(&decode(&STANDARD.encode(frame(&padded))).unwrap()), ours);
        let mut low = v2.clone();
        low[24..32].copy_from_slice(&2u64.to_be_bytes());
        assert_eq!(encode(&decode(&framed(V2_COMPRESSED_COOKIE, &low)).unwrap()), ours);
    }

    fn frame(packed: &[u8]) -> Vec<u8> {
        [&V2_COMPRESSED_COOKIE.to_be_bytes(), &u32::try_from(packed.len()).unwrap().to_be_bytes(), packed].concat()
    }

    #[test]
    fn an_empty_histogram_survives() {
        assert_eq!(decode(&encode(&Histogram::new())), Ok(Histogram::new()));
    }

    /// The text of a histogram with these parts, which may be wrong.
    fn text(cookies: [u32; 2], header: [u32; 2], lowest: u64, ratio: f64, payload: &[u8]) -> String {
        let mut v2 = cookies[1].to_be_bytes().to_vec();
        v2.extend(u32::try_from(payload.len()).unwrap().to_be_bytes());
        for part in header {
            v2.extend(part.to_be_bytes());
        }
        v2.extend(lowest.to_be_bytes());
        v2.extend(u64::MAX.to_be_bytes());
        v2.extend(ratio.to_be_bytes());
        v2.extend(payload);
        framed(cookies[0], &v2)
    }

    fn framed(cookie: u32, v2: &[u8]) -> String {
        let packed = miniz_oxide::deflate::compress_to_vec_zlib(v2, 6);
        let length = u32::try_from(packed.len()).unwrap();
        STANDARD.encode([&cookie.to_be_bytes(), &length.to_be_bytes(), packed.as_slice()].concat())
    }

    const COOKIES: [u32; 2] = [0x1c84_9314, 0x1c84_9313];

    fn with_counts(payload: &[u8]) -> Result<Histogram, HdrError> {
        decode(&text(COOKIES, [0, 3], 1, 1.0, payload))
    }

    #[test]
    fn the_bytes_are_those_of_the_format() {
        let h = fill(&[(0, 1), (1, 2), (5, 3), (2048, 300)]);
        let raw = STANDARD.decode(encode(&h)).unwrap();
        assert_eq!(raw[..4], [0x1c, 0x84, 0x93, 0x14]);
        assert_eq!(u32::from_be_bytes(raw[4..8].try_into().unwrap()) as usize, raw.len() - 8);
        let v2 = miniz_oxide::inflate::decompress_to_vec_zlib(&raw[8..]).unwrap();
        // 1 and 2 in slots 0 and 1; skip 3 slots; 3; skip 2,042 slots; 300.
        let counts = [2, 4, 5, 6, 0xf3, 0x1f, 0xd8, 0x04];
        let header = [
            &[0x1c, 0x84, 0x93, 0x13][..],
            &8u32.to_be_bytes(),
            &0u32.to_be_bytes(),
            &3u32.to_be_bytes(),
            &1u64.to_be_bytes(),
            &2049u64.to_be_bytes(),
            &1f64.to_be_bytes(),
        ];
        assert_eq!(v2, [header.concat(), counts.to_vec()].concat());
        assert_eq!(with_counts(&counts), Ok(h));
        // Zero counts may be written as such, even after the last slot.
        assert_eq!(with_counts(&[0, 0, 6, 0]), Ok(fill(&[(2, 3)])));
        let past_the_last = [0xff, 0xef, 0x06, 0];
        assert_eq!(with_counts(&past_the_last), Ok(Histogram::new()));
    }

    #[test]
    fn numbers_have_as_many_bytes_as_they_need() {
        let cases: [(i64, usize); 12] = [
            (0, 1),
            (-1, 1),
            (1, 1),
            (63, 1),
            (-64, 1),
            (64, 2),
            (-65, 2),
            (300, 2),
            ((1 << 55) - 1, 8),
            (1 << 55, 9),
            (i64::MAX, 9),
            (i64::MIN, 9),
        ];
        for (n, length) in cases {
            let mut bytes = Vec::new();
            zigzag(&mut bytes, n);
            assert_eq!(bytes.len(), length, "{n}");
            assert_eq!(unzigzag(&bytes[..length - 1]), None, "{n}");
            bytes.push(7);
            assert_eq!(unzigzag(&bytes), Some((n, &[7][..])), "{n}");
        }
    }

    #[test]
    fn what_is_not_of_the_scheme_is_refused_by_name() {
        let empty = |cookies, header, lowest, ratio| decode(&text(cookies, header, lowest, ratio, &[]));
        assert_eq!(empty(COOKIES, [0, 3], 1, 1.0), Ok(Histogram::new()));
        assert_eq!(empty([COOKIES[0] + 1, COOKIES[1]], [0, 3], 1, 1.0), Err(HdrError::Frame));
        assert_eq!(empty([COOKIES[0], COOKIES[1] + 1], [0, 3], 1, 1.0), Err(HdrError::Frame));
        assert_eq!(empty(COOKIES, [1, 3], 1, 1.0), Err(HdrError::Scheme));
        assert_eq!(empty(COOKIES, [0, 2], 1, 1.0), Err(HdrError::Scheme));
        assert_eq!(empty(COOKIES, [0, 3], 2, 1.0), Err(HdrError::Scheme));
        assert_eq!(empty(COOKIES, [0, 3], 1, 2.0), Err(HdrError::Scheme));
        assert_eq!(with_counts(&[0x80]), Err(HdrError::Counts));
        // 56,321 slots skipped, one more than there are; then a count just after the last slot.
        assert_eq!(with_counts(&[0x81, 0xf0, 0x06]), Err(HdrError::Counts));
        assert_eq!(with_counts(&[0xff, 0xef, 0x06, 2]), Err(SlotError::Beyond(56_320).into()));
    }

    #[test]
    fn lengths_must_be_right() {
        assert_eq!(decode("!"), Err(HdrError::Base64));
        let whole = STANDARD.decode(encode(&fill(&[(5, 1)]))).unwrap();
        for raw in [&[][..], &whole[..3], &whole[..7], &whole[..whole.len() - 1], &[&whole[..], &[0]].concat()] {
            assert_eq!(decode(&STANDARD.encode(raw)), Err(HdrError::Frame));
        }
        let v2 = miniz_oxide::inflate::decompress_to_vec_zlib(&whole[8..]).unwrap();
        assert!(decode(&framed(COOKIES[0], &v2)).is_ok());
        for short in [&v2[..39], &v2[..40], &[&v2[..], &[2]].concat()] {
            assert_eq!(decode(&framed(COOKIES[0], short)), Err(HdrError::Frame));
        }
    }

    #[test]
    fn the_largest_histogram_is_read_and_nothing_larger() {
        let full = Histogram::from_slots((0..56_320).map(|slot| (slot, 1 << 47))).unwrap();
        assert_eq!(decode(&encode(&full)), Ok(full));
        let most = 40 + 56_320 * 20;
        assert_eq!(decode(&framed(COOKIES[0], &vec![0; most])), Err(HdrError::Frame));
        assert_eq!(decode(&framed(COOKIES[0], &vec![0; most + 1])), Err(HdrError::Compression));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(values in prop::collection::vec((any::<u64>(), 1u64..1 << 40), 0..100)) {
            let h = fill(&values);
            prop_assert_eq!(decode(&encode(&h)), Ok(h));
        }

        #[test]
        fn the_hdrhistogram_library_reads_ours(values in prop::collection::vec((0u64..1 << 50, 1u64..1 << 40), 0..100)) {
            let h = fill(&values);
            let raw = STANDARD.decode(encode(&h)).unwrap();
            let theirs: Theirs<u64> = Deserializer::new().deserialize(&mut raw.as_slice()).unwrap();
            prop_assert_eq!(theirs.len(), h.total());
            for (lowest, highest, n) in h.iter() {
                prop_assert_eq!(theirs.count_at(lowest), n);
                prop_assert_eq!(theirs.highest_equivalent(lowest), highest);
            }
        }

        #[test]
        fn ours_reads_the_hdrhistogram_library(values in prop::collection::vec((0u64..1 << 50, 1u64..1 << 40), 0..100)) {
            let mut theirs = Theirs::<u64>::new_with_bounds(1, 1 << 52, 3).unwrap();
            for &(v, n) in &values { theirs.record_n(v, n).unwrap(); }
            let mut raw = Vec::new();
            V2DeflateSerializer::new().serialize(&theirs, &mut raw).unwrap();
            prop_assert_eq!(decode(&STANDARD.encode(raw)), Ok(fill(&values)));
        }

        #[test]
        fn damage_never_panics(values in prop::collection::vec((any::<u64>(), 1u64..9), 0..40), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
            let mut raw = STANDARD.decode(encode(&fill(&values))).unwrap();
            for (at, by) in flips { let i = at.index(raw.len()); raw[i] ^= by; }
            let _ = decode(&STANDARD.encode(raw));
        }

        #[test]
        fn any_payload_is_read_or_refused(counts in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = with_counts(&counts);
        }

        #[test]
        fn any_text_is_refused_or_read(text in "\\PC{0,80}") {
            let _ = decode(&text);
        }
    }
}
