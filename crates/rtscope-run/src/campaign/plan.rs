//! The plan of a campaign: a TOML file. Every error names its line.

use super::test_plan::TestPlan;
use crate::ssh::Address;
use crate::target::is_lab;
use crate::targets;
use rtscope_failure::{Failure, Fault, Problem};
use rtscope_lab::vm::TimeModel;
use rtscope_load::Load;
use rtscope_record::{Clock, Tuning, Who};
use serde::Deserialize;
use std::io;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// Longest name; it becomes part of each record's id, which has at most 80 characters.
const LONGEST_NAME: usize = 40;
/// Most runs of one campaign.
const MOST_RUNS: usize = 100_000;
/// Largest plan that is read, bytes.
const LARGEST: u64 = 1 << 20;

/// Why a plan can't be used. Always the request's fault (exit code 2).
#[derive(Debug, thiserror::Error)]
pub enum CampaignPlanError {
    /// The file can't be read.
    #[error("{path}: {source}; name a plan that can be read", path = path.display())]
    Read {
        /// Path of the plan.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// It is not TOML, or has unknown keys.
    #[error("{path}: {}", source.to_string().trim_end(), path = path.display())]
    Syntax {
        /// Path of the plan.
        path: PathBuf,
        /// The error, with line and excerpt.
        source: Box<toml::de::Error>,
    },
    /// A value is not allowed.
    #[error("{path}:{line}: {message}", path = path.display())]
    Value {
        /// Path of the plan.
        path: PathBuf,
        /// Line in the file, from 1.
        line: usize,
        /// What is wrong, and what is allowed.
        message: String,
        /// What was probably meant; empty if the message says all.
        remedy: String,
    },
}

impl Problem for CampaignPlanError {
    fn remedy(&self) -> String {
        match self {
            // The message contains the remedy.
            Self::Read { .. } => String::new(),
            Self::Value { remedy, .. } => remedy.clone(),
            Self::Syntax { .. } => "correct that line of the plan".into(),
        }
    }

    fn fault(&self) -> Fault {
        Fault::Usage
    }
}

/// The loads that a word of a plan means on its targets, if it is a word for hunted ones; else `None`.
pub type Hunted<'a> = &'a dyn Fn(&str, &[String]) -> Result<Option<Vec<String>>, String>;

/// A plan: what to measure, where, under which loads, how often.
#[derive(Debug, Clone, PartialEq)]
pub struct CampaignPlan {
    /// Name; part of the records' ids.
    pub name: String,
    /// Title of the report, if one was given.
    pub title: Option<String>,
    /// Targets as `--target` takes them; paths of `fake:` targets are absolute.
    pub targets: Vec<String>,
    /// Clock of the lab's targets.
    pub clock: Clock,
    /// Time models for the lab's targets; each run is taken in every one.
    pub models: Vec<TimeModel>,
    /// Names of loads.
    pub loads: Vec<String>,
    /// How often each run is repeated.
    pub repetitions: u32,
    /// How many runs in virtual time may be taken at once; `None`: as many as there are CPUs.
    pub jobs: Option<NonZeroU32>,
    /// Seed of the lab's machines in the first repetition; each further repetition adds 1.
    pub(crate) seed: u64,
    /// CPUs and memory (MiB) of the lab's machines, where they are not the usual ones.
    pub(crate) guest: GuestSize,
    /// What is set on the machines; each run is taken with every set.
    pub tunings: Vec<Tuning>,
    /// The tests.
    pub tests: Vec<TestPlan>,
}

/// CPUs and memory of the lab's machines; `None`: the usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GuestSize {
    /// CPUs.
    pub cpus: Option<u32>,
    /// Memory, MiB.
    pub memory_mib: Option<u32>,
}

/// Fewest and most CPUs, and MiB of memory, of a guest.
const GUEST_CPUS: std::ops::RangeInclusive<u32> = 1..=64;
const GUEST_MEMORY: std::ops::RangeInclusive<u32> = 256..=65_536;

