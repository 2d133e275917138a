//! The parts of a record, before they are checked.

use crate::distribution::Distribution;
use crate::lab::Lab;
use crate::lines::InstrumentFacts;
use crate::load::LoadProof;
use crate::origin::Origin;
use crate::settings::Settings;
use crate::system::System;
use crate::warning::Warning;
use crate::witness::Witness;
use crate::words::{Clock, Space, Test};
use serde::{Deserialize, Serialize};

/// The file that a record was imported from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Source {
    /// Format and dialect, such as `cyclictest-text/A`.
    pub format: String,
    /// File name as given.
    pub file: String,
    /// SHA-256 of the file, hex.
    pub sha256: String,
    /// Lines or keys of the file that an export needs to write it again (header comments, command line ...).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
}

/// Signed statement of a key owner that rtscope measured a record.
///
/// It covers the whole record except what follows from the rest: `docs/record.md`, "Signature". The rtscope program verifies it,
/// the `rtscope-record` crate does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Signature {
    /// Name of the key's owner in the archive that holds the record; not signed.
    pub name: String,
    /// Public key (ed25519), 64 hex digits.
    pub key: String,
    /// Signature (ed25519), 128 hex digits.
    pub value: String,
}

impl Signature {
    /// The key's short form for people to compare.
    pub fn fingerprint(&self) -> String {
        key_fingerprint(&self.key)
    }
}

/// Short form of a public key for people to compare: the first 24 hex digits of the SHA-256 over its hex digits.
pub fn key_fingerprint(key: &str) -> String {
    use sha2::Digest as _;
    use std::fmt::Write as _;
    sha2::Sha256::digest(key).iter().take(12).fold(String::new(), |mut text, b| {
        // Writing to a String can't fail.
        let _ = write!(text, "{b:02x}");
        text
    })
}

/// The parts of a [`Record`](super::Record) before they are checked. There is no verdict: it follows from the warnings and the
/// origin.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordParts {
    /// Unique and sorted by time: `20261121T080000Z-1a2b3c`. Letters, digits and dashes.
    pub id: String,
    /// Start, RFC 3339 in UTC.
    pub started: String,
    /// Wall time of the measurement from start to end, ns.
    pub elapsed_ns: u64,
    /// The test.
    pub test: Test,
    /// Where the measured task ran.
    pub space: Space,
    /// Name of the load.
    pub load: String,
    /// Where the probe ran: `local`, `ssh:HOST`, `lab:KERNEL`, `fake:FILE`, `import`.
    pub target: String,
    /// Time base of all figures.
    pub clock: Clock,
    /// Where the record came from; `None` in older records, for which [`Origin::derived`] determines it.
    pub origin: Option<Origin>,
    /// The run was interrupted before its end; the figures are of the part that ran.
    pub interrupted: bool,
    /// What a reader of the figures must know.
    pub warnings: Vec<Warning>,
    /// What was requested.
    pub settings: Settings,
    /// Snapshot of the machine.
    pub system: System,
    /// What the load achieved.
    pub load_proof: Option<LoadProof>,
    /// The figures.
    pub distributions: Vec<Distribution>,
    /// The imported file.
    pub source: Option<Source>,
    /// The lab's virtual machine.
    pub lab: Option<Lab>,
    /// For tests over lines: the instrument, which gave the stimuli and stamped the edges.
    pub instrument: Option<InstrumentFacts>,
    /// Observations of the witness; `None` for imports and older records.
    pub witness: Option<Witness>,
    /// Statement of a key owner that rtscope measured the record.
    pub signature: Option<Signature>,
}

impl Origin {
    /// Derives the origin from the other parts of a record.
    ///
    /// Older records of the FPGA instrument identify the emulator only in the instrument's description.
    pub fn derived(of: &RecordParts) -> Self {
        let emulated = |i: &InstrumentFacts| i.emulated || i.what.contains("FPGA instrument, emulator");
        if of.source.is_some() || of.target == "import" {
            Self::Imported
        } else if of.lab.is_some() || of.target.starts_with("lab:") {
            Self::Lab
        } else if of.target.starts_with("fake:") || of.instrument.as_ref().is_some_and(emulated) {
            Self::Emulator
        } else {
            Self::Measured
        }
    }
}
