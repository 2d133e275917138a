//! Small parts that several sections of the page share: badges, banners, tiles, facts, warnings.

use crate::properties::Fact;
use maud::{Markup, PreEscaped, html};
use rtscope_analysis::{Finding, clock_words, virtual_machine};
use rtscope_record::{Effect, Record, Verdict, Warning};

pub(super) fn verdict_class(v: Verdict) -> &'static str {
    match v {
        Verdict::Valid | Verdict::Repeatable => "good",
        Verdict::Inconclusive => "doubtful",
        Verdict::Invalid => "bad",
    }
}

pub(super) fn verdict_badge(v: Verdict) -> Markup {
    html! { span class={ "badge " (verdict_class(v)) } { (v) } }
}

/// A badge with the clock of the figures; that of a virtual machine is marked.
pub(super) fn clock_badge(words: &str, virtual_machine: bool) -> Markup {
    let class = if virtual_machine { "doubtful" } else { "plain" };
    html! { span class={ "badge " (class) } { "clock: " (words) } }
}

pub(super) fn clock_of(record: &Record) -> Markup {
    clock_badge(&clock_words(record), virtual_machine(record))
}

/// A finding of a comparison.
pub(super) fn finding(f: &Finding) -> Markup {
    html! { p class="banner doubtful" { strong { (f.code) } ": " (f.message) ". Remedy: " (f.remedy) } }
}

/// A picture from this crate's SVG writer, which escapes its texts. It is drawn for a wide page: on a narrow one it is scrolled sideways,
/// for its texts to stay legible.
pub(super) fn picture(svg: String) -> Markup {
    html! { div.wide tabindex="0" role="group" aria-label="Chart" { (small(svg)) } }
}

/// One that is drawn for a narrow page.
pub(super) fn small(svg: String) -> PreEscaped<String> {
    PreEscaped(svg)
}

/// An important figure, shown in a tile.
pub(super) struct Tile {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) note: String,
    pub(super) doubtful: bool,
}

impl Tile {
    pub(super) fn new(name: &'static str, value: String, note: impl Into<String>) -> Self {
        Self { name, value, note: note.into(), doubtful: false }
    }
}

pub(super) fn tiles(all: &[Tile]) -> Markup {
    html! {
        ul.tiles {
            @for t in all {
                li.doubtful[t.doubtful] {
                    span.name { (t.name) }
                    span.value { (t.value) }
                    span.note { (t.note) }
                }
            }
        }
    }
}

/// Warnings, worst first, each with its remedy.
pub(super) fn warnings(all: &[Warning]) -> Markup {
    let mut sorted: Vec<&Warning> = all.iter().collect();
    sorted.sort_by_key(|w| std::cmp::Reverse(w.effect));
    let effect = |w: &Warning| match w.effect {
        Effect::Invalid => ("bad", "INVALID"),
        Effect::Inconclusive => ("doubtful", "INCONCLUSIVE"),
        Effect::Note => ("plain", "note"),
    };
    html! {
        ul.warnings {
            @for w in sorted {
                @let (class, word) = effect(w);
                li class=(class) {
                    p { span class={ "badge " (class) } { (word) } " " strong { (w.code) } " " (w.message) }
                    @if !w.remedy.is_empty() { p.remedy { "Remedy: " code { (w.remedy) } } }
                }
            }
        }
    }
}

/// A list of names and values.
pub(super) fn facts(all: &[Fact]) -> Markup {
    html! { dl.facts { @for (name, value) in all { dt { (name) } dd { (value) } } } }
}
