//! The house's own order, read from its sources: no circles among the files of a crate, and crates that know only what is below them.
//!
//! What counts as an arrow from one file to another: a name that the first one's code takes from the second, in a `use` line or by a path in
//! the midst of code, in a macro's call or an attribute too. A name that is passed on by `use` counts at every file that passes it on and
//! where it is defined, so that no re-export hides a circle; a file of nothing but `mod` and `use` lines (most crates' roots) is looked
//! through. A child that takes from its parent what takes from the child is a circle as any other. What does not count: `mod` lines,
//! visibilities such as `pub(super)`, links in comments, methods of a type that was had from elsewhere, and all that is there in tests only.

mod arrows;
mod circles;
mod made;
mod rooms;
mod tree;

use arrows::{Arrows, arrows};
use circles::{circles, words};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tree::Tree;

/// The folder of the crates.
fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All texts of the crates that lie in files ending like this, by their paths from the folder of the crates on.
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

/// The circles that are there, in words; `None` where there is none.
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
