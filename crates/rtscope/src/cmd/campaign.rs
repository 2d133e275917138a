//! `rtscope campaign`: takes the remaining runs of a plan, or reports how far it is.

mod status;

use super::run::{Machine, Request, check_target};
use super::summaries::summaries;
use super::worst::{is_worst, worst};
use super::{measure, style};
use crate::args::campaign::{Campaign, CampaignCommand, CampaignRun, CampaignStatus};
use crate::config::Context;
use crate::error::Code;
use crate::output;
use crate::progress::campaign::CampaignProgress;
use rtscope_failure::{Explain, Failure};
use rtscope_lab::vm::{LabOptions, TimeModel};
use rtscope_load::{Load, StopHandle};
use rtscope_record::{Clock, Record, Settings};
use rtscope_report::table;
use rtscope_run::campaign::{self, CampaignPlan, Executor, KeepError, Keeper, Run, State};
use rtscope_run::lines::{dut_address, take_dut};
use rtscope_run::session::MeasureError;
use rtscope_run::session::SessionStep;
use rtscope_run::target::TargetError;
use status::Status;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Runs a campaign, or shows its status.
pub(crate) fn run(context: &Context, a: &Campaign) -> Result<Code, Failure> {
    match &a.command {
        CampaignCommand::Run(a) => go(context, a),
        CampaignCommand::Status(a) => look(context, a),
    }
}

fn look(context: &Context, a: &CampaignStatus) -> Result<Code, Failure> {
    let plan = planned(context, &a.plan, &a.models, a.scale)?;
    let dir = directory(a.state.as_deref(), &plan)?;
    let status = Status::of(context, &plan, &dir)?;
    if a.json {
        output::json(&status)?;
    } else {
        output::result(&status.table(style()))?;
    }
    Ok(Code::Done)
}

/// Reads the plan in a file; time models from the command line replace its own, and runs are `scale` times as long.
fn planned(context: &Context, path: &Path, models: &[TimeModel], scale: Option<f64>) -> Result<CampaignPlan, Failure> {
    let hunted =
        |word: &str, targets: &[String]| is_worst(word).then(|| worst(context, word, targets)).transpose().map_err(|e| e.in_one());
    let mut plan = CampaignPlan::read(path, &hunted)?;
    if let Some(scale) = scale {
        plan.scale(scale).or_usage("--scale", "--scale 60")?;
    }
    if models.is_empty() {
        return Ok(plan);
    }
    if plan.clock == Clock::Host || !plan.targets.iter().any(|t| rtscope_run::target::is_lab(t)) {
        return Err(Failure::usage("--model is for campaigns in the lab's virtual time", "leave it out"));
    }
    plan.models = models.to_vec();
    if let Some(twice) = models.iter().enumerate().find(|(i, m)| models[..*i].contains(m)) {
        return Err(Failure::usage(format!("the time model {} is named twice", twice.1), "--model 2,1"));
    }
    Ok(plan)
}

fn directory(state: Option<&Path>, plan: &CampaignPlan) -> Result<PathBuf, Failure> {
    match state {
        Some(dir) => Ok(dir.into()),
        None => Ok(campaign::directory(&crate::config::data_dir()?, plan)),
    }
}

