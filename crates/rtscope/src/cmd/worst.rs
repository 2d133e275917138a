//! `--load worst`: the load under which hunts found a target's kernel latest, from their trials in the archive.

use super::run::{lab_kernel, release_of, target_name};
use super::summaries::{summaries, verdict};
use crate::config::Context;
use rtscope_archive::RunSummary;
use rtscope_failure::Failure;
use rtscope_files::digest;
use rtscope_lab::kernels::ToBoot;
use rtscope_record::Verdict;

const WORD: &str = "worst";
/// Hexadecimal digits of a load's hash.
const DIGITS: usize = 8;

/// Whether `word` names a hunted load: `worst`, or `worst:HASH`.
pub(crate) fn is_worst(word: &str) -> bool {
    word == WORD || word.strip_prefix(WORD).is_some_and(|rest| rest.starts_with(':'))
}

/// What names a hunted load for good, whatever is hunted later: `worst:` and the begin of its text's SHA-256.
pub(crate) fn pinned(load: &str) -> String {
    format!("{WORD}:{}", &digest::bytes(load.as_bytes())[..DIGITS])
}

/// The loads that `word` means: of each target the worst one, or the one with that hash. Says which they are.
pub(crate) fn worst(context: &Context, word: &str, targets: &[String]) -> Result<Vec<String>, Failure> {
    let trials = trials(context)?;
    if word != WORD {
        let load = trials.into_iter().map(|t| t.load).find(|load| pinned(load) == word);
        return load.map(|load| vec![load]).ok_or_else(|| {
            Failure::usage(format!("no load of a hunt in the archive is `{word}`"), "`rtscope hunt` prints the names of its loads")
        });
    }
    let mut loads: Vec<String> = Vec::new();
    for target in targets {
        let kernel = KernelOf::target(target)?;
        let of = trials.iter().filter(|t| kernel.has(t));
        // Of equal ones the one that was found first.
        let worst = of.max_by(|a, b| a.max.cmp(&b.max).then_with(|| b.started.cmp(&a.started))).ok_or_else(|| {
            Failure::usage(
                format!("no hunt on {target} with this kernel is in the archive: its worst load is not known"),
                format!("rtscope hunt {target}"),
            )
        })?;
        context.say(&format!("the worst load on {target}: {} ({})", worst.load, pinned(&worst.load)));
        if !loads.contains(&worst.load) {
            loads.push(worst.load.clone());
        }
    }
    Ok(loads)
}

/// The trials of all hunts in the archive.
fn trials(context: &Context) -> Result<Vec<RunSummary>, Failure> {
    if !context.is_there() {
        return Ok(Vec::new());
    }
    let mut all = summaries(&context.open_existing()?)?;
    all.retain(|s| s.id.starts_with("hunt-") && s.test == "timer" && s.max.is_some() && verdict(s) != Verdict::Invalid);
    Ok(all)
}

/// The kernel that a target has.
enum KernelOf {
    /// One of the lab.
    Lab(ToBoot),
    /// The one that runs on a machine: the target's name as in records, and the release.
    Machine(String, String),
}

impl KernelOf {
    fn target(target: &str) -> Result<Self, Failure> {
        Ok(match lab(target) {
            Some(name) => Self::Lab(name),
            None => Self::Machine(target_name(target)?, release_of(target)?),
        })
    }

    /// Whether the trial was on this kernel.
    fn has(&self, trial: &RunSummary) -> bool {
        match self {
            Self::Lab(name) => lab(&trial.target).as_ref() == Some(name),
            Self::Machine(target, release) => trial.target == *target && trial.kernel == *release,
        }
    }
}

fn lab(target: &str) -> Option<ToBoot> {
    lab_kernel(target)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hunted_load_has_a_name_that_follows_from_its_text() {
        let name = pinned("stress-ng:--readahead 1");
        assert!(is_worst(&name) && is_worst("worst") && !is_worst("worstcase") && !is_worst("network"));
        assert_eq!((name.len(), name == pinned("stress-ng:--readahead 2")), (WORD.len() + 1 + DIGITS, false));
    }
}
