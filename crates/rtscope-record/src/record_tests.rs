//! Records: round trip, refusal, and the JSON Schema that the manual carries.

use super::*;
use crate::warning::Effect;

pub(crate) fn parts() -> RecordParts {
    RecordParts {
        id: "20261121T080000Z-1a2b3c".into(),
        started: "2026-11-21T08:00:00Z".into(),
        elapsed_ns: 3_000_000_000,
        test: Test::Timer,
        space: Space::User,
        load: "none".into(),
        target: "local".into(),
        clock: Clock::Host,
        origin: Some(Origin::Measured),
        interrupted: false,
        warnings: vec![Warning::new("governor", Effect::Inconclusive, "m", "r")],
        settings: Settings::default(),
        system: System::default(),
        load_proof: Some(LoadProof::default()),
        distributions: vec![Distribution::from_samples("cpu0", &[1, 5, 70_000], 2).unwrap()],
        source: None,
        lab: None,
        instrument: None,
        witness: None,
        signature: None,
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
    let schema = serde_json::to_value(json_schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let json = serde_json::to_value(Record::new(parts()).unwrap()).unwrap();
    assert!(validator.is_valid(&json));
    let mut without = json;
    without.as_object_mut().unwrap().remove("distributions");
    assert!(!validator.is_valid(&without));
}

#[test]
fn a_record_starts_at_a_moment() {
    for started in ["9999-99-99", "2026-02-30T08:00:00Z", "2026-11-21T25:00:00Z", "", "\u{1b}[2J"] {
        let mut p = parts();
        p.started = started.into();
        assert!(matches!(Record::new(p), Err(RecordError::Started(text)) if text == started));
    }
}
