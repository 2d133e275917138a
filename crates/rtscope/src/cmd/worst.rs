//! `--load worst`: the load under which hunts found a target's kernel latest, from their trials in the archive.

use super::run::lab_kernel;
use super::summaries::{summaries, verdict};
use crate::config::Context;
use rtscope_archive::RunSummary;
use rtscope_failure::Failure;
use rtscope_files::digest;
use rtscope_lab::kernels::KernelName;
use rtscope_record::Verdict;
use std::path::Path;

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
        let of = trials.iter().filter(|t| is_of(t, target));
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

/// Whether a trial is of the kernel that a target has: of the same one in the lab, or of the one that runs on this machine.
fn is_of(trial: &RunSummary, target: &str) -> bool {
    let kernel = |target: &str| lab_kernel(target).and_then(|name| name.parse::<KernelName>().ok());
    match kernel(target) {
        Some(name) => kernel(&trial.target) == Some(name),
        None => {
            let release = rtscope_files::read_text(Path::new("/proc/sys/kernel/osrelease"), rtscope_files::SMALL);
            trial.target == target && release.is_ok_and(|r| r.trim() == trial.kernel)
        }
    }
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
