//! Frames on the serial line: a sequence number, a record and a CRC-16 in SLIP framing.

/// Ends a frame.
pub const END: u8 = 0xC0;
const ESC: u8 = 0xDB;
const ESC_END: u8 = 0xDC;
const ESC_ESC: u8 = 0xDD;
/// Bytes of a record's frame before escaping, with sequence number and CRC.
const RECORD: usize = 10;

/// Kinds of records other than events.
const REPLY: u8 = 8;
const LOST: u8 = 9;
const REFUSED: u8 = 10;

/// A record from the instrument, with the sequence number of its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameRecord {
    /// Counts frames, modulo 65536.
    pub sequence: u16,
    /// What the record says.
    pub body: Body,
}

/// The content of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// Something happened in a tick.
    Tick(Tick),
    /// Events that did not fit into the instrument's store.
    Lost {
        /// How many, at least one.
        events: u32,
        /// The channels' levels when the record was made.
        levels: u8,
    },
    /// The answer to a command.
    Reply {
        /// Whether it was carried out.
        done: bool,
        /// The register's address.
        address: u8,
        /// The command's tag.
        tag: u8,
        /// The register's value: as read, or as just written.
        value: u32,
    },
}

/// A tick in which something happened. Channels are bits; the stimulus is the lowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// An enabled channel changed.
    pub edge: bool,
    /// The counter began the other half of its range.
    pub wrap: bool,
    /// The host requested a mark.
    pub mark: bool,
    /// Levels before the tick.
    pub before: u8,
    /// Levels in the tick's first half.
    pub first: u8,
    /// Levels in the tick's second half.
    pub second: u8,
    /// The tick counter, modulo 2^32.
    pub tick: u32,
}

/// CRC-16/IBM-3740.
pub fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0xFFFF, |crc, &byte| {
        (0..8).fold(crc ^ u16::from(byte) << 8, |crc, _| (crc << 1) ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 })
    })
}

/// The frame for this payload: adds CRC, escapes and END.
pub fn frame(payload: &[u8]) -> Vec<u8> {
    let crc = crc16(payload).to_be_bytes();
    let mut out = Vec::with_capacity(payload.len() + 8);
    for &byte in payload.iter().chain(&crc) {
        match byte {
            END => out.extend([ESC, ESC_END]),
            ESC => out.extend([ESC, ESC_ESC]),
            _ => out.push(byte),
        }
    }
    out.push(END);
    out
}

/// A command's frame, preceded by an END that closes any noise before it.
pub fn command(write: bool, address: u8, tag: u8, value: u32) -> Vec<u8> {
    let mut payload = vec![(if write { 2 } else { 1 }) << 4 | (address & 0xF), tag];
    payload.extend(value.to_be_bytes());
    let mut out = vec![END];
    out.extend(frame(&payload));
    out
}

/// The result of parsing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed {
    /// A whole frame with a valid record.
    FrameRecord(FrameRecord),
    /// Bytes that are not a valid frame.
    Damaged,
}

/// Parses bytes, in pieces of any size, into records. Keeps at most one frame.
#[derive(Debug, Default)]
pub struct Parser {
    frame: Vec<u8>,
    escaped: bool,
    bad: bool,
}

impl Parser {
    /// Takes a byte. Returns a result at the end of a frame, except an empty one.
    pub fn take(&mut self, byte: u8) -> Option<Parsed> {
        if byte != END {
            self.hold(byte);
            return None;
        }
        let nothing = self.frame.is_empty() && !self.bad && !self.escaped;
        let record = if self.bad || self.escaped { None } else { record(&self.frame) };
        self.frame.clear();
        (self.bad, self.escaped) = (false, false);
        if nothing { None } else { Some(record.map_or(Parsed::Damaged, Parsed::FrameRecord)) }
    }

    fn hold(&mut self, byte: u8) {
        let byte = match (self.escaped, byte) {
            (false, ESC) => {
                self.escaped = true;
                return;
            }
            (true, ESC_END) => END,
            (true, ESC_ESC) => ESC,
            (true, _) => {
                self.bad = true;
                byte
            }
            (false, _) => byte,
        };
        self.escaped = false;
        if self.frame.len() == RECORD {
            self.bad = true;
        } else {
            self.frame.push(byte);
        }
    }
}

