//! The page's section with kernels and settings beside each other: the figures of each, and what it changed, with intervals.

use super::parts::{finding, picture};
use super::table::table;
use crate::sheets::variants as sheets;
use crate::svg::{self, Use};
use maud::{Markup, html};
use rtscope_analysis::replicates::LoadRuns;
use rtscope_analysis::versus::{Variant, Variants, VariantsAt};

/// The section's title.
pub(super) fn title(v: &Variants) -> &'static str {
    if v.has_settings() { sheets::SETTINGS } else { sheets::KERNELS }
}

/// Everything about `v`.
pub(super) fn variants(v: &Variants) -> Markup {
    html! {
        section.versus id="variants" aria-labelledby="variants-title" {
            h2 id="variants-title" { (title(v)) }
            @for p in &v.places {
                (table(&sheets::variants(p)))
                @if let Some(plot) = svg::forest(&changes(p), ["the base", "this kernel"], Use::Page) { figure { (picture(plot)) } }
            }
            @for f in &v.findings { (finding(f)) }
            p.muted { "Note: " (sheets::NOTE) }
        }
    }
}

/// The whole runs of each kernel against the base, under a heading that names the kernel too.
fn changes(p: &VariantsAt) -> Vec<LoadRuns> {
    let with = |v: &Variant| v.runs.clone().map(|runs| LoadRuns { load: format!("{}: {}", v.load, v.kernel.label), ..runs });
    p.rows.iter().filter_map(with).collect()
}
