//! Signatures of records: the canonical form that is signed, independent of how a record was written, and the
//! verification.
//!
//! What can be computed from the rest of the record is not signed (`docs/record.md`, "Signature"): a version of rtscope
//! that prints other percentiles, or packs histograms differently, leaves every signature valid.

use ed25519_dalek::{Signer as _, SigningKey, VerifyingKey};
use rtscope_failure::Problem;
use rtscope_record::{Record, RecordError, RecordParts, Signature};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// Prefix of the signed text: it keeps a signature from being valid for anything else that the key might sign.
const PURPOSE: &str = "rtscope-record-signature/1 sha256:";
/// Keys of the record that are derived from other keys, and the signature itself.
const DERIVED: [&str; 3] = ["fingerprint", "signature", "verdict"];
/// Keys of a distribution that are derived from its other keys.
const DERIVED_OF_DISTRIBUTION: [&str; 4] = ["corrected_percentiles", "mean", "percentiles", "stddev"];

/// Why a signature is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The key or signature is malformed.
    #[error("its signature is damaged: {0}")]
    Damaged(String),
    /// The signature is not of this record.
    #[error(
        "its signature is not of this record: the record was changed after it was signed, or the signature taken from another one (or a newer \
         version of rtscope wrote it)"
    )]
    Wrong,
    /// The record can't be written as JSON.
    #[error("the record can't be written as JSON: {0}")]
    Json(String),
}

impl Problem for SignatureError {
    fn remedy(&self) -> String {
        match self {
            Self::Damaged(_) | Self::Wrong => "ask for the record as it was signed".into(),
            Self::Json(_) => "report this".into(),
        }
    }
}

/// A secret key that signs records.
pub struct SecretKey(SigningKey);

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecretKey({})", self.public())
    }
}

impl SecretKey {
    /// The key from its 32 bytes, which must be random and secret.
    pub fn from_bytes(bytes: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(bytes))
    }

    /// The public key, 64 hex digits.
    pub fn public(&self) -> String {
        crate::hex::hex(self.0.verifying_key().as_bytes())
    }

    /// Signs `record`, replacing any signature it has. `name` is the owner's name for the key.
    pub fn sign(&self, record: Record, name: &str) -> Result<Record, SignatureError> {
        let text = signed_text(&record)?;
        let value = crate::hex::hex(&self.0.sign(text.as_bytes()).to_bytes());
        let signature = Some(Signature { name: name.into(), key: self.public(), value });
        let parts = RecordParts { signature, ..record.into_parts() };
        Record::new(parts).map_err(|e: RecordError| SignatureError::Json(e.to_string()))
    }
}

/// Whether `key` is a usable public key: 64 hex digits of a point on the curve, and not a weak key.
pub fn is_key(key: &str) -> bool {
    unhex::<32>(key).and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok()).is_some_and(|key| !key.is_weak())
}

/// Checks that the record's signature, if it has one, was made over this record by the key that it names. Who owns that
/// key is not checked.
pub fn check(record: &Record) -> Result<(), SignatureError> {
    let Some(signature) = &record.parts().signature else { return Ok(()) };
    let damaged = |what: &str| SignatureError::Damaged(what.into());
    let key = unhex::<32>(&signature.key).ok_or_else(|| damaged("its key is not 64 hex digits"))?;
    let value = unhex::<64>(&signature.value).ok_or_else(|| damaged("it is not 128 hex digits"))?;
    let key = VerifyingKey::from_bytes(&key).map_err(|_| damaged("its key is none"))?;
    let text = signed_text(record)?;
    // Strict verification: one key has only one valid signature for a text, and weak keys have none.
    key.verify_strict(text.as_bytes(), &ed25519_dalek::Signature::from_bytes(&value)).map_err(|_| SignatureError::Wrong)
}

/// The text that is signed: the purpose, and the SHA-256 of the record's canonical form.
fn signed_text(record: &Record) -> Result<String, SignatureError> {
    Ok(format!("{PURPOSE}{}", crate::hex::hex(&Sha256::digest(canonical_form(record)?.as_bytes()))))
}

/// The record as RFC 8785 (JCS) writes it, except that integers above 2^53 are written in full; without derived keys, and
/// with the histograms as lists of `[lowest value of a slot, count]`.
pub fn canonical_form(record: &Record) -> Result<String, SignatureError> {
    let mut value = serde_json::to_value(record).map_err(|e| SignatureError::Json(e.to_string()))?;
    let fault = || SignatureError::Json("it is not an object".into());
    let top = value.as_object_mut().ok_or_else(fault)?;
    top.retain(|key, _| !DERIVED.contains(&key.as_str()));
    let distributions = top.get_mut("distributions").and_then(Value::as_array_mut).ok_or_else(fault)?;
    for (json, d) in distributions.iter_mut().zip(record.distributions()) {
        let json = json.as_object_mut().ok_or_else(fault)?;
        json.retain(|key, _| !DERIVED_OF_DISTRIBUTION.contains(&key.as_str()));
        let slots: Vec<Value> = d.histogram().iter().map(|(low, _, n)| json!([low, n])).collect();
        json.insert("histogram".into(), Value::Array(slots));
    }
    let mut text = String::new();
    write(&value, &mut text)?;
    Ok(text)
}

fn write(value: &Value, to: &mut String) -> Result<(), SignatureError> {
    let list = |of: &[Value], to: &mut String| {
        to.push('[');
        for (i, item) in of.iter().enumerate() {
            if i > 0 {
                to.push(',');
            }
            write(item, to)?;
        }
        to.push(']');
        Ok(())
    };
    match value {
        Value::Array(items) => list(items, to),
        Value::Object(of) => object(of, to),
        Value::Number(n) if n.is_f64() => {
            to.push_str(&float(n.as_f64().unwrap_or_default()));
            Ok(())
        }
        // `serde_json` writes these as RFC 8785 requires.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            to.push_str(&serde_json::to_string(value).map_err(|e| SignatureError::Json(e.to_string()))?);
            Ok(())
        }
    }
}

fn object(of: &Map<String, Value>, to: &mut String) -> Result<(), SignatureError> {
    let mut keys: Vec<&String> = of.keys().collect();
    // Sorted by UTF-16 code units: RFC 8785, 3.2.3.
    keys.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
    to.push('{');
    for (i, key) in keys.into_iter().enumerate() {
        if i > 0 {
            to.push(',');
        }
        write(&Value::String(key.clone()), to)?;
        to.push(':');
        write(&of[key], to)?;
    }
    to.push('}');
    Ok(())
}

/// ECMAScript's `Number::toString`, RFC 8785, 3.2.2.3: the shortest digits that give the same number.
fn float(n: f64) -> String {
    let size = n.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{n:e}");
        // Rust writes 1e21, ECMAScript 1e+21.
        return if text.contains("e-") { text } else { text.replace('e', "e+") };
    }
    let mut text = String::new();
    // Writing to a String can't fail. Negative zero becomes 0.
    let _ = write!(text, "{}", if n == 0.0 { 0.0 } else { n });
    text
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N || !digits.iter().all(|d| matches!(d, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
#[path = "signature_tests.rs"]
mod tests;