/// The TOML file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Spanned<String>,
    title: Option<String>,
    targets: Spanned<Vec<Spanned<String>>>,
    clock: Option<Spanned<Clock>>,
    models: Option<Spanned<Vec<u32>>>,
    boot: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(rename = "guest-cpus")]
    guest_cpus: Option<Spanned<u32>>,
    #[serde(rename = "guest-memory")]
    guest_memory: Option<Spanned<u32>>,
    tune: Option<Spanned<Vec<Spanned<String>>>>,
    scale: Option<Spanned<f64>>,
    loads: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default = "one")]
    repetitions: Spanned<u32>,
    jobs: Option<NonZeroU32>,
    #[serde(default = "first_seed")]
    seed: u64,
    tests: Spanned<Vec<Spanned<TestPlan>>>,
}

fn one() -> Spanned<u32> {
    Spanned::new(0..0, 1)
}

fn first_seed() -> u64 {
    1
}

impl CampaignPlan {
    /// Reads the plan in a file. Relative paths in it start at its directory; what `hunted` knows of its loads is replaced.
    pub fn read(path: &Path, hunted: Hunted<'_>) -> Result<Self, CampaignPlanError> {
        let failed = |source| CampaignPlanError::Read { path: path.into(), source };
        let text = rtscope_files::read_text(path, LARGEST).map_err(failed)?;
        let whole = std::path::absolute(path).map_err(failed)?;
        Self::parse_with(&text, path, whole.parent().unwrap_or(Path::new("/")), hunted)
    }

    /// Parses `text`, the content of the file `path`; relative paths in it start at `dir`.
    pub fn parse(text: &str, path: &Path, dir: &Path) -> Result<Self, CampaignPlanError> {
        Self::parse_with(text, path, dir, &|_, _| Ok(None))
    }

