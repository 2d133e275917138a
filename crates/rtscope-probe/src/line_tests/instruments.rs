//! The table of instruments, with a file for each.

mod fake;
pub mod fpga;
mod kernel;
mod lines;

use super::checked::LineTest;
use super::instrument::Instrument;
use crate::measured::Failure;
use crate::protocol::ProbePlan;

/// Opens the instrument of a run; `None` if this instrument does not serve the run's target and lines.
type Entry = fn(&ProbePlan, &LineTest<'_>) -> Option<Result<Box<dyn Instrument>, Failure>>;

/// The first entry that accepts the run is its instrument.
const ENTRIES: [Entry; 4] = [fake::open, kernel::open, fpga::entry, lines::open];

/// Opens the instrument for `plan`, whose test is `test`.
pub(super) fn open(plan: &ProbePlan, test: &LineTest<'_>) -> Result<Box<dyn Instrument>, Failure> {
    let unknown = || Failure::usage(format!("no instrument has the line {}", test.answer), "name another one: --answer LINE");
    ENTRIES.iter().find_map(|entry| entry(plan, test)).unwrap_or_else(|| Err(unknown()))
}