fn go(context: &Context, a: &CampaignRun) -> Result<Code, Failure> {
    let limits = measure::Limits::parse(&a.limits)?;
    let plan = planned(context, &a.plan, &a.models, a.scale)?;
    for target in &plan.targets {
        check_target(target).at(a.plan.display())?;
    }
    if a.load_dir.is_some() && !plan.runs().iter().any(Run::has_its_load_here) {
        let message = "--load-dir is a directory of this machine, and no run of this plan has its load here";
        return Err(Failure::usage(message, "leave it out: a load writes in $TMPDIR or /var/tmp there"));
    }
    let dir = directory(a.state.as_deref(), &plan)?;
    let stop = super::stop::stop_on_signals()?;
    let mut state = State::open(&dir, &plan)?;
    let bench = Bench::new(Machine::new(context, a.load_dir.clone())?)?;
    let jobs = a.jobs.or(plan.jobs).map_or_else(cpus, |n| usize::try_from(n.get()).unwrap_or(usize::MAX));
    let progress = CampaignProgress::new(&plan, context.quiet);
    let mut keeper = ArchiveKeeper { context, progress: &progress };
    let outcome = campaign::run(&plan, &mut state, &bench, &mut keeper, jobs, &stop, &|h| progress.happens(&h));
    progress.clear();
    // Released before the status is made, which would find the campaign busy.
    drop(state);
    let summary = match outcome {
        Ok(summary) => summary,
        Err(e) => {
            let failure = Failure::from(e);
            // Records from before the error are shown nevertheless, if the archive still returns them.
            let _ = results(context, &plan, &dir, a);
            return Err(failure);
        }
    };
    let (done, of, plan_file) = (summary.done, summary.of, a.plan.display());
    let records = results(context, &plan, &dir, a)?;
    let judged = measure::judge(&records, &limits, a.strict, a.json)?;
    if summary.interrupted {
        let remedy = format!("`rtscope campaign run {plan_file}` goes on");
        return Err(Failure::interrupted(format!("{done} of {of} runs are done"), remedy));
    }
    if let Some(path) = a.report.as_ref().filter(|_| !records.is_empty()) {
        super::report::page_to(context, path, &records, plan.title.as_deref().unwrap_or(&plan.name), &[])?;
        context.say(&format!("the report is in {}", path.display()));
    }
    if summary.failed > 0 {
        let failed = summary.failed;
        let remedy = format!("`rtscope campaign run {plan_file}` takes them again");
        return Err(Failure::machine(format!("{failed} of {of} runs failed"), remedy));
    }
    Ok(judged)
}

pub(super) fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Prints the results so far; returns the records in the plan's order.
fn results(context: &Context, plan: &CampaignPlan, dir: &Path, a: &CampaignRun) -> Result<Vec<Record>, Failure> {
    let status = Status::of(context, plan, dir)?;
    let records = status.records(context)?;
    if a.json {
        output::json(&status)?;
    } else {
        output::result(&tables(plan, &records)?)?;
    }
    Ok(records.into_iter().map(|(_, r)| r).collect())
}

/// For each test: its targets one after the other, load by load; then the kernels beside each other, where something was set with what it
/// changed.
fn tables(plan: &CampaignPlan, records: &[(Run, Record)]) -> Result<String, Failure> {
    let mut out = String::new();
    let mut places: Vec<String> = Vec::new();
    for run in plan.runs() {
        if !places.contains(&run.place()) {
            places.push(run.place());
        }
    }
    for test in &plan.tests {
        let of = |place: Option<&str>| -> Vec<Record> {
            let wanted = |run: &Run| run.test == *test && place.is_none_or(|t| t == run.place());
            records.iter().filter(|(run, _)| wanted(run)).map(|(_, r)| r.clone()).collect()
        };
        let mut kernels = BTreeSet::new();
        let mut targets = 0;
        for place in &places {
            let records = of(Some(place));
            if records.is_empty() {
                continue;
            }
            targets += 1;
            kernels.extend(records.iter().map(|r| {
                let kernel = &r.parts().system.kernel;
                (kernel.release.clone(), kernel.preemption.as_str(), r.parts().settings.tuning.clone(), r.parts().clock)
            }));
            let gap = if out.is_empty() { "" } else { "\n" };
            // For a guest, the figures of all its seeds together count; `campaign status` lists the single runs.
            let text = table::seeds(&records, style())?.map_or_else(|| table::loads(&records, style()), Ok)?;
            out += &format!("{gap}{place}: {}\n{text}", test.label());
        }
        // Stock beside RT if possible, and what settings change; else kernel by kernel, if each kernel has exactly one target.
        let all = of(None);
        let versus = table::versus(&all, style()).ok();
        if let Some(text) = &versus {
            out += &format!("\nStock against PREEMPT_RT: {}\n{text}", test.label());
        }
        if let Some(text) = table::settings(&all, style())? {
            out += &format!("\nWhat each setting changes: {}\n{text}", test.label());
        } else if versus.is_none() && targets > 0 && kernels.len() == targets && (targets > 1 || plan.repetitions > 1) {
            let what = if targets > 1 { "Kernel by kernel" } else { "Repetitions together" };
            out += &format!("\n{what}: {}\n{}", test.label(), table::kernels(&all, style())?);
        }
    }
    // Tests over lines under several loads: load by load, as in the papers.
    let all: Vec<Record> = records.iter().map(|(_, r)| r.clone()).collect();
    if let Some(a) = rtscope_analysis::line_tests(&all, &[], &[]).ok().filter(|_| plan.loads.len() > 1) {
        out += &format!("\nLoad by load\n{}", table::line_tests_by_load(&a, &all, style()));
    }
    Ok(out)
}

