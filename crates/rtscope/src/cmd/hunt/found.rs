//! What a hunt has found: its trials, their ranking, what could not be tried.

use super::hunter::Hunter;
use super::trial::Trial;
use crate::cmd::summaries::{summaries, verdict};
use crate::cmd::worst::pinned;
use crate::config::Context;
use rtscope_archive::RunSummary;
use rtscope_failure::Failure;
use rtscope_load::Load;
use rtscope_record::{Distribution, Record, Verdict};
use rtscope_report::table::{HuntRow, Style};
use rtscope_run::campaign::{self, CampaignPlan, RunOutcome};
use rtscope_run::hunt::{Mix, Round};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// Loads of the ranking.
const RANKED: usize = 10;

/// All trials so far.
#[derive(Debug)]
pub(super) struct Found {
    stressors: usize,
    trials: Vec<Trial>,
    failed: BTreeMap<String, String>,
}

/// The result of a hunt, as `--json` prints it.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    hunt: String,
    target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<String>,
    wall_s: f64,
    trials: usize,
    stressors: usize,
    /// Stressors that were tried alone.
    alone: BTreeSet<String>,
    /// Those that were tried only together with others.
    together: BTreeSet<String>,
    pub(super) ranking: Vec<HuntRow>,
    /// Loads that could not be tried, and why.
    failed: BTreeMap<String, String>,
    /// The worst trial taken once more.
    #[serde(skip_serializing_if = "Option::is_none")]
    again: Option<Again>,
    /// What its worst sample was.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<String>,
    /// The command that takes it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// What `--load` takes for the worst load, whatever is hunted later.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

#[derive(Debug, Serialize)]
struct Again {
    record: String,
    max: Option<u64>,
    same: bool,
}

impl Found {
    /// Nothing yet, of so many stressors.
    pub(super) fn new(stressors: usize) -> Self {
        Self { stressors, trials: Vec::new(), failed: BTreeMap::new() }
    }

    /// Those of `stressors` that a load may consist of; the others are not tried.
    pub(super) fn allowed(&mut self, stressors: &[String]) -> Vec<String> {
        let mut allowed = Vec::new();
        for stressor in stressors {
            let load = Mix::of([stressor]).load();
            match Load::parse(&load) {
                Ok(_) => allowed.push(stressor.clone()),
                Err(e) => {
                    self.failed.insert(load, e.to_string());
                }
            }
        }
        allowed
    }

    /// The worst trial.
    pub(super) fn best(&self) -> Option<&Trial> {
        self.trials.iter().max_by(|a, b| a.score().cmp(&b.score()).then_with(|| b.started.cmp(&a.started)))
    }

    /// Takes the results of a round from the archive; the score of each of its loads.
    pub(super) fn learn(
        &mut self,
        context: &Context,
        hunter: &Hunter<'_>,
        round: &Round,
        plan: &CampaignPlan,
        dir: &Path,
    ) -> Result<Vec<Option<u64>>, Failure> {
        let digest = plan.digest();
        let ids: BTreeMap<(String, String), String> =
            plan.runs().into_iter().map(|run| ((run.load.clone(), run.target.clone()), run.id(&plan.name, &digest))).collect();
        let kept: BTreeMap<String, RunSummary> = if context.is_there() {
            let wanted: BTreeSet<&String> = ids.values().collect();
            let all = summaries(&context.open_existing()?)?;
            all.into_iter().filter(|s| wanted.contains(&s.id)).map(|s| (s.id.clone(), s)).collect()
        } else {
            BTreeMap::new()
        };
        self.failed.extend(failures(plan, dir)?);
        let of = |load: &str, target: &str| ids.get(&(load.to_owned(), target.to_owned())).and_then(|id| kept.get(id));
        let mut scores = Vec::new();
        for mix in &round.loads {
            let load = mix.load();
            // A figure of an INVALID record is none.
            let mut of = |target: &str| {
                let summary = of(&load, target)?;
                if verdict(summary) == Verdict::Invalid {
                    self.failed.insert(load.clone(), format!("INVALID: `rtscope show {}` says why", summary.id));
                    return None;
                }
                Some((summary, summary.max?))
            };
            let found = of(&hunter.a.target);
            let other = hunter.a.against.as_ref().map(|target| of(target).map(|(_, max)| max));
            let trial = match (found, other) {
                (Some((s, max)), None) => Some((s, max, None)),
                (Some((s, max)), Some(Some(other))) => Some((s, max, Some(other))),
                _ => None,
            };
            let trial = trial.map(|(s, max, other)| Trial {
                load,
                length: round.length,
                seed: hunter.a.seed.wrapping_add(round.seed),
                id: s.id.clone(),
                max,
                other,
                verdict: verdict(s),
                started: s.started.parse::<jiff::Timestamp>().map_or(0, jiff::Timestamp::as_nanosecond),
            });
            scores.push(trial.as_ref().map(Trial::score));
            self.trials.extend(trial);
        }
        Ok(scores)
    }

