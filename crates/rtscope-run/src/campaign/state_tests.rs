//! The state: locks, truncated lines, foreign directories.

use super::*;
use proptest::prelude::*;

fn plan(name: &str) -> CampaignPlan {
    let text = format!("name = \"{name}\"\ntargets = [\"local\"]\n[[tests]]\ntest = \"timer\"");
    CampaignPlan::parse(&text, Path::new("p.toml"), Path::new("/")).unwrap()
}

fn entry(n: u32) -> JournalLine {
    let outcome = if n % 3 == 2 {
        RunOutcome::Failed { reason: format!("a\nreason {n}") }
    } else {
        RunOutcome::Done { verdict: Verdict::Inconclusive }
    };
    JournalLine { key: format!("{{\"n\":{n}}}"), id: format!("id-{n}"), wall_ms: u64::from(n), outcome }
}

fn written(dir: &Path, n: u32) -> Past {
    let mut state = State::open(dir, &plan("a")).unwrap();
    (0..n).for_each(|i| state.append(entry(i)).unwrap());
    state.past().clone()
}

#[test]
fn what_was_written_is_there_again() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("deep/down");
    assert_eq!(look(&dir, &plan("a")).unwrap(), (Past::new(), None));
    let past = written(&dir, 5);
    assert_eq!(past.len(), 5);
    assert_eq!(State::open(&dir, &plan("a")).unwrap().past(), &past);
    assert_eq!(look(&dir, &plan("a")).unwrap(), (past, None));
    assert_eq!(directory(Path::new("/d"), &plan("a")).parent(), Some(Path::new("/d/campaigns")));
}

#[test]
fn the_last_line_of_a_run_counts() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = State::open(dir.path(), &plan("a")).unwrap();
    state.append(entry(2)).unwrap();
    let now = JournalLine { outcome: RunOutcome::Done { verdict: Verdict::Valid }, ..entry(2) };
    state.append(now.clone()).unwrap();
    drop(state);
    assert_eq!(State::open(dir.path(), &plan("a")).unwrap().past()["id-2"], now);
}

#[test]
fn two_at_once_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let first = State::open(dir.path(), &plan("a")).unwrap();
    let e = State::open(dir.path(), &plan("a")).unwrap_err();
    assert!(matches!(&e, StateError::Busy { who } if who.contains(&std::process::id().to_string())), "{e}");
    assert!(look(dir.path(), &plan("a")).unwrap().1.is_some());
    drop(first);
    assert_eq!(look(dir.path(), &plan("a")).unwrap().1, None);
    State::open(dir.path(), &plan("a")).unwrap();
}

#[test]
fn a_directory_of_something_else_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path(), 1);
    for e in [State::open(dir.path(), &plan("b")).unwrap_err(), look(dir.path(), &plan("b")).unwrap_err()] {
        assert!(e.is_usage() && e.to_string().contains("the campaign `a`"), "{e}");
    }
    fs::write(dir.path().join(IDENTITY), "{").unwrap();
    assert!(State::open(dir.path(), &plan("a")).unwrap_err().is_usage());
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("letter"), "x").unwrap();
    let e = State::open(home.path(), &plan("a")).unwrap_err();
    assert!(e.is_usage() && e.to_string().contains("`letter`"), "{e}");
    assert!(!home.path().join(JOURNAL).exists());
    let file = home.path().join("letter");
    assert!(!State::open(&file, &plan("a")).unwrap_err().is_usage());
}

#[test]
fn a_start_that_was_cut_short_is_taken_up() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(LOCK), "123\n").unwrap();
    fs::write(dir.path().join(IDENTITY_PART), "{\"ver").unwrap();
    assert_eq!(written(dir.path(), 1).len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// However the end of the journal is damaged, every whole line before it counts, and lines appended later are read.
    #[test]
    fn a_torn_end_costs_no_line_but_its_own(lines in 0u32..6, cut in 1usize..400, tail in prop::collection::vec(any::<u8>(), 0..40)) {
        let dir = tempfile::tempdir().unwrap();
        written(dir.path(), lines);
        let path = dir.path().join(JOURNAL);
        let mut bytes = fs::read(&path).unwrap();
        bytes.truncate(bytes.len().saturating_sub(cut));
        let whole = bytes.split(|&b| b == b'\n').count() - 1;
        bytes.extend(tail.iter().filter(|&&b| b != b'\n'));
        fs::write(&path, bytes).unwrap();
        let mut state = State::open(dir.path(), &plan("a")).unwrap();
        prop_assert_eq!(state.past().len(), whole);
        state.append(entry(99)).unwrap();
        drop(state);
        let (past, _) = look(dir.path(), &plan("a")).unwrap();
        prop_assert_eq!(past.len(), whole + 1);
        let last = entry(99);
        prop_assert_eq!(past.get("id-99"), Some(&last));
    }

    #[test]
    fn any_bytes_are_a_journal(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let (_, whole) = read(&bytes);
        prop_assert!(whole <= bytes.len() as u64);
    }
}
