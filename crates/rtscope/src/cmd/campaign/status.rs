//! The status of a campaign: every run of the plan, with what the archive and the journal say about it.

use crate::cmd::summaries::{summaries, verdict};
use crate::config::Context;
use rtscope_archive::RunSummary;
use rtscope_failure::Failure;
use rtscope_lab::vm::TimeModel;
use rtscope_record::{Clock, Record, Tuning, Verdict};
use rtscope_report::table::{self, CampaignRow, CampaignState, Style};
use rtscope_run::campaign::{self, CampaignPlan, Run, RunOutcome, TestPlan};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The status of a campaign, as `--json` prints it.
#[derive(Debug, Serialize)]
pub(super) struct Status {
    name: String,
    title: Option<String>,
    digest: String,
    /// Directory of the journal.
    state: PathBuf,
    /// The process at work on the campaign.
    running: Option<String>,
    done: usize,
    failed: usize,
    to_do: usize,
    runs: Vec<RunStatus>,
}

/// The status of a run.
#[derive(Debug, Serialize)]
struct RunStatus {
    state: CampaignState,
    target: String,
    /// What is set there; left out where nothing is.
    #[serde(skip_serializing_if = "Tuning::is_empty")]
    tuning: Tuning,
    clock: Clock,
    /// Time model; only in virtual time.
    model: Option<u32>,
    load: String,
    test: TestPlan,
    repetition: u32,
    seed: Option<u64>,
    /// Id of the run's record, which may not exist yet.
    id: String,
    verdict: Option<Verdict>,
    max: Option<u64>,
    missed: Option<u64>,
    wall_ms: Option<u64>,
    reason: Option<String>,
    #[serde(skip)]
    run: Run,
}

impl Status {
    /// The status of `plan`, whose journal is in `dir`. Creates neither journal nor archive.
    pub(super) fn of(context: &Context, plan: &CampaignPlan, dir: &Path) -> Result<Self, Failure> {
        let (past, running) = campaign::look(dir, plan)?;
        let (runs, digest) = (plan.runs(), plan.digest());
        let kept: BTreeMap<String, RunSummary> = if context.is_there() {
            summaries(&context.open_existing()?)?.into_iter().map(|s| (s.id.clone(), s)).collect()
        } else {
            BTreeMap::new()
        };
        let runs: Vec<RunStatus> = runs
            .into_iter()
            .map(|run| {
                let id = run.id(&plan.name, &digest);
                let (kept, entry) = (kept.get(&id), past.get(&id));
                let (state, reason) = match (kept, entry.map(|e| &e.outcome)) {
                    (Some(_), _) => (CampaignState::Done, None),
                    (None, Some(RunOutcome::Failed { reason })) => (CampaignState::Failed, Some(reason.clone())),
                    (None, _) => (CampaignState::ToDo, None),
                };
                let told = entry.filter(|e| kept.is_some() == matches!(e.outcome, RunOutcome::Done { .. }));
                RunStatus {
                    state,
                    target: run.target.clone(),
                    tuning: run.tuning.clone(),
                    clock: run.clock,
                    model: run.model.map(TimeModel::number),
                    load: run.load.clone(),
                    test: run.test.clone(),
                    repetition: run.repetition,
                    seed: run.seed,
                    verdict: kept.map(verdict),
                    max: kept.and_then(|k| k.max),
                    missed: kept.map(|k| k.missed),
                    wall_ms: told.map(|e| e.wall_ms),
                    reason,
                    id,
                    run,
                }
            })
            .collect();
        let count = |state| runs.iter().filter(|r| r.state == state).count();
        let (done, failed, to_do) = (count(CampaignState::Done), count(CampaignState::Failed), count(CampaignState::ToDo));
        let (name, title) = (plan.name.clone(), plan.title.clone());
        Ok(Self { name, title, digest, state: dir.into(), running, done, failed, to_do, runs })
    }

    /// The status as text.
    pub(super) fn table(&self, style: Style) -> String {
        let mut out = self.name.clone();
        let tests: std::collections::BTreeSet<String> = self.runs.iter().map(|r| r.test.label()).collect();
        let test = tests.into_iter().reduce(|a, b| format!("{a}, {b}"));
        for part in [&self.title, &test, &self.running.as_ref().map(|who| format!("being run by {who}"))].into_iter().flatten() {
            out += &format!(" · {part}");
        }
        out += &format!("\n{} of {} runs done, {} failed, {} to do\n\n", self.done, self.runs.len(), self.failed, self.to_do);
        let rows: Vec<CampaignRow> = self
            .runs
            .iter()
            .map(|r| CampaignRow {
                state: r.state,
                target: r.run.place(),
                load: r.load.clone(),
                test: r.test.label(),
                repetition: r.repetition,
                clock: r.clock,
                model: r.model,
                verdict: r.verdict,
                max: r.max,
                missed: r.missed,
                wall_ms: r.wall_ms,
                id: r.id.clone(),
                reason: r.reason.clone(),
            })
            .collect();
        out + &table::campaign(&rows, style)
    }

    /// The records of the runs that are done, in the plan's order.
    pub(super) fn records(&self, context: &Context) -> Result<Vec<(Run, Record)>, Failure> {
        let done: Vec<&RunStatus> = self.runs.iter().filter(|r| r.state == CampaignState::Done).collect();
        if done.is_empty() {
            return Ok(Vec::new());
        }
        let archive = context.open_existing()?;
        done.into_iter().map(|r| Ok((r.run.clone(), archive.get(&r.id)?))).collect()
    }
}
