//! The page's navigation: its sections, and its runs by kernel and load, which can be filtered by words.

use super::parts::verdict_class;
use crate::names::{Group, Run};
use maud::{Markup, html};
use rtscope_record::Record;

/// The bar that stays in sight: links to the `parts` (id, name, whether it exists), and a menu of all runs.
pub(super) fn navigation(parts: &[(&str, &str, bool)], groups: &[Group], records: &[Record]) -> Markup {
    html! {
        nav aria-label="Page" {
            @for (id, name, _) in parts.iter().filter(|p| p.2) { a href={ "#" (id) } { (name) } }
            details.menu {
                summary { "Runs " span.count { (records.len()) } }
                div.panel {
                    @for g in groups {
                        div.kernel {
                            p.name { (g.kernel) " " span.count { (g.runs.len()) } }
                            ul {
                                @for run in &g.runs {
                                    @let r = &records[run.index];
                                    li data-run=(run.index) data-words=(words(r, g, run)) {
                                        a href={ "#run-" (run.index) } title=[(run.label != run.name).then_some(&run.name)] {
                                            span class={ "dot " (verdict_class(r.verdict())) } title=(r.verdict()) {}
                                            (run.label)
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

/// The words by which a filter finds a run.
fn words(r: &Record, g: &Group, run: &Run) -> String {
    let p = r.parts();
    let system = &p.system.kernel.release;
    format!("{} {} {} {} {} {} {}", run.name, g.kernel, system, p.test, p.target, r.verdict(), r.id()).to_lowercase()
}
