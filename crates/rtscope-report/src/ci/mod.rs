//! Results for CI and labs: test cases and statistics of records, in the formats that these read.

mod cases;
mod junit;
mod kcidb;
mod lines;
mod markdown;
mod openmetrics;
#[cfg(feature = "parquet")]
mod parquet;
mod statistics;

pub use cases::{Case, CaseOutcome, Suite, suite};
pub use junit::junit;
pub use kcidb::kcidb;
pub use lines::{lava, tap};
pub use markdown::{latex, markdown, summary};
pub use openmetrics::openmetrics;
#[cfg(feature = "parquet")]
pub use parquet::{parquet, parquet_buckets};
pub use statistics::{Statistic, statistics};