/// Takes the runs of a campaign.
pub(super) struct Bench {
    machine: Machine,
    cpus: Vec<u32>,
}

impl Bench {
    /// Takes runs on this machine, or in its lab.
    pub(super) fn new(machine: Machine) -> Result<Self, Failure> {
        Ok(Self { machine, cpus: super::run::cpus(None)? })
    }
}

impl Executor for Bench {
    fn execute(
        &self,
        run: &Run,
        id: &str,
        stop: &StopHandle,
        on_step: &mut dyn FnMut(SessionStep<'_>),
    ) -> Result<Record, MeasureError> {
        let usual = LabOptions::default();
        let lab = run.seed.map(|seed| LabOptions {
            clock: run.clock,
            model: run.model.unwrap_or_default(),
            seed,
            cpus: run.guest.cpus.unwrap_or(usual.cpus),
            memory_mib: run.guest.memory_mib.unwrap_or(usual.memory_mib),
            ..usual.clone()
        });
        // In a guest or on another machine, its own CPUs.
        let there = self.machine.cpus_there(&run.target)?;
        let cpus = there.unwrap_or_else(|| lab.as_ref().map_or_else(|| self.cpus.clone(), |guest| (0..guest.cpus).collect()));
        let settings = run.test.settings(&run.target, &cpus, measure::command());
        let settings = settings.map_err(Failure::from).map_err(TargetError::from)?;
        let mut settings = Settings { tuning: run.tuning.clone(), ..settings };
        let dut_at = dut_address(&run.test.lines, &run.target).map_err(TargetError::from)?;
        let dut = dut_at.zip(take_dut(&run.test.lines, run.test.test, &mut settings));
        let request = Request {
            id: id.into(),
            test: run.test.test,
            space: run.test.space,
            load: &Load::parse(&run.load)?,
            target: &run.target,
            lab,
            dut: dut.as_ref().map(|(address, plan)| (address, plan)),
            settings: &settings,
            picture: false,
        };
        self.machine.execute(request, stop, on_step)
    }
}

/// The archive as a campaign's [`Keeper`].
pub(super) struct ArchiveKeeper<'a> {
    pub(super) context: &'a Context,
    pub(super) progress: &'a CampaignProgress,
}

impl Keeper for ArchiveKeeper<'_> {
    fn kept(&mut self, ids: &BTreeSet<String>) -> Result<BTreeSet<String>, KeepError> {
        let archive = self.context.open()?;
        Ok(summaries(&archive)?.into_iter().map(|s| s.id).filter(|id| ids.contains(id)).collect())
    }

    fn keep(&mut self, record: &Record) -> Result<(), KeepError> {
        match self.progress.suspend(|| measure::keep(self.context, record)) {
            Ok(Code::Done) => Ok(()),
            Ok(_) => Err(format!("the record {} is not in the archive", record.id()).into()),
            Err(f) => Err(f.into()),
        }
    }
}
