//! Which crate may know which: the order of the rooms, held against the crates' manifests.

use std::collections::{BTreeMap, BTreeSet};

/// The order as ARCHITECTURE.md has it.
pub(crate) const WRITTEN: &str = "Dependencies go downwards only: `record` knows nobody; `sys`, `samples` and `analysis` know `record`; \
    `probe` knows `sys`, `samples` and `fpga`; `load` knows `sys`; `lab` knows `probe` and `load`; `run` knows `lab`; `archive` knows `samples`; \
    all that open files know `files`; `report` knows `analysis`; `rtscope` knows all.";

/// The same for the test: whom each crate knows, and with them whom these know.
pub(crate) const ORDER: [(&str, &[&str]); 13] = [
    ("rtscope-record", &[]),
    ("rtscope-files", &[]),
    ("rtscope-fpga", &[]),
    ("rtscope-sys", &["rtscope-record"]),
    ("rtscope-samples", &["rtscope-record"]),
    ("rtscope-probe", &["rtscope-samples", "rtscope-sys", "rtscope-fpga", "rtscope-files"]),
    ("rtscope-analysis", &["rtscope-record"]),
    ("rtscope-load", &["rtscope-sys", "rtscope-files"]),
    ("rtscope-lab", &["rtscope-probe", "rtscope-load"]),
    ("rtscope-run", &["rtscope-lab"]),
    ("rtscope-archive", &["rtscope-samples", "rtscope-files"]),
    ("rtscope-report", &["rtscope-analysis"]),
    ("rtscope", &["rtscope-run", "rtscope-archive", "rtscope-report"]),
];

fn below(room: &str) -> BTreeSet<&'static str> {
    let known = ORDER.iter().find(|(name, _)| *name == room).map_or(&[][..], |(_, known)| known);
    known.iter().flat_map(|&name| below(name).into_iter().chain([name])).collect()
}

/// What these manifests say against the order; they are texts by their paths, `rtscope-record/Cargo.toml` or the like.
pub(crate) fn upward(manifests: &BTreeMap<String, String>) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in manifests {
        let room = path.trim_end_matches("/Cargo.toml");
        let manifest: toml::Table = text.parse().unwrap_or_else(|e| panic!("{path}: {e}"));
        if !ORDER.iter().any(|(name, _)| *name == room) {
            found.push(format!("{room} has no place in the order"));
        }
        let allowed = below(room);
        for other in dependencies(&manifest) {
            if (other == "rtscope" || other.starts_with("rtscope-")) && !allowed.contains(other.as_str()) {
                found.push(format!("{path}: {room} depends on {other}, which is not below it"));
            }
        }
    }
    found
}

/// All that a manifest names as a dependency: of the code, of its tests, of its build, and of some targets only.
fn dependencies(manifest: &toml::Table) -> Vec<String> {
    let mut found = Vec::new();
    for (key, value) in manifest {
        let Some(table) = value.as_table() else { continue };
        if key == "target" {
            found.extend(table.values().filter_map(toml::Value::as_table).flat_map(dependencies));
        } else if key == "dependencies" || key == "dev-dependencies" || key == "build-dependencies" {
            // Under another name it is the same crate.
            let package = |of: &toml::Value| of.get("package").and_then(toml::Value::as_str).map(ToOwned::to_owned);
            found.extend(table.iter().map(|(name, of)| package(of).unwrap_or_else(|| name.clone())));
        }
    }
    found
}
