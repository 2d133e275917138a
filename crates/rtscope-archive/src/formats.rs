//! Foreign formats: for each tool an adapter that reads its files into records and writes records as its files.
//!
//! The same rules hold for all formats: every count in a file is in the record, and is exported unchanged; what a file
//! does not say becomes a warning in the record; a file that contradicts itself is refused, with the line.

mod adam;
mod csv;
pub mod cyclictest;
mod error;
mod foreign;
mod format;
mod ftrace;
mod hdr;
mod imported;
mod jitterdebugger;
mod json_pairs;
mod lava;
mod native;
mod oslat;
mod rtla;
mod stress_ng;

pub use csv::write_csv;
pub use error::{ExportError, ImportError};
pub use format::{Format, ImportOptions};
pub use hdr::{write_hgrm, write_log};

use rtscope_record::{Distribution, LinearBins, Record, RecordParts, Test};
use std::time::SystemTime;

/// How much of a file's beginning is looked at to tell its format from others of JSON.
const START: usize = 1 << 16;

/// Detects the format of a file from its first bytes; `None` when it resembles none.
pub fn detect(bytes: &[u8]) -> Option<Format> {
    if jitterdebugger::detect_raw(bytes) {
        return Some(Format::JitterdebuggerRaw);
    }
    let start = bytes.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(0);
    let rest = bytes.get(start..).unwrap_or_default();
    if matches!(rest.first(), Some(b'{' | b'[')) {
        let foreign = rest.windows(14).take(4096).any(|w| w == b"\"file_version\"");
        let start = String::from_utf8_lossy(rest.get(..START).unwrap_or(rest));
        return Some(match foreign {
            true if oslat::detect(&start) => Format::Oslat,
            true => Format::CyclictestJson,
            false if jitterdebugger::detect_json(&start) => Format::Jitterdebugger,
            false => Format::Json,
        });
    }
    // Latin-1 in a comment must not prevent the detection.
    let text = String::from_utf8_lossy(bytes);
    if adam::detect(&text) {
        return Some(Format::Adam);
    }
    let tools = || rtla::detect(&text).or_else(|| ftrace::detect(&text));
    let found = tools().or_else(|| stress_ng::detect(&text).then_some(Format::StressNg)).or_else(|| cyclictest::detect(&text));
    found.or_else(|| lava::detect(&text).then_some(Format::Lava))
}

/// Reads a file: its records (usually one), each with a warning for everything the file does not say.
pub fn import(bytes: &[u8], options: &ImportOptions) -> Result<Vec<Record>, ImportError> {
    let format = options.format.or_else(|| detect(bytes)).ok_or(ImportError::Unknown)?;
    let records = match format {
        // Whether a native record's origin can be believed is for the caller to decide.
        Format::Json => return native::read(bytes),
        Format::CyclictestA | Format::CyclictestB => vec![cyclictest::read_text(bytes, options)?],
        Format::CyclictestV => vec![cyclictest::read_verbose(bytes, options)?],
        Format::CyclictestJson => vec![cyclictest::read_json(bytes, options)?],
        Format::Adam => adam::read(bytes, options)?,
        Format::Jitterdebugger => vec![jitterdebugger::read_json(bytes, options)?],
        Format::JitterdebuggerRaw => vec![jitterdebugger::read_raw(bytes, options)?],
        Format::RtlaTimerlat => rtla::read_timerlat(bytes, options)?,
        Format::RtlaOsnoise => vec![rtla::read_osnoise(bytes, options)?],
        Format::Oslat => vec![oslat::read(bytes, options)?],
        Format::StressNg => vec![stress_ng::read(bytes, options)?],
        Format::Hwlat => ftrace::read_hwlat(bytes, options)?,
        Format::Timerlat => ftrace::read_timerlat(bytes, options)?,
        Format::Lava => lava::read(bytes, options)?,
        Format::Csv | Format::Hdr | Format::Hgrm => return Err(ImportError::NotRead(format)),
    };
    // Keep the warnings that explain the verdict in the record itself.
    let explained = |r: Record| Record::new(RecordParts { warnings: r.findings().into_owned(), ..r.into_parts() });
    Ok(records.into_iter().map(explained).collect::<Result<_, _>>()?)
}

