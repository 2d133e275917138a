//! The way about a page: its parts, and its runs by kernel and load, which a word or two narrow down.

use super::parts::verdict_class;
use crate::names::run_names;
use maud::{Markup, html};
use rtscope_analysis::versus::Kernel;
use rtscope_record::Record;

/// The runs of one kernel.
pub(super) struct Group {
    pub(super) kernel: String,
    pub(super) runs: Vec<Run>,
}

/// A run among those of its kernel.
pub(super) struct Run {
    /// Which of the page's records.
    pub(super) index: usize,
    /// What tells it from the others of its kernel.
    pub(super) name: String,
}

/// The runs by kernel, both in the order of the records.
pub(super) fn groups(records: &[Record]) -> Vec<Group> {
    let mut members: Vec<(String, Vec<usize>)> = Vec::new();
    for (i, r) in records.iter().enumerate() {
        let kernel = Kernel::of(r).label;
        match members.iter_mut().find(|m| m.0 == kernel) {
            Some(m) => m.1.push(i),
            None => members.push((kernel, vec![i])),
        }
    }
    let group = |(kernel, members): (String, Vec<usize>)| {
        let names = run_names(&members.iter().map(|&i| &records[i]).collect::<Vec<_>>());
        Group { kernel, runs: members.into_iter().zip(names).map(|(index, name)| Run { index, name }).collect() }
    };
    members.into_iter().map(group).collect()
}

/// The bar that stays in sight: links to the `parts` (id, name, whether it is there), and all runs behind one word.
pub(super) fn navigation(parts: &[(&str, &str, bool)], groups: &[Group], records: &[Record]) -> Markup {
    html! {
        nav aria-label="Page" {
            @for (id, name, _) in parts.iter().filter(|p| p.2) { a href={ "#" (id) } { (name) } }
            details.menu {
                summary { "Runs " span.count { (records.len()) } }
                div.panel {
                    @for g in groups {
                        div.kernel {
                            h4 { (g.kernel) " " span.count { (g.runs.len()) } }
                            ul {
                                @for run in &g.runs {
                                    @let r = &records[run.index];
                                    li data-run=(run.index) data-words=(words(r, g, run)) {
                                        a href={ "#run-" (run.index) } {
                                            span class={ "dot " (verdict_class(r.verdict())) } title=(r.verdict()) {}
                                            (run.name)
                                        }
                                    }
                                }
                            }
                        }
                    }
                    p.none hidden { "No run has these words." }
                }
            }
            input.filter type="search" placeholder="Filter: load, kernel, verdict" aria-label="Filter the runs" hidden;
            span.found aria-live="polite" hidden {}
        }
    }
}

/// What a filter finds a run by.
fn words(r: &Record, g: &Group, run: &Run) -> String {
    let p = r.parts();
    let system = &p.system.kernel.release;
    format!("{} {} {} {} {} {} {}", run.name, g.kernel, system, p.test, p.target, r.verdict(), r.id()).to_lowercase()
}
