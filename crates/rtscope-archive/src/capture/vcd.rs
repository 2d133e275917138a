//! Value change dumps (IEEE 1364), as simulators and logic analyzers write them.
//!
//! A dump is words with blanks between them; lines mean nothing but are counted for errors. An own reader, because the crate `vcd` takes
//! only the scopes and variables of plain Verilog, and gives neither the bits of a vector nor a remedy.

mod header;

use super::{Capture, CaptureError, Channel, Kind, Levels, Signal};
use header::{Header, Variable};

/// The words of a dump.
struct Words<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Line of the latest word, from 1.
    line: u64,
    breaks: u64,
    /// It is the first one of its line.
    leads: bool,
}

impl<'a> Words<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, line: 1, breaks: 0, leads: true }
    }

    fn next(&mut self) -> Option<&'a [u8]> {
        let before = self.breaks;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.breaks += u64::from(self.bytes[self.at] == b'\n');
            self.at += 1;
        }
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        self.at += length;
        self.line = self.breaks + 1;
        self.leads = self.breaks > before;
        (length > 0).then(|| &rest[..length])
    }

    fn error(&self, what: impl Into<String>) -> CaptureError {
        CaptureError::line(self.line, what)
    }

    /// What stands between the command that was just read and its `$end`.
    fn until_end(&mut self, command: &[u8]) -> Result<Vec<&'a [u8]>, CaptureError> {
        let from = self.line;
        let mut all = Vec::new();
        loop {
            match self.next() {
                Some(b"$end") => return Ok(all),
                Some(word) if !(self.leads && header::COMMANDS.contains(&word)) => all.push(word),
                _ => {
                    let what = format!("`{}` has no `$end`: the dump is damaged, or was cut off", text(command));
                    return Err(CaptureError::line(from, what));
                }
            }
        }
    }
}

fn text(word: &[u8]) -> String {
    String::from_utf8_lossy(word).into_owned()
}

pub(super) fn read(bytes: &[u8]) -> Result<Capture, CaptureError> {
    let mut words = Words::new(bytes);
    let header = Header::read(&mut words)?;
    let mut changes = Changes { header: &header, signals: header.signals(), first: None, now: 0 };
    while let Some(word) = words.next() {
        changes.take(word, &mut words)?;
    }
    let Changes { signals, now: end, .. } = changes;
    let channels = header.names().into_iter().zip(signals);
    let channels = channels.map(|(name, signal)| Channel { name, signal }).collect();
    Ok(Capture { kind: Kind::Vcd, writer: header.writer, channels, resolution: header.unit.div_ceil(1000).max(1), end })
}

/// The dump after its head.
struct Changes<'a> {
    header: &'a Header,
    /// One for each name of the head.
    signals: Vec<Signal>,
    /// The first time, fs.
    first: Option<u128>,
    /// Since then, ps.
    now: u64,
}

impl Changes<'_> {
    fn take(&mut self, word: &[u8], words: &mut Words<'_>) -> Result<(), CaptureError> {
        match (word[0], &word[1..]) {
            (b'#', time) => self.time(time, words),
            (b'$', b"end" | b"dumpvars" | b"dumpall" | b"dumpon" | b"dumpoff") => Ok(()),
            (b'$', b"dumpports") => {
                Err(words.error("an extended dump ($dumpports) has strengths, not levels: dump with $dumpvars"))
            }
            (b'$', _) => words.until_end(word).map(|_| ()),
            (b'b' | b'B', bits) => {
                let code = code(words)?;
                self.bits(bits, code, words)
            }
            (b'r' | b'R', value) => {
                let value: Option<f64> = std::str::from_utf8(value).ok().and_then(|v| v.parse().ok());
                let value = value.filter(|v| v.is_finite());
                let value = value.ok_or_else(|| words.error(format!("`{}` is no number", text(word))))?;
                let code = code(words)?;
                self.real(value, code);
                Ok(())
            }
            (b's' | b'S', _) => code(words).map(|_| ()),
            (_, code_here) if level(word[0]).is_some() => {
                let code = if code_here.is_empty() { code(words)? } else { code_here };
                self.bits(&word[..1], code, words)
            }
            _ => Err(words.error(format!("`{}` is no change of a value", text(word)))),
        }
    }

    fn time(&mut self, time: &[u8], words: &Words<'_>) -> Result<(), CaptureError> {
        let wrong = |what: &str| words.error(format!("`#{}`: {what}", text(time)));
        let time: Option<u64> = std::str::from_utf8(time).ok().and_then(|t| t.parse().ok());
        let at = u128::from(time.ok_or_else(|| wrong("is no time"))?) * u128::from(self.header.unit);
        let first = *self.first.get_or_insert(at);
        let since = at.checked_sub(first).ok_or_else(|| wrong("time goes backwards"))? / 1000;
        let since = u64::try_from(since).map_err(|_| wrong("is beyond 2^64 ps, 213 days, after the first"))?;
        if since < self.now {
            return Err(wrong("time goes backwards"));
        }
        self.now = since;
        Ok(())
    }

    fn bits(&mut self, bits: &[u8], code: &[u8], words: &Words<'_>) -> Result<(), CaptureError> {
        for variable in self.header.of(code) {
            let Variable { bits: width, first, .. } = variable;
            for n in 0..*width {
                // The lowest bit stands last; what is missing above is 0, or what stands first when that is undefined.
                let above = bits.first().map_or(b'0', |b| if *b == b'1' { b'0' } else { *b });
                let bit = bits.len().checked_sub(n + 1).map_or(above, |at| bits[at]);
                let level = level(bit).ok_or_else(|| words.error(format!("`{}` has a value that is no level", text(bits))))?;
                let Some(Signal::Digital(levels)) = self.signals.get_mut(first + n) else { continue };
                match level {
                    Some(level) => levels.set(self.now, level),
                    None => levels.unknown += u64::from(levels.level.is_some()),
                }
            }
        }
        Ok(())
    }

    fn real(&mut self, value: f64, code: &[u8]) {
        for variable in self.header.of(code).filter(|v| v.bits == 0) {
            if let Some(Signal::Analog(samples)) = self.signals.get_mut(variable.first) {
                // It holds until it changes: no slope from the last change to this one.
                if let Some(&(_, before)) = samples.last() {
                    samples.push((self.now, before));
                }
                samples.push((self.now, value));
            }
        }
    }
}

/// The code of the variable that changes.
fn code<'a>(words: &mut Words<'a>) -> Result<&'a [u8], CaptureError> {
    words.next().ok_or_else(|| words.error("the dump ends in the middle of a change"))
}

/// A level; `Some(None)` is an undefined one, `None` none. VHDL's simulators also write weak levels.
#[allow(clippy::option_option)] // no level, a level that nobody knows, a level
fn level(byte: u8) -> Option<Option<bool>> {
    match byte.to_ascii_lowercase() {
        b'0' | b'l' => Some(Some(false)),
        b'1' | b'h' => Some(Some(true)),
        b'x' | b'z' | b'u' | b'w' | b'-' => Some(None),
        _ => None,
    }
}
