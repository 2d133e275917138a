//! Value change dumps (IEEE 1364), as written by simulators and logic analyzers.
//!
//! A dump is a sequence of words separated by blanks; line breaks have no meaning, and are counted only for error
//! messages. The crate `vcd` is not used: it accepts only the scopes and variables of plain Verilog, and gives neither
//! the bits of a vector nor a remedy.

mod header;
mod words;

use super::analog::{Slicer, Swing};
use super::content::{Capture, Channel};
use super::error::CaptureError;
use super::input::Hashed;
use super::kind::CaptureKind;
use super::levels::Levels;
use super::names::Names;
use super::request::CaptureRequest;
use header::{Header, Variable};
use std::collections::BTreeMap;
use std::io::{Read, Seek};
use words::{Words, text};

pub(super) fn read<R: Read + Seek>(input: &mut R, request: &CaptureRequest) -> Result<Capture, CaptureError> {
    let mut names = Names::new(request);
    let mut hashed = Hashed::new(input)?;
    let mut words = Words::new(&mut hashed);
    let mut header = Header::read(&mut words, &mut names)?;
    let meant = names.meant();
    let reals = header.watch(meant.iter().map(|m| m.0));
    let tap = |(place, _): &(usize, String)| {
        (*place, if reals.contains(place) { Tap::Swing(Swing::default()) } else { Tap::Levels(Levels::default()) })
    };
    let (mut taps, end) = Changes::of(&header, meant.iter().map(tap).collect()).read(&mut words)?;
    drop(words);
    let sha256 = hashed.digest()?;
    // The threshold of a voltage is known only after all its values were seen, so voltages take a second pass.
    let mut slicers = BTreeMap::new();
    for (place, tap) in &taps {
        if let Tap::Swing(swing) = tap {
            slicers.insert(*place, Tap::Slicer(Slicer::new(*swing, request), None));
        }
    }
    if !slicers.is_empty() {
        input.rewind().map_err(|e| super::input::unread(&e))?;
        let mut words = Words::new(input);
        words.skip_head()?;
        taps.extend(Changes::of(&header, slicers).read(&mut words)?.0);
    }
    let channels = meant.into_iter().filter_map(|(place, name)| match taps.remove(&place)? {
        Tap::Levels(levels) => Some(Channel { name, place, levels, analog: None }),
        Tap::Slicer(slicer, _) => {
            let (levels, analog) = slicer.finish();
            Some(Channel { name, place, levels, analog: Some(analog) })
        }
        Tap::Swing(_) => None,
    });
    let channels = channels.collect();
    let resolution = header.unit.div_ceil(1000).max(1);
    Ok(Capture { kind: CaptureKind::Vcd, writer: header.writer, sha256, resolution, end, channels, names })
}

/// Processes the values of one channel.
enum Tap {
    Levels(Levels),
    Swing(Swing),
    /// With the latest value, which holds until it changes.
    Slicer(Slicer, Option<f64>),
}

/// The value changes, which follow the head.
struct Changes<'a> {
    header: &'a Header,
    /// By channel position.
    taps: BTreeMap<usize, Tap>,
    /// The first time, fs.
    first: Option<u128>,
    /// Time since then, ps.
    now: u64,
    /// The latest value of a vector.
    bits: Vec<u8>,
}

impl<'a> Changes<'a> {
    fn of(header: &'a Header, taps: BTreeMap<usize, Tap>) -> Self {
        Self { header, taps, first: None, now: 0, bits: Vec::new() }
    }

    /// Reads to the end; returns the taps and the last time.
    fn read<R: Read>(mut self, words: &mut Words<R>) -> Result<(BTreeMap<usize, Tap>, u64), CaptureError> {
        while words.next()? {
            self.take(words)?;
        }
        Ok((self.taps, self.now))
    }

