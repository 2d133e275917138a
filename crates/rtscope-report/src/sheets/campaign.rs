//! The runs of a campaign: done, failed, to do.

use crate::format::{NONE, count, us_opt};
use crate::sheet::{Cell, Columns, Mark, Sheet};
use rtscope_record::{Clock, Verdict};
use serde::Serialize;

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CampaignState {
    /// Its record is in the archive.
    Done,
    /// It could not be measured.
    Failed,
    /// Not taken yet, or interrupted.
    ToDo,
}

/// One run of a campaign.
#[derive(Debug, Clone, PartialEq)]
pub struct CampaignRow {
    /// Its state.
    pub state: CampaignState,
    /// The target.
    pub target: String,
    /// The load.
    pub load: String,
    /// The test, in short: `timer 1ms 5s`.
    pub test: String,
    /// Number of the repetition, from 1.
    pub repetition: u32,
    /// Whose time the figures are in.
    pub clock: Clock,
    /// The time model, for virtual time.
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

/// A row for each run, in the order given. Test and repetition are columns only where needed: tests differ, or a run is
/// repeated.
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
        .context()
        .left("load", 0, |r| r.load.as_str().into())
        .when(tests, |c| c.left("test", 0, |r| r.test.as_str().into()))
        .when(repetitions, |c| c.right("rep", 0, |r| r.repetition.to_string().into()))
        .right("max us", 0, |r| us_opt(r.max).into())
        .right("missed", 2, |r| r.missed.map_or_else(|| NONE.into(), count).into())
        .whole("verdict", 0, |r| r.verdict.map_or_else(Cell::none, Cell::verdict))
        .left("clock", 0, |r| {
            let model = r.model.map_or_else(String::new, |m| format!(", model {m}"));
            Cell::clock(r.clock.as_str().to_owned() + &model, r.clock == Clock::Virtual)
        })
        .context()
        .right("took s", 3, |r| r.wall_ms.map_or_else(|| NONE.into(), seconds).into())
        // Only an existing record can be shown.
        .whole("id", 1, |r| if r.state == CampaignState::Done { r.id.as_str().into() } else { Cell::none() });
    columns.sheet(rows)
}

/// Seconds with one decimal.
fn seconds(ms: u64) -> String {
    let tenths = ms.saturating_add(50) / 100;
    format!("{}.{}", count(tenths / 10), tenths % 10)
}
