//! Comma-separated captures: a few lines that say what they like, then rows of times and values.
//!
//! What a row's time is must be said: a column with a title of time, numbered samples with start and increment (Rigol), or a sample rate
//! (sigrok). The rows may then be samples or transitions.

mod column;
mod head;

use super::{Capture, CaptureError, Channel, Kind};
use column::Column;
use csv::{ByteRecord, ReaderBuilder};
use head::{Head, Times};
use std::borrow::Cow;

/// Looks whether the file has rows whose times it says.
pub(super) fn looks_like_one(bytes: &[u8]) -> bool {
    plain(bytes).is_ok_and(|text| head::read(&text).is_ok())
}

pub(super) fn read(bytes: &[u8]) -> Result<Capture, CaptureError> {
    let bytes = &plain(bytes)?;
    let head = head::read(bytes)?;
    let rows = Rows { head: &head, first: None, last: 0, steps: Steps::default(), number: 0 };
    rows.read(bytes)
}

/// The text without its byte order mark; UTF-16, which spreadsheets write, as UTF-8.
fn plain(bytes: &[u8]) -> Result<Cow<'_, [u8]>, CaptureError> {
    let (rest, read): (_, fn([u8; 2]) -> u16) = match bytes {
        [0xff, 0xfe, rest @ ..] => (rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => (rest, u16::from_be_bytes),
        _ => return Ok(Cow::Borrowed(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))),
    };
    let units = rest.chunks_exact(2).map(|pair| read([pair[0], pair[1]]));
    let text: Result<String, _> = char::decode_utf16(units).collect();
    let text = text.map_err(|_| CaptureError::File("it begins as UTF-16 but is none: save it as UTF-8".into()))?;
    Ok(Cow::Owned(text.into_bytes()))
}

/// The rows, as far as they are read.
struct Rows<'a> {
    head: &'a Head,
    /// Time of the first row, ps, as the file counts.
    first: Option<i128>,
    /// Time of the latest row since the first, ps.
    last: u64,
    steps: Steps,
    number: i128,
}

impl Rows<'_> {
    fn read(mut self, bytes: &[u8]) -> Result<Capture, CaptureError> {
        let head = self.head;
        let mut reader =
            ReaderBuilder::new().has_headers(false).flexible(true).delimiter(head.delimiter).from_reader(&bytes[head.data..]);
        let mut columns = vec![Column::default(); head.names.len()];
        let mut row = ByteRecord::new();
        loop {
            let more = reader.read_byte_record(&mut row).map_err(|e| CaptureError::File(e.to_string()))?;
            if !more {
                break;
            }
            let line = row.position().map_or(0, csv::Position::line) + head.lines;
            let cells: Vec<String> = row.iter().map(|c| head::number(&String::from_utf8_lossy(c))).collect();
            let cells = &cells[head.skip.min(cells.len())..];
            if cells.iter().all(String::is_empty) {
                continue;
            }
            let at = self.time(cells, line)?;
            let values = &cells[usize::from(head.has_time_column()).min(cells.len())..];
            for (column, cell) in columns.iter_mut().zip(values) {
                if cell.is_empty() {
                    continue; // it stays as it was
                }
                let value = cell.parse::<f64>().ok().filter(|v| !v.is_nan());
                let value = value.ok_or_else(|| {
                    CaptureError::line(line, format!("`{cell}` is no number: levels are 0 and 1, voltages numbers"))
                })?;
                column.take(at, value);
            }
        }
        let columns = head.names.iter().zip(&head.volts).zip(columns).filter(|(_, c)| !c.is_empty());
        let sample = self.head.times.interval().or(self.steps.least);
        let channels = columns.map(|((name, volts), c)| Channel { name: name.clone(), signal: c.finish(*volts, sample) }).collect();
        Ok(Capture {
            kind: Kind::Csv,
            writer: head.writer.clone(),
            channels,
            resolution: head.times.interval().unwrap_or_else(|| self.steps.resolution()).max(1),
            // A sampled capture lasts as long as its last sample.
            end: self.last,
        })
    }

    /// The time of a row since the first, ps.
    fn time(&mut self, cells: &[String], line: u64) -> Result<u64, CaptureError> {
        let absolute = match self.head.times {
            Times::Column { scale } => {
                let text = cells.first().map_or("", String::as_str);
                let at = super::decimal::picoseconds(text, scale).or_else(|| super::decimal::date_and_time(text));
                at.ok_or_else(|| CaptureError::line(line, format!("`{text}` is no time")))?
            }
            Times::Numbered { start, step } => {
                let text = cells.first().map_or("", String::as_str);
                let n = text.parse::<i128>().ok().filter(|n| (0..1 << 60).contains(n));
                start + n.ok_or_else(|| CaptureError::line(line, format!("`{text}` is no sample's number")))? * step
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
                let text = cells.first().map_or("", String::as_str);
                let ticks = text.parse::<i128>().ok().filter(|t| (0..1 << 60).contains(t) && t % step == 0);
                let ticks = ticks.ok_or_else(|| {
                    let what = format!("`{text}` is no multiple of the {step} that sigrok counts for each sample at {hz} Hz");
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
        self.steps.take(at, self.last);
        self.last = at;
        Ok(at)
    }
}

/// What the steps between rows say of the resolution.
#[derive(Debug, Default)]
struct Steps {
    rows: u64,
    least: Option<u64>,
    most: u64,
    divisor: u64,
    /// How far a time was from a multiple of the period of each of `RATES`, at most, ps.
    off: [u64; RATES.len()],
}

/// Sample rates of logic analyzers whose period is no round number, kHz: tables of transitions have it rounded in each of their times.
const RATES: [u64; 12] = [1_500, 3_000, 6_000, 12_000, 24_000, 48_000, 96_000, 192_000, 300_000, 600_000, 750_000, 1_200_000];

impl Steps {
    fn take(&mut self, at: u64, before: u64) {
        let step = at - before;
        self.rows += 1;
        if step > 0 {
            self.least = Some(self.least.map_or(step, |l| l.min(step)));
            self.most = self.most.max(step);
            self.divisor = gcd(self.divisor, step);
        }
        for (khz, off) in RATES.iter().zip(&mut self.off) {
            // In 10^-9 of a period: 1 kHz is 10^-9 in a ps.
            let phase = u64::try_from(u128::from(at) * u128::from(*khz) % 1_000_000_000).unwrap_or(0);
            *off = (*off).max(phase.min(1_000_000_000 - phase) / khz);
        }
    }

    /// Of samples their interval (up to what rounding does to it); of transitions what all times are multiples of, up to rounding.
    fn resolution(&self) -> u64 {
        let unit = self.divisor.max(1);
        match self.least {
            Some(least) if self.most <= least.saturating_add(least / 2) => self.most,
            // Times are rounded, to the unit, and so is the first one. A few rows could be near multiples by chance.
            Some(_) if self.rows >= 16 => {
                let mut rates = RATES.iter().zip(self.off).filter(|(khz, off)| *off <= unit && 1_000_000_000 / **khz >= 8 * unit);
                rates.next().map_or(unit, |(khz, _)| 1_000_000_000u64.div_ceil(*khz))
            }
            _ => unit,
        }
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
