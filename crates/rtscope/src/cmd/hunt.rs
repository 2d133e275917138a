//! `rtscope hunt`: searches for the load under which a target is latest.

mod found;

use super::campaign::{ArchiveKeeper, Bench};
use super::measure::{self, stop_on_signals};
use super::run::{Machine, check_target, lab_kernel};
use super::style;
use crate::args::hunt::Hunt;
use crate::config::{Context, cache_root};
use crate::error::Code;
use crate::output;
use crate::progress::campaign::CampaignProgress;
use found::{Found, Trial};
use rtscope_failure::{Explain as _, Failure};
use rtscope_lab::kernels::KernelName;
use rtscope_lab::vm::{Guest, Guests, LabOptions};
use rtscope_load::StopHandle;
use rtscope_record::{Nanos, Record};
use rtscope_run::campaign::{self, Executor as _, Outcome, Plan, State};
use rtscope_run::hunt::{Length, Limited, Round, Search, class, stressors};
use rtscope_run::session::Step;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Rounds that a hunt has at most; with all stressors there are some twenty.
const ROUNDS: usize = 999;

/// Hunts until the budget is used up, nothing is left to try, or a signal comes.
pub(crate) fn run(context: &Context, a: &Hunt) -> Result<Code, Failure> {
    let hunter = Hunter::new(context, a)?;
    let asked = stop_on_signals()?;
    let begun = Instant::now();
    let (all, computing) = hunter.candidates(&asked)?;
    let mut found = Found::new(all.len());
    let allowed = found.allowed(&all);
    let mut search = Search::new(&allowed, &computing);
    let bench = Limited { executor: Bench::new(Machine::new(context, a.load_dir.clone())?)?, limit: hunter.limit };
    let budget = Duration::from_nanos(a.budget.0);
    context.say(&format!(
        "{} stressors, {} that only compute come last; name of the hunt: {}",
        all.len(),
        computing.len(),
        hunter.name
    ));
    within(budget.saturating_sub(begun.elapsed()), &asked, |stop| {
        for number in 1..=ROUNDS {
            let Some(round) = search.next().filter(|_| !stop.is_stopped()) else { break };
            let plan = hunter.plan(&round, number)?;
            let outcome = hunter.take(&plan, &bench, stop)?;
            let scores = found.learn(context, &hunter, &round, &plan, &outcome.dir)?;
            let best = found.best().map_or_else(String::new, |t| format!("; worst so far {}", t.words()));
            context.say(&format!("round {number}, {}: {} trials{best}", round.what, round.loads.len()));
            search.learn(&round, scores);
            if outcome.interrupted {
                break;
            }
        }
        Ok::<(), Failure>(())
    })?;
    // What fails from here on costs no result.
    let failed = |what: &str, e: &Failure| {
        if !asked.is_stopped() {
            context.say(&format!("{what}: {}", e.in_one()));
        }
    };
    let best = found.best().filter(|_| hunter.is_lab() && !asked.is_stopped());
    let again = best.map(|best| hunter.again(&bench, best, &asked));
    let again = again.and_then(|taken| taken.map_err(|e| failed("the worst trial could not be taken once more", &e)).ok());
    let sentence = again.as_ref().zip(hunter.guest.as_ref()).filter(|_| !asked.is_stopped()).and_then(|(record, guest)| {
        let said = super::explain::worst(context, guest, record, &asked);
        said.map_err(|e| failed("the worst sample is not explained", &e)).ok()
    });
    let coverage = search.coverage();
    let report = found.report(&hunter, coverage, again.as_ref(), sentence, begun.elapsed());
    if let Some((path, best)) = a.output.as_ref().zip(found.best()) {
        super::report::write(path, hunter.worst_plan(best).as_bytes())?;
    }
    if a.json {
        output::json(&report)?;
    } else {
        output::result(&report.text(style()))?;
    }
    if asked.is_stopped() {
        return Err(Failure::interrupted("the hunt was ended", "run it again: it goes on"));
    }
    if report.ranking.is_empty() {
        return Err(Failure::machine("no trial gave a figure", "`rtscope measure timer` with one of the loads says what is wrong"));
    }
    Ok(Code::Done)
}

/// Does `work` with a handle that is stopped by `asked`, and when `time` is over.
fn within(time: Duration, asked: &StopHandle, work: impl FnOnce(&StopHandle) -> Result<(), Failure>) -> Result<(), Failure> {
    let stop = StopHandle::new();
    let passed_on = stop.clone();
    asked.on_stop(move || passed_on.stop());
    let (done, wait) = channel::<()>();
    std::thread::scope(|scope| {
        let over = stop.clone();
        scope.spawn(move || {
            if wait.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
                over.stop();
            }
        });
        let result = work(&stop);
        drop(done);
        result
    })
}

/// A hunt: what it is for, and by what name.
struct Hunter<'a> {
    context: &'a Context,
    a: &'a Hunt,
    /// The guest of the target, in the lab.
    guest: Option<Guest>,
    name: String,
    trial: Nanos,
    limit: Duration,
}

/// How a round ended.
struct Ended {
    dir: PathBuf,
    interrupted: bool,
}

