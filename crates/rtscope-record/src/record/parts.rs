//! What a record consists of, before anybody looked whether it holds together.

use crate::distribution::Distribution;
use crate::lab::Lab;
use crate::lines::Instrument;
use crate::load::LoadProof;
use crate::origin::Origin;
use crate::settings::Settings;
use crate::system::System;
use crate::warning::Warning;
use crate::witness::Witness;
use crate::words::{Clock, Space, Test};
use serde::{Deserialize, Serialize};

/// Where an imported record came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Source {
    /// Format and dialect, such as `cyclictest-text/A`.
    pub format: String,
    /// File name as given.
    pub file: String,
    /// SHA-256 of the file, hex.
    pub sha256: String,
    /// Lines or keys of the file that are kept to write it again (header comments, command line ...).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
}

/// Who says that this program measured a record.
///
/// Signed is all of the record but what follows from the rest of it: `docs/record.md`, "Signature". Whether it holds is not looked at here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Signature {
    /// What the key's owner is called where the record is kept; not signed.
    pub name: String,
    /// Public key (ed25519), 64 hex digits.
    pub key: String,
    /// Signature (ed25519), 128 hex digits.
    pub value: String,
}

impl Signature {
    /// Its key as people compare it.
    pub fn fingerprint(&self) -> String {
        key_fingerprint(&self.key)
    }
}

/// A public key as people compare it: the first 24 hex digits of the SHA-256 over its own hex digits.
pub fn key_fingerprint(key: &str) -> String {
    use sha2::Digest as _;
    use std::fmt::Write as _;
    sha2::Sha256::digest(key).iter().take(12).fold(String::new(), |mut text, b| {
        // Writing to a String can't fail.
        let _ = write!(text, "{b:02x}");
        text
    })
}

/// The parts of a [`Record`](super::Record) before they are checked. The verdict is not among them: it follows from the warnings and the origin.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordParts {
    /// Unique, sorts by time: `20261121T080000Z-1a2b3c`. Letters, digits and dashes.
    pub id: String,
    /// RFC 3339 in UTC.
    pub started: String,
    /// Wall time from start to end of the measurement, ns.
    pub elapsed_ns: u64,
    /// What was measured.
    pub test: Test,
    /// Where the task ran.
    pub space: Space,
    /// Name of the load.
    pub load: String,
    /// Where the probe ran: `local`, `ssh://host`, `lab:KERNEL`, `import`.
    pub target: String,
    /// Whose time the figures are in.
    pub clock: Clock,
    /// Where it came from; `None` in records of before that was written down: [`Origin::derived`] says it then.
    pub origin: Option<Origin>,
    /// The run was ended before its time; the figures are of the part that ran.
    pub interrupted: bool,
    /// What a reader must know.
    pub warnings: Vec<Warning>,
    /// What was asked for.
    pub settings: Settings,
    /// What the machine was like.
    pub system: System,
    /// What the load achieved.
    pub load_proof: Option<LoadProof>,
    /// The figures.
    pub distributions: Vec<Distribution>,
    /// Where it was imported from.
    pub source: Option<Source>,
    /// The virtual machine that it was taken in, when the lab made it.
    pub lab: Option<Lab>,
    /// What stimulated and timed, for a test over lines.
    pub instrument: Option<Instrument>,
    /// What was seen of the run while it ran; `None` for imports and for records of programs that did not look.
    pub witness: Option<Witness>,
    /// Who says that this program measured it.
    pub signature: Option<Signature>,
}

impl Origin {
    /// What follows from the rest of a record.
    ///
    /// An older record of the FPGA instrument says only in words that it was the emulator.
    pub fn derived(of: &RecordParts) -> Self {
        let emulated = |i: &Instrument| i.emulated || i.what.contains("FPGA instrument, emulator");
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
