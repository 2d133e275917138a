//! `rtscope tail`: bounds on a tail.

mod plots;
mod records;

use super::numbers;
use super::style;
use crate::args::tail::{Tail, Threshold};
use crate::config::Context;
use crate::error::Code;
use crate::output;
use rtscope_failure::{Explain as _, Failure};
use rtscope_report::table;
use rtscope_statistics::tail::{Cut, Method, Request, Rounding, Series, Study, study};
use serde::Serialize;

/// What `--json` prints.
#[derive(Serialize)]
struct Printed<'a> {
    /// Names the form of this document.
    schema: &'static str,
    /// Where the values come from.
    source: String,
    /// Their unit.
    unit: &'a str,
    /// The answer in a sentence.
    answer: String,
    /// Said with every figure.
    note: &'static str,
    #[serde(flatten)]
    study: &'a Study,
}

/// Bytes of the largest input that a value counts for: while it is studied, it takes some 40, and the input is half of the memory.
const EACH: u64 = 32;

/// Studies a list of numbers.
pub(crate) fn run(context: &Context, a: &Tail) -> Result<Code, Failure> {
    let Some(file) = &a.values else { return records::run(context, a, &request(a)) };
    let place = file.display().to_string();
    let values = numbers::read(file, context.largest_input / EACH)?;
    let found = study(&Series::Ordered(values), &request(a)).at(&place)?;
    if let Some(dir) = &a.svg {
        plots::write(dir, &found, &a.unit)?;
    }
    if a.json {
        output::json(&Printed {
            schema: "rtscope-tail/1",
            source: place,
            unit: &a.unit,
            answer: table::tail_sentence(&found, &a.unit),
            note: table::NO_GUARANTEE,
            study: &found,
        })?;
    } else {
        output::result(&table::tail(&found, &a.unit, style()))?;
    }
    Ok(Code::Done)
}

/// The study that the options ask for.
fn request(a: &Tail) -> Request {
    let count = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let cuts: Vec<Cut> = a
        .threshold
        .iter()
        .filter_map(|t| match t {
            Threshold::Auto => None,
            Threshold::Given(cut) => Some(*cut),
        })
        .collect();
    let method = match (a.block_size, a.blocks) {
        (Some(size), _) => Method::BlockSize(count(size)),
        (_, Some(blocks)) => Method::Blocks(count(blocks)),
        _ if !a.threshold.is_empty() => Method::Thresholds(cuts),
        _ => Method::Maxima,
    };
    Request {
        method,
        periods: a.return_level.clone(),
        confidence: a.confidence,
        rounding: a.resolution.unwrap_or(Rounding::Found),
        decluster: a.decluster.map(count),
        seed: a.seed,
        ..Request::default()
    }
}
