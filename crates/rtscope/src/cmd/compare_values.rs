//! `rtscope compare --values`: two lists of numbers.

use super::{numbers, style};
use crate::config::Context;
use crate::error::Code;
use crate::output;
use rtscope_failure::Failure;
use rtscope_report::table;
use rtscope_statistics::replicates::{TwoSamples, two_samples};
use serde::Serialize;
use std::path::Path;

/// Bytes of the largest input that a value counts for: it is held three times while it is sorted and compared.
const EACH_VALUE: u64 = 32;

/// Compares two lists of numbers.
pub(super) fn run(context: &Context, files: [&str; 2], json: bool) -> Result<Code, Failure> {
    if files == ["-", "-"] {
        return Err(Failure::usage("standard input can be one of the lists, not both", "write one of them to a file"));
    }
    let read = |file: &str| numbers::read(Path::new(file), context.largest_input / EACH_VALUE);
    let found = two_samples(&read(files[0])?, &read(files[1])?)?;
    if json {
        output::json(&ComparedValues {
            schema: "rtscope-compare-values/1",
            answer: table::two_samples_sentence(&found, files),
            files,
            found,
        })?;
    } else {
        output::result(&table::two_samples(&found, files, style()))?;
    }
    Ok(Code::Done)
}

/// What `compare --values --json` prints.
#[derive(Serialize)]
struct ComparedValues<'a> {
    schema: &'static str,
    answer: String,
    files: [&'a str; 2],
    #[serde(flatten)]
    found: TwoSamples,
}
