//! `rtscope board`: a first look at a board over ssh, and the boards that were measured.

use super::check;
use super::measure::{command, fresh_id, json_text, judged, keep};
use super::run::{Machine, Request, cpus_of, target_name};
use super::stop::stop_on_signals;
use super::style;
use super::summaries;
use crate::args::board::{AddBoard, Board, BoardCommand};
use crate::config::Context;
use crate::error::Code;
use crate::output;
use crate::progress::Progress;
use rtscope_archive::{ArchiveError, Filter, RunSummary};
use rtscope_failure::{Failure, Problem as _};
use rtscope_load::Load;
use rtscope_record::{Record, Settings, Space, Test, Verdict};
use rtscope_report::table::{self, BoardRow};
use rtscope_run::ssh::Address;
use std::collections::BTreeMap;

/// Does what is asked about boards.
pub(crate) fn run(context: &Context, a: &Board) -> Result<Code, Failure> {
    match &a.command {
        BoardCommand::Add(a) => add(context, a),
        BoardCommand::List(a) => list(context, a.json),
    }
}

/// A board by its address over ssh, with or without `ssh:` before it.
pub(super) fn address(board: &str) -> Result<Address, Failure> {
    let named = if rtscope_run::ssh::is_ssh(board) { board.into() } else { format!("ssh:{board}") };
    Ok(named.parse::<Address>()?)
}

/// Measures once on a board, and says what it is and what would spoil a measurement there.
fn add(context: &Context, a: &AddBoard) -> Result<Code, Failure> {
    let target = target_name(&address(&a.board)?.to_string())?;
    let machine = Machine::new(context, None)?;
    let stop = stop_on_signals()?;
    let cpus = cpus_of(&target, None)?;
    let settings = Settings {
        duration: Some(a.duration),
        threads: u32::try_from(cpus.len()).unwrap_or(1),
        cpus,
        priority: check::PRIORITY,
        command: command(),
        ..Settings::default()
    };
    let load = Load::parse("none")?;
    let request = Request {
        id: fresh_id(),
        test: Test::Timer,
        space: Space::User,
        load: &load,
        target: &target,
        lab: None,
        dut: None,
        settings: &settings,
        picture: false,
    };
    let progress = Progress::new("first run", a.duration.0, context.quiet);
    let outcome = machine.execute(request, &stop, &mut |step| progress.step(&step));
    progress.clear();
    let record = match outcome {
        Ok(record) => record,
        Err(e) if e.is_interrupted() => return Ok(Code::Interrupted),
        Err(e) => return Err(e.into()),
    };
    let kept = keep(context, &record)?;
    if a.json {
        output::exact(json_text(&record, rtscope_analysis::confidence::Confidence::default())?.as_bytes())?;
    } else {
        output::result(&check::machine(&record.parts().system))?;
        output::result(&table::findings(&record.parts().warnings, style()))?;
        output::result(&format!("\n{}", table::bare(&record, style())?))?;
        output::result(&next(&record, &target))?;
    }
    if record.parts().interrupted {
        return Ok(Code::Interrupted);
    }
    let judged = judged(&[], record.verdict(), false, a.json)?;
    Ok(if kept == Code::Done { judged } else { kept })
}

/// What to do next with a board after its first run.
fn next(record: &Record, target: &str) -> String {
    let id = record.id();
    let first = match record.verdict() {
        Verdict::Invalid => format!("mend what makes it INVALID (above), then once more: rtscope board add {target}"),
        _ => format!("measure for long and under load: rtscope measure timer -i 200us -D 1h --load full --target {target}"),
    };
    format!(
        "\nThe first run is {id}, {}.\nNext: {first}\n      wires and an answer to an edge: docs/board.md; all boards: rtscope board list\n",
        record.verdict()
    )
}

/// The boards in the archive.
fn list(context: &Context, json: bool) -> Result<Code, Failure> {
    let mut boards: BTreeMap<String, BoardRow> = BTreeMap::new();
    let mut code = Code::Done;
    if context.named || context.is_there() {
        // Newest first.
        context.open_existing()?.each_summary(&Filter::default(), |summary| {
            match summary {
                Ok(s) if rtscope_run::ssh::is_ssh(&s.target) => add_run(&mut boards, s),
                Ok(_) => {}
                Err(e) => {
                    output::failure(&Failure { remedy: "rtscope verify".into(), ..Failure::of(&e) });
                    code = Code::Failed;
                }
            }
            Ok::<(), ArchiveError>(())
        })?;
    }
    let rows: Vec<BoardRow> = boards.into_values().collect();
    if json {
        output::json(&rows)?;
    } else if rows.is_empty() {
        output::result("no boards yet: rtscope board add ssh:USER@HOST\n")?;
    } else {
        output::result(&table::boards(&rows, style()))?;
    }
    Ok(code)
}

/// Counts a run of a board; runs come newest first.
fn add_run(boards: &mut BTreeMap<String, BoardRow>, s: RunSummary) {
    let verdict = summaries::verdict(&s);
    let row = boards.entry(s.target.clone()).or_insert_with(|| BoardRow {
        target: s.target,
        machine: s.board.unwrap_or(s.hostname),
        kernel: s.kernel.clone(),
        preemption: s.preemption.clone(),
        runs: 0,
        timer_max: None,
        last: s.started,
        verdict,
    });
    row.runs += 1;
    // Of another kernel, or not to be trusted, it says nothing about the board as it is today.
    let same_kernel = s.kernel == row.kernel && s.preemption == row.preemption;
    if s.test == "timer" && s.space == "user" && same_kernel && verdict != Verdict::Invalid {
        row.timer_max = row.timer_max.max(s.max);
    }
}
