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

/// Looks whether the file has rows whose times it says.
pub(super) fn looks_like_one(bytes: &[u8]) -> bool {
    head::read(bytes).is_ok()
}

pub(super) fn read(bytes: &[u8]) -> Result<Capture, CaptureError> {
    let head = head::read(bytes)?;
    let rows = Rows { head: &head, first: None, last: 0, steps: Steps::default(), number: 0 };
    rows.read(bytes)
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
            let cells: Vec<String> = row.iter().map(|c| head.number(&String::from_utf8_lossy(c))).collect();
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
                let value = cell.parse::<f64>().ok().filter(|v| v.is_finite());
                let value = value.ok_or_else(|| CaptureError::line(line, format!("`{cell}` is no number")))?;
                column.take(at, value);
            }
        }
        let channels = head.names.iter().zip(columns).filter(|(_, c)| !c.is_empty());
        let channels = channels.map(|(name, c)| Channel { name: name.clone(), signal: c.finish() }).collect();
        Ok(Capture {
            kind: Kind::Csv,
            writer: head.writer.clone(),
            channels,
            resolution: self.steps.resolution(),
            // A sampled capture lasts as long as its last sample.
            end: self.last,
        })
    }

    /// The time of a row since the first, ps.
    fn time(&mut self, cells: &[String], line: u64) -> Result<u64, CaptureError> {
        let absolute = match self.head.times {
            Times::Column { scale } => {
                let text = cells.first().map_or("", String::as_str);
                let at = super::decimal::picoseconds(text, scale);
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
        };
        let first = *self.first.get_or_insert(absolute);
        let at = u64::try_from(absolute - first).ok().filter(|at| *at >= self.last);
        let at = at.ok_or_else(|| CaptureError::line(line, "time goes backwards, or beyond 2^64 ps"))?;
        self.steps.take(at - self.last);
        self.last = at;
        Ok(at)
    }
}

/// What the steps between rows say of the resolution.
#[derive(Debug, Default)]
struct Steps {
    least: Option<u64>,
    most: u64,
    divisor: u64,
}

impl Steps {
    fn take(&mut self, step: u64) {
        if step > 0 {
            self.least = Some(self.least.map_or(step, |l| l.min(step)));
            self.most = self.most.max(step);
            self.divisor = gcd(self.divisor, step);
        }
    }

    /// Of samples their interval (up to what rounding does to it); of transitions what all times are multiples of.
    fn resolution(&self) -> u64 {
        match self.least {
            Some(least) if self.most <= least.saturating_add(least / 2) => self.most,
            _ => self.divisor.max(1),
        }
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
