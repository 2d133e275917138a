//! Circles: sets of files in which every file takes names, directly or indirectly, from all the others.

use crate::arrows::Arrows;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The files of a circle, sorted by name.
pub(crate) type Circle = BTreeSet<String>;

/// Every circle among `arrows`, each as large as possible.
pub(crate) fn circles(arrows: &Arrows) -> Vec<Circle> {
    let reached: Vec<(&String, BTreeSet<&String>)> = arrows.keys().map(|file| (file, reached(arrows, file))).collect();
    let mut found: Vec<Circle> = Vec::new();
    for (file, beyond) in &reached {
        if beyond.contains(file) && !found.iter().any(|c| c.contains(*file)) {
            let back = |other: &&&String| reached.iter().any(|(f, r)| *f == **other && r.contains(file));
            found.push(beyond.iter().filter(back).map(|f| (*f).clone()).collect());
        }
    }
    found
}

fn reached<'a>(arrows: &'a Arrows, from: &str) -> BTreeSet<&'a String> {
    let (mut found, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        for other in arrows.get(file).into_iter().flat_map(|to| to.keys()) {
            if found.insert(other) {
                next.push(other);
            }
        }
    }
    found
}

/// Describes a circle: its files, and which takes what from which.
pub(crate) fn words(circle: &Circle, arrows: &Arrows) -> String {
    let mut text = format!("a circle of {} files:\n", circle.len());
    for file in circle {
        for (other, names) in arrows.get(file).into_iter().flatten().filter(|(other, _)| circle.contains(*other)) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let _ = writeln!(text, "  {file} takes from {other}: {}", names.join(", "));
        }
    }
    text
}