/// The record in a frame's bytes; `None` if they are not a valid record.
fn record(f: &[u8]) -> Option<FrameRecord> {
    let f: &[u8; RECORD] = f.try_into().ok()?;
    if crc16(f) != 0 {
        return None;
    }
    let (kind, low, value) = (f[2] >> 4, f[2] & 0xF, u32::from_be_bytes([f[4], f[5], f[6], f[7]]));
    let body = match kind {
        1..=7 => Body::Tick(Tick {
            edge: kind & 1 != 0,
            wrap: kind & 2 != 0,
            mark: kind & 4 != 0,
            before: low,
            first: f[3] >> 4,
            second: f[3] & 0xF,
            tick: value,
        }),
        LOST if value > 0 => Body::Lost { events: value, levels: f[3] & 0xF },
        REPLY | REFUSED => Body::Reply { done: kind == REPLY, address: low, tag: f[3], value },
        _ => return None,
    };
    Some(FrameRecord { sequence: u16::from_be_bytes([f[0], f[1]]), body })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(bytes: &[u8]) -> Vec<Parsed> {
        let mut parser = Parser::default();
        bytes.iter().filter_map(|&b| parser.take(b)).collect()
    }

    #[test]
    fn the_protocols_examples_are_read_and_written() {
        assert_eq!(crc16(b"123456789"), 0x29B1);
        assert_eq!(command(false, 1, 7, 0), [0xC0, 0x11, 7, 0, 0, 0, 0, 0x36, 0xE0, 0xC0]);
        let reply = [0x00, 0x01, 0x81, 0x07, 0x05, 0xE6, 0x9E, 0xDB, 0xDC, 0x33, 0x77, 0xC0];
        let body = Body::Reply { done: true, address: 1, tag: 7, value: 99_000_000 };
        assert_eq!(parse(&reply), [Parsed::FrameRecord(FrameRecord { sequence: 1, body })]);
    }

    #[test]
    fn kinds_that_are_not_known_are_damage() {
        for kind in [0u8, 11, 12, 15] {
            assert_eq!(parse(&frame(&[0, 0, kind << 4, 0, 0, 0, 0, 1])), [Parsed::Damaged], "{kind}");
        }
        // A loss of zero events is not valid.
        assert_eq!(parse(&frame(&[0, 0, 0x90, 0, 0, 0, 0, 0])), [Parsed::Damaged]);
    }

    fn payload() -> impl Strategy<Value = Vec<u8>> {
        // Bytes that need an escape are as frequent as all others together.
        let byte = prop_oneof![any::<u8>(), Just(END), Just(ESC), Just(ESC_END), Just(ESC_ESC)];
        (any::<u16>(), 1u8..8, proptest::collection::vec(byte, 5)).prop_map(|(sequence, kind, rest)| {
            let mut p = sequence.to_be_bytes().to_vec();
            p.push(kind << 4 | rest[0] & 0xF);
            p.extend(&rest[1..]);
            p.push(rest[0]);
            p
        })
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let frames = bytes.split(|&b| b == END).count();
            prop_assert!(parse(&bytes).len() < frames);
        }

        #[test]
        fn a_stream_comes_back_however_it_is_framed(payloads in proptest::collection::vec(payload(), 1..20), ends in 0usize..3) {
            let mut bytes = Vec::new();
            for p in &payloads {
                bytes.extend(std::iter::repeat_n(END, ends));
                bytes.extend(frame(p));
            }
            let records = parse(&bytes);
            prop_assert_eq!(records.len(), payloads.len());
            for (parsed, p) in records.iter().zip(&payloads) {
                let Parsed::FrameRecord(r) = parsed else { panic!("damaged") };
                prop_assert_eq!(r.sequence, u16::from_be_bytes([p[0], p[1]]));
                let Body::Tick(e) = r.body else { panic!("no event") };
                prop_assert_eq!(e.tick, u32::from_be_bytes([p[4], p[5], p[6], p[7]]));
                prop_assert_eq!((e.before, e.first, e.second), (p[2] & 0xF, p[3] >> 4, p[3] & 0xF));
            }
        }

        #[test]
        fn up_to_three_flipped_bits_of_a_frame_are_seen(p in payload(), flips in proptest::collection::btree_set(0usize..80, 1..4)) {
            // The bits of a frame before escaping: over a frame this short, the CRC detects all errors of up to three bits.
            let mut whole = p.clone();
            whole.extend(crc16(&p).to_be_bytes());
            for bit in flips {
                whole[bit / 8] ^= 1 << (bit % 8);
            }
            prop_assert!(record(&whole).is_none());
        }

        #[test]
        fn a_lost_byte_is_seen(p in payload(), q in payload(), at in 0usize..30) {
            let mut bytes = frame(&p);
            bytes.extend(frame(&q));
            let good = parse(&bytes);
            bytes.remove(at % bytes.len());
            for parsed in parse(&bytes) {
                prop_assert!(parsed == Parsed::Damaged || good.contains(&parsed));
            }
        }
    }
}
