//! The runs of a campaign: done, failed, to do.

use super::grid::{Cell, Grid};
use super::{Paint, Style, verdict_paint, wrapped};
use crate::format::{NONE, count, us_opt};
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

/// One row for each run, in the order given, then why runs failed. Test and repetition have a column where they are not all the same.
pub fn campaign(rows: &[CampaignRow], style: Style) -> String {
    let tests = rows.windows(2).any(|two| two[0].test != two[1].test);
    let repetitions = rows.iter().any(|r| r.repetition > 1);
    let mut grid = Grid::new().left("run", 0).left("target", 0).left("load", 0);
    if tests {
        grid = grid.left("test", 0);
    }
    if repetitions {
        grid = grid.right("rep", 0);
    }
    grid = grid.right("max us", 0).right("missed", 2).left("verdict", 0).left("clock", 0).right("took s", 3).left("id", 1);
    for r in rows {
        let state = match r.state {
            CampaignState::Done => Cell::painted("done", Paint::Good),
            CampaignState::Failed => Cell::painted("failed", Paint::Bad),
            CampaignState::ToDo => Cell::painted("to do", Paint::Dim),
        };
        let done = r.state == CampaignState::Done;
        let clock = r.clock.as_str().to_owned() + &r.model.map_or_else(String::new, |m| format!(", model {m}"));
        let mut cells = vec![state, r.target.as_str().into(), r.load.as_str().into()];
        cells.extend(tests.then(|| Cell::from(r.test.as_str())));
        cells.extend(repetitions.then(|| Cell::from(r.repetition.to_string())));
        cells.extend([
            us_opt(r.max).into(),
            r.missed.map_or_else(|| NONE.into(), count).into(),
            r.verdict.map_or_else(|| Cell::from(NONE), |v| Cell::painted(v.as_str(), verdict_paint(v))),
            if r.clock == Clock::Virtual { Cell::painted(clock, Paint::Doubtful) } else { clock.into() },
            r.wall_ms.map_or_else(|| NONE.into(), seconds).into(),
            // Only a record that is there can be shown.
            if done { r.id.as_str().into() } else { NONE.into() },
        ]);
        grid.row(cells);
    }
    let mut out = grid.render(style);
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for r in rows {
        let Some(reason) = r.reason.as_deref() else { continue };
        let who = format!("{} {} {}", r.target, r.load, r.repetition);
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, all)) => all.push(who),
            None => reasons.push((reason, vec![who])),
        }
    }
    for (reason, who) in reasons {
        out += "\n";
        out += &wrapped(style, "failed: ", &format!("{}: {reason}", who.join(", ")));
    }
    out
}

/// Tenths of a second.
fn seconds(ms: u64) -> String {
    let tenths = ms.saturating_add(50) / 100;
    format!("{}.{}", count(tenths / 10), tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(state: CampaignState, repetition: u32) -> CampaignRow {
        let done = state == CampaignState::Done;
        CampaignRow {
            state,
            target: "lab:k".into(),
            load: "disk".into(),
            test: "timer 1ms 5s".into(),
            repetition,
            clock: Clock::Virtual,
            model: Some(2),
            verdict: done.then_some(Verdict::Valid),
            max: done.then_some(12_345),
            missed: done.then_some(0),
            wall_ms: done.then_some(34_960),
            id: "c-1".into(),
            reason: (state == CampaignState::Failed).then(|| "no\u{1b}[2J room".into()),
        }
    }

    #[test]
    fn every_run_is_there_with_what_is_known_of_it() {
        let rows = [
            row(CampaignState::Done, 1),
            row(CampaignState::Failed, 2),
            row(CampaignState::ToDo, 3),
            row(CampaignState::Failed, 4),
        ];
        let text = campaign(&rows, Style::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "run     target  load  rep  max us  missed  verdict  clock             took s  id");
        assert_eq!(lines[2], "done    lab:k   disk    1   12.35       0  VALID    virtual, model 2    35.0  c-1");
        assert_eq!(lines[4], "to do   lab:k   disk    3       -       -  -        virtual, model 2       -  -");
        assert_eq!(lines[7], "failed: lab:k disk 2, lab:k disk 4: no\\x1b[2J room");
        assert_eq!(lines.len(), 8);
    }

    #[test]
    fn what_tells_runs_apart_has_a_column() {
        let rows = [row(CampaignState::Done, 1), CampaignRow { test: "timer 2ms 5s".into(), ..row(CampaignState::ToDo, 1) }];
        let text = campaign(&rows, Style::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "run    target  load  test          max us  missed  verdict  clock             took s  id");
        assert_eq!(lines[3], "to do  lab:k   disk  timer 2ms 5s       -       -  -        virtual, model 2       -  -");
        assert!(campaign(&rows[..1], Style::default()).starts_with("run   target  load  max us"));
    }
}
