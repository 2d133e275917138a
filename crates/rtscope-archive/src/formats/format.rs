//! Names of the formats, and what an importer needs to know besides a file.

use rtscope_record::Space;
use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

/// A format, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// rtscope's own records: a single one, an array, or one per line.
    Json,
    /// cyclictest's text up to rt-tests 2.6: a row for every bin, and `# Total:`. The reader takes either dialect.
    CyclictestA,
    /// cyclictest's text from rt-tests 2.7 on: no empty rows and no `# Total:`. The reader takes either dialect.
    CyclictestB,
    /// cyclictest's `-v` stream of samples. Read only: a record does not keep samples in order.
    CyclictestV,
    /// cyclictest's `--json`.
    CyclictestJson,
    /// The text of Adam's measurement programs. Only that of the response program is read.
    Adam,
    /// jitterdebugger's `results.json`. Read only, as all of the following tools' files.
    Jitterdebugger,
    /// jitterdebugger's `samples.raw`.
    JitterdebuggerRaw,
    /// The text of `rtla timerlat hist`.
    RtlaTimerlat,
    /// The text of `rtla osnoise hist`.
    RtlaOsnoise,
    /// oslat's `--json`.
    Oslat,
    /// What stress-ng prints of `--cyclic`.
    StressNg,
    /// A trace of the kernel's hwlat tracer.
    Hwlat,
    /// A trace of the kernel's timerlat tracer.
    Timerlat,
    /// Results of rt-tests in LAVA and KernelCI.
    Lava,
    /// Bins as `label,low_ns,high_ns,count`. Written only.
    Csv,
    /// HdrHistogram's interval log, one line for each distribution. Written only.
    Hdr,
    /// HdrHistogram's percentile table (`.hgrm`) of all distributions merged. Written only.
    Hgrm,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 18] = [
        Self::Json,
        Self::CyclictestA,
        Self::CyclictestB,
        Self::CyclictestV,
        Self::CyclictestJson,
        Self::Adam,
        Self::Jitterdebugger,
        Self::JitterdebuggerRaw,
        Self::RtlaTimerlat,
        Self::RtlaOsnoise,
        Self::Oslat,
        Self::StressNg,
        Self::Hwlat,
        Self::Timerlat,
        Self::Lava,
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
            Self::Jitterdebugger => "jitterdebugger",
            Self::JitterdebuggerRaw => "jitterdebugger-raw",
            Self::RtlaTimerlat => "rtla-timerlat",
            Self::RtlaOsnoise => "rtla-osnoise",
            Self::Oslat => "oslat",
            Self::StressNg => "stress-ng",
            Self::Hwlat => "hwlat",
            Self::Timerlat => "timerlat",
            Self::Lava => "lava",
            Self::Csv => "csv",
            Self::Hdr => "hdr",
            Self::Hgrm => "hgrm",
        }
    }

    /// Whether [`import`](super::import) reads it.
    pub fn is_read(self) -> bool {
        !matches!(self, Self::Csv | Self::Hdr | Self::Hgrm)
    }

    /// Whether [`export`](super::export) writes it.
    pub fn is_written(self) -> bool {
        use Format::{Adam, Csv, CyclictestA, CyclictestB, CyclictestJson, Hdr, Hgrm, Json};
        matches!(self, Json | CyclictestA | CyclictestB | CyclictestJson | Adam | Csv | Hdr | Hgrm)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Format {
    type Err = String;

    /// `cyclictest` alone means dialect A, which plotting scripts expect.
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
    /// When the run started, used where the file does not say: the file's modification time.
    pub started: SystemTime,
    /// The format; detected when `None`.
    pub format: Option<Format>,
    /// The load during the run; "unknown" when `None`.
    pub load: Option<String>,
    /// Where the measured task ran, used where the file does not say; user space when `None`.
    pub space: Option<Space>,
    /// Whether the figures are in nanoseconds (cyclictest's `-N`). `None` follows the file, and assumes microseconds
    /// where it does not say.
    pub nanoseconds: Option<bool>,
}

impl ImportOptions {
    /// Options with only the file's name and a start time.
    pub fn new(file_name: impl Into<String>, started: SystemTime) -> Self {
        Self { file_name: file_name.into(), started, format: None, load: None, space: None, nanoseconds: None }
    }
}
