//! Campaigns: a planned matrix of runs that can be interrupted at any moment and resumed.
//!
//! [`CampaignPlan`] says what to measure, [`State`] what was measured; [`run`] takes the remaining runs through an [`Executor`] and a
//! [`Keeper`].

mod engine;
mod estimate;
mod keyed;
mod matrix;
mod plan;
mod state;
mod test_plan;

pub use engine::{CampaignEnd, CampaignError, Executor, Happening, KeepError, Keeper, run};
pub use matrix::Run;
pub use plan::{CampaignPlan, CampaignPlanError, Hunted};
pub use state::{JournalLine, Past, RunOutcome, State, StateError, directory, look};
pub use test_plan::TestPlan;
