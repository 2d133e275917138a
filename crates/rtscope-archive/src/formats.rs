//! Foreign formats: one adapter per tool, from its files to records and from records to its files.
//!
//! The rule for all of them: every count that a file holds is in the record, and comes out again unchanged; what the file does not
//! say is a warning in the record; what contradicts itself is refused with the line.

mod adam;
mod csv;
pub mod cyclictest;
mod hdr;
mod native;

pub use csv::write_csv;
pub use hdr::{write_hgrm, write_log};

use crate::signature::SignatureError;
use rtscope_record::{Distribution, DistributionError, LinearBins, Record, RecordError, RecordParts, Space};
use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

/// Formats by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// rtscope's own record: one, an array, or one a line.
    Json,
    /// cyclictest's text as up to rt-tests 2.6: every bin a row, `# Total:`. Read: either dialect.
    CyclictestA,
    /// cyclictest's text as from rt-tests 2.7: empty rows left out, no `# Total:`. Read: either dialect.
    CyclictestB,
    /// cyclictest's `-v` stream of samples. A record keeps no samples in order, so that it can only be read.
    CyclictestV,
    /// cyclictest's `--json`.
    CyclictestJson,
    /// The text that Adam's measurement programs print. Read: that of the response program.
    Adam,
    /// Bins as `label,low_ns,high_ns,count`. Written only.
    Csv,
    /// HdrHistogram's interval log, one line for each distribution. Written only.
    Hdr,
    /// HdrHistogram's percentile table (`.hgrm`) of all distributions merged. Written only.
    Hgrm,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 9] = [
        Self::Json,
        Self::CyclictestA,
        Self::CyclictestB,
        Self::CyclictestV,
        Self::CyclictestJson,
        Self::Adam,
        Self::Csv,
        Self::Hdr,
        Self::Hgrm,
    ];

    /// Its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::CyclictestA => "cyclictest-a",
            Self::CyclictestB => "cyclictest-b",
            Self::CyclictestV => "cyclictest-v",
            Self::CyclictestJson => "cyclictest-json",
            Self::Adam => "adam",
            Self::Csv => "csv",
            Self::Hdr => "hdr",
            Self::Hgrm => "hgrm",
        }
    }

    /// Whether [`import`] reads it.
    pub fn is_read(self) -> bool {
        !matches!(self, Self::Csv | Self::Hdr | Self::Hgrm)
    }

    /// Whether [`export`] writes it.
    pub fn is_written(self) -> bool {
        self != Self::CyclictestV
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Format {
    type Err = String;

    /// `cyclictest` alone is dialect A, the one that plotting scripts expect.
    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|f| f.as_str() == text);
        known.or((text == "cyclictest").then_some(Self::CyclictestA)).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|f| f.as_str()).collect();
            format!("`{text}` is not a format: use one of {}", names.join(", "))
        })
    }
}

/// What an importer can't learn from the file itself.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// The file's name, for messages and for the record's source.
    pub file_name: String,
    /// When the run started, where the file does not say: the file's modification time.
    pub started: SystemTime,
    /// The format; found by looking when `None`.
    pub format: Option<Format>,
    /// What load ran meanwhile; "unknown" when `None`.
    pub load: Option<String>,
    /// Where the measured task ran, where the file does not say; user space when `None`.
    pub space: Option<Space>,
    /// The figures are in nanoseconds (cyclictest's `-N`): `None` goes by the file, and by microseconds where it does not say.
    pub nanoseconds: Option<bool>,
}

impl ImportOptions {
    /// Nothing known but the name and a time.
    pub fn new(file_name: impl Into<String>, started: SystemTime) -> Self {
        Self { file_name: file_name.into(), started, format: None, load: None, space: None, nanoseconds: None }
    }
}

/// Why a file was not imported. Nothing of it was.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// No known format.
    #[error(
        "the format is not known: it starts like neither a record of rtscope, cyclictest's text, `-v` stream or JSON, nor Adam's report, nor a capture (VCD, sigrok's .sr, CSV with times); name it with --format"
    )]
    Unknown,
    /// rtscope does not read this format.
    #[error("rtscope writes {0}, but does not read it")]
    NotRead(Format),
    /// Something is wrong at a line.
    #[error("line {line}: {what}")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// What is wrong, and what was expected.
        what: String,
    },
    /// Something is wrong that has no one line.
    #[error("{0}")]
    File(String),
    /// It is no valid JSON.
    #[error("invalid JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// What it says can't be a distribution.
    #[error("the counts do not add up: {0}")]
    Distribution(#[from] DistributionError),
    /// What it says can't be a record.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// It says that somebody signed it, who did not.
    #[error("{id}: {error}")]
    Signature {
        /// The record's id.
        id: String,
        /// What is wrong with it.
        error: SignatureError,
    },
}

impl ImportError {
    pub(crate) fn line(line: usize, what: impl Into<String>) -> Self {
        Self::Line { line, what: what.into() }
    }
}

