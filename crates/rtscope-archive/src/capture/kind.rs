//! Kinds of capture files, and their names on the command line.

use std::fmt;
use std::str::FromStr;

/// Kinds of capture files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CaptureKind {
    /// Value change dump (IEEE 1364).
    Vcd,
    /// sigrok's session file (`.sr`, a ZIP archive, versions 1 and 2).
    Sigrok,
    /// Comma-separated values with a column of times or a sample rate: Saleae, sigrok, Rigol, Siglent and others.
    Csv,
}

impl CaptureKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Vcd, Self::Sigrok, Self::Csv];

    /// Its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Vcd => "vcd",
            Self::Sigrok => "sigrok",
            Self::Csv => "capture-csv",
        }
    }
}

impl fmt::Display for CaptureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for CaptureKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|k| k.as_str() == text).ok_or_else(|| format!("`{text}` is not a kind of capture"))
    }
}
