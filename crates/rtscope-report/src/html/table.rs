//! Draws a table on the page.

use super::parts::verdict_badge;
use crate::format::NONE;
use crate::sheet::{Align, Cell, Column, Mark, Sheet};
use maud::{Markup, html};
use rtscope_analysis::versus::Role;

/// A table with its title and notes.
pub(super) fn table(s: &Sheet<'_>) -> Markup {
    let grouped = s.columns.iter().any(|c| !c.group.head.is_empty());
    // A line marks the beginning of a group.
    let firsts: Vec<bool> = std::iter::once(false).chain(s.columns.windows(2).map(|w| w[0].group != w[1].group)).collect();
    let first = |i: usize| firsts[i] && !s.columns[i].group.head.is_empty();
    html! {
        // A wide table scrolls by keyboard, too.
        div.scroll tabindex="0" role="group" aria-label=(if s.title.is_empty() { "Table".into() } else { micro(&s.title) }) {
            table.figures.narrow[s.columns.len() < 6] {
                @if !s.title.is_empty() { caption { strong { (micro(&s.title)) } (micro(&s.about)) } }
                thead {
                    tr {
                        @for run in s.columns.chunk_by(|a, b| !a.group.head.is_empty() && a.group == b.group) {
                            @if run[0].group.head.is_empty() && run[0].head.is_empty() {
                                td rowspan=[grouped.then_some("2")] {}
                            } @else if run[0].group.head.is_empty() {
                                th.word[is_word(&run[0])] scope="col" rowspan=[grouped.then_some("2")] { (micro(&run[0].head)) }
                            } @else {
                                th.group scope="colgroup" colspan=(run.len()) { (swatch(run[0].group.role)) (micro(&run[0].group.head)) }
                            }
                        }
                    }
                    @if grouped {
                        tr {
                            @for (i, c) in s.columns.iter().enumerate().filter(|(_, c)| !c.group.head.is_empty()) {
                                th.first[first(i)] scope="col" { (micro(&c.head)) }
                            }
                        }
                    }
                }
                tbody {
                    @for row in &s.rows {
                        tr data-run=[row.first().and_then(|c| c.run)] {
                            @for (i, (c, column)) in row.iter().zip(&s.columns).enumerate() {
                                @if i == 0 && is_word(column) { th scope="row" { (text(c)) } }
                                @else { td class=[class(c, column, first(i))] { (text(c)) } }
                            }
                        }
                        "\n"
                    }
                }
            }
        }
        @for note in &s.notes { p.muted { (note) } }
    }
}

fn is_word(c: &Column<'_>) -> bool {
    c.align == Align::Left
}

/// Colour of a kernel, the same as in its plots.
fn swatch(role: Option<Role>) -> Markup {
    html! {
        @match role {
            Some(Role::Stock) => span class="swatch stock" {},
            Some(_) => span class="swatch rt" {},
            None => {},
        }
    }
}

/// A terminal shows us, a page µs.
fn micro(text: &str) -> String {
    let words = text.split(' ').map(|word| match word {
        "us" => "µs",
        "us," => "µs,",
        other => other,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Longest figure that must stay on one line, bytes.
const LONG: usize = 14;

fn class(c: &Cell<'_>, column: &Column<'_>, first: bool) -> Option<String> {
    let meaning = match c.mark {
        Some(Mark::Main) => "strong",
        Some(Mark::Quiet) => "quiet",
        Some(Mark::Good) => "good",
        Some(Mark::Doubtful) => "doubtful",
        Some(Mark::Bad) => "bad",
        Some(Mark::Invalid) => "invalid",
        Some(Mark::Ratio | Mark::Verdict(_)) | None => "",
    };
    // Only figures of broken records are this long; they must not push the others out of sight.
    let long = if c.text.len() > LONG { "long" } else { "" };
    let parts = [if is_word(column) { "word" } else { long }, meaning, if first { "first" } else { "" }];
    let parts: Vec<&str> = parts.into_iter().filter(|p| !p.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

fn text(c: &Cell<'_>) -> Markup {
    html! {
        @match (c.mark, c.run) {
            (Some(Mark::Verdict(v)), _) => { (verdict_badge(v)) (c.text.strip_prefix(v.as_str()).unwrap_or_default()) },
            (Some(Mark::Ratio), _) if c.text != NONE => span.ratio { (c.text) },
            (_, Some(run)) => a href={ "#run-" (run) } { (c.text) },
            _ => (c.text),
        }
    }
}
