//! Keeps records and reads and writes foreign formats: the SQLite archive, importers and exporters, and the summary of
//! raw samples.
//!
//! The only crate that knows SQL or another tool's format. Nothing here prints; every failure is an error that says what
//! to do.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // processes that tests start may inherit any signal state

pub mod capture;
pub mod formats;
mod hex;
pub mod raw;
pub mod signature;
pub mod store;

pub use capture::{Capture, CaptureError};
pub use formats::{ExportError, Format, ImportError, ImportOptions, export, import};
pub use store::{Archive, ArchiveError, Filter, KeptExplanation, KeptTrace, Key, RunSummary, Sound};

/// The start time of a file's run in a record's form: RFC 3339 in UTC. Fails for a time that this can't express.
pub fn started(time: std::time::SystemTime) -> Result<String, String> {
    jiff::Timestamp::try_from(time).map(|t| t.to_string()).map_err(|e| format!("its start time: {e}"))
}
