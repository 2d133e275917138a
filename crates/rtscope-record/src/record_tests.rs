//! Records: round trips, refusals, and the JSON Schema in the manual.

use super::*;
use crate::fixtures;
#[cfg(feature = "schema")]
use crate::json_schema;
use crate::warning::Effect;
use crate::{LoadProof, Settings};

pub(crate) fn parts() -> RecordParts {
    RecordParts {
        origin: Some(Origin::Measured),
        warnings: vec![Warning::new("governor", Effect::Inconclusive, "m", "r")],
        load_proof: Some(LoadProof::default()),
        distributions: vec![Distribution::from_samples("cpu0", &[1, 5, 70_000], 2).unwrap()],
        ..fixtures::parts()
    }
}

#[test]
fn round_trip() {
    let r = Record::new(parts()).unwrap();
    let text = serde_json::to_string(&r).unwrap();
    assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), r);
    assert_eq!(r.verdict(), Verdict::Inconclusive);
}

#[test]
fn tampering_is_refused() {
    let json = serde_json::to_value(Record::new(parts()).unwrap()).unwrap();
    for (pointer, value) in [
        ("/schema", "rtscope-record/9"),
        ("/verdict", "VALID"),
        ("/id", "../../etc/passwd"),
        ("/test", "nonsense"),
        ("/clock", "sundial"),
    ] {
        let mut changed = json.clone();
        *changed.pointer_mut(pointer).unwrap() = value.into();
        assert!(serde_json::from_value::<Record>(changed).is_err(), "{pointer}");
    }
    let mut two = json.clone();
    let d = two["distributions"][0].clone();
    two["distributions"].as_array_mut().unwrap().push(d);
    assert!(serde_json::from_value::<Record>(two).is_err());
}

#[cfg(feature = "schema")]
#[test]
fn the_schema_in_the_manual_is_made_from_these_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/record.schema.json");
    let made = serde_json::to_string_pretty(&json_schema()).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), made, "run with UPDATE_SCHEMA=1 and review the difference");
}

#[test]
fn a_record_starts_at_a_moment() {
    for started in ["9999-99-99", "2026-02-30T08:00:00Z", "2026-11-21T25:00:00Z", "", "\u{1b}[2J"] {
        let mut p = parts();
        p.started = started.into();
        assert!(matches!(Record::new(p), Err(RecordError::Started(text)) if text == started));
    }
}

fn source() -> Source {
    Source { format: "f".into(), file: "f".into(), sha256: String::new(), kept: Vec::new() }
}

#[test]
fn an_id_is_short_and_of_harmless_characters() {
    let record = |id: &str| Record::new(RecordParts { id: id.into(), ..parts() });
    for id in ["a", "Z-9", &"x".repeat(80)] {
        assert_eq!(record(id).unwrap().id(), id);
    }
    for id in ["", "a_b", "a/b", "ä", &"x".repeat(81)] {
        assert_eq!(record(id), Err(RecordError::Id(id.into())));
    }
}

#[test]
fn a_key_is_known_by_the_start_of_its_sha_256() {
    // FIPS 180-2, appendix B.1.
    assert_eq!(key_fingerprint("abc"), "ba7816bf8f01cfea414140de");
    let signature = Signature { name: "n".into(), key: "abc".into(), value: "v".into() };
    assert_eq!(signature.fingerprint(), "ba7816bf8f01cfea414140de");
}

#[test]
fn words_are_read_as_they_are_written() {
    for (test, word) in
        [(Test::Timer, "timer"), (Test::Response, "response"), (Test::Periodic, "periodic"), (Test::Sustained, "sustained")]
    {
        assert_eq!((test.as_str(), format!("{test:>10}"), word.parse()), (word, format!("{word:>10}"), Ok(test)));
    }
    assert_eq!("Host".parse::<Clock>(), Err("`Host` is none of host virtual".into()));
}

#[test]
fn the_origin_is_a_finding_where_no_warning_says_as_much() {
    let codes = |origin: Option<Origin>, source: Option<Source>, effects: &[Effect]| {
        let warnings = effects.iter().map(|&e| Warning::new("w", e, "m", "r")).collect();
        let record = Record::new(RecordParts { origin, warnings, source, ..parts() }).unwrap();
        record.findings().iter().map(|w| w.code.clone()).collect::<Vec<_>>()
    };
    assert_eq!(codes(None, None, &[]), [""; 0]);
    assert_eq!(codes(None, Some(source()), &[]), ["imported"]);
    assert_eq!(codes(Some(Origin::Imported), None, &[Effect::Note]), ["w", "imported"]);
    assert_eq!(codes(None, Some(source()), &[Effect::Note, Effect::Inconclusive]), ["w", "w"]);
    assert_eq!(codes(None, Some(source()), &[Effect::Invalid]), ["w"]);
}

