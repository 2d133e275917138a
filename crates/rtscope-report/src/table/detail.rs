//! One record in detail: each CPU, percentiles raw and corrected, worst samples, warnings, load proof, settings and
//! system.

use super::findings::one;
use super::grid;
use super::text::{Paint, Style, blanks, verdict_paint, wrap, wrapped};
use crate::format::{clean, time};
use crate::properties::{load_achieved, load_course, process_end, settings_facts, system_facts, witness_facts};
use crate::{ReportError, sheets, summarize};
use rtscope_analysis::virtual_machine;
use rtscope_record::{Clock, Effect, Record, Warning};
use std::fmt::Write as _;

/// The result of a measurement in short: the figures, the warnings that affect the verdict, and what the load achieved.
pub fn brief(record: &Record, style: Style) -> Result<String, ReportError> {
    let mut out = figures(record, style)?;
    out += &super::instrument::of(record, false, style);
    let found = record.findings();
    let (grave, notes): (Vec<_>, Vec<_>) = found.iter().partition(|w| w.effect > Effect::Note);
    out += &warnings(grave, style);
    out += &load_proof(record, style);
    if !notes.is_empty() {
        let mut codes: Vec<String> = notes.iter().map(|w| clean(&w.code)).collect();
        codes.dedup();
        out.push('\n');
        out += &wrapped(style, "", &format!("Notes: {}. `rtscope show {}` says everything.", codes.join(", "), record.id()));
    }
    Ok(out)
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
    let p = record.parts();
    let mut out = String::new();
    let clock = if virtual_machine(record) { style.paint(Paint::Doubtful, &clean(&s.clock_words)) } else { clean(&s.clock_words) };
    let verdict = style.paint(verdict_paint(s.verdict), s.verdict.as_str());
    let seed =
        p.lab.as_ref().filter(|_| p.clock == Clock::Virtual).map_or_else(String::new, |l| format!(" · one seed ({})", l.seed));
    let _ = writeln!(out, "{}  {verdict} · {} · clock {clock}{seed}", style.paint(Paint::Bold, &s.id), s.origin);
    let early = if s.interrupted { " · ended early" } else { "" };
    let _ = writeln!(
        out,
        "{} {}, {}, load {}, target {} · {} · ran {}{early}",
        s.test,
        crate::words::quantity(s.test),
        crate::words::space(record),
        clean(&s.load),
        clean(&s.target),
        clean(&s.started),
        time(p.elapsed_ns as f64)
    );
    let _ = writeln!(out, "kernel {} {}", clean(&s.kernel), s.preemption);
    if let Some(w) = &p.witness {
        out += &wrapped(style, "witnessed: ", &w.in_words());
    }
    out.push('\n');
    grid::write(&mut out, sheets::record::distributions(&s), style);
    if let Some(all) = sheets::record::merged(&s) {
        out.push('\n');
        out += &grid::titled(sheets::record::percentiles(s.test, all), style);
    }
    Ok(out)
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
        if !process.stderr.is_empty() {
            out += &wrapped(style, "    stderr: ", &process.stderr);
        }
    }
    out
}
