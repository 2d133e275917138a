//! Campaigns: a planned matrix of runs that can be interrupted at any moment and resumed.
//!
//! [`Plan`] says what to measure, [`State`] what was measured; [`run`] takes the remaining runs through an [`Executor`] and a
//! [`Keeper`].

mod engine;
mod estimate;
mod keyed;
mod matrix;
mod plan;
mod state;
mod test_plan;

pub use engine::{CampaignError, Executor, Happening, KeepError, Keeper, Summary, run};
pub use matrix::Run;
pub use plan::{Hunted, Plan, PlanError};
pub use state::{Entry, Outcome, Past, State, StateError, directory, look};
pub use test_plan::TestPlan;
