//! Records against the manual's schema, by Python's jsonschema: a validator in Rust brings some thirty libraries to compile.

use crate::world::skip;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The manual's schema.
pub(crate) const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/record.schema.json");

/// Prints what is wrong, one error a line.
const SCRIPT: &str = "
import json, sys
import jsonschema
schema, record = json.load(sys.stdin)
kind = jsonschema.validators.validator_for(schema)
kind.check_schema(schema)
for error in kind(schema).iter_errors(record):
    print(error.json_path + ': ' + error.message[:200])
";

/// Asserts that what the schema says against a record contains `wrong`; if that is empty, that it says nothing.
#[track_caller]
pub(crate) fn holds_to_the_schema(record: &Value, wrong: &str) {
    if !Path::new("/usr/lib/python3/dist-packages/jsonschema").exists() {
        return skip("no jsonschema for Python: apt-get install python3-jsonschema");
    }
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(SCHEMA).unwrap()).unwrap();
    let mut python = Command::new("/usr/bin/python3");
    let mut python = python.args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // It reads all of this before it writes.
    write!(python.stdin.take().unwrap(), "{}", json!([schema, record])).unwrap();
    let said = python.wait_with_output().unwrap();
    let text = String::from_utf8(said.stdout).unwrap();
    assert!(said.status.success(), "{:?}: {text}", said.status);
    assert!(text.contains(wrong) && text.is_empty() == wrong.is_empty(), "{text}");
}