    /// The result.
    pub(super) fn report(
        &self,
        hunter: &Hunter<'_>,
        (alone, together): (BTreeSet<&str>, BTreeSet<&str>),
        again: Option<&Record>,
        explanation: Option<String>,
        wall: Duration,
    ) -> Report {
        let first = self.trials.iter().map(|t| t.started).min().unwrap_or(0);
        // Of each load its worst trial.
        let mut worst: BTreeMap<&str, &Trial> = BTreeMap::new();
        for trial in &self.trials {
            let best = worst.entry(&trial.load).or_insert(trial);
            if trial.score() > best.score() {
                *best = trial;
            }
        }
        let mut ranked: Vec<&Trial> = worst.into_values().collect();
        ranked.sort_by(|a, b| b.score().cmp(&a.score()).then(a.started.cmp(&b.started)));
        let row = |t: &&Trial| HuntRow {
            load: t.load.clone(),
            max: t.max,
            against: t.other,
            trial: hunter.length(t.length).0,
            seed: hunter.is_lab().then_some(t.seed),
            found: u64::try_from((t.started - first).max(0)).unwrap_or(0),
            verdict: t.verdict,
            record: t.id.clone(),
        };
        let best = self.best();
        let same = |r: &Record| best.is_some_and(|b| r.distributions().iter().filter_map(Distribution::max).max() == Some(b.max));
        Report {
            hunt: hunter.name.clone(),
            target: hunter.a.target.clone(),
            against: hunter.a.against.clone(),
            wall_s: (wall.as_secs_f64() * 10.0).round() / 10.0,
            trials: self.trials.len(),
            stressors: self.stressors,
            alone: alone.into_iter().map(str::to_owned).collect(),
            together: together.into_iter().map(str::to_owned).collect(),
            ranking: ranked.iter().take(RANKED).map(row).collect(),
            failed: self.failed.clone(),
            again: again.map(|r| Again {
                record: r.id().into(),
                max: r.distributions().iter().filter_map(Distribution::max).max(),
                same: same(r),
            }),
            explanation,
            command: best.map(|b| command(hunter, b)),
            name: best.map(|b| pinned(&b.load)),
        }
    }
}

/// The command that takes a trial again.
fn command(hunter: &Hunter<'_>, t: &Trial) -> String {
    let lab = if hunter.is_lab() {
        format!(" --seed {} --model {}", t.seed, hunter.a.model.unwrap_or_default().number())
    } else {
        String::new()
    };
    let (interval, duration) = (hunter.a.interval, hunter.length(t.length));
    format!("rtscope measure timer --target {} -i {interval} -D {duration}{lab} --load '{}'", hunter.a.target, t.load)
}

impl Report {
    /// As text.
    pub(super) fn text(&self, style: Style) -> String {
        let mut out = rtscope_report::table::hunt(&self.ranking, style);
        let tried = self.alone.len() + self.together.len();
        out += &format!(
            "{} trials in {:.0} s: of {} stressors {} were tried alone, {} only together with others, {} not.\n",
            self.trials,
            self.wall_s,
            self.stressors,
            self.alone.len(),
            self.together.len(),
            self.stressors.saturating_sub(tried)
        );
        if !self.failed.is_empty() {
            out += &format!("{} loads could not be tried (--json says why):\n", self.failed.len());
            for (load, why) in self.failed.iter().take(5) {
                out += &format!("  {load}: {}\n", rtscope_record::text::visible_line(&why.chars().take(160).collect::<String>()));
            }
        }
        if let Some(a) = &self.again {
            let max = a.max.map_or_else(|| "-".into(), |ns| format!("{}.{:03} us", ns / 1000, ns % 1000));
            let same = if a.same { "the same to the nanosecond" } else { "NOT the same" };
            out += &format!("The worst once more ({}): {max}, {same}.\n", a.record);
        }
        if let Some(sentence) = &self.explanation {
            out += &format!("Why: {}\n", rtscope_record::text::visible_line(sentence));
        }
        if let Some(command) = &self.command {
            out += &format!("Again: {command}\n");
        }
        if let Some(name) = &self.name {
            out += &format!("By name, in measure and campaigns: --load worst, and for good --load {name}\n");
        }
        out
    }
}

/// Why a trial failed, by its load.
fn failures(plan: &CampaignPlan, dir: &Path) -> Result<Vec<(String, String)>, Failure> {
    let (past, _) = campaign::look(dir, plan)?;
    let digest = plan.digest();
    let failed = plan.runs().into_iter().filter_map(|run| match past.get(&run.id(&plan.name, &digest)).map(|e| &e.outcome) {
        Some(RunOutcome::Failed { reason }) => Some((run.load, reason.clone())),
        _ => None,
    });
    Ok(failed.collect())
}
