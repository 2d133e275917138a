//! Keeps records and speaks foreign formats: the SQLite archive, importers and exporters, and the summary of raw samples.
//!
//! The only crate that knows SQL or another tool's format. Nothing here prints; every failure is an error that says what to do.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // what a test starts for itself may take signals as it likes

pub mod capture;
pub mod formats;
mod hex;
pub mod raw;
pub mod signature;
pub mod store;

pub use capture::{Capture, CaptureError};
pub use formats::{ExportError, Format, ImportError, ImportOptions, export, import};
pub use store::{Archive, ArchiveError, Filter, Key, RunSummary, Sound};

/// When a file's run started, as a record says it: RFC 3339 in UTC. An error: a time beyond what that can say.
pub fn started(time: std::time::SystemTime) -> Result<String, String> {
    jiff::Timestamp::try_from(time).map(|t| t.to_string()).map_err(|e| format!("its start time: {e}"))
}
