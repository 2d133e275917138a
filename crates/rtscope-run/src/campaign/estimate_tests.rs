//! Estimates from given wall times.

use super::super::plan::CampaignPlan;
use super::*;
use std::path::Path;

fn runs(head: &str) -> Vec<Run> {
    let text = format!(
        "name = \"e\"\n{head}\n[[tests]]\ntest = \"timer\"\nduration = \"10s\"\n[[tests]]\ntest = \"timer\"\nduration = \"20s\""
    );
    CampaignPlan::parse(&text, Path::new("e.toml"), Path::new("/")).unwrap().runs()
}

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn fresh(runs: &[usize]) -> Vec<(usize, Duration)> {
    runs.iter().map(|&i| (i, Duration::ZERO)).collect()
}

#[test]
fn in_the_machines_own_time_a_run_takes_what_it_measures() {
    let runs = runs("targets = [\"local\"]");
    let e = Estimate::new(&runs);
    assert_eq!(e.left(&fresh(&[0, 1]), 4), Some(secs(30)));
    assert_eq!(e.left(&[(0, secs(4)), (1, Duration::ZERO)], 4), Some(secs(26)));
    assert_eq!(e.left(&[(0, secs(15))], 1), Some(secs(0)));
    assert_eq!(e.left(&[], 1), Some(secs(0)));
}

#[test]
fn in_virtual_time_nothing_is_known_before_the_first_has_ended() {
    let runs = runs("targets = [\"lab:a\", \"lab:b\"]");
    // The order of the runs: 10 s on a, 10 s on b, 20 s on a, 20 s on b.
    let mut e = Estimate::new(&runs);
    assert_eq!(e.left(&fresh(&[0, 1, 2, 3]), 2), None);
    e.add(0, secs(30));
    assert_eq!(e.left(&fresh(&[2]), 1), Some(secs(60)), "twice the span, twice the time");
    e.add(1, secs(50));
    assert_eq!(e.left(&fresh(&[2]), 1), Some(secs(60)), "that of its own target");
    assert_eq!(e.left(&fresh(&[2, 3]), 1), Some(secs(160)));
    assert_eq!(e.left(&fresh(&[2, 3]), 2), Some(secs(100)), "the longest");
    assert_eq!(e.left(&[(2, secs(10)), (3, secs(90))], 2), Some(secs(50)));
}

#[test]
fn loads_differ_and_clocks_are_not_mixed() {
    let runs = runs("targets = [\"lab:a\", \"local\"]\nloads = [\"none\", \"full\"]");
    let at = |target: &str, load: &str, span| {
        runs.iter().position(|r| r.target == target && r.load == load && r.test.span() == rtscope_record::Nanos(span)).unwrap()
    };
    let (ten, twenty) = (10_000_000_000, 20_000_000_000);
    let mut e = Estimate::new(&runs);
    e.add(at("local", "full", ten), secs(11));
    assert_eq!(e.left(&fresh(&[at("lab:a", "full", ten)]), 1), None);
    e.add(at("lab:a", "none", ten), secs(10));
    assert_eq!(e.left(&fresh(&[at("lab:a", "full", twenty)]), 1), Some(secs(20)), "nothing better is known");
    e.add(at("lab:a", "full", ten), secs(70));
    assert_eq!(e.left(&fresh(&[at("lab:a", "full", twenty)]), 1), Some(secs(140)));
    assert_eq!(e.left(&fresh(&[at("local", "full", twenty)]), 1), Some(secs(22)));
}
