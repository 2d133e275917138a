//! The runs of a campaign: done, failed, to do.

use crate::format::{NONE, count, us_opt};
use crate::sheet::{Cell, Columns, Mark, Sheet};
use rtscope_record::{Clock, Verdict};
use serde::Serialize;

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CampaignState {
    /// Its record is kept.
    Done,
    /// It could not be measured.
    Failed,
    /// Not taken yet, or cut short.
    ToDo,
}

/// One run of a campaign.
#[derive(Debug, Clone, PartialEq)]
pub struct CampaignRow {
    /// How far it is.
    pub state: CampaignState,
    /// Where.
    pub target: String,
    /// Under what.
    pub load: String,
    /// What, in short: `timer 1ms 5s`.
    pub test: String,
    /// From 1.
    pub repetition: u32,
    /// Whose time the figures are in.
    pub clock: Clock,
    /// The time model, in virtual time.
    pub model: Option<u32>,
    /// Whether the figures may be trusted.
    pub verdict: Option<Verdict>,
    /// Highest sample, ns.
    pub max: Option<u64>,
    /// Missed events.
    pub missed: Option<u64>,
    /// How long it took, ms.
    pub wall_ms: Option<u64>,
    /// Id of its record.
    pub id: String,
    /// Why it failed.
    pub reason: Option<String>,
}

/// One row for each run, in the order given. Test and repetition have a column where they are not all the same.
pub(crate) fn runs(rows: &[CampaignRow]) -> Sheet<'_> {
    let tests = rows.windows(2).any(|two| two[0].test != two[1].test);
    let repetitions = rows.iter().any(|r| r.repetition > 1);
    let columns = Columns::new()
        .left("run", 0, |r: &CampaignRow| match r.state {
            CampaignState::Done => Cell::marked("done", Mark::Good),
            CampaignState::Failed => Cell::marked("failed", Mark::Bad),
            CampaignState::ToDo => Cell::marked("to do", Mark::Quiet),
        })
        .left("target", 0, |r| r.target.as_str().into())
        .left("load", 0, |r| r.load.as_str().into())
        .when(tests, |c| c.left("test", 0, |r| r.test.as_str().into()))
        .when(repetitions, |c| c.right("rep", 0, |r| r.repetition.to_string().into()))
        .right("max us", 0, |r| us_opt(r.max).into())
        .right("missed", 2, |r| r.missed.map_or_else(|| NONE.into(), count).into())
        .left("verdict", 0, |r| r.verdict.map_or_else(Cell::none, Cell::verdict))
        .left("clock", 0, |r| {
            let model = r.model.map_or_else(String::new, |m| format!(", model {m}"));
            Cell::clock(r.clock.as_str().to_owned() + &model, r.clock == Clock::Virtual)
        })
        .right("took s", 3, |r| r.wall_ms.map_or_else(|| NONE.into(), seconds).into())
        // Only a record that is there can be shown.
        .left("id", 1, |r| if r.state == CampaignState::Done { r.id.as_str().into() } else { Cell::none() });
    columns.sheet(rows)
}

/// Tenths of a second.
fn seconds(ms: u64) -> String {
    let tenths = ms.saturating_add(50) / 100;
    format!("{}.{}", count(tenths / 10), tenths % 10)
}