#[test]
fn several_distributions_become_one() {
    let merged = |worst, samples: &[&[u64]]| {
        let own = |(i, samples): (usize, &&[u64])| Distribution::from_samples(&format!("cpu{i}"), samples, 2).unwrap();
        let settings = Settings { worst, ..Settings::default() };
        let distributions = samples.iter().enumerate().map(own).collect();
        let record = Record::new(RecordParts { settings, distributions, ..parts() }).unwrap();
        let all = record.merged().unwrap()?;
        Some((all.label().to_owned(), all.count(), all.worst().iter().map(|w| w.value).collect::<Vec<_>>()))
    };
    assert_eq!(merged(2, &[]), None);
    assert_eq!(merged(1, &[&[5, 7]]), Some(("cpu0".into(), 2, vec![7, 5])), "one is what it is");
    assert_eq!(merged(3, &[&[5, 7], &[9], &[1, 8]]), Some(("all".into(), 5, vec![9, 8, 7])));
}

/// Reads `record` as JSON with `value` in place of the value under `key`.
fn changed(record: &Record, key: &str, value: serde_json::Value) -> Result<Record, String> {
    let mut json = serde_json::to_value(record).unwrap();
    json[key] = value;
    serde_json::from_value(json).map_err(|e| e.to_string())
}

#[test]
fn a_fingerprint_is_that_of_the_figures_or_absent() {
    let record = Record::new(parts()).unwrap();
    let own = record.fingerprint().to_string();
    let other = Fingerprint::of(&[]).to_string();
    let message = format!("the record's fingerprint is {other}, its distributions have {own}: it was changed after it was taken");
    assert_eq!(changed(&record, "fingerprint", other.into()), Err(message));
    assert_eq!(changed(&record, "fingerprint", serde_json::Value::Null), Ok(record.clone()));
    assert_eq!(changed(&record, "fingerprint", own.into()), Ok(record));
}

#[test]
fn a_verdict_is_that_of_warnings_and_origin() {
    let says = |stated: &str, own: &str| format!("the record says {stated}, but its warnings and its origin leave {own}");
    let clean = |origin, source| Record::new(RecordParts { origin, source, warnings: Vec::new(), ..parts() }).unwrap();
    let measured = clean(Some(Origin::Measured), None);
    assert_eq!(changed(&measured, "verdict", "INVALID".into()), Err(says("INVALID", "VALID")));
    // Only without a stated origin may the warnings alone have decided.
    let imported = clean(Some(Origin::Imported), None);
    assert_eq!(changed(&imported, "verdict", "VALID".into()), Err(says("VALID", "INCONCLUSIVE")));
    let older = clean(None, Some(source()));
    assert_eq!(changed(&older, "verdict", "VALID".into()), Ok(older.clone()));
    assert_eq!(changed(&older, "verdict", "INVALID".into()), Err(says("INVALID", "INCONCLUSIVE")));
}

#[test]
fn another_format_is_named() {
    let record = Record::new(parts()).unwrap();
    let message = "this is `rtscope-record/2`, not rtscope-record/1: written by another version of rtscope?";
    assert_eq!(changed(&record, "schema", "rtscope-record/2".into()), Err(message.into()));
}

#[test]
fn a_distribution_has_the_view_of_its_test() {
    let json = |test, missed| {
        let mut p = Distribution::from_samples("cpu0", &[100, 100, 3_000], 2).unwrap().into_parts();
        p.missed = missed;
        let settings = Settings { interval: crate::Nanos(1_000), ..Settings::default() };
        let distributions = vec![Distribution::new(p).unwrap()];
        let record = Record::new(RecordParts { test, settings, distributions, ..parts() }).unwrap();
        let json = serde_json::to_value(&record).unwrap();
        assert_eq!(serde_json::from_value::<Record>(json.clone()).unwrap(), record);
        json["distributions"][0].clone()
    };
    let p50 = |value| serde_json::json!({"p50": value});
    let timer = json(Test::Timer, 0);
    assert_eq!((&timer["corrected_percentiles"], timer.get("hdrhistogram_rule_percentiles")), (&p50(100), None));
    let older = json(Test::Timer, 2);
    assert_eq!((older.get("corrected_percentiles"), &older["hdrhistogram_rule_percentiles"]), (None, &p50(1_000)));
    assert_eq!(json(Test::Response, 2)["corrected_percentiles"], p50(3_000));
    let jitter = json(Test::Periodic, 0);
    assert_eq!((jitter.get("corrected_percentiles"), jitter.get("hdrhistogram_rule_percentiles")), (None, None));
}
