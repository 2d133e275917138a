//! rtscope's own records as JSON: one, an array of them, or one after the other (a line each, or not).

use super::{ExportError, ImportError};
use rtscope_record::Record;
use serde_json::Value;

pub(super) fn read(bytes: &[u8]) -> Result<Vec<Record>, ImportError> {
    let mut records = Vec::new();
    for item in serde_json::Deserializer::from_slice(bytes).into_iter::<Value>() {
        let values = match item? {
            Value::Array(values) => values,
            value => vec![value],
        };
        for value in values {
            records.push(serde_json::from_value(value)?);
        }
    }
    if records.is_empty() {
        return Err(ImportError::File("there is no record in it".into()));
    }
    Ok(records)
}

pub(super) fn write(record: &Record) -> Result<Vec<u8>, ExportError> {
    let mut text = serde_json::to_vec_pretty(record)?;
    text.push(b'\n');
    Ok(text)
}