    fn parse_with(text: &str, path: &Path, dir: &Path, hunted: Hunted<'_>) -> Result<Self, CampaignPlanError> {
        let file: File = toml::from_str(text).map_err(|e| CampaignPlanError::Syntax { path: path.into(), source: Box::new(e) })?;
        let refused = |at: std::ops::Range<usize>, Failure { message, remedy, .. }: Failure| {
            let line = 1 + text.as_bytes().iter().take(at.start).filter(|&&b| b == b'\n').count();
            CampaignPlanError::Value { path: path.into(), line, message, remedy }
        };
        let wrong = |at, message: String| refused(at, Failure::usage(message, ""));
        check_name(file.name.get_ref()).map_err(|m| wrong(file.name.span(), m))?;

        let mut targets = Vec::new();
        for t in file.targets.get_ref() {
            let target = target(t.get_ref(), dir).map_err(|f| refused(t.span(), f))?;
            distinct(&mut targets, target, "target").map_err(|m| wrong(t.span(), m))?;
        }
        if targets.is_empty() {
            return Err(wrong(file.targets.span(), "there is no target: targets = [\"local\"]".into()));
        }
        let in_lab = targets.iter().any(|t| is_lab(t));
        if let Some(sets) = &file.boot {
            if !in_lab || sets.get_ref().is_empty() {
                let message =
                    "`boot` is for kernels of the lab: boot = [\"\", \"highres=off\"] with targets = [\"lab:debian/6.12\"]";
                return Err(wrong(sets.span(), message.into()));
            }
            targets = booted(&targets, sets.get_ref()).map_err(|(at, m)| wrong(at, m))?;
        }
        let tunings = tunings(file.tune.as_ref(), &targets).map_err(|(at, m)| wrong(at, m))?;
        let size = |given: &Option<Spanned<u32>>, allowed: std::ops::RangeInclusive<u32>, what: &str| match given {
            Some(n) if !in_lab || !allowed.contains(n.get_ref()) => {
                let message = format!("`{what}` is of the lab's machines, from {} to {}", allowed.start(), allowed.end());
                Err(wrong(n.span(), message))
            }
            given => Ok(given.as_ref().map(|n| *n.get_ref())),
        };
        let guest = GuestSize {
            cpus: size(&file.guest_cpus, GUEST_CPUS, "guest-cpus")?,
            memory_mib: size(&file.guest_memory, GUEST_MEMORY, "guest-memory")?,
        };
        let clock = file.clock.as_ref().map_or(Clock::Virtual, |c| *c.get_ref());
        if let Some(c) = file.clock.filter(|_| clock == Clock::Virtual && !targets.iter().any(|t| is_lab(t))) {
            let message = "only the lab has virtual time: leave `clock` out, or name a target such as lab:debian/6.12-rt/amd64";
            return Err(wrong(c.span(), message.into()));
        }

        let mut models = Vec::new();
        for number in file.models.iter().flat_map(Spanned::get_ref) {
            let at = file.models.as_ref().map_or(0..0, Spanned::span);
            let model: TimeModel = number.to_string().parse().map_err(|m| wrong(at.clone(), m))?;
            if models.contains(&model) {
                return Err(wrong(at, format!("the time model {model} is named twice")));
            }
            models.push(model);
        }
        if let Some(m) = file.models.filter(|_| models.is_empty() || clock == Clock::Host || !targets.iter().any(|t| is_lab(t))) {
            let message =
                "only the lab's virtual time has models: models = [2], or [2, 1] with a target of the lab, or leave it out";
            return Err(wrong(m.span(), message.into()));
        }
        if models.is_empty() {
            models.push(TimeModel::default());
        }

        let mut loads = Vec::new();
        for l in file.loads.iter().flat_map(Spanned::get_ref) {
            let names = hunted(l.get_ref(), &targets).map_err(|m| wrong(l.span(), m))?;
            for name in names.unwrap_or_else(|| vec![l.get_ref().clone()]) {
                let load = Load::parse(&name).map_err(|e| refused(l.span(), e.into()))?;
                distinct(&mut loads, load.name().to_owned(), "load").map_err(|m| wrong(l.span(), m))?;
            }
        }
        match &file.loads {
            None => loads.push("none".into()),
            Some(l) if loads.is_empty() => {
                return Err(wrong(l.span(), "there is no load: loads = [\"none\"], or leave it out".into()));
            }
            Some(_) => {}
        }

        let mut tests: Vec<TestPlan> = Vec::new();
        for t in file.tests.get_ref() {
            let test = t.get_ref().clone();
            if let Some(m) = test.fault(&targets) {
                return Err(wrong(t.span(), m));
            }
            let elsewhere = matches!(test.lines.dut, Some(Who::Elsewhere(_)));
            if let Some(set) = tunings.iter().find(|set| elsewhere && !set.is_empty()) {
                let message =
                    format!("{set}: the machine of the DUT is not set up from here: leave `tune` out, or set it there by hand");
                return Err(wrong(t.span(), message));
            }
            if tests.contains(&test) {
                return Err(wrong(t.span(), "this test is there already: use `repetitions` to measure again".into()));
            }
            tests.push(test);
        }
        if tests.is_empty() {
            return Err(wrong(file.tests.span(), "there is no test: [[tests]] with test = \"timer\"".into()));
        }

        if let Some(scale) = &file.scale {
            tests = scaled(&tests, *scale.get_ref()).map_err(|m| wrong(scale.span(), m))?;
        }

        let repetitions = *file.repetitions.get_ref();
        let each = targets.len() * loads.len() * tests.len() * models.len() * tunings.len();
        let runs = each.checked_mul(usize::try_from(repetitions).unwrap_or(usize::MAX));
        if repetitions == 0 || runs.is_none_or(|n| n > MOST_RUNS) {
            let message = format!("repetitions = {repetitions}: from 1 on, and at most {MOST_RUNS} runs in all");
            return Err(wrong(file.repetitions.span(), message));
        }
        let name = file.name.into_inner();
        Ok(Self {
            name,
            title: file.title,
            targets,
            clock,
            models,
            loads,
            repetitions,
            jobs: file.jobs,
            seed: file.seed,
            guest,
            tunings,
            tests,
        })
    }

