//! Comma-separated captures: some free-form lines, then rows of times and values.
//!
//! The file must say when each row was taken: by a column titled as a time, by numbered samples with start and increment
//! (Rigol), or by a sample rate (sigrok). The rows may be samples or transitions.

mod column;
mod head;
mod rows;
mod steps;

use super::content::{Capture, Channel};
use super::error::CaptureError;
use super::input::{CHUNK, Hashed, unread};
use super::kind::CaptureKind;
use super::names::Names;
use super::request::CaptureRequest;
use column::{Survey, Trace};
use csv::{ByteRecord, ReaderBuilder};
use head::{Head, Times};
use rows::{Opened, Plain};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{Read, Seek};
use steps::Steps;

/// Whether the text has rows whose times are known.
pub(super) fn looks_like_one(bytes: &[u8]) -> bool {
    let opened = Plain::new(bytes).and_then(|plain| Opened::new(plain, head::MOST_LINES));
    opened.is_ok_and(|opened| head::read(&opened.first).is_ok())
}

pub(super) fn read<R: Read + Seek>(input: &mut R, request: &CaptureRequest) -> Result<Capture, CaptureError> {
    let mut hashed = Hashed::new(input)?;
    // Columns without any value are not channels, which is known only at the end. Assume that there is none: hardly any
    // table has one.
    let guess = |head: &Head| named(head, request, |_| true).meant();
    let survey = |places: Vec<(usize, String)>| places.into_iter().map(|(column, _)| (column, Survey::default())).collect();
    let mut pass = Pass::read(&mut hashed, |head| survey(guess(head)))?;
    let sha256 = hashed.digest()?;
    let names = named(&pass.head, request, |column| pass.seen[column]);
    let columns: Vec<usize> = (0..pass.seen.len()).filter(|column| pass.seen[*column]).collect();
    let meant: Vec<(usize, String)> = names.meant();
    if meant.iter().any(|(place, _)| !pass.taps.contains_key(&columns[*place])) {
        input.rewind().map_err(|e| unread(&e))?;
        pass = Pass::read(&mut *input, |_| meant.iter().map(|(place, _)| (columns[*place], Survey::default())).collect())?;
    }
    let sample = pass.head.times.interval().or(pass.steps.least);
    let (mut digital, mut analog) = (BTreeMap::new(), BTreeMap::new());
    for (place, _) in &meant {
        let column = columns[*place];
        match pass.taps.remove(&column).unwrap_or_default().levels() {
            Ok(levels) => drop(digital.insert(*place, levels)),
            Err(swing) => drop(analog.insert(column, Trace::new(swing, pass.head.volts[column], sample, request))),
        }
    }
    if !analog.is_empty() {
        input.rewind().map_err(|e| unread(&e))?;
        analog = Pass::read(&mut *input, |_| analog)?.taps;
    }
    let channels = meant.into_iter().filter_map(|(place, name)| {
        if let Some(levels) = digital.remove(&place) {
            return Some(Channel { name, place, levels, analog: None });
        }
        let (levels, analog) = analog.remove(&columns[place])?.finish();
        Some(Channel { name, place, levels, analog: Some(analog) })
    });
    let channels = channels.collect();
    Ok(Capture {
        kind: CaptureKind::Csv,
        writer: pass.head.writer.clone(),
        sha256,
        resolution: pass.head.times.interval().unwrap_or_else(|| pass.steps.resolution()).max(1),
        // A sampled capture ends with its last sample.
        end: pass.last,
        channels,
        names,
    })
}

/// The names of the columns that are channels.
fn named(head: &Head, request: &CaptureRequest, is_one: impl Fn(usize) -> bool) -> Names {
    let mut names = Names::new(request);
    head.names.iter().enumerate().filter(|(column, _)| is_one(*column)).for_each(|(_, name)| names.offer(name));
    names
}

/// Processes the values of one column.
trait Tap {
    fn take(&mut self, at: u64, value: f64);
}

impl Tap for Survey {
    fn take(&mut self, at: u64, value: f64) {
        Self::take(self, at, value);
    }
}

impl Tap for Trace {
    fn take(&mut self, at: u64, value: f64) {
        Self::take(self, at, value);
    }
}

/// One pass over a table, from start to end.
struct Pass<T> {
    head: Head,
    /// By column.
    taps: BTreeMap<usize, T>,
    /// Which columns have at least one value.
    seen: Vec<bool>,
    /// Time of the first row, ps, on the file's own scale.
    first: Option<i128>,
    /// Time of the latest row since the first, ps.
    last: u64,
    steps: Steps,
    number: i128,
}

