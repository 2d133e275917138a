//! A record as JSON: derived figures are written for readers, and checked when a record is read.

use super::fits;
use super::parts::{RecordParts, Signature, Source};
use super::{Record, RecordError, SCHEMA};
use crate::correction::Corrected;
use crate::distribution::{self, Distribution};
use crate::fingerprint::Fingerprint;
use crate::lab::Lab;
use crate::lines::InstrumentFacts;
use crate::load::LoadProof;
use crate::origin::Origin;
use crate::settings::Settings;
use crate::system::System;
use crate::warning::{Verdict, Warning};
use crate::witness::Witness;
use crate::words::{Clock, Space, Test};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;

/// A distribution with its corrected view, which is used for writing only.
struct Shown<'a>(Cow<'a, Distribution>, Option<Corrected>);

impl Serialize for Shown<'_> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        distribution::json::Wire::with(&self.0, self.1.as_ref()).serialize(to)
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
    fits::distributions(input).map(|all| all.into_iter().map(|d| Shown(Cow::Owned(d), None)).collect())
}

/// The record of one run, as JSON.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Record", title = "rtscope-record/1"))]
struct Wire<'a> {
    /// Name and version of this format: "rtscope-record/1".
    schema: Cow<'a, str>,
    /// Unique identifier; sorts by start time.
    id: Cow<'a, str>,
    /// Start of the run, RFC 3339 in UTC.
    started: Cow<'a, str>,
    /// Duration of the measurement, ns.
    #[serde(default)]
    elapsed_ns: u64,
    /// What was measured.
    test: Test,
    /// Where the measured task ran.
    space: Space,
    /// Name of the load; `unknown` in imports that do not state it.
    load: Cow<'a, str>,
    /// Where the probe ran: `local`, `ssh:HOST`, `lab:KERNEL`, `fake:FILE`, or `import`.
    target: Cow<'a, str>,
    /// Time base of all figures.
    clock: Clock,
    /// Where the record came from. Absent in older records, where it follows from `source`, `lab`, `target` and `instrument`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
    /// The run was interrupted before its end, for example by Ctrl-C. A run that ended at `break_above` was not interrupted.
    #[serde(default)]
    interrupted: bool,
    /// Whether the figures can be trusted: the worst of the warnings' effects and of what the origin allows.
    verdict: Verdict,
    /// What a reader of the figures must know.
    warnings: Cow<'a, [Warning]>,
    /// The requested settings.
    settings: Cow<'a, Settings>,
    /// Snapshot of the DUT's machine before the run.
    system: Cow<'a, System>,
    /// What the load achieved and how each of its processes ended; null without a load.
    load_proof: Option<Cow<'a, LoadProof>>,
    /// The figures, one distribution for each measuring thread or kind of edge.
    #[serde(deserialize_with = "read")]
    distributions: Vec<Shown<'a>>,
    /// SHA-256 over the distributions (the first 128 bits, hex): equal exactly if all counts and sample statistics are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fingerprint: Option<Fingerprint>,
    /// The file that it was imported from, if that was not a record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<Cow<'a, Source>>,
    /// The virtual machine, if it was measured in the lab.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lab: Option<Cow<'a, Lab>>,
    /// The instrument, in tests over lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instrument: Option<Cow<'a, InstrumentFacts>>,
    /// Observations of the threads and the machine before, during and after the run; absent in imports and older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    witness: Option<Cow<'a, Witness>>,
    /// Statement of a key owner that rtscope measured the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<Cow<'a, Signature>>,
}

impl Serialize for Record {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let p = self.parts();
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

// Written by hand, so that `Record` itself does not depend on its JSON form.
impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Wire::deserialize(from)?.try_into().map_err(D::Error::custom)
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
        // Before records had an origin, the warnings alone decided.
        let older = record.parts().origin.is_none() && w.verdict == Verdict::of(&record.parts().warnings);
        if w.verdict == own || older { Ok(record) } else { Err(RecordError::Verdict { stated: w.verdict, own }) }
    }
}

/// The JSON Schema of a record, made from these types.
#[cfg(feature = "schema")]
pub fn json_schema() -> schemars::Schema {
    schemars::schema_for!(Wire)
}
