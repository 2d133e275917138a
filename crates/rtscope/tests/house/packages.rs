//! The packages ask for each other by version: what starts a program of another package works with that of its own version only.

use crate::crates;
use std::fs;

/// What the packages that `script` makes say of rtscope's packages, each as `depender: dependency`.
fn asked(script: &str) -> Vec<String> {
    let whole = script.replace("\\\n", " ");
    let (mut name, mut found) = ("", Vec::new());
    for command in whole.lines().map(str::trim) {
        if let Some(rest) = command.strip_prefix("begin ") {
            name = rest.split_whitespace().next().unwrap_or_default();
        } else if command.starts_with("finish ") {
            let words = command.split(['"', '\'', ',']).map(str::trim);
            found.extend(words.filter(|w| w.starts_with("rtscope")).map(|w| format!("{name}: {w}")));
        }
    }
    found
}

#[test]
fn packages_that_go_together_are_of_one_version() {
    let script = fs::read_to_string(crates().join("../packaging/package.sh")).unwrap();
    let wanted = [
        "rtscope: rtscope-probe",
        "rtscope: rtscope-lab",
        "rtscope: rtscope-boards",
        "rtscope: rtscope-dkms",
        "rtscope-boards: rtscope",
        "rtscope-lab: rtscope",
        "rtscope-dkms: rtscope-probe",
        "rtscope-dkms: rtscope",
    ];
    assert_eq!(asked(&script), wanted.map(|w| format!("{w} (= $version)")));
}
