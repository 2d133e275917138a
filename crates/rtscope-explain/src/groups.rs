//! Explained samples grouped by what they were.

use crate::explanation::Explanation;
use serde::Serialize;

/// Samples that were late by the same cause at the same place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SampleGroup {
    /// What it was: the cause, and what the kernel was about or the function that it was in.
    pub what: String,
    /// How many samples.
    pub samples: usize,
    /// The highest latency of them, ns.
    pub highest: u64,
}

/// Groups samples, the largest group first.
pub fn groups<'a>(all: impl IntoIterator<Item = &'a Explanation>) -> Vec<SampleGroup> {
    let mut groups: Vec<SampleGroup> = Vec::new();
    for e in all {
        let what = what(e);
        match groups.iter_mut().find(|g| g.what == what) {
            Some(g) => (g.samples, g.highest) = (g.samples + 1, g.highest.max(e.latency)),
            None => groups.push(SampleGroup { what, samples: 1, highest: e.latency }),
        }
    }
    groups.sort_by(|a, b| b.samples.cmp(&a.samples).then(b.highest.cmp(&a.highest)).then_with(|| a.what.cmp(&b.what)));
    groups
}

fn what(e: &Explanation) -> String {
    match &e.hold.activity {
        Some(activity) => format!("{}: {activity}", e.hold.cause),
        None => format!(
            "{} in {}",
            e.hold.cause,
            e.hold.from.last().filter(|_| e.hold.cause.is_switched_off()).unwrap_or(&e.hold.mostly)
        ),
    }
}