impl<'a> Hunter<'a> {
    fn new(context: &'a Context, a: &'a Hunt) -> Result<Self, Failure> {
        for target in std::iter::once(&a.target).chain(&a.against) {
            check_target(target)?;
            if target != "local" && lab_kernel(target).is_none() {
                return Err(Failure::usage(
                    format!("`{target}` can't be hunted on"),
                    "local, or lab:KERNEL such as lab:debian/6.12",
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
            let kernel: KernelName = kernel.parse()?;
            Ok(Guests::new(cache_root()?).open(&kernel, options(a), &mut |what| context.say(what))?)
        };
        let guest = lab_kernel(&a.target).map(open).transpose()?;
        let other = a.against.as_deref().and_then(lab_kernel).map(open).transpose()?;
        // Another machine state, or other trials, are another hunt.
        let states: Vec<&str> = guest.iter().chain(&other).map(Guest::state).collect();
        let state = match &states[..] {
            [] => rtscope_files::read_text(Path::new("/proc/sys/kernel/osrelease"), rtscope_files::SMALL).unwrap_or_default(),
            all => all.join(" "),
        };
        let told = format!(
            "{state} {} {:?} {trial} {} {} {:?} {:?}",
            a.target,
            a.against,
            a.interval,
            a.seed,
            a.model.unwrap_or_default(),
            a.stressors
        );
        let digest = &rtscope_files::digest::bytes(told.as_bytes())[..8];
        let place: String =
            a.target.trim_start_matches("lab:").chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let place: String = place.chars().take(20).collect();
        Ok(Self { context, a, guest, name: format!("hunt-{place}-{digest}"), trial, limit })
    }

    fn is_lab(&self) -> bool {
        self.guest.is_some()
    }

    /// The stressors that can be tried, and which of them only compute.
    fn candidates(&self, stop: &StopHandle) -> Result<(Vec<String>, Vec<String>), Failure> {
        let script = "stress-ng --stressors; stress-ng --class 'cpu?'";
        let said = match &self.guest {
            Some(guest) => {
                let words = ["sh", "-c", script].map(str::to_owned);
                let ran = rtscope_run::lab::run(guest, &words, "none", Duration::from_secs(60), stop, &mut |_: Step<'_>| {})?;
                ran.stdout + &ran.stderr
            }
            None => {
                let remedy = "apt-get install stress-ng";
                let program = rtscope_load::programs::find_program("stress-ng")
                    .ok_or_else(|| Failure::machine("stress-ng is not installed", remedy))?;
                let mut text = String::new();
                for words in [&["--stressors"][..], &["--class", "cpu?"]] {
                    let mut command = rtscope_sys::process::command(&program);
                    let out = command.args(words).output().or_machine("stress-ng", remedy)?;
                    text += &String::from_utf8_lossy(&out.stdout);
                    text += &String::from_utf8_lossy(&out.stderr);
                }
                text
            }
        };
        let is_list = |line: &&str| !line.contains(':');
        let lists = said.lines().filter(is_list).collect::<Vec<_>>().join("\n");
        let (mut all, computing) = (stressors(&lists), class(&said));
        if all.is_empty() {
            return Err(Failure::machine(format!("stress-ng names no stressors: {}", said.trim()), "is stress-ng on the target?"));
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
        Ok((all, computing))
    }

    fn length(&self, length: Length) -> Nanos {
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
    fn plan(&self, round: &Round, number: usize) -> Result<Plan, Failure> {
        let loads: Vec<String> = round.loads.iter().map(rtscope_run::hunt::Mix::load).collect();
        let text = self.plan_text(&format!("{}-{number}", self.name), &loads, round.length, self.a.seed.wrapping_add(round.seed));
        Ok(Plan::parse(&text, Path::new("hunt"), Path::new("/"))?)
    }

    /// Takes the trials of a plan that are not kept yet, and have not failed.
    fn take(&self, plan: &Plan, bench: &Limited<Bench>, stop: &StopHandle) -> Result<Ended, Failure> {
        let dir = campaign::directory(&crate::config::data_dir()?, plan);
        let mut state = State::open(&dir, plan)?.without_failed();
        let progress = CampaignProgress::new(plan, self.context.quiet);
        let mut keeper = ArchiveKeeper { context: self.context, progress: &progress };
        let jobs = self.a.jobs.map_or_else(super::campaign::cpus, |n| usize::try_from(n.get()).unwrap_or(usize::MAX));
        let summary = campaign::run(plan, &mut state, bench, &mut keeper, jobs, stop, &|h| progress.happens(&h));
        progress.clear();
        let summary = summary?;
        Ok(Ended { dir, interrupted: summary.interrupted && stop.is_stopped() })
    }

    /// The plan that takes a trial again.
    fn worst_plan(&self, best: &Trial) -> String {
        self.plan_text(&format!("{}-worst", self.name), std::slice::from_ref(&best.load), best.length, best.seed)
    }

    /// Takes a trial once more.
    fn again(&self, bench: &Limited<Bench>, best: &Trial, stop: &StopHandle) -> Result<Record, Failure> {
        let plan = Plan::parse(&self.worst_plan(best), Path::new("hunt"), Path::new("/"))?;
        let runs = plan.runs();
        let Some(run) = runs.iter().find(|r| r.target == self.a.target) else {
            return Err(Failure::machine("the worst trial has no run", "report this"));
        };
        let record = bench.execute(run, &measure::fresh_id(), stop, &mut |_: Step<'_>| {})?;
        measure::keep(self.context, &record)?;
        Ok(record)
    }
}

/// The guest that trials run in.
fn options(a: &Hunt) -> LabOptions {
    LabOptions { model: a.model.unwrap_or_default(), seed: a.seed, ..LabOptions::default() }
}

/// Why a trial failed, by its load.
fn failures(plan: &Plan, dir: &Path) -> Result<Vec<(String, String)>, Failure> {
    let (past, _) = campaign::look(dir, plan)?;
    let digest = plan.digest();
    let failed = plan.runs().into_iter().filter_map(|run| match past.get(&run.id(&plan.name, &digest)).map(|e| &e.outcome) {
        Some(Outcome::Failed { reason }) => Some((run.load, reason.clone())),
        _ => None,
    });
    Ok(failed.collect())
}
