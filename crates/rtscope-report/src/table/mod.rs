//! Tables for a terminal: aligned plain text, coloured and limited in width as the caller says.

mod campaign;
mod caveats;
mod comparison;
mod detail;
mod explanation;
mod findings;
mod grid;
mod hunt;
mod instrument;
mod intervals;
mod kernels;
mod line_tests;
mod list;
mod loads;
mod seeds;
mod strip;
mod text;
mod versus;

pub use crate::caveats::Caveats;
pub use crate::sheets::campaign::{CampaignRow, CampaignState};
pub use crate::sheets::list::Entry;
pub use campaign::campaign;
pub use comparison::{comparison, evaluations};
pub use detail::{brief, detail};
pub use explanation::{explanation, explanation_groups, explanation_whose, explanations};
pub use findings::findings;
pub use hunt::{HuntRow, hunt};
pub use intervals::intervals;
pub use kernels::kernels;
pub use line_tests::{line_tests, line_tests_by_load};
pub use list::{List, NO_RUNS, list};
pub use loads::loads;
pub use seeds::seeds;
pub use text::{PAINTS, Style};
pub use versus::{versus, versus_of};
