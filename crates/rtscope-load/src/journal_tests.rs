//! The journal undoes what dead sessions left, and touches nothing else.

use super::*;
use proptest::prelude::*;

const TOKEN: &str = "0123456789abcdef";

struct Place {
    _dir: tempfile::TempDir,
    root: PathBuf,
    journal: Journal,
}

fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().to_path_buf();
    Place { journal: Journal::at(root.join("state/journal")), root, _dir: dir }
}

impl Place {
    fn scratch(&self) -> PathBuf {
        let path = self.root.join(format!("{SCRATCH_PREFIX}{TOKEN}"));
        fs::create_dir(&path).unwrap();
        fs::write(path.join(MARKER), TOKEN).unwrap();
        fs::create_dir(path.join("out")).unwrap();
        fs::write(path.join("out/file"), "x").unwrap();
        path
    }

    /// Enters `path`, then rewrites the entry so that its session looks dead.
    fn dead_entry(&self, path: &Path) -> PathBuf {
        let entered = self.journal.enter(vec![Undo::RemoveScratch { path: path.into(), token: TOKEN.into() }]).unwrap();
        let mut entry = read(&entered.file).unwrap();
        entry.start += 1;
        fs::write(&entered.file, serde_json::to_vec(&entry).unwrap()).unwrap();
        entered.file
    }
}

#[test]
fn a_living_session_is_left_alone_and_a_dead_one_is_cleaned_up_after() {
    let p = place();
    let scratch = p.scratch();
    let entered = p.journal.enter(vec![Undo::RemoveScratch { path: scratch.clone(), token: TOKEN.into() }]).unwrap();
    assert_eq!(p.journal.replay(), []);
    assert!(scratch.exists() && entered.file.exists());
    entered.close();
    let file = p.dead_entry(&scratch);
    let report = p.journal.replay();
    assert_eq!(report.len(), 1);
    assert_eq!(report[0].problem, None);
    assert!(!scratch.exists() && !file.exists());
    assert_eq!(p.journal.replay(), []);
}

#[test]
fn an_entry_of_an_earlier_boot_is_dead_and_one_of_another_machine_or_pid_namespace_is_not_ours() {
    let p = place();
    for (field, value, dead) in [("boot", "another", true), ("host", "another", false), ("pid_space", "pid:[1]", false)] {
        let scratch = p.scratch();
        let file = p.dead_entry(&scratch);
        let mut entry: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        entry[field] = value.into();
        fs::write(&file, entry.to_string()).unwrap();
        assert_eq!(p.journal.replay().len(), usize::from(dead), "{field}");
        assert_eq!(scratch.exists(), !dead, "{field}");
        if !dead {
            fs::remove_file(file).unwrap();
            fs::remove_dir_all(scratch).unwrap();
        }
    }
}

#[test]
fn only_marked_directories_of_the_right_name_are_removed() {
    let p = place();
    let precious = p.root.join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("file"), "x").unwrap();
    let name = p.root.join(format!("{SCRATCH_PREFIX}{TOKEN}"));

    assert!(remove_scratch(&precious, TOKEN).is_err());
    assert!(remove_scratch(&p.root.join("x/..").join(name.file_name().unwrap()), TOKEN).is_err());
    assert!(remove_scratch(Path::new("/"), TOKEN).is_err());
    assert!(remove_scratch(&p.root.join(SCRATCH_PREFIX), "").is_err());
    assert_eq!(remove_scratch(&name, TOKEN), Ok(false));

    std::os::unix::fs::symlink(&precious, &name).unwrap();
    assert!(remove_scratch(&name, TOKEN).is_err(), "a symbolic link is not followed");
    fs::remove_file(&name).unwrap();

    fs::create_dir(&name).unwrap();
    fs::write(name.join("file"), "x").unwrap();
    assert!(remove_scratch(&name, TOKEN).is_err(), "no marker");
    fs::write(name.join(MARKER), "fedcba9876543210").unwrap();
    assert!(remove_scratch(&name, TOKEN).is_err(), "another's marker");
    fs::remove_file(name.join(MARKER)).unwrap();
    std::os::unix::fs::symlink(precious.join("file"), name.join(MARKER)).unwrap();
    assert!(remove_scratch(&name, TOKEN).is_err(), "a marker that is a link");
    fs::remove_dir_all(&name).unwrap();

    let scratch = p.scratch();
    std::os::unix::fs::symlink(&precious, scratch.join("link")).unwrap();
    assert_eq!(remove_scratch(&scratch, TOKEN), Ok(true));
    assert!(precious.join("file").exists(), "links within are removed, not followed");

    fs::create_dir(&name).unwrap();
    assert_eq!(remove_scratch(&name, TOKEN), Ok(true), "killed before it was marked");
}

