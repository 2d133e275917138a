//! A hunt: its name, its target, the stressors that can be tried, and how trials are taken.

use super::trial::Trial;
use crate::args::hunt::Hunt;
use crate::cmd::campaign::{ArchiveKeeper, Bench, cpus};
use crate::cmd::measure;
use crate::cmd::run::{lab_kernel, release_of, there};
use crate::config::{Context, cache_root, data_dir};
use crate::progress::campaign::CampaignProgress;
use rtscope_failure::{Explain as _, Failure};
use rtscope_lab::kernels::ToBoot;
use rtscope_lab::vm::{Guest, Guests, LabOptions};
use rtscope_load::StopHandle;
use rtscope_record::{Nanos, Record};
use rtscope_run::campaign::{self, CampaignPlan, Executor as _, State};
use rtscope_run::hunt::{Length, Mix, Round, Stressors, TimeLimited, class, sized, stressors};
use rtscope_run::session::SessionStep;
use rtscope_run::ssh::is_ssh;
use rtscope_run::stress_ng::StressNg;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A hunt: what it is for, and by what name.
pub(super) struct Hunter<'a> {
    context: &'a Context,
    pub(super) a: &'a Hunt,
    /// The guest of the target, in the lab.
    guest: Option<Guest>,
    pub(super) name: String,
    trial: Nanos,
    pub(super) limit: Duration,
}

/// How a round ended.
pub(super) struct Ended {
    pub(super) dir: PathBuf,
    pub(super) interrupted: bool,
}

impl<'a> Hunter<'a> {
    pub(super) fn new(context: &'a Context, a: &'a Hunt) -> Result<Self, Failure> {
        for target in std::iter::once(&a.target).chain(&a.against) {
            if target != "local" && lab_kernel(target).is_none() && !is_ssh(target) {
                return Err(Failure::usage(
                    format!("`{target}` can't be hunted on"),
                    "local, ssh:HOST, or lab:KERNEL such as lab:debian/6.12",
                ));
            }
        }
        if a.against
            .as_ref()
            .is_some_and(|other| *other == a.target || (lab_kernel(other).is_some()) != lab_kernel(&a.target).is_some())
        {
            return Err(Failure::usage("--against takes another target in the same kind of time", "two kernels of the lab"));
        }
        let bad = a.stressors.iter().find(|s| stressors(s) != [s.as_str()]);
        if let Some(bad) = bad {
            return Err(Failure::usage(format!("`{bad}` is not a stressor's name"), "`stress-ng --stressors` lists them"));
        }
        let in_lab = lab_kernel(&a.target).is_some();
        let trial = a.trial.unwrap_or(Nanos(if in_lab { 200_000_000 } else { 4_000_000_000 }));
        if trial.0 / 4 < a.interval.0 || a.interval.0 == 0 {
            return Err(Failure::usage("a trial is at least four intervals long", "--trial 200ms --interval 250us"));
        }
        let usual = if in_lab { Duration::from_secs(30) } else { Duration::from_secs(30).max(Duration::from_nanos(trial.0) * 4) };
        let limit = a.limit.map_or(usual, |l| Duration::from_nanos(l.0));
        let open = |kernel: &str| -> Result<Guest, Failure> {
            let kernel: ToBoot = kernel.parse()?;
            Ok(Guests::new(cache_root()?).open(&kernel, options(a), &mut |what| context.say(what))?)
        };
        let guest = lab_kernel(&a.target).map(open).transpose()?;
        let other = a.against.as_deref().and_then(lab_kernel).map(open).transpose()?;
        // Another machine state, or other trials, are another hunt.
        let states: Vec<&str> = guest.iter().chain(&other).map(Guest::state).collect();
        let state = match &states[..] {
            [] => {
                let releases = std::iter::once(&a.target).chain(&a.against).map(|target| release_of(target));
                releases.collect::<Result<Vec<String>, Failure>>()?.join(" ")
            }
            all => all.join(" "),
        };
        let told = format!(
            "{state} {} {:?} {trial} {} {} {:?} {:?} {:?}",
            a.target,
            a.against,
            a.interval,
            a.seed,
            a.model.unwrap_or_default(),
            a.stressors,
            a.method
        );
        let digest = &rtscope_files::digest::bytes(told.as_bytes())[..8];
        let place: String =
            a.target.trim_start_matches("lab:").chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let place: String = place.chars().take(20).collect();
        Ok(Self { context, a, guest, name: format!("hunt-{place}-{digest}"), trial, limit })
    }

    pub(super) fn is_lab(&self) -> bool {
        self.guest.is_some()
    }

    /// The stressors that can be tried, and what the target's stress-ng says of them.
    pub(super) fn candidates(&self, stop: &StopHandle) -> Result<Stressors, Failure> {
        let StressNg { list, classes, help } = self.ask_stress_ng(stop)?;
        let (mut all, computing) = (stressors(&list), class(&classes));
        if all.is_empty() {
            return Err(Failure::machine(format!("stress-ng names no stressors: {}", list.trim()), "is stress-ng on the target?"));
        }
        if let Some(unknown) = self.a.stressors.iter().find(|s| !all.contains(s)) {
            return Err(Failure::usage(
                format!("the target's stress-ng has no stressor `{unknown}`"),
                "`stress-ng --stressors` lists them",
            ));
        }
        if !self.a.stressors.is_empty() {
            all.clone_from(&self.a.stressors);
            all.sort();
            all.dedup();
        }
        let computing = computing.into_iter().filter(|s| all.contains(s)).collect();
        Ok(Stressors { all, computing, sized: sized(&help) })
    }

