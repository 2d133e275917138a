//! One record in detail: each CPU, percentiles raw beside corrected, worst samples, warnings, load proof, settings and system.

use super::findings::one;
use super::grid::{Cell, Grid, blanks};
use super::{Paint, Style, verdict_paint};
use crate::facts::{load_achieved, load_course, process_end, settings_facts, system_facts, witness_facts};
use crate::format::{NONE, clean, count, seconds, time, us_f64, us_opt, us_whole};
use crate::{ReportError, summarize};
use rtscope_analysis::summary::Row;
use rtscope_analysis::virtual_machine;
use rtscope_record::{Clock, Effect, Record, Test, Warning};
use std::fmt::Write as _;

/// What one looks at after a measurement: the figures, the warnings that bear on the verdict, and what the load achieved.
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
        out += &super::wrapped(style, "", &format!("Notes: {}. `rtscope show {}` says everything.", codes.join(", "), record.id()));
    }
    Ok(out)
}

/// Bytes that a record's text mostly takes.
const USUAL: usize = 8 << 10;

/// Everything that a record says, for people.
pub fn detail(record: &Record, style: Style) -> Result<String, ReportError> {
    let p = record.parts();
    let mut out = figures(record, style)?;
    out.reserve(USUAL);
    out += &super::instrument::of(record, true, style);
    out += &worst(record, style);
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
            super::wrap(&mut out, style, &first, &value);
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

/// What it is, and its figures.
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
        crate::shown::quantity(s.test),
        crate::shown::space(record),
        clean(&s.load),
        clean(&s.target),
        clean(&s.started),
        time(p.elapsed_ns as f64)
    );
    let _ = writeln!(out, "kernel {} {}", clean(&s.kernel), s.preemption);
    if let Some(w) = &p.witness {
        out += &super::wrapped(style, "witnessed: ", &w.in_words());
    }
    out.push('\n');
    // Early and late jitter have no figures in common.
    let merged = s.merged.as_ref().filter(|_| s.test != Test::Periodic);
    out += &distributions(&s.rows, merged, style);
    if let Some(all) = merged {
        out += &percentiles(record.parts().test, all, style);
    }
    Ok(out)
}

fn distributions(rows: &[Row], merged: Option<&Row>, style: Style) -> String {
    let other = |f: fn(&Row) -> u64| rows.iter().any(|r| f(r) > 0);
    let (late, spurious) = (other(|r| r.late), other(|r| r.spurious));
    let (overflow, dropped) = (other(|r| r.overflow), other(|r| r.dropped));
    let mut grid = Grid::new()
        .left("", 0)
        .right("samples", 0)
        .right("expected", 2)
        .right("missed", 0)
        .right("min us", 0)
        .right("mean us", 0)
        .right("max us", 0)
        .right("std dev us", 1)
        .right("p99 us", 3)
        .right("p99.9 us", 0);
    for (shown, head) in [(late, "of them late"), (spurious, "spurious"), (overflow, "overflow"), (dropped, "dropped")] {
        if shown {
            grid = grid.right(head, 0);
        }
    }
    for r in rows.iter().chain(merged.filter(|_| rows.len() > 1)) {
        let at = |name: &str| us_opt(r.percentile(name).and_then(|p| p.raw)).into();
        let mut cells: Vec<Cell> = vec![
            r.label.as_str().into(),
            count(r.count).into(),
            r.expected.map_or_else(|| NONE.into(), count).into(),
            if r.missed > 0 { Cell::painted(count(r.missed), Paint::Doubtful) } else { count(r.missed).into() },
            us_opt(r.min).into(),
            us_f64(r.mean).into(),
            us_opt(r.max).into(),
            us_f64(r.stddev).into(),
            at("p99"),
            at("p99.9"),
        ];
        for (shown, n) in [(late, r.late), (spurious, r.spurious), (overflow, r.overflow), (dropped, r.dropped)] {
            if shown {
                cells.push(Cell::painted(count(n), if n > 0 { Paint::Doubtful } else { Paint::Dim }));
            }
        }
        grid.row(cells);
    }
    grid.render(style)
}

fn percentiles(test: Test, all: &Row, style: Style) -> String {
    let mut out = format!("\n{}\n", style.paint(Paint::Bold, "Percentiles of all"));
    let head = format!("{} us", all.corrected_basis.unwrap_or("corrected"));
    let mut grid = Grid::new().left("", 0).right("raw us", 0).right(&head, 0);
    for p in &all.percentiles {
        grid.row(vec![p.name.as_str().into(), us_opt(p.raw).into(), us_opt(p.corrected).into()]);
    }
    grid.row(vec!["mean".into(), us_f64(all.mean).into(), us_f64(all.corrected_mean).into()]);
    grid.row(vec!["samples".into(), count(all.count).into(), all.corrected_count.map_or_else(|| NONE.into(), count).into()]);
    out += &grid.render(style);
    if let Some(text) = crate::shown::corrected(test, all) {
        out += &super::wrapped(style, "", &text);
    }
    if let (Some(p), Some(max)) = (all.exceedance, all.max) {
        let text = format!(
            "No sample in {} exceeded {} us. If they were independent, p < {p:.2e} for the next one at 95 % (rule of three).",
            count(all.count),
            us_whole(max)
        );
        out += &super::wrapped(style, "", &text);
    }
    out
}

/// Most of the worst samples that a terminal shows; the record and the page have them all.
const WORST_SHOWN: usize = 10;

fn worst(record: &Record, style: Style) -> String {
    let mut all: Vec<_> = record.distributions().iter().flat_map(|d| d.worst().iter().map(move |w| (w, d.label()))).collect();
    if all.is_empty() {
        return String::new();
    }
    all.sort_by(|(a, la), (b, lb)| b.value.cmp(&a.value).then(a.at.cmp(&b.at)).then(la.cmp(lb)));
    let shown = all.len().min(WORST_SHOWN);
    let title = format!("Worst samples ({shown} of {} kept)", all.len());
    let mut out = format!("\n{}\n", style.paint(Paint::Bold, &title));
    let mut grid = Grid::new().right("us", 0).right("at s", 0).left("", 0);
    for (w, label) in &all[..shown] {
        grid.row(vec![us_whole(w.value).into(), seconds(w.at).into(), (*label).into()]);
    }
    out += &grid.render(style);
    out
}

fn load_proof(record: &Record, style: Style) -> String {
    let Some(proof) = &record.parts().load_proof else { return String::new() };
    let mut out = format!("\n{}\n", style.paint(Paint::Bold, "Load proof"));
    let isolation = if proof.isolation.is_empty() { String::new() } else { format!(", {}", clean(&proof.isolation)) };
    let oom = proof.oom_kills.map_or_else(|| "OOM kills unknown".into(), |n| format!("OOM kills: {n}"));
    let _ = writeln!(out, "  {} ran {}{isolation}, {oom}", clean(&proof.name), time(proof.ran_ns as f64));
    let course = proof.course.as_ref().map(load_course).filter(|c| !c.is_empty());
    out += &course.map_or_else(String::new, |c| super::wrapped(style, "  ", &c));
    for process in &proof.processes {
        out += &super::wrapped(style, "  - ", &crate::format::command(&process.command));
        let (text, bad) = process_end(process);
        let _ = writeln!(out, "    {}", if bad { style.paint(Paint::Bad, &text) } else { text });
        if !process.achieved.is_empty() || !process.workers.is_empty() {
            out += &super::wrapped(style, "    ", &load_achieved(process));
        }
        if !process.stderr.is_empty() {
            out += &super::wrapped(style, "    stderr: ", &process.stderr);
        }
    }
    out
}
