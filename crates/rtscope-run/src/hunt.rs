//! The hunt for the load under which a target is latest: which trials to take next, and how a trial that takes too long is ended.
//!
//! Trials are runs of campaigns, a campaign for each round of trials; [`Search`] says what the next round is.

mod limited;
mod mix;
mod search;

pub use limited::TimeLimited;
pub use mix::Mix;
pub use search::{Length, Round, Search, SearchMethod, Stressors};

use std::collections::BTreeSet;

/// The stressors that `stress-ng --stressors` lists.
pub fn stressors(text: &str) -> Vec<String> {
    let is_name =
        |word: &&str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') && word.len() <= 40;
    let mut all: Vec<String> = text.split_whitespace().filter(is_name).map(str::to_owned).collect();
    all.sort();
    all.dedup();
    all
}

/// The stressors of a class, from what `stress-ng --class 'CLASS?'` says: `class 'cpu' stressors: NAME NAME ...`.
pub fn class(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| line.split_once("stressors:")).flat_map(|(_, names)| stressors(names)).collect()
}

/// The stressors that take a size, from what `stress-ng --help` says: `--NAME-bytes N`.
pub fn sized(help: &str) -> BTreeSet<String> {
    let name = |word: &str| Some(word.strip_prefix("--")?.strip_suffix("-bytes")?.to_owned());
    help.lines().flat_map(|line| line.split_whitespace().take(1)).filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stressors_that_take_a_size_are_those_of_the_help_text() {
        let help = "      --vm-bytes N          allocate N bytes per --x-bytes worker\n -S N, --hdd-bytes N\n      --vm-hang N\n";
        assert_eq!(sized(help), BTreeSet::from(["vm".into()]));
    }

    #[test]
    fn lists_of_stressors_are_read_and_options_in_them_are_not() {
        assert_eq!(stressors("vm cpu  vm-rw\ncpu --all; \u{1b}[2J\n"), ["cpu", "vm", "vm-rw"]);
        assert_eq!(class("stress-ng: info: x\nclass 'cpu' stressors: tree cpu\n"), ["cpu", "tree"]);
        assert!(stressors("").is_empty());
    }
}