    fn take<R: Read>(&mut self, words: &mut Words<R>) -> Result<(), CaptureError> {
        let word = words.word();
        match (word[0], &word[1..]) {
            (b'#', time) => self.time(time, words.line()),
            (b'$', b"end" | b"dumpvars" | b"dumpall" | b"dumpon" | b"dumpoff") => Ok(()),
            (b'$', b"dumpports") => {
                Err(words.error("an extended dump ($dumpports) has strengths, not levels: dump with $dumpvars"))
            }
            (b'$', _) => {
                let command = word.to_vec();
                words.until_end(&command, false).map(|_| ())
            }
            (b'b' | b'B', bits) => {
                let mut kept = std::mem::take(&mut self.bits);
                kept.clear();
                kept.extend_from_slice(bits);
                code(words)?;
                let taken = self.change(&kept, words.word(), words.line());
                self.bits = kept;
                taken
            }
            (b'r' | b'R', value) => {
                let value: Option<f64> = std::str::from_utf8(value).ok().and_then(|v| v.parse().ok());
                let value = value.filter(|v| v.is_finite());
                let value = value.ok_or_else(|| words.error(format!("`{}` is not a number", text(word))))?;
                code(words)?;
                self.real(value, words.word());
                Ok(())
            }
            (b's' | b'S', _) => code(words),
            (bit, code_here) if level(bit).is_some() => {
                if code_here.is_empty() {
                    code(words)?;
                    self.change(&[bit], words.word(), words.line())
                } else {
                    self.change(&[bit], code_here, words.line())
                }
            }
            _ => Err(words.error(format!("`{}` is not a change of a value", text(word)))),
        }
    }

    fn time(&mut self, time: &[u8], line: u64) -> Result<(), CaptureError> {
        let wrong = |what: &str| CaptureError::line(line, format!("`#{}`: {what}", text(time)));
        let time: Option<u64> = std::str::from_utf8(time).ok().and_then(|t| t.parse().ok());
        let at = u128::from(time.ok_or_else(|| wrong("is not a time"))?) * u128::from(self.header.unit);
        let first = *self.first.get_or_insert(at);
        let since = at.checked_sub(first).ok_or_else(|| wrong("time goes backwards"))?;
        // Usually a u64, which divides faster.
        let since = u64::try_from(since).map_or_else(|_| since / 1000, |since| u128::from(since / 1000));
        let since = u64::try_from(since).map_err(|_| wrong("is beyond 2^64 ps, 213 days, after the first"))?;
        if since < self.now {
            return Err(wrong("time goes backwards"));
        }
        self.now = since;
        Ok(())
    }

    fn change(&mut self, bits: &[u8], code: &[u8], line: u64) -> Result<(), CaptureError> {
        let Some(Variable { bits: width, first, watched }) = self.header.of(code) else { return Ok(()) };
        for n in 0..usize::from(width) {
            // The lowest bit is written last. Missing high bits are 0, or repeat the first digit where that is
            // undefined.
            let above = bits.first().map_or(b'0', |b| if *b == b'1' { b'0' } else { *b });
            let bit = bits.len().checked_sub(n + 1).map_or(above, |at| bits[at]);
            let wrong = || CaptureError::line(line, format!("`{}` has a value that is not a level", text(bits)));
            let level = level(bit).ok_or_else(wrong)?;
            if !watched {
                continue;
            }
            let Some(Tap::Levels(levels)) = self.taps.get_mut(&(first as usize + n)) else { continue };
            match level {
                Some(level) => levels.set(self.now, level),
                None => levels.lose(),
            }
        }
        Ok(())
    }

    fn real(&mut self, value: f64, code: &[u8]) {
        let Some(variable) = self.header.of(code).filter(|v| v.bits == 0 && v.watched) else { return };
        match self.taps.get_mut(&(variable.first as usize)) {
            Some(Tap::Swing(swing)) => swing.take(value),
            Some(Tap::Slicer(slicer, latest)) => {
                // The previous value holds until this change: no slope between the two.
                if let Some(before) = latest.replace(value) {
                    slicer.take(self.now, before);
                }
                slicer.take(self.now, value);
            }
            _ => {}
        }
    }
}

/// Reads the code of the variable that changes.
fn code<R: Read>(words: &mut Words<R>) -> Result<(), CaptureError> {
    if words.next()? { Ok(()) } else { Err(words.error("the dump ends in the middle of a change")) }
}

/// A level: `Some(None)` is an undefined level, `None` not a level at all. VHDL simulators also write weak levels.
#[allow(clippy::option_option)] // three cases: not a level, undefined, known
fn level(byte: u8) -> Option<Option<bool>> {
    match byte.to_ascii_lowercase() {
        b'0' | b'l' => Some(Some(false)),
        b'1' | b'h' => Some(Some(true)),
        b'x' | b'z' | b'u' | b'w' | b'-' => Some(None),
        _ => None,
    }
}
