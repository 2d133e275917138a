//! The words of a dump, read through a buffer. Blanks separate them; line breaks are counted only for error messages.

use crate::capture::error::{CaptureError, LONGEST};
use crate::capture::input::{CHUNK, unread};
use std::io::Read;
use std::ops::Range;

/// A word as text, whatever bytes it holds.
pub(super) fn text(word: &[u8]) -> String {
    String::from_utf8_lossy(word).into_owned()
}

/// Command words. At the start of a line none of them can belong to a comment, so that a missing `$end` is noticed.
const COMMANDS: [&[u8]; 12] = [
    b"$comment",
    b"$date",
    b"$version",
    b"$timescale",
    b"$scope",
    b"$upscope",
    b"$var",
    b"$enddefinitions",
    b"$dumpvars",
    b"$dumpall",
    b"$dumpon",
    b"$dumpoff",
];

/// Most bytes of a command in the head that are kept.
const SAID: usize = LONGEST;

/// The words of a dump.
pub(super) struct Words<R> {
    from: R,
    buffer: Vec<u8>,
    /// Start of the unread part of the buffer.
    at: usize,
    /// End of the filled part of the buffer.
    filled: usize,
    /// The latest word in the buffer.
    word: Range<usize>,
    /// Line of the latest word, from 1.
    line: u64,
    breaks: u64,
    /// The latest word is the first of its line.
    leads: bool,
}

impl<R: Read> Words<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, buffer: vec![0; CHUNK], at: 0, filled: 0, word: 0..0, line: 1, breaks: 0, leads: true }
    }

    /// Advances to the next word; `false` at the end.
    pub(super) fn next(&mut self) -> Result<bool, CaptureError> {
        let before = self.breaks;
        loop {
            let Some(blank) = self.buffer[self.at..self.filled].first().filter(|b| b.is_ascii_whitespace()) else {
                if self.at < self.filled || !self.more()? {
                    break;
                }
                continue;
            };
            self.breaks += u64::from(*blank == b'\n');
            self.at += 1;
        }
        self.line = self.breaks + 1;
        self.leads = self.breaks > before;
        let mut length = 0;
        loop {
            let rest = &self.buffer[self.at + length..self.filled];
            if let Some(end) = rest.iter().position(u8::is_ascii_whitespace) {
                length += end;
                break;
            }
            length = self.filled - self.at;
            if !self.more()? {
                break;
            }
        }
        self.word = self.at..self.at + length;
        self.at += length;
        Ok(length > 0)
    }

    /// Reads more, keeping the unused part of the buffer; `false` at the end of the file.
    fn more(&mut self) -> Result<bool, CaptureError> {
        self.buffer.copy_within(self.at..self.filled, 0);
        (self.at, self.filled) = (0, self.filled - self.at);
        if self.filled == self.buffer.len() {
            if self.filled >= LONGEST {
                return Err(CaptureError::endless(self.breaks + 1, "a word"));
            }
            self.buffer.resize((2 * self.filled).min(LONGEST), 0);
        }
        let n = self.from.read(&mut self.buffer[self.filled..]).map_err(|e| unread(&e))?;
        self.filled += n;
        Ok(n > 0)
    }

    /// The latest word.
    pub(super) fn word(&self) -> &[u8] {
        &self.buffer[self.word.clone()]
    }

    /// The line of the latest word.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// An error at the latest word.
    pub(super) fn error(&self, what: impl Into<String>) -> CaptureError {
        CaptureError::line(self.line, what)
    }

    /// The words between `command`, which was just read, and its `$end`; empty unless they are to be kept.
    pub(super) fn until_end(&mut self, command: &[u8], keep: bool) -> Result<Vec<String>, CaptureError> {
        let from = self.line;
        let (mut all, mut said) = (Vec::new(), 0);
        loop {
            if !self.next()? || self.leads && COMMANDS.contains(&self.word()) {
                let what = format!("`{}` has no `$end`: the dump is damaged, or was cut off", text(command));
                return Err(CaptureError::line(from, what));
            }
            if self.word() == b"$end" {
                return Ok(all);
            }
            if keep {
                said += self.word().len();
                if said > SAID {
                    return Err(CaptureError::endless(from, &format!("what `{}` says", text(command))));
                }
                all.push(text(self.word()));
            }
        }
    }

    /// Skips the head, which an earlier pass has read.
    pub(super) fn skip_head(&mut self) -> Result<(), CaptureError> {
        loop {
            if !self.next()? {
                return Ok(());
            }
            let command = self.word().to_vec();
            self.until_end(&command, false)?;
            if command == b"$enddefinitions" {
                return Ok(());
            }
        }
    }
}
