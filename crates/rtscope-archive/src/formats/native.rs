//! rtscope's own records as JSON: a single one, an array, or several in sequence, with or without line breaks.

use super::error::{ExportError, ImportError};
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
            let record: Record = serde_json::from_value(value)?;
            crate::signature::check(&record).map_err(|error| ImportError::Signature { id: record.id().into(), error })?;
            records.push(record);
        }
    }
    if records.is_empty() {
        return Err(ImportError::File("there is no record in it".into()));
    }
    Ok(records)
}

pub(super) fn write(record: &Record) -> Result<Vec<u8>, ExportError> {
    // Characters that could act on a terminal are written as `\u`; a JSON reader gets the same record.
    let mut text = rtscope_record::text::json(&serde_json::to_string_pretty(record)?).into_owned();
    text.push('\n');
    Ok(text.into_bytes())
}
