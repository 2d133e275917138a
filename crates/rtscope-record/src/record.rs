//! The record: the versioned document that a run leaves behind.

use crate::correction::Corrected;
use crate::distribution::{self, Distribution, DistributionError};
use crate::fingerprint::Fingerprint;
use crate::lab::Lab;
use crate::limits;
use crate::lines::Instrument;
use crate::load::LoadProof;
use crate::origin::{self, Origin};
use crate::settings::Settings;
use crate::system::System;
use crate::warning::{Verdict, Warning};
use crate::witness::Witness;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// Name and version of the format.
pub const SCHEMA: &str = "rtscope-record/1";

/// An enumeration that is one word each in a record.
macro_rules! word_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// As written in a record.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                match text { $($word => Ok(Self::$variant),)+ _ => Err(format!(concat!("`{}` is none of", $(" ", $word),+), text)) }
            }
        }
    };
}

pub(crate) use word_enum;

word_enum! {
    /// What is measured.
    Test {
        /// Wake-up latency of a timer.
        Timer = "timer",
        /// Answer to a stimulus on a line.
        Response = "response",
        /// A line toggled by a timer.
        Periodic = "periodic",
        /// Highest stimulus frequency that is answered.
        Sustained = "sustained",
    }
}

word_enum! {
    /// Where the measured task runs.
    Space {
        /// User space.
        User = "user",
        /// Kernel space.
        Kernel = "kernel",
    }
}

word_enum! {
    /// Whose time the figures are in.
    Clock {
        /// The machine's own clock.
        Host = "host",
        /// Instruction-counted time of a virtual machine.
        Virtual = "virtual",
    }
}

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

/// The parts of a [`Record`] before they are checked. The verdict is not among them: it follows from the warnings and the origin.
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

/// A checked record.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Wire")]
pub struct Record(RecordParts);

/// Why something is not a record.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RecordError {
    /// Another format or version.
    #[error("this is `{0}`, not {SCHEMA}: written by another version of rtscope?")]
    Schema(String),
    /// Counts do not add up.
    #[error("the counts do not add up: {0}")]
    Distribution(#[from] DistributionError),
    /// The stated verdict is not the one that warnings and origin leave.
    #[error("the record says {stated}, but its warnings and its origin leave {own}")]
    Verdict {
        /// As stated.
        stated: Verdict,
        /// What warnings and origin leave.
        own: Verdict,
    },
    /// The stated origin is not that of what the record holds.
    #[error("the record says that it is of origin {stated}, but what it holds is of origin {own}")]
    Origin {
        /// As stated.
        stated: Origin,
        /// What follows from the rest.
        own: Origin,
    },
    /// The id holds other characters than letters, digits and dashes, or none or more than 80.
    #[error("`{0:.100}` is no record id: letters, digits and dashes, at most 80")]
    Id(String),
    /// Something is too long, or there is too much of it.
    #[error(transparent)]
    TooLong(#[from] limits::TooLong),
    /// It started at no moment.
    #[error("it says that it started `{0:.40}`, which is no moment: RFC 3339, such as 2026-11-21T08:00:00Z")]
    Started(String),
    /// Two distributions under one label.
    #[error("two distributions are called `{0}`")]
    Label(String),
    /// The stated fingerprint is not that of the distributions.
    #[error("the record's fingerprint is {stated}, its distributions have {own}: it was changed after it was taken")]
    Fingerprint {
        /// As stated.
        stated: Fingerprint,
        /// What the distributions have.
        own: Fingerprint,
    },
}

impl Record {
    /// Checks the parts.
    pub fn new(parts: RecordParts) -> Result<Self, RecordError> {
        let id = &parts.id;
        if id.is_empty() || id.len() > 80 || !id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Err(RecordError::Id(parts.id));
        }
        limits::check_parts(&parts)?;
        if !crate::moment::is_moment(&parts.started) {
            return Err(RecordError::Started(parts.started));
        }
        let mut labels = std::collections::BTreeSet::new();
        for d in &parts.distributions {
            if !labels.insert(d.label()) {
                return Err(RecordError::Label(d.label().into()));
            }
        }
        let own = Origin::derived(&parts);
        match parts.origin {
            Some(stated) if stated != own && stated != Origin::Imported => Err(RecordError::Origin { stated, own }),
            _ => Ok(Self(parts)),
        }
    }

    /// Everything in it, read only.
    pub fn parts(&self) -> &RecordParts {
        &self.0
    }

    /// Everything in it, to be changed and checked anew.
    pub fn into_parts(self) -> RecordParts {
        self.0
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Where it came from.
    pub fn origin(&self) -> Origin {
        self.0.origin.unwrap_or_else(|| Origin::derived(&self.0))
    }

    /// The verdict that its warnings and its origin leave.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(&self.0.warnings).max(self.origin().best(self.0.clock))
    }

    /// Its warnings, and what its origin adds to them where they alone do not say why its verdict is what it is.
    pub fn findings(&self) -> Cow<'_, [Warning]> {
        let own = &self.0.warnings;
        let unexplained = self.verdict() > Verdict::Repeatable.max(Verdict::of(own));
        match unexplained.then(|| origin::warning(self.origin())).flatten() {
            Some(why) => Cow::Owned(own.iter().cloned().chain([why]).collect()),
            None => Cow::Borrowed(own),
        }
    }

    /// What two runs have in common exactly when every distribution of theirs is the same.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.0.distributions)
    }

    /// Its distributions.
    pub fn distributions(&self) -> &[Distribution] {
        &self.0.distributions
    }

    /// All its distributions as one, called `all`; the only one itself when there is one; `None` when there is none.
    pub fn merged(&self) -> Result<Option<Distribution>, DistributionError> {
        let mut rest = self.0.distributions.iter();
        let Some(first) = rest.next() else { return Ok(None) };
        let keep = usize::try_from(self.0.settings.worst).unwrap_or(usize::MAX);
        rest.try_fold(first.clone(), |sum, d| sum.with(d, "all", keep)).map(Some)
    }
}

