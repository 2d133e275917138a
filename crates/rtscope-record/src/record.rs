//! The record: the versioned document that a run produces.

mod fits;
pub(crate) mod json;
mod parts;

pub use crate::words::{Clock, Space, Test};
pub use parts::{RecordParts, Signature, Source, key_fingerprint};

use crate::distribution::{Distribution, DistributionError};
use crate::fingerprint::Fingerprint;
use crate::histogram::ANEW;
use crate::limits;
use crate::origin::{self, Origin};
use crate::warning::{Verdict, Warning};
use rtscope_failure::Problem;
use std::borrow::Cow;

/// Name and version of the record format.
pub const SCHEMA: &str = "rtscope-record/1";

/// A checked record.
///
/// ```
/// use rtscope_record::{Distribution, Record, Settings, System, Verdict};
/// use serde_json::json;
///
/// let empty: Record = serde_json::from_value(json!({
///     "schema": rtscope_record::SCHEMA,
///     "id": "20261121T080000Z-1a2b3c", "started": "2026-11-21T08:00:00Z",
///     "test": "timer", "space": "user", "load": "none", "target": "local", "clock": "host",
///     "verdict": "VALID", "warnings": [], "load_proof": null, "distributions": [],
///     "settings": Settings::default(), "system": System::default(),
/// }))?;
/// let mut parts = empty.into_parts();
/// parts.distributions.push(Distribution::from_samples("cpu0", &[11_000, 12_000], 0)?);
/// let record = Record::new(parts)?;
/// assert_eq!(record.verdict(), Verdict::Valid);
///
/// // JSON and back: the same record, with the same fingerprint.
/// let written = serde_json::to_value(&record)?;
/// let read: Record = serde_json::from_value(written.clone())?;
/// assert_eq!(read, record);
/// assert_eq!(read.fingerprint(), record.fingerprint());
///
/// // A count, a verdict or a format that does not fit the rest is refused.
/// for (at, other) in [
///     ("/distributions/0/count", json!(3)),
///     ("/distributions/0/max", json!(11_000)),
///     ("/verdict", json!("INVALID")),
///     ("/schema", json!("rtscope-record/2")),
/// ] {
///     let mut changed = written.clone();
///     *changed.pointer_mut(at).unwrap() = other;
///     assert!(serde_json::from_value::<Record>(changed).is_err(), "{at}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Record(RecordParts);

/// Why a record can't be built or read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RecordError {
    /// Another format or version.
    #[error("this is `{0}`, not {SCHEMA}: written by another version of rtscope?")]
    Schema(String),
    /// The counts of a distribution don't add up.
    #[error("the counts do not add up: {0}")]
    Distribution(#[from] DistributionError),
    /// The stated verdict is not the one that follows from warnings and origin.
    #[error("the record says {stated}, but its warnings and its origin leave {own}")]
    Verdict {
        /// As stated.
        stated: Verdict,
        /// What follows from warnings and origin.
        own: Verdict,
    },
    /// The stated origin contradicts the record's content.
    #[error("the record says that it is of origin {stated}, but what it holds is of origin {own}")]
    Origin {
        /// As stated.
        stated: Origin,
        /// What follows from the rest.
        own: Origin,
    },
    /// The id is empty, longer than 80 characters, or holds something other than letters, digits and dashes.
    #[error("`{0:.100}` is not a record id: letters, digits and dashes, at most 80")]
    Id(String),
    /// Something is too long or too many.
    #[error(transparent)]
    TooLong(#[from] limits::TooLong),
    /// The start is not a valid moment.
    #[error("it says that it started `{0:.40}`, which is not a moment: RFC 3339, such as 2026-11-21T08:00:00Z")]
    Started(String),
    /// Two distributions have the same label.
    #[error("two distributions are called `{0}`")]
    Label(String),
    /// The stated fingerprint does not match the distributions.
    #[error("the record's fingerprint is {stated}, its distributions have {own}: it was changed after it was taken")]
    Fingerprint {
        /// What was stated.
        stated: Fingerprint,
        /// The fingerprint of the distributions.
        own: Fingerprint,
    },
}

impl Problem for RecordError {
    fn remedy(&self) -> String {
        match self {
            Self::Schema(_) => "read it with the rtscope that wrote it".into(),
            Self::Distribution(e) => e.remedy(),
            Self::Verdict { .. } | Self::Origin { .. } | Self::Fingerprint { .. } => ANEW.into(),
            Self::Id(_) => "give it another id".into(),
            Self::TooLong(e) => e.remedy(),
            Self::Started(_) => "write down when it started".into(),
            Self::Label(_) => "give each distribution a label of its own".into(),
        }
    }
}

impl Record {
    /// Builds a record from its parts if they are consistent.
    pub fn new(parts: RecordParts) -> Result<Self, RecordError> {
        let id = &parts.id;
        if id.is_empty() || id.len() > 80 || !id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Err(RecordError::Id(parts.id));
        }
        fits::check(&parts)?;
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

    /// All parts, read-only.
    pub fn parts(&self) -> &RecordParts {
        &self.0
    }

    /// All parts, to be changed and checked again.
    pub fn into_parts(self) -> RecordParts {
        self.0
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Where the record came from: as stated, otherwise derived from its content.
    pub fn origin(&self) -> Origin {
        self.0.origin.unwrap_or_else(|| Origin::derived(&self.0))
    }

    /// The verdict that follows from warnings and origin.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(&self.0.warnings).max(self.origin().best(self.0.clock))
    }

    /// The record's warnings, plus one that explains the origin's limit if the warnings alone don't explain the verdict.
    pub fn findings(&self) -> Cow<'_, [Warning]> {
        let own = &self.0.warnings;
        let unexplained = self.verdict() > Verdict::Repeatable.max(Verdict::of(own));
        match unexplained.then(|| origin::warning(self.origin())).flatten() {
            Some(why) => Cow::Owned(own.iter().cloned().chain([why]).collect()),
            None => Cow::Borrowed(own),
        }
    }

    /// A hash over the distributions: two records have the same one exactly when all their distributions are equal.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.0.distributions)
    }

    /// Its distributions.
    pub fn distributions(&self) -> &[Distribution] {
        &self.0.distributions
    }

    /// All distributions merged into one with the label `all`; a single one is returned as it is; `None` without any.
    pub fn merged(&self) -> Result<Option<Distribution>, DistributionError> {
        let mut rest = self.0.distributions.iter();
        let Some(first) = rest.next() else { return Ok(None) };
        let keep = usize::try_from(self.0.settings.worst).unwrap_or(usize::MAX);
        rest.try_fold(first.clone(), |sum, d| sum.with(d, "all", keep)).map(Some)
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
pub(crate) mod tests;