/// Why a record was not exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// cyclictest's histogram needs exact equal-width bins.
    #[error("{label} has no equal-width bins, though other distributions of the record have: export csv, hdr or json")]
    NoBins {
        /// Which distribution.
        label: String,
    },
    /// Distributions with bins of different width can't stand in one table.
    #[error("{label} has bins of {found} ns, the text is to be in units of {wanted} ns")]
    Unit {
        /// Which distribution.
        label: String,
        /// Its bin width, ns.
        found: u64,
        /// The width asked for, ns.
        wanted: u64,
    },
    /// A dense table of that many rows helps nobody.
    #[error("the histogram would have {rows} rows (cyclictest itself stops at 1000000): export cyclictest-b, csv, hdr or json")]
    TooManyRows {
        /// How many.
        rows: u64,
    },
    /// A record keeps no samples in order.
    #[error(
        "a record keeps no samples in the order they were taken, which cyclictest -v prints: keep the raw samples when measuring"
    )]
    NoSamples,
    /// cyclictest measures timers only.
    #[error("cyclictest's formats are for the timer test, this record is of the test {0}")]
    Test(String),
    /// Adam's programs answer edges.
    #[error("Adam's text is of the tests response and periodic, this record is of the test {0}")]
    NotOverLines(String),
    /// An imported distribution without bins.
    #[error("{label} has samples that its histogram does not hold: their figures can't be made anew")]
    NoSlots {
        /// Which distribution.
        label: String,
    },
    /// Lines that the record keeps of the file it came from mean something else in this one.
    #[error("lines that the record keeps of its file would be misread in this format ({0}): export csv, hdr or json")]
    Kept(String),
    /// The distributions can't be merged.
    #[error(transparent)]
    Distribution(#[from] DistributionError),
    /// With equal-width bins the record does not hold together.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The record can't be written as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Finds the format of a file from its first bytes; `None` when it is like none.
pub fn detect(bytes: &[u8]) -> Option<Format> {
    let start = bytes.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(0);
    let rest = bytes.get(start..).unwrap_or_default();
    if matches!(rest.first(), Some(b'{' | b'[')) {
        let foreign = rest.windows(14).take(4096).any(|w| w == b"\"file_version\"");
        return Some(if foreign { Format::CyclictestJson } else { Format::Json });
    }
    // Latin-1 in a comment must not hide the rest.
    let text = String::from_utf8_lossy(bytes);
    if adam::detect(&text) { Some(Format::Adam) } else { cyclictest::detect(&text) }
}

/// Reads a file: the records in it (mostly one), each with a warning for everything the file does not say.
pub fn import(bytes: &[u8], options: &ImportOptions) -> Result<Vec<Record>, ImportError> {
    let format = options.format.or_else(|| detect(bytes)).ok_or(ImportError::Unknown)?;
    let records = match format {
        // Whose they are is not for the reader of a file to say.
        Format::Json => return native::read(bytes),
        Format::CyclictestA | Format::CyclictestB => vec![cyclictest::read_text(bytes, options)?],
        Format::CyclictestV => vec![cyclictest::read_verbose(bytes, options)?],
        Format::CyclictestJson => vec![cyclictest::read_json(bytes, options)?],
        Format::Adam => adam::read(bytes, options)?,
        Format::Csv | Format::Hdr | Format::Hgrm => return Err(ImportError::NotRead(format)),
    };
    // The verdict is explained in the record itself.
    let explained = |r: Record| Record::new(RecordParts { warnings: r.findings().into_owned(), ..r.into_parts() });
    Ok(records.into_iter().map(explained).collect::<Result<_, _>>()?)
}

/// Writes a record as a file of `format`.
///
/// As cyclictest's text with a histogram, unless the record itself holds none (it was imported from `T:` lines): the lines of a run
/// without `-h` would leave out what the record knows. [`cyclictest::write_text`] writes them on request. A record measured without
/// equal-width bins gets bins of 1 us from its histogram: every count is kept, and a sample within 0.1 % of a bin's edge may stand in the
/// bin below.
pub fn export(record: &Record, format: Format) -> Result<Vec<u8>, ExportError> {
    use cyclictest::{Dialect, TextOptions, write_json, write_text};
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
        Format::CyclictestJson => Ok(write_json(record, &TextOptions::of(record, Dialect::A))?.into_bytes()),
        Format::Adam => Ok(adam::write(record)?.into_bytes()),
        Format::Csv => Ok(write_csv(record).into_bytes()),
        Format::Hdr => Ok(write_log(record).into_bytes()),
        Format::Hgrm => Ok(write_hgrm(record)?.into_bytes()),
    }
}

/// Whether cyclictest's text of an imported record is read as what it was written from.
fn reads_again(record: &Record, text: &str, nanoseconds: bool) -> Result<(), ExportError> {
    let options = ImportOptions { nanoseconds: Some(nanoseconds), ..ImportOptions::new("", SystemTime::UNIX_EPOCH) };
    let again = cyclictest::read_text(text.as_bytes(), &options).map_err(|e| ExportError::Kept(e.to_string()))?;
    let counts = |r: &Record| r.distributions().iter().map(Distribution::count).collect::<Vec<_>>();
    if counts(&again) == counts(record) { Ok(()) } else { Err(ExportError::Kept("other counts".into())) }
}

/// Bins that a record without any is given, at most: 100 ms of 1 us.
const MOST_BINS: u64 = 100_000;
/// Their width, ns.
const UNIT: u64 = 1000;

/// A measured record that holds no equal-width bins, with bins of 1 us made from its histogram; `None` where there is nothing to add.
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