#[test]
fn what_can_not_be_undone_stays_and_is_told() {
    let p = place();
    let file = p.dead_entry(&p.root.join("precious"));
    for _ in 0..2 {
        let report = p.journal.replay();
        assert_eq!(report.len(), 1);
        assert!(report[0].problem.is_some());
    }
    assert!(file.exists());
    fs::write(&file, "{ not json").unwrap();
    assert!(p.journal.replay()[0].problem.as_ref().unwrap().contains("can't be read"));
    assert!(file.exists());
}

#[test]
fn a_journal_that_can_not_be_written_is_an_error() {
    let p = place();
    fs::write(p.root.join("state"), "a file").unwrap();
    assert!(p.journal.enter(Vec::new()).unwrap_err().to_string().contains("XDG_STATE_HOME"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_entry_is_read_or_told(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let p = place();
        fs::create_dir_all(p.journal.dir()).unwrap();
        let file = p.journal.dir().join("1-1.json");
        fs::write(&file, &bytes).unwrap();
        prop_assert_eq!(p.journal.replay().len(), 1);
        prop_assert!(file.exists());
    }

    #[test]
    fn a_damaged_entry_never_reaches_beyond_the_scratch_directory(cut in 0usize..600, flips in proptest::collection::vec((0usize..600, any::<u8>()), 0..4)) {
        let p = place();
        let precious = p.root.join("precious");
        fs::create_dir(&precious).unwrap();
        let scratch = p.scratch();
        let file = p.dead_entry(&scratch);
        let mut bytes = fs::read(&file).unwrap();
        bytes.truncate(cut.max(1));
        let n = bytes.len();
        for (at, with) in flips {
            bytes[at % n] ^= with;
        }
        fs::write(&file, &bytes).unwrap();
        p.journal.replay();
        prop_assert!(precious.exists() && p.root.exists());
    }
}

#[test]
fn entries_of_one_session_do_not_overwrite_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let journal = Journal::at(dir.path());
    let (first, second) = (journal.enter(Vec::new()).unwrap(), journal.enter(Vec::new()).unwrap());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    first.close();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    second.close();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn only_modules_of_ours_are_unloaded_and_only_those_of_this_boot() {
    let wire = Undo::UnloadModule { name: "rtscope_wire".into(), parameters: Vec::new() };
    assert_eq!(wire.carry_out(false), None);
    // Modules that are not rtscope's stay, whatever a journal says.
    let loaded = fs::read_dir("/sys/module").unwrap().flatten().map(|e| e.file_name().into_string().unwrap());
    for name in loaded.filter(|n| !n.starts_with("rtscope")).chain(["../module/printk".into()]) {
        assert_eq!(Undo::UnloadModule { name, parameters: Vec::new() }.carry_out(true), None);
    }
}

#[test]
fn only_tracing_instances_of_ours_are_removed_and_only_those_of_this_boot() {
    assert_eq!(Undo::RemoveInstance { name: "rtscope-1".into() }.carry_out(false), None);
    let left = Undo::RemoveInstance { name: "rasdaemon".into() }.carry_out(true).unwrap();
    assert!(left.problem.unwrap().contains("left alone"));
}