    /// The same plan with runs that are `factor` times as long; a plan's own `scale` stays.
    pub fn scale(&mut self, factor: f64) -> Result<(), String> {
        self.tests = scaled(&self.tests, factor)?;
        Ok(())
    }
}

/// Tests with `factor` times the duration or loops.
fn scaled(tests: &[TestPlan], factor: f64) -> Result<Vec<TestPlan>, String> {
    if !(factor.is_finite() && factor > 0.0) {
        return Err(format!("the scale {factor} is not above 0: 1 takes runs as long as the plan says, 60 sixty times as long"));
    }
    tests.iter().map(|t| t.scaled(factor)).collect()
}

/// Each target of the lab with each set of parameters; the others as they are.
fn booted(targets: &[String], sets: &[Spanned<String>]) -> Result<Vec<String>, (std::ops::Range<usize>, String)> {
    let mut all = Vec::new();
    for target in targets {
        if !is_lab(target) {
            all.push(target.clone());
            continue;
        }
        for set in sets {
            let words: Vec<&str> = std::iter::once(target.as_str()).chain(set.get_ref().split_whitespace()).collect();
            distinct(&mut all, words.join("+"), "target").map_err(|m| (set.span(), m))?;
        }
    }
    Ok(all)
}

/// The sets of settings; one that sets nothing where the plan has no key for them.
fn tunings(
    given: Option<&Spanned<Vec<Spanned<String>>>>,
    targets: &[String],
) -> Result<Vec<Tuning>, (std::ops::Range<usize>, String)> {
    let Some(sets) = given else { return Ok(vec![Tuning::default()]) };
    let mut all: Vec<Tuning> = Vec::new();
    for set in sets.get_ref() {
        let tuning: Tuning = set.get_ref().parse().map_err(|e| (set.span(), Failure::from(e).in_one()))?;
        if all.contains(&tuning) {
            return Err((set.span(), format!("the settings `{tuning}` are named twice: use `repetitions` to measure again")));
        }
        all.push(tuning);
    }
    if all.is_empty() {
        return Err((sets.span(), "there are no settings: tune = [\"\", \"thp=never\"], or leave it out".into()));
    }
    if let Some(fake) = targets.iter().find(|t| t.starts_with("fake:") && all.iter().any(|set| !set.is_empty())) {
        return Err((sets.span(), format!("`{fake}` is no machine, and has nothing to set")));
    }
    Ok(all)
}

fn check_name(name: &str) -> Result<(), String> {
    let fine = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') && !name.starts_with('-');
    if fine && (1..=LONGEST_NAME).contains(&name.len()) {
        return Ok(());
    }
    Err(format!("`{name}` is not a name of a campaign: letters, digits and dashes, at most {LONGEST_NAME}"))
}

fn target(text: &str, dir: &Path) -> Result<String, Failure> {
    match text.split_once(':') {
        None if text == "local" => Ok(text.into()),
        Some(("lab", kernel)) if !kernel.is_empty() => Ok(text.into()),
        Some(("ssh", _)) => Ok(text.parse::<Address>()?.to_string()),
        Some(("fake", file)) if !file.is_empty() => {
            let path = dir.join(file);
            let utf8 = path.to_str().map(|p| format!("fake:{p}"));
            utf8.ok_or_else(|| Failure::usage(format!("the path of `{text}` is not UTF-8"), "move the file"))
        }
        _ => Err(targets::unknown(text)),
    }
}

fn distinct(all: &mut Vec<String>, one: String, what: &str) -> Result<(), String> {
    if all.contains(&one) {
        return Err(format!("the {what} `{one}` is named twice: use `repetitions` to measure again"));
    }
    all.push(one);
    Ok(())
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
