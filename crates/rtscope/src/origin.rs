//! Whose record a file holds: this archive's own, one that a trusted key signed, or anybody's.

use crate::keys::Keys;
use rtscope_archive::Archive;
use rtscope_failure::{Explain, Failure};
use rtscope_record::{Effect, Origin, Record, RecordParts, Verdict, Warning, findings, origin};

/// The outcome for a record from a file.
pub(crate) struct Settled {
    /// The record, as far as it is believed.
    pub record: Record,
    /// A remark about that for the user.
    pub said: Option<String>,
}

/// Decides how far to believe `record`, as read from a file.
///
/// Its claim to be a measurement is believed if `archive` has the very same record, or if a key that the user trusts signed it.
/// The author of any other record is unknown: it becomes an import, and the warnings that its own content calls for are put back.
pub(crate) fn settle(record: Record, archive: Option<&Archive>, keys: &Keys) -> Result<Settled, Failure> {
    if archive.is_some_and(|a| a.get(record.id()).is_ok_and(|there| there == record)) {
        return Ok(Settled { record, said: None });
    }
    let rebuilt = |parts| Record::new(parts).or_machine("the record does not hold together", "leave it out");
    let mut said = None;
    if let Some(signature) = &record.parts().signature {
        // The reader has already checked that it is a signature of this record.
        if let Some(who) = keys.who(signature) {
            let said = Some(format!("signed by {} ({})", who.name, who.fingerprint));
            let signature = Some(rtscope_record::Signature { name: who.name.clone(), ..signature.clone() });
            return Ok(Settled { record: rebuilt(RecordParts { signature, ..record.into_parts() })?, said });
        }
        let fingerprint = signature.fingerprint();
        said = Some(format!(
            "signed by a key that you do not trust ({fingerprint}, it calls itself {}): taken as an import. If you know whose it is: rtscope key \
             trust, remove the record, import it again",
            signature.name.chars().take(64).collect::<String>()
        ));
    }
    let mut parts = record.into_parts();
    (parts.origin, parts.signature) = (Some(Origin::Imported), None);
    let mut missing = findings::again::missing(&parts);
    if let Some(proof) = &parts.load_proof {
        let has = |w: &Warning| parts.warnings.iter().chain(&missing).any(|own| own.code == w.code && own.effect >= w.effect);
        let of_load: Vec<Warning> = rtscope_record::load::warnings(proof).into_iter().filter(|w| !has(w)).collect();
        missing.extend(of_load);
    }
    if !missing.is_empty() {
        let codes: Vec<&str> = missing.iter().map(|w| w.code.as_str()).collect();
        let text = format!("its own content calls for warnings that it did not have; they were put back: {}", codes.join(", "));
        let remedy = "an older version of rtscope wrote it, or they were taken out: ask for the record as it was measured, signed";
        parts.warnings.extend([Warning::new("warnings-missing", Effect::Note, text.clone(), remedy)]);
        parts.warnings.extend(missing);
        said = Some(said.map_or(text.clone(), |before| format!("{before}; {text}")));
    }
    if !parts.warnings.iter().any(|w| w.code == Origin::Imported.as_str()) && parts.source.is_none() {
        parts.warnings.extend(origin::warning(Origin::Imported));
    }
    let record = rebuilt(parts)?;
    debug_assert!(record.verdict() >= Verdict::Inconclusive);
    Ok(Settled { record, said })
}
