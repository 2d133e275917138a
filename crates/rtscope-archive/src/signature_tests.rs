//! Signatures: which changes they detect, and the canonical form that they cover.

use super::*;
use proptest::prelude::*;
use rtscope_record::{Distribution, LoadProcess, LoadProof, Origin, Settings, fixtures};

fn record() -> Record {
    let achieved =
        [("cpu.bogo_ops".to_owned(), 1e21), ("b".to_owned(), 0.1 + 0.2), ("é".to_owned(), -0.0), ("a".to_owned(), 1e-7)].into();
    Record::new(RecordParts {
        load: "full".into(),
        origin: Some(Origin::Measured),
        settings: Settings { command: vec!["a \"quoted\"\u{1}\u{7f} \u{1f980}".into()], ..Settings::default() },
        load_proof: Some(LoadProof { processes: vec![LoadProcess { achieved, ..LoadProcess::default() }], ..LoadProof::default() }),
        distributions: vec![Distribution::from_samples("cpu0", &[1, 5, 5, 70_000, 1 << 40], 2).unwrap()],
        ..fixtures::parts()
    })
    .unwrap()
}

fn key() -> SecretKey {
    SecretKey::from_bytes(&[7; 32])
}

/// The record written as a file would be, and read again.
fn through_text(record: &Record) -> Record {
    serde_json::from_str(&serde_json::to_string_pretty(record).unwrap()).unwrap()
}

#[test]
fn a_signature_holds_for_its_record_alone() {
    let signed = key().sign(record(), "me").unwrap();
    check(&signed).unwrap();
    check(&through_text(&signed)).unwrap();
    assert_eq!(check(&record()), Ok(()), "no signature is no bad one");
    // The signature of another record, by another key, truncated, with invalid characters.
    let signature = signed.parts().signature.clone();
    let other = RecordParts { id: "other".into(), signature: signature.clone(), ..record().into_parts() };
    assert_eq!(check(&Record::new(other).unwrap()), Err(SignatureError::Wrong));
    let stranger = SecretKey::from_bytes(&[8; 32]).public();
    for (change, wrong) in [
        (Box::new(|s: &mut Signature| s.key.clone_from(&stranger)) as Box<dyn Fn(&mut Signature)>, true),
        (Box::new(|s: &mut Signature| s.value.replace_range(..2, "00")), true),
        (Box::new(|s: &mut Signature| s.value.truncate(126)), false),
        (Box::new(|s: &mut Signature| s.key = s.key.to_uppercase()), false),
        (Box::new(|s: &mut Signature| s.key = "é".repeat(32)), false),
    ] {
        let mut changed = signed.clone().into_parts();
        change(changed.signature.as_mut().unwrap());
        let found = check(&Record::new(changed).unwrap());
        assert_eq!(found == Err(SignatureError::Wrong), wrong, "{found:?}");
        assert!(found.is_err());
    }
    // A weak key, which would accept any signature, is refused.
    assert!(!is_key(&("01".to_owned() + &"00".repeat(31))) && is_key(&key().public()));
    // The name is not signed: each reader decides who a key belongs to.
    let mut renamed = signed.into_parts();
    renamed.signature.as_mut().unwrap().name = "you".into();
    check(&Record::new(renamed).unwrap()).unwrap();
}

/// The text that others must produce to verify a signature; it must never change.
#[test]
fn the_canonical_form_is_that_of_the_manual() {
    let text = canonical_form(&record()).unwrap();
    let of = |from: &str, to: &str| text[text.find(from).unwrap()..].split_once(to).unwrap().0.to_owned();
    assert!(text.starts_with(r#"{"clock":"host","distributions":[{"count":5,"#), "{text}");
    assert_eq!(of(r#""histogram":"#, r#","label""#), r#""histogram":[[1,1],[5,2],[69952,1],[1099511627776,1]]"#);
    assert_eq!(of(r#""achieved":"#, "}"), r#""achieved":{"a":1e-7,"b":0.30000000000000004,"cpu.bogo_ops":1e+21,"é":0"#);
    assert!(text.contains("\"command\":[\"a \\\"quoted\\\"\\u0001\u{7f} \u{1f980}\"]"), "{text}");
    for derived in ["verdict", "fingerprint", "signature", "percentiles", "mean", "stddev"] {
        assert!(!text.contains(&format!("\"{derived}\":")), "{derived}");
    }
    // The result of `sha256sum`, and the key made of 32 bytes 07.
    let signed = key().sign(record(), "me").unwrap();
    let text = signed_text(&signed).unwrap();
    assert!(text.starts_with("rtscope-record-signature/1 sha256:") && text.len() == 34 + 64);
}

#[test]
fn numbers_are_written_as_ecmascript_does() {
    for (n, text) in [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (-1.5, "-1.5"),
        (1e16, "10000000000000000"),
        (123_456_789_012_345_680_000.0, "123456789012345680000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (0.000_001, "0.000001"),
        (1e-7, "1e-7"),
        (5e-324, "5e-324"),
        (9_007_199_254_740_993.0, "9007199254740992"),
    ] {
        assert_eq!(float(n), text);
    }
}

proptest! {
    /// Any change in a signed document either makes it refused, or changes only what is derived from the rest.
    #[test]
    fn no_change_keeps_a_signature(at in 0usize..4000, byte in 0x20u8..0x7f) {
        let signed = key().sign(record(), "me").unwrap();
        let mut text = serde_json::to_string(&signed).unwrap().into_bytes();
        let at = at % text.len();
        text[at] = byte;
        if let Ok(read) = serde_json::from_slice::<Record>(&text) {
            let name = |r: &Record| r.parts().signature.as_ref().map(|s| (s.key.clone(), s.value.clone()));
            let same = canonical_form(&read).unwrap() == canonical_form(&signed).unwrap() && name(&read) == name(&signed);
            prop_assert!(same || read.parts().signature.is_none() || check(&read).is_err(), "{}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn a_float_reads_back_as_itself(bits in any::<u64>()) {
        let n = f64::from_bits(bits);
        prop_assume!(n.is_finite());
        prop_assert_eq!(float(n).parse::<f64>().unwrap().to_bits(), if n == 0.0 { 0 } else { bits });
    }
}
