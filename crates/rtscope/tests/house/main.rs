//! The order of the sources: no circles among the files of a crate, crates that only depend on those below them, one home for a name.
//! And of the packages, which ask for each other by version.
//!
//! A file takes a name from another if its code uses the name in a `use` line or in a path, including paths in macro calls and
//! attributes. A re-exported name counts at every file that passes it on and where it is defined, so that no re-export hides a
//! circle; a file with nothing but `mod` and `use` lines (most crates' roots) is looked through. A child that takes from its
//! parent what in turn takes from the child is a circle too. Not counted: `mod` lines, visibilities such as `pub(super)`, links
//! in comments, methods of a type that came from elsewhere, and everything that exists only in tests.

mod arrows;
mod circles;
mod made;
mod names;
mod packages;
#[allow(clippy::disallowed_methods)] // a process that a test starts for itself may inherit any signal settings
mod release;
mod rooms;
mod tree;

use arrows::{Arrows, arrows};
use circles::{circles, words};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tree::Tree;

/// The directory of the crates.
fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The texts of all files whose names end with `ending`, by their paths relative to the directory of the crates.
fn texts(dir: &Path, before: &str, ending: &str, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
        let path = entry.expect("a directory is read to its end").path();
        let name = format!("{before}{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            texts(&path, &format!("{name}/"), ending, found);
        } else if name.ends_with(ending) {
            found.insert(name, fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())));
        }
    }
}

fn sources() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    texts(&crates(), "", ".rs", &mut found);
    found.retain(|file, _| file.contains("/src/"));
    assert!(found.len() > 200, "only {} files are there", found.len());
    found
}

/// Describes the circles; `None` if there are none.
fn told(arrows: &Arrows) -> Option<String> {
    let text: String =
        circles(arrows).iter().map(|c| words(c, arrows) + "carry what they share down into a module of its own\n").collect();
    (!text.is_empty()).then_some(text)
}

#[test]
fn no_files_of_a_crate_form_a_circle() {
    let sources = sources();
    let tree = Tree::read(&sources);
    assert_eq!(tree.unread(&sources), [""; 0], "no `mod` line leads to these");
    if let Some(text) = told(&arrows(&tree)) {
        panic!("{text}");
    }
}

#[test]
fn a_public_types_name_has_one_home() {
    assert_eq!(names::shared(&sources()), [""; 0], "rename all but one");
    let file = |crate_name: &str, text: &str| (format!("{crate_name}/src/a.rs"), text.to_owned());
    let made = [file("a", "pub struct One; pub(crate) enum Two {}"), file("b", "pub enum One {} pub type Two = u8;")];
    assert_eq!(names::shared(&made.into()), ["One: a/src/a.rs, b/src/a.rs"]);
}

#[test]
fn crates_know_only_what_is_below_them() {
    let mut manifests = BTreeMap::new();
    texts(&crates(), "", "/Cargo.toml", &mut manifests);
    assert_eq!(manifests.len(), rooms::ORDER.len(), "a crate has no place in the order: {:?}", manifests.keys());
    assert_eq!(rooms::upward(&manifests), [""; 0], "see \"The rooms\" in ARCHITECTURE.md");
}

#[test]
fn the_order_is_the_one_that_is_written_down() {
    let text = fs::read_to_string(crates().join("../ARCHITECTURE.md")).expect("ARCHITECTURE.md is there");
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        plain.contains(rooms::WRITTEN),
        "ARCHITECTURE.md and `ORDER` in rooms.rs are to say the same, in these words: {}",
        rooms::WRITTEN
    );
}

#[test]
fn workflows_run_commands_that_there_are() {
    let read = |file: &str| fs::read_to_string(crates().join("..").join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
    let script = read("x");
    for file in [".github/workflows/ci.yml", ".gitlab-ci.yml"] {
        let text = read(file);
        assert!(text.contains(".ci/run"), "{file}");
        let commands: Vec<&str> = text.split("./x ").skip(1).filter_map(|rest| rest.split_whitespace().next()).collect();
        assert!(!commands.is_empty(), "{file}");
        for command in commands {
            assert!(script.contains(&format!("\n./x {command}")), "{file}: ./x has no command {command}");
        }
    }
}
