//! Which crate may depend on which: the order of the crates, checked against their manifests.

use std::collections::{BTreeMap, BTreeSet};

/// The order as ARCHITECTURE.md states it.
pub(crate) const WRITTEN: &str = "Dependencies go downwards only: all may know `failure`, which knows nobody; `record`, `explain` and `statistics` know nobody else; \
    `sys`, `samples` and `analysis` know `record`; `analysis` knows `statistics`; `probe` knows `sys`, `samples` and `fpga`; `load` knows `sys`; `lab` \
    knows `probe`, `load` and `explain`; `run` knows `lab`; `archive` knows `samples`; all that open files know `files`; \
    `report` knows `analysis` and `explain`; `rtscope` knows all.";

/// The same order for the test: the direct dependencies that each crate may have; theirs are allowed too.
pub(crate) const ORDER: [(&str, &[&str]); 16] = [
    ("rtscope-failure", &[]),
    ("rtscope-record", &["rtscope-failure"]),
    ("rtscope-files", &["rtscope-failure"]),
    ("rtscope-fpga", &["rtscope-failure"]),
    ("rtscope-sys", &["rtscope-record"]),
    ("rtscope-samples", &["rtscope-record"]),
    ("rtscope-probe", &["rtscope-samples", "rtscope-sys", "rtscope-fpga", "rtscope-files"]),
    ("rtscope-statistics", &["rtscope-failure"]),
    ("rtscope-analysis", &["rtscope-record", "rtscope-statistics"]),
    ("rtscope-load", &["rtscope-sys", "rtscope-files"]),
    ("rtscope-explain", &["rtscope-failure"]),
    ("rtscope-lab", &["rtscope-probe", "rtscope-load", "rtscope-explain"]),
    ("rtscope-run", &["rtscope-lab"]),
    ("rtscope-archive", &["rtscope-samples", "rtscope-files"]),
    ("rtscope-report", &["rtscope-analysis", "rtscope-explain"]),
    ("rtscope", &["rtscope-run", "rtscope-archive", "rtscope-report"]),
];

fn below(room: &str) -> BTreeSet<&'static str> {
    let known = ORDER.iter().find(|(name, _)| *name == room).map_or(&[][..], |(_, known)| known);
    known.iter().flat_map(|&name| below(name).into_iter().chain([name])).collect()
}

/// Where these manifests violate the order; `manifests` maps paths such as `rtscope-record/Cargo.toml` to texts.
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

/// All dependencies in a manifest: of the code, its tests and its build, also for some targets only.
fn dependencies(manifest: &toml::Table) -> Vec<String> {
    let mut found = Vec::new();
    for (key, value) in manifest {
        let Some(table) = value.as_table() else { continue };
        if key == "target" {
            found.extend(table.values().filter_map(toml::Value::as_table).flat_map(dependencies));
        } else if key == "dependencies" || key == "dev-dependencies" || key == "build-dependencies" {
            // A renamed dependency is still that package.
            let package = |of: &toml::Value| of.get("package").and_then(toml::Value::as_str).map(ToOwned::to_owned);
            found.extend(table.iter().map(|(name, of)| package(of).unwrap_or_else(|| name.clone())));
        }
    }
    found
}