/// A distribution with the corrected view that it has in its record, which only its writer needs.
struct Shown<'a>(Cow<'a, Distribution>, Option<Corrected>);

impl Serialize for Shown<'_> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        distribution::wire::Wire::with(&self.0, self.1.as_ref()).serialize(to)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Shown<'_> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Distribution::schema_name()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Distribution::json_schema(generator)
    }
}

fn read<'de, D: serde::Deserializer<'de>>(input: D) -> Result<Vec<Shown<'static>>, D::Error> {
    limits::distributions(input).map(|all| all.into_iter().map(|d| Shown(Cow::Owned(d), None)).collect())
}

/// The record as JSON.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Record", title = "rtscope-record/1"))]
struct Wire<'a> {
    /// Name and version of this format: "rtscope-record/1".
    schema: Cow<'a, str>,
    /// Unique, sorts by time.
    id: Cow<'a, str>,
    /// RFC 3339 in UTC.
    started: Cow<'a, str>,
    /// Wall time of the measurement, ns.
    #[serde(default)]
    elapsed_ns: u64,
    /// What was measured.
    test: Test,
    /// Where the measured task ran.
    space: Space,
    /// Name of the load.
    load: Cow<'a, str>,
    /// Where the probe ran.
    target: Cow<'a, str>,
    /// Whose time the figures are in.
    clock: Clock,
    /// Where it came from; absent in older records, where it follows from `source`, `lab`, `target` and `instrument`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
    /// The run was ended before its time.
    #[serde(default)]
    interrupted: bool,
    /// Whether the figures may be trusted: the worst of the warnings' effects and of what the origin allows.
    verdict: Verdict,
    /// What a reader of the figures must know.
    warnings: Cow<'a, [Warning]>,
    /// All that was asked for.
    settings: Cow<'a, Settings>,
    /// What the machine was like.
    system: Cow<'a, System>,
    /// What the load achieved and how each of its processes ended; null when nothing was asked of it.
    load_proof: Option<Cow<'a, LoadProof>>,
    /// The figures.
    #[serde(deserialize_with = "read")]
    distributions: Vec<Shown<'a>>,
    /// SHA-256 over the distributions (first 128 bits, hex): equal exactly when every count and sample statistic is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fingerprint: Option<Fingerprint>,
    /// Where it was imported from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<Cow<'a, Source>>,
    /// The virtual machine that it was taken in, when the lab made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lab: Option<Cow<'a, Lab>>,
    /// What stimulated and timed, for a test over lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instrument: Option<Cow<'a, Instrument>>,
    /// What was seen of the run before, during and after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    witness: Option<Cow<'a, Witness>>,
    /// Who says that rtscope measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<Cow<'a, Signature>>,
}

