//! Tables and short lines of the page.

use crate::facts::Fact;
use crate::format::{NONE, escape};
use crate::sheet::{Align, Column, Mark, Sheet};
use rtscope_analysis::versus::Role;
use rtscope_analysis::{clock_words, machine_name, virtual_machine};
use rtscope_record::{Effect, Record, Verdict, Warning};
use std::fmt::Write as _;

pub(super) fn verdict_badge(v: Verdict) -> String {
    let class = match v {
        Verdict::Valid | Verdict::Repeatable => "good",
        Verdict::Inconclusive => "doubtful",
        Verdict::Invalid => "bad",
    };
    format!("<span class=\"badge {class}\">{v}</span>")
}

pub(super) fn clock_badge(record: &Record) -> String {
    let class = if virtual_machine(record) { "doubtful" } else { "plain" };
    format!("<span class=\"badge {class}\">clock: {}</span>", escape(&clock_words(record)))
}

/// Host, kernel and time of the records, each value once.
pub(super) fn machine_line(records: &[Record]) -> String {
    let each = |f: &dyn Fn(&Record) -> String| {
        let mut all: Vec<String> = records.iter().map(f).filter(|s| !s.trim().is_empty()).collect();
        all.sort();
        all.dedup();
        let more = if all.len() > 3 { format!(" and {} more", all.len() - 3) } else { String::new() };
        all.truncate(3);
        escape(&(all.join(", ") + &more))
    };
    let system = |r: &Record| r.parts().system.clone();
    let mut started: Vec<&str> = records.iter().map(|r| r.parts().started.as_str()).collect();
    started.sort_unstable();
    let when = match (started.first(), started.last()) {
        (Some(a), Some(b)) if a != b => escape(&format!("{a} to {b}")),
        (Some(a), _) => escape(a),
        _ => String::new(),
    };
    let parts = [
        each(&machine_name),
        each(&|r| system(r).board.or(system(r).cpu.model).unwrap_or_default()),
        each(&|r| format!("{} {}", system(r).kernel.release, system(r).kernel.preemption.as_str())),
        each(&|r| format!("clock: {}", clock_words(r))),
        when,
    ];
    let parts: Vec<String> = parts.into_iter().filter(|p| !p.is_empty()).map(|p| format!("<span>{p}</span>")).collect();
    format!("<p class=\"machine\">{}</p>\n", parts.join(" "))
}

/// A table of the model.
pub(super) fn table(s: &Sheet<'_>) -> String {
    let narrow = if s.columns.len() < 6 { " narrow" } else { "" };
    let mut out = format!("<div class=\"scroll\"><table class=\"figures{narrow}\">");
    if !s.title.is_empty() {
        let _ = write!(out, "<caption><strong>{}</strong>{}</caption>", escape(&s.title), escape(&s.about));
    }
    out += "<thead><tr>";
    let grouped = s.columns.iter().any(|c| !c.group.head.is_empty());
    let word = |c: &Column<'_>| if c.align == Align::Right { "" } else { " class=\"word\"" };
    for run in s.columns.chunk_by(|a, b| !a.group.head.is_empty() && a.group == b.group) {
        let group = &run[0].group;
        if group.head.is_empty() {
            let rows = if grouped { " rowspan=\"2\"" } else { "" };
            let _ = write!(out, "<th scope=\"col\"{rows}{}>{}</th>", word(&run[0]), escape(&run[0].head));
        } else {
            let swatch = match group.role {
                Some(Role::Stock) => "<span class=\"swatch stock\"></span>",
                Some(_) => "<span class=\"swatch rt\"></span>",
                None => "",
            };
            let _ = write!(
                out,
                "<th scope=\"colgroup\" class=\"group\" colspan=\"{}\">{swatch}{}</th>",
                run.len(),
                escape(&group.head)
            );
        }
    }
    let firsts: Vec<bool> = std::iter::once(false).chain(s.columns.windows(2).map(|w| w[0].group != w[1].group)).collect();
    if grouped {
        out += "</tr><tr>";
        for (c, first) in s.columns.iter().zip(&firsts).filter(|(c, _)| !c.group.head.is_empty()) {
            let first = if *first { " class=\"first\"" } else { "" };
            let _ = write!(out, "<th scope=\"col\"{first}>{}</th>", escape(&c.head));
        }
    }
    out += "</tr></thead><tbody>\n";
    for row in &s.rows {
        out += "<tr>";
        for (i, (cell, column)) in row.iter().zip(&s.columns).enumerate() {
            let text = escape(&cell.text);
            let (mut class, text) = match cell.mark {
                Some(Mark::Main) => ("strong", text),
                Some(Mark::Ratio) if cell.text != NONE => ("", format!("<span class=\"ratio\">{text}</span>")),
                Some(Mark::Quiet) => ("muted", text),
                Some(Mark::Good) => ("good", text),
                Some(Mark::Doubtful) => ("doubtful", text),
                Some(Mark::Bad) => ("bad", text),
                Some(Mark::Invalid) => ("invalid", text),
                Some(Mark::Verdict(v)) => ("", verdicts(v, &cell.text)),
                _ => ("", text),
            };
            if class.is_empty() && column.align == Align::Left {
                class = "word";
            }
            let first = if grouped && firsts[i] && !column.group.head.is_empty() { " first" } else { "" };
            let text = cell.run.map_or_else(|| text.clone(), |run| format!("<a href=\"#run-{run}\">{text}</a>"));
            let _ = match (i, column.align) {
                (0, Align::Left) => write!(out, "<th scope=\"row\">{text}</th>"),
                _ if class.is_empty() && first.is_empty() => write!(out, "<td>{text}</td>"),
                _ => write!(out, "<td class=\"{}\">{text}</td>", format!("{class}{first}").trim_start()),
            };
        }
        out += "</tr>\n";
    }
    out += "</tbody></table></div>\n";
    for note in &s.notes {
        let _ = writeln!(out, "<p class=\"muted\">{}</p>", escape(note));
    }
    out
}

/// A verdict, and whose it is.
fn verdicts(v: Verdict, text: &str) -> String {
    format!("{}{}", verdict_badge(v), escape(text.strip_prefix(v.as_str()).unwrap_or_default()))
}

/// Warnings, worst first, each with what mends it.
pub(super) fn warnings(all: &[Warning]) -> String {
    let mut sorted: Vec<&Warning> = all.iter().collect();
    sorted.sort_by_key(|w| std::cmp::Reverse(w.effect));
    let mut out = String::from("<ul class=\"warnings\">\n");
    for w in sorted {
        let (class, word) = match w.effect {
            Effect::Invalid => ("bad", "INVALID"),
            Effect::Inconclusive => ("doubtful", "INCONCLUSIVE"),
            Effect::Note => ("plain", "note"),
        };
        let _ = write!(
            out,
            "<li class=\"{class}\"><p><span class=\"badge {class}\">{word}</span> <strong>{}</strong> {}</p>",
            escape(&w.code),
            escape(&w.message)
        );
        if !w.remedy.is_empty() {
            let _ = write!(out, "<p class=\"remedy\">Remedy: <code>{}</code></p>", escape(&w.remedy));
        }
        out += "</li>\n";
    }
    out + "</ul>\n"
}

/// Names and values.
pub(super) fn facts(all: &[Fact]) -> String {
    let mut out = String::from("<dl class=\"facts\">\n");
    for (name, value) in all {
        let _ = writeln!(out, "<dt>{name}</dt><dd>{}</dd>", escape(value));
    }
    out + "</dl>\n"
}
