//! The runs of a campaign: done, failed, to do.

use super::grid;
use super::text::{Style, wrapped};
use crate::sheets::campaign::{CampaignRow, runs};

/// A row for each run, in the order given, then the reasons of failures. Test and repetition are columns only where
/// needed: tests differ, or a run is repeated.
pub fn campaign(rows: &[CampaignRow], style: Style) -> String {
    let mut out = grid::render(runs(rows), style);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheets::campaign::CampaignState;
    use rtscope_record::{Clock, Verdict};

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