impl Serialize for Record {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let p = &self.0;
        let shown = |d| Shown(Cow::Borrowed(d), Corrected::of(p, d));
        let wire = Wire {
            schema: SCHEMA.into(),
            id: Cow::Borrowed(&p.id),
            started: Cow::Borrowed(&p.started),
            elapsed_ns: p.elapsed_ns,
            test: p.test,
            space: p.space,
            load: Cow::Borrowed(&p.load),
            target: Cow::Borrowed(&p.target),
            clock: p.clock,
            origin: p.origin,
            interrupted: p.interrupted,
            verdict: self.verdict(),
            warnings: Cow::Borrowed(&p.warnings),
            settings: Cow::Borrowed(&p.settings),
            system: Cow::Borrowed(&p.system),
            load_proof: p.load_proof.as_ref().map(Cow::Borrowed),
            distributions: p.distributions.iter().map(shown).collect(),
            fingerprint: Some(self.fingerprint()),
            source: p.source.as_ref().map(Cow::Borrowed),
            lab: p.lab.as_ref().map(Cow::Borrowed),
            instrument: p.instrument.as_ref().map(Cow::Borrowed),
            witness: p.witness.as_ref().map(Cow::Borrowed),
            signature: p.signature.as_ref().map(Cow::Borrowed),
        };
        wire.serialize(to)
    }
}

impl TryFrom<Wire<'_>> for Record {
    type Error = RecordError;

    fn try_from(w: Wire<'_>) -> Result<Self, RecordError> {
        if w.schema != SCHEMA {
            return Err(RecordError::Schema(w.schema.into_owned()));
        }
        let record = Self::new(RecordParts {
            id: w.id.into_owned(),
            started: w.started.into_owned(),
            elapsed_ns: w.elapsed_ns,
            test: w.test,
            space: w.space,
            load: w.load.into_owned(),
            target: w.target.into_owned(),
            clock: w.clock,
            origin: w.origin,
            interrupted: w.interrupted,
            warnings: w.warnings.into_owned(),
            settings: w.settings.into_owned(),
            system: w.system.into_owned(),
            load_proof: w.load_proof.map(Cow::into_owned),
            distributions: w.distributions.into_iter().map(|d| d.0.into_owned()).collect(),
            source: w.source.map(Cow::into_owned),
            lab: w.lab.map(Cow::into_owned),
            instrument: w.instrument.map(Cow::into_owned),
            witness: w.witness.map(Cow::into_owned),
            signature: w.signature.map(Cow::into_owned),
        })?;
        if let Some(stated) = w.fingerprint {
            let own = record.fingerprint();
            if stated != own {
                return Err(RecordError::Fingerprint { stated, own });
            }
        }
        let own = record.verdict();
        // Before records knew their origin, the warnings alone decided.
        let older = record.0.origin.is_none() && w.verdict == Verdict::of(&record.0.warnings);
        if w.verdict == own || older { Ok(record) } else { Err(RecordError::Verdict { stated: w.verdict, own }) }
    }
}

/// The JSON Schema of a record, made from these types.
#[cfg(feature = "schema")]
pub fn json_schema() -> schemars::Schema {
    schemars::schema_for!(Wire)
}

#[cfg(test)]
#[path = "record_tests.rs"]
pub(crate) mod tests;
