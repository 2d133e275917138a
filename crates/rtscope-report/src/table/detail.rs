//! One record in detail: each CPU, percentiles raw and corrected, worst samples, warnings, load proof, settings and
//! system.

use super::findings::one;
use super::grid;
use super::text::{Paint, Style, blanks, verdict_paint, wrap, wrapped};
use crate::format::{clean, time};
use crate::properties::{load_achieved, load_course, load_left_out, process_end, settings_facts, system_facts, witness_facts};
use crate::{ReportError, sheets, summarize};
use rtscope_analysis::{Summary, virtual_machine};
use rtscope_record::{Clock, Effect, Record, Verdict, Warning};
use std::fmt::Write as _;

/// What a measurement says when it has ended: what was run, the figures of each CPU or edge, and by which codes they may mean
/// less. [`detail`] has the rest, if the record is `kept` in the archive.
pub fn brief(record: &Record, kept: bool, style: Style) -> Result<String, ReportError> {
    let s = summarize(record)?;
    let mut out = heading(record, &s, style);
    grid::write(&mut out, sheets::record::distributions(&s), style);
    for text in crate::instrument::results(record) {
        out += &wrapped(style, "", &text);
    }
    let found = record.findings();
    let of = |effect| found.iter().filter(move |w| w.effect == effect);
    out += &warnings(of(Effect::Invalid).collect(), style);
    let mut codes: Vec<String> = of(Effect::Inconclusive).map(|w| clean(&w.code)).collect();
    codes.dedup();
    let told = if kept {
        format!("`rtscope show {}` says everything.", record.id())
    } else {
        "Not kept in the archive: only --json has the rest.".into()
    };
    out.push('\n');
    if codes.is_empty() {
        out += &wrapped(style, "", &told);
    } else {
        let word = Verdict::Inconclusive.as_str();
        let text = wrapped(style, "", &format!("{word}: {}. {told}", codes.join(", ")));
        out += &text.replacen(word, &style.paint(Paint::Doubtful, word), 1);
    }
    Ok(out)
}

/// The figures of each CPU or edge alone, for scripts: the verdict, and the clock of a virtual machine, are columns.
pub fn bare(record: &Record, style: Style) -> Result<String, ReportError> {
    let s = summarize(record)?;
    Ok(grid::render(sheets::record::bare(record, &s), style))
}

/// Usual length of a record's text, bytes.
const USUAL: usize = 8 << 10;

/// The whole record, for people.
pub fn detail(record: &Record, style: Style) -> Result<String, ReportError> {
    let p = record.parts();
    let mut out = figures(record, style)?;
    out.reserve(USUAL);
    out += &super::instrument::of(record, true, style);
    if let Some(worst) = sheets::record::worst(record, WORST_SHOWN) {
        out.push('\n');
        out += &grid::titled(worst, style);
    }
    out += &warnings(record.findings().iter().collect(), style);
    out += &load_proof(record, style);
    let (settings, seen, system) = (settings_facts(record), witness_facts(record), system_facts(record));
    for (title, facts) in [("Settings", settings), ("Witness", seen), ("System", system)] {
        if facts.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n{}", style.paint(Paint::Bold, title));
        let width = facts.iter().map(|(k, _)| k.chars().count()).max().unwrap_or(0);
        let mut first = String::new();
        for (key, value) in facts {
            first.clear();
            first += "  ";
            first += key;
            blanks(&mut first, width - key.chars().count() + 2);
            wrap(&mut out, style, &first, &value);
        }
    }
    if let Some(source) = &p.source {
        let _ =
            writeln!(out, "\nImported from {} ({}, SHA-256 {})", clean(&source.file), clean(&source.format), clean(&source.sha256));
    }
    Ok(out)
}

fn warnings(mut warnings: Vec<&Warning>, style: Style) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let mut out = format!("\n{}\n", style.paint(Paint::Bold, "Warnings"));
    warnings.sort_by_key(|w| std::cmp::Reverse(w.effect));
    for w in warnings {
        out += &one(w, style);
    }
    out
}

/// The heading of a record, and its figures.
fn figures(record: &Record, style: Style) -> Result<String, ReportError> {
    let s = summarize(record)?;
    let mut out = heading(record, &s, style);
    grid::write(&mut out, sheets::record::distributions(&s), style);
    if let Some(all) = sheets::record::merged(&s) {
        out.push('\n');
        out += &grid::titled(sheets::record::percentiles(s.test, all), style);
    }
    Ok(out)
}

/// What was run, where and when, and what it is worth.
fn heading(record: &Record, s: &Summary, style: Style) -> String {
    let p = record.parts();
    let seed =
        p.lab.as_ref().filter(|_| p.clock == Clock::Virtual).map_or_else(String::new, |l| format!(" · one seed ({})", l.seed));
    let (id, verdict, clock) = (clean(&s.id), s.verdict.as_str(), clean(&s.clock_words));
    let first = wrapped(style, "", &format!("{id} {verdict} · {} · clock {clock}{seed}", s.origin));
    // Painted only now: what is wrapped has no colours.
    let mut out = first.replacen(&id, &format!("{} ", style.paint(Paint::Bold, &id)), 1);
    out = out.replacen(verdict, &style.paint(verdict_paint(s.verdict), verdict), 1);
    if virtual_machine(record) {
        out = out.replacen(&clock, &style.paint(Paint::Doubtful, &clock), 1);
    }
    let early = if s.interrupted { " · ended early" } else { "" };
    let what = format!(
        "{} {}, {}, load {}, target {} · {} · ran {}{early}",
        s.test,
        crate::words::quantity(s.test),
        crate::words::space(record),
        s.load,
        s.target,
        s.started,
        time(p.elapsed_ns as f64)
    );
    out += &wrapped(style, "", &what);
    out += &wrapped(style, "", &format!("kernel {} {}", s.kernel, s.preemption));
    if let Some(w) = &p.witness {
        out += &wrapped(style, "witnessed: ", &w.in_words());
    }
    out.push('\n');
    out
}

/// How many of the worst samples a terminal shows; the record and the page have them all.
const WORST_SHOWN: usize = 10;

fn load_proof(record: &Record, style: Style) -> String {
    let Some(proof) = &record.parts().load_proof else { return String::new() };
    let mut out = format!("\n{}\n", style.paint(Paint::Bold, "Load proof"));
    let isolation = if proof.isolation.is_empty() { String::new() } else { format!(", {}", clean(&proof.isolation)) };
    let oom = proof.oom_kills.map_or_else(|| "OOM kills unknown".into(), |n| format!("OOM kills: {n}"));
    let _ = writeln!(out, "  {} ran {}{isolation}, {oom}", clean(&proof.name), time(proof.ran_ns as f64));
    let course = proof.course.as_ref().map(load_course).filter(|c| !c.is_empty());
    out += &course.map_or_else(String::new, |c| wrapped(style, "  ", &c));
    for process in &proof.processes {
        out += &wrapped(style, "  - ", &crate::format::command(&process.command));
        let (text, bad) = process_end(process);
        let _ = writeln!(out, "    {}", if bad { style.paint(Paint::Bad, &text) } else { text });
        if !process.achieved.is_empty() || !process.workers.is_empty() {
            out += &wrapped(style, "    ", &load_achieved(process));
        }
        let left_out = load_left_out(process);
        if !left_out.is_empty() {
            out += &wrapped(style, "    ", &left_out);
        }
        if !process.stderr.is_empty() {
            out += &wrapped(style, "    stderr: ", &process.stderr);
        }
    }
    out
}