impl<T: Tap> Pass<T> {
    /// Reads the whole table; `taps` chooses from the head which columns to process, and how.
    fn read(from: impl Read, taps: impl FnOnce(&Head) -> BTreeMap<usize, T>) -> Result<Self, CaptureError> {
        let mut opened = Opened::new(Plain::new(from)?, head::MOST_LINES)?;
        let head = match (head::read(&opened.first[..opened.whole]), opened.endless.take()) {
            (Ok(head), _) => head,
            (Err(e), None) => return Err(e),
            (Err(_), Some(endless)) => return Err(endless),
        };
        let (taps, seen) = (taps(&head), vec![false; head.names.len()]);
        let mut pass = Self { head, taps, seen, first: None, last: 0, steps: Steps::default(), number: 0 };
        pass.rows(opened)?;
        Ok(pass)
    }

    fn rows(&mut self, opened: Opened<impl Read>) -> Result<(), CaptureError> {
        let (delimiter, lines) = (self.head.delimiter, self.head.lines);
        let mut builder = ReaderBuilder::new();
        builder.has_headers(false).flexible(true).delimiter(delimiter).buffer_capacity(CHUNK);
        let mut reader = builder.from_reader(opened.from(self.head.data));
        let mut row = ByteRecord::new();
        let has_time = usize::from(self.head.has_time_column());
        loop {
            let more = reader.read_byte_record(&mut row);
            if reader.get_ref().is_endless() {
                return Err(CaptureError::endless(reader.position().line() + lines, "a row"));
            }
            if !more.map_err(|e| CaptureError::File(e.to_string()))? {
                return Ok(());
            }
            reader.get_mut().row();
            let line = row.position().map_or(0, csv::Position::line) + lines;
            let mut cells = row.iter().skip(self.head.skip).map(cell);
            if cells.clone().all(|c| c.is_empty()) {
                continue;
            }
            let at = if has_time > 0 { cells.next() } else { None };
            let at = self.time(&at.unwrap_or_default(), line)?;
            let mut taps = self.taps.iter_mut().peekable();
            for (column, (cell, seen)) in cells.zip(&mut self.seen).enumerate() {
                let tap = taps.next_if(|(wanted, _)| **wanted == column);
                if cell.is_empty() {
                    continue; // an empty cell: the value did not change
                }
                let value = cell.parse::<f64>().ok().filter(|v| !v.is_nan());
                let value = value.ok_or_else(|| {
                    CaptureError::line(line, format!("`{cell}` is not a number: levels are 0 and 1, voltages numbers"))
                })?;
                *seen = true;
                if let Some((_, tap)) = tap {
                    tap.take(at, value);
                }
            }
        }
    }

    /// The time of a row since the first one, ps.
    fn time(&mut self, text: &str, line: u64) -> Result<u64, CaptureError> {
        let absolute = match self.head.times {
            Times::Column { scale } => {
                let at = super::decimal::picoseconds(text, scale).or_else(|| super::decimal::date_and_time(text));
                at.ok_or_else(|| CaptureError::line(line, format!("`{text}` is not a time")))?
            }
            Times::Numbered { start, step } => {
                let n = text.parse::<i128>().ok().filter(|n| (0..1 << 60).contains(n));
                start + n.ok_or_else(|| CaptureError::line(line, format!("`{text}` is not a sample's number")))? * step
            }
            Times::Counted { start, step } => {
                self.number += 1;
                start + (self.number - 1) * step
            }
            Times::Rate { hz } => {
                self.number += 1;
                (self.number - 1) * 1_000_000_000_000 / i128::from(hz)
            }
            Times::Ticks { step, hz } => {
                let ticks = text.parse::<i128>().ok().filter(|t| (0..1 << 60).contains(t) && t % step == 0);
                let ticks = ticks.ok_or_else(|| {
                    let what = format!("`{text}` is not a multiple of the {step} that sigrok counts for each sample at {hz} Hz");
                    CaptureError::line(line, what)
                })?;
                ticks / step * 1_000_000_000_000 / i128::from(hz)
            }
        };
        let first = *self.first.get_or_insert(absolute);
        let at = u64::try_from(absolute - first).ok().filter(|at| *at >= self.last);
        let at = at.ok_or_else(|| {
            let what = "time goes backwards, or beyond 2^64 ps: of several segments each belongs into a file of its own";
            CaptureError::line(line, what)
        })?;
        if self.head.times.interval().is_none() {
            self.steps.take(at, self.last);
        }
        self.last = at;
        Ok(at)
    }
}

/// A cell in the form of a plain number: see [`head::number`].
fn cell(bytes: &[u8]) -> Cow<'_, str> {
    // Most cells are plain already.
    let plain = bytes.iter().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e' | b'E'));
    match std::str::from_utf8(bytes) {
        Ok(text) if plain => Cow::Borrowed(text),
        _ => Cow::Owned(head::number(&String::from_utf8_lossy(bytes))),
    }
}