/// Writes a record as a file of `format`.
///
/// cyclictest's text is written with a histogram, unless the record holds none (because it was imported from `T:` lines):
/// the output of a run without `-h` would leave out what the record knows. [`cyclictest::write_text`] writes that on
/// request. A record measured without equal-width bins gets bins of 1 us from its histogram: every count is kept, but a
/// sample within 0.1 % of a bin's edge may be counted in the bin below.
pub fn export(record: &Record, format: Format) -> Result<Vec<u8>, ExportError> {
    use cyclictest::{Dialect, TextOptions, write_json, write_text};
    let as_cyclictest = matches!(format, Format::CyclictestA | Format::CyclictestB | Format::CyclictestJson);
    if let Some(source) = record.parts().source.as_ref().filter(|s| as_cyclictest && !s.format.starts_with("cyclictest")) {
        if record.parts().test == Test::Timer {
            return Err(ExportError::OtherTool(source.format.clone()));
        }
    }
    let binned = match format {
        Format::CyclictestA | Format::CyclictestB | Format::CyclictestJson => with_bins(record)?,
        _ => None,
    };
    let record = binned.as_ref().unwrap_or(record);
    let text = |dialect| {
        let options = TextOptions::of(record, dialect);
        match record.distributions().iter().find(|d| d.histogram().total() > 0) {
            Some(d) if options.histogram.is_none() => Err(ExportError::NoBins { label: d.label().into() }),
            _ => {
                let text = write_text(record, &options)?;
                if record.parts().source.is_some() {
                    reads_again(record, &text, options.nanoseconds)?;
                }
                Ok(text.into_bytes())
            }
        }
    };
    match format {
        Format::Json => native::write(record),
        Format::CyclictestA => text(Dialect::A),
        Format::CyclictestB => text(Dialect::B),
        Format::CyclictestV => Err(ExportError::NoSamples),
        Format::Jitterdebugger
        | Format::JitterdebuggerRaw
        | Format::RtlaTimerlat
        | Format::RtlaOsnoise
        | Format::Oslat
        | Format::StressNg
        | Format::Hwlat
        | Format::Timerlat
        | Format::Lava => Err(ExportError::NotWritten(format)),
        Format::CyclictestJson => Ok(write_json(record, &TextOptions::of(record, Dialect::A))?.into_bytes()),
        Format::Adam => Ok(adam::write(record)?.into_bytes()),
        Format::Csv => Ok(write_csv(record).into_bytes()),
        Format::Hdr => Ok(write_log(record).into_bytes()),
        Format::Hgrm => Ok(write_hgrm(record)?.into_bytes()),
    }
}

/// Checks that the cyclictest text of an imported record is read back with the same counts.
fn reads_again(record: &Record, text: &str, nanoseconds: bool) -> Result<(), ExportError> {
    let options = ImportOptions { nanoseconds: Some(nanoseconds), ..ImportOptions::new("", SystemTime::UNIX_EPOCH) };
    let again = cyclictest::read_text(text.as_bytes(), &options).map_err(|e| ExportError::Kept(e.to_string()))?;
    let counts = |r: &Record| r.distributions().iter().map(Distribution::count).collect::<Vec<_>>();
    if counts(&again) == counts(record) { Ok(()) } else { Err(ExportError::Kept("other counts".into())) }
}

/// Most bins that are made for a record without any: 100 ms in bins of 1 us.
const MOST_BINS: u64 = 100_000;
/// Their width, ns.
const UNIT: u64 = 1000;

/// A measured record without equal-width bins, with bins of 1 us made from its histogram; `None` where there is nothing
/// to add.
fn with_bins(record: &Record) -> Result<Option<Record>, ExportError> {
    let measured = |d: &Distribution| d.parts().linear.is_none() && d.parts().resolution == 1 && d.overflow() == 0;
    if record.parts().source.is_some() || !record.distributions().iter().all(measured) {
        return Ok(None);
    }
    let longest = record.distributions().iter().filter_map(Distribution::max).max().unwrap_or(0);
    let size = (longest / UNIT + 1).min(MOST_BINS);
    let mut parts = record.clone().into_parts();
    for d in &mut parts.distributions {
        let mut p = d.clone().into_parts();
        let mut counts: Vec<(u64, u64)> = Vec::new();
        for (low, _, n) in p.histogram.iter().filter(|&(low, ..)| low < size * UNIT) {
            match counts.last_mut() {
                Some(last) if last.0 == low / UNIT => last.1 += n,
                _ => counts.push((low / UNIT, n)),
            }
        }
        p.linear = Some(LinearBins { unit_ns: UNIT, size, counts, overflow_at: Vec::new() });
        *d = Distribution::new(p)?;
    }
    Ok(Some(Record::new(parts)?))
}
