//! Keeps records and speaks foreign formats: the SQLite archive, importers and exporters, and the summary of raw samples.
//!
//! The only crate that knows SQL or another tool's format. Nothing here prints; every failure is an error that says what to do.
#![forbid(unsafe_code)]

pub mod capture;
pub mod formats;
pub mod raw;
pub mod store;

pub use capture::{Capture, CaptureError};
pub use formats::{ExportError, Format, ImportError, ImportOptions, export, import};
pub use store::{Archive, ArchiveError, Filter, RunSummary};
