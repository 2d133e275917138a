//! The text of a table as a stream: encoding, first lines, and rows of limited length.

use crate::capture::error::{CaptureError, LONGEST};
use crate::capture::input::{CHUNK, unread};
use std::io::{self, BufRead, BufReader, Cursor, Read};

/// Most bytes above the rows.
const MOST_HEAD: usize = 4 * LONGEST;

/// Makes a UTF-16 code unit of two bytes: the byte order.
type Pair = fn([u8; 2]) -> u16;

/// A text without its byte order mark; UTF-16, as spreadsheets write it, is converted to UTF-8.
pub(super) struct Plain<R> {
    from: io::Chain<Cursor<Vec<u8>>, R>,
    /// The byte order, where the file is UTF-16.
    pair: Option<Pair>,
    /// UTF-16 bytes that were read but not decoded yet.
    wide: Vec<u8>,
    /// Decoded text, and how much of it was passed on.
    text: Vec<u8>,
    at: usize,
}

impl<R: Read> Plain<R> {
    pub(super) fn new(mut from: R) -> Result<Self, CaptureError> {
        let mut start = Vec::new();
        from.by_ref().take(3).read_to_end(&mut start).map_err(|e| unread(&e))?;
        let (mark, pair): (_, Option<Pair>) = match start[..] {
            [0xff, 0xfe, ..] => (2, Some(u16::from_le_bytes)),
            [0xfe, 0xff, ..] => (2, Some(u16::from_be_bytes)),
            [0xef, 0xbb, 0xbf] => (3, None),
            _ => (0, None),
        };
        start.drain(..mark);
        Ok(Self { from: Cursor::new(start).chain(from), pair, wide: Vec::new(), text: Vec::new(), at: 0 })
    }

    /// Decodes more, until there is text or the file ends.
    fn decode(&mut self, pair: Pair) -> io::Result<()> {
        (self.at, self.text) = (0, std::mem::take(&mut self.text));
        self.text.clear();
        while self.text.is_empty() {
            let ended = self.from.by_ref().take(CHUNK as u64).read_to_end(&mut self.wide)? == 0;
            let mut units: Vec<u16> = self.wide.chunks_exact(2).map(|b| pair([b[0], b[1]])).collect();
            // A high surrogate waits for its low surrogate.
            if units.last().is_some_and(|u| (0xd800..0xdc00).contains(u)) && !ended {
                units.pop();
            }
            self.wide.drain(..units.len() * 2);
            let text: Result<String, _> = char::decode_utf16(units).collect();
            let wrong = |_| io::Error::new(io::ErrorKind::InvalidData, "it begins like UTF-16 but is not: save it as UTF-8");
            self.text = text.map_err(wrong)?.into_bytes();
            if ended {
                break;
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for Plain<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(pair) = self.pair else { return self.from.read(buffer) };
        if self.at == self.text.len() {
            self.decode(pair)?;
        }
        let n = buffer.len().min(self.text.len() - self.at);
        buffer[..n].copy_from_slice(&self.text[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

/// The first lines of a text, and the rest of it.
pub(super) struct Opened<R> {
    pub(super) first: Vec<u8>,
    /// How many bytes of `first` are whole lines.
    pub(super) whole: usize,
    /// The error, where a line was too long to be read.
    pub(super) endless: Option<CaptureError>,
    rest: BufReader<R>,
}

impl<R: Read> Opened<R> {
    /// Reads up to `most` lines.
    pub(super) fn new(from: R, most: usize) -> Result<Self, CaptureError> {
        let mut rest = BufReader::with_capacity(CHUNK, from);
        let (mut first, mut whole, mut lines) = (Vec::new(), 0, 0);
        while lines < most && first.len() < MOST_HEAD {
            let read = rest.by_ref().take((LONGEST + 1) as u64).read_until(b'\n', &mut first).map_err(|e| unread(&e))?;
            if read > LONGEST {
                break;
            }
            whole = first.len();
            lines += 1;
            if read == 0 {
                break;
            }
        }
        let endless = (whole < first.len()).then(|| CaptureError::endless(lines as u64 + 1, "a line"));
        Ok(Self { first, whole, endless, rest })
    }

    /// The text from offset `at` of the first lines on.
    pub(super) fn from(mut self, at: usize) -> Bounded<io::Chain<Cursor<Vec<u8>>, BufReader<R>>> {
        self.first.drain(..at);
        Bounded { from: Cursor::new(self.first).chain(self.rest), since: 0 }
    }
}

/// A text that notices endless rows: the CSV reader would otherwise collect one without limit.
pub(super) struct Bounded<R> {
    from: R,
    /// Bytes since the latest row.
    since: usize,
}

impl<R> Bounded<R> {
    /// Notes that a row was completed.
    pub(super) fn row(&mut self) {
        self.since = 0;
    }

    /// Whether a row is longer than allowed.
    pub(super) fn is_endless(&self) -> bool {
        self.since > LONGEST + CHUNK
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_endless() {
            return Err(io::Error::other("a row without an end"));
        }
        let n = self.from.read(buffer)?;
        self.since += n;
        Ok(n)
    }
}
