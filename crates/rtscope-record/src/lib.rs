//! What a measurement is: units, histogram, distribution, record, verdict.
//!
//! Pure: no input or output, no clock, no randomness. Everything that rtscope prints is computed from the types here. Types with
//! counts can't be built, or read from JSON, if the counts don't add up.
#![forbid(unsafe_code)]

pub mod correction;
pub mod distribution;
pub mod findings;
pub mod fingerprint;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;
mod handler;
pub mod hdr;
pub mod histogram;
pub mod lab;
pub mod limits;
mod line_options;
pub mod linear;
pub mod lines;
pub mod load;
mod longest;
pub mod moment;
pub mod origin;
mod plan_text;
mod policy;
pub mod quantile;
pub mod record;
mod run_options;
pub mod settings;
pub mod system;
pub mod text;
mod tuning;
pub mod units;
pub mod warning;
pub mod witness;
mod words;
mod zlib;

pub use distribution::{BlockMaxima, Distribution, DistributionError, DistributionParts, Moments, PassedOver, ThreadInfo, Worst};
pub use fingerprint::Fingerprint;
pub use handler::Handler;
pub use histogram::Histogram;
pub use lab::{GuestModule, Lab, Processor, meaning as time_model_meaning};
pub use line_options::{DutSettings, LineOptions, LineSettings, PlanShape, Shape, Who};
pub use linear::LinearBins;
pub use lines::{Inject, InstrumentFacts};
pub use load::{LoadCourse, LoadProcess, LoadProof, LoadWorkers};
pub use origin::Origin;
pub use policy::Policy;
pub use quantile::Quantile;
#[cfg(feature = "schema")]
pub use record::json::json_schema;
pub use record::{Record, RecordError, RecordParts, SCHEMA, Signature, Source};
pub use run_options::{CpuList, NotCpus, RunOptions};
pub use settings::Settings;
pub use system::System;
pub use tuning::{Knob, Tuning, TuningTextError};
pub use units::Nanos;
pub use warning::{Effect, Verdict, Warning};
pub use witness::Witness;
pub use words::{Clock, Space, Test};
