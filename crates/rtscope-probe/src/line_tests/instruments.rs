//! The instruments that there are, an entry and a file each.

pub mod fpga;
mod kernel;
mod lines;

use super::checked::LineTest;
use super::instrument::Instrument;
use crate::lines::LineError;

/// Opens the instrument of a test; `None`: the test's lines are not of its kind.
type Entry = fn(&LineTest<'_>) -> Option<Result<Box<dyn Instrument>, LineError>>;

/// The first that the lines are of.
const ENTRIES: [Entry; 3] = [kernel::open, fpga::entry, lines::open];

/// Opens the instrument that `test` is for.
pub fn open(test: &LineTest<'_>) -> Result<Box<dyn Instrument>, LineError> {
    let unknown = || LineError::Unable { line: test.answer.to_string(), why: "no instrument has such a line".into() };
    ENTRIES.iter().find_map(|entry| entry(test)).unwrap_or_else(|| Err(unknown()))
}