    /// What the target's stress-ng says of itself.
    fn ask_stress_ng(&self, stop: &StopHandle) -> Result<StressNg, Failure> {
        const END: &str = "\n-- end --\n";
        const CALLS: [&[&str]; 3] = [&["--stressors"], &["--class", "cpu?"], &["--help"]];
        if is_ssh(&self.a.target) {
            return Ok(there(&self.a.target)?.stress_ng()?.1);
        }
        if let Some(guest) = &self.guest {
            let ask = |words: &&[&str]| format!("stress-ng '{}' 2>&1; printf '{END}'", words.join("' '"));
            let script = CALLS.iter().map(ask).collect::<Vec<_>>().join("; ");
            let words = ["sh", "-c", &script].map(str::to_owned);
            let ran = rtscope_run::lab::run(guest, &words, "none", Duration::from_secs(60), stop, &mut |_: SessionStep<'_>| {})?;
            let mut said = ran.stdout.split_terminator(END).map(str::to_owned);
            let mut next = || said.next().unwrap_or_default();
            return Ok(StressNg { list: next(), classes: next(), help: next() });
        }
        let remedy = "apt-get install stress-ng";
        let program = rtscope_load::programs::find_program("stress-ng")
            .ok_or_else(|| Failure::machine("stress-ng is not installed", remedy))?;
        let ask = |words: &&[&str]| {
            let out = rtscope_sys::process::command(&program).args(*words).output().or_machine("stress-ng", remedy)?;
            Ok::<_, Failure>(String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned())
        };
        Ok(StressNg { list: ask(&CALLS[0])?, classes: ask(&CALLS[1])?, help: ask(&CALLS[2])? })
    }

    pub(super) fn length(&self, length: Length) -> Nanos {
        Nanos(if length == Length::Short { self.trial.0 / 4 } else { self.trial.0 })
    }

    /// The text of a plan of trials.
    fn plan_text(&self, name: &str, loads: &[String], length: Length, seed: u64) -> String {
        let quoted = |text: &str| toml::Value::String(text.into()).to_string();
        let list = |all: &mut dyn Iterator<Item = &String>| all.map(|t| quoted(t)).collect::<Vec<_>>().join(", ");
        let targets = list(&mut std::iter::once(&self.a.target).chain(&self.a.against));
        let lab = if self.is_lab() {
            format!("clock = \"virtual\"\nmodels = [{}]\nseed = {seed}\n", self.a.model.unwrap_or_default().number())
        } else {
            String::new()
        };
        format!(
            "name = {}\ntargets = [{targets}]\n{lab}loads = [{}]\n\n[[tests]]\ntest = \"timer\"\ninterval = \"{}\"\nduration = \"{}\"\n",
            quoted(name),
            list(&mut loads.iter()),
            self.a.interval,
            self.length(length)
        )
    }

    /// The campaign of a round.
    pub(super) fn plan(&self, round: &Round, number: usize) -> Result<CampaignPlan, Failure> {
        let loads: Vec<String> = round.loads.iter().map(Mix::load).collect();
        let text = self.plan_text(&format!("{}-{number}", self.name), &loads, round.length, self.a.seed.wrapping_add(round.seed));
        Ok(CampaignPlan::parse(&text, Path::new("hunt"), Path::new("/"))?)
    }

    /// Takes the trials of a plan that are not kept yet. Those that failed are left out, unless a limit is given: they may have failed
    /// by a lower one.
    pub(super) fn take(&self, plan: &CampaignPlan, bench: &TimeLimited<Bench>, stop: &StopHandle) -> Result<Ended, Failure> {
        let dir = campaign::directory(&data_dir()?, plan);
        let state = State::open(&dir, plan)?;
        let mut state = if self.a.limit.is_some() { state } else { state.without_failed() };
        let progress = CampaignProgress::new(plan, self.context.quiet);
        let mut keeper = ArchiveKeeper { context: self.context, progress: &progress };
        let jobs = self.a.jobs.map_or_else(cpus, |n| usize::try_from(n.get()).unwrap_or(usize::MAX));
        let summary = campaign::run(plan, &mut state, bench, &mut keeper, jobs, stop, &|h| progress.happens(&h));
        progress.clear();
        let summary = summary?;
        Ok(Ended { dir, interrupted: summary.interrupted && stop.is_stopped() })
    }

    /// The plan that takes a trial again.
    pub(super) fn worst_plan(&self, best: &Trial) -> String {
        self.plan_text(&format!("{}-worst", self.name), std::slice::from_ref(&best.load), best.length, best.seed)
    }

    /// Takes a trial once more.
    pub(super) fn again(&self, bench: &TimeLimited<Bench>, best: &Trial, stop: &StopHandle) -> Result<Record, Failure> {
        let plan = CampaignPlan::parse(&self.worst_plan(best), Path::new("hunt"), Path::new("/"))?;
        let runs = plan.runs();
        let Some(run) = runs.iter().find(|r| r.target == self.a.target) else {
            return Err(Failure::machine("the worst trial has no run", "report this"));
        };
        let record = bench.execute(run, &measure::fresh_id(), stop, &mut |_: SessionStep<'_>| {})?;
        measure::keep(self.context, &record)?;
        Ok(record)
    }
}

/// The guest that trials run in.
fn options(a: &Hunt) -> LabOptions {
    LabOptions { model: a.model.unwrap_or_default(), seed: a.seed, ..LabOptions::default() }
}
