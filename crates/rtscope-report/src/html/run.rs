//! The page's sections for its runs, kernel by kernel: figures, charts, warnings, tables and facts.

use super::explained;
use super::parts::{Tile, clock_of, facts, picture, tiles, verdict_badge, warnings};
use super::table::table;
use crate::format::{count, time};
use crate::names::{Group, Run};
use crate::properties::{load_achieved, load_course, load_left_out, process_end, settings_facts, system_facts, witness_facts};
use crate::svg::{self, Axis, Use};
use crate::{ReportError, instrument, sheets, summarize, words};
use maud::{Markup, html};
use rtscope_analysis::Summary;
use rtscope_explain::explained::Explained;
use rtscope_record::{Record, Test};

/// Up to this number of runs, all are unfolded when the page opens; otherwise the reader unfolds those of interest.
const OPEN: usize = 16;

/// The runs of a kernel; under the kernel's name where there are `several` kernels.
pub(super) fn group(g: &Group, records: &[Record], explained: &[Explained], several: bool) -> Result<Markup, ReportError> {
    // Names of runs are unique among those of their kernel.
    let kernel = g.runs.first().filter(|_| several).map(|r| format!("kernel-of-run-{}", r.index));
    let runs = g.runs.iter().map(|r| run(r, kernel.as_deref(), &records[r.index], explained, records.len() <= OPEN));
    let runs = runs.collect::<Result<Vec<_>, _>>()?;
    Ok(html! {
        div.kernel-runs {
            @if several {
                h2.kernel id=[&kernel] { "Kernel " (g.kernel) " " span.count { (runs.len()) @if runs.len() == 1 { " run" } @else { " runs" } } }
            }
            @for run in &runs { (run) }
        }
    })
}

/// Everything about one record; `kernel` is the id of the heading above it.
fn run(run: &Run, kernel: Option<&str>, record: &Record, explained: &[Explained], open: bool) -> Result<Markup, ReportError> {
    let i = run.index;
    let s = summarize(record)?;
    let p = record.parts();
    let all = s.merged.as_ref();
    let highest = all.and_then(|a| a.max).map(|max| time(max as f64));
    Ok(html! {
        section.run id={ "run-" (i) } data-run=(i) aria-labelledby={ "run-" (i) "-title" @if let Some(kernel) = kernel { " " (kernel) } } {
            details.whole open[open] {
                summary.run-head {
                    h2 id={ "run-" (i) "-title" } {
                        (words::title(s.test)) ", load " (s.load)
                        // What distinguishes it from other runs under this load.
                        @if let Some(more) = run.name.strip_prefix(&*s.load).filter(|m| !m.is_empty()) { span.count { (more) } }
                    }
                    (verdict_badge(s.verdict)) " " (clock_of(record))
                    @if s.interrupted { " " span class="badge doubtful" { "ended early" } }
                    @if let Some(max) = highest { span.glance { "max " (max) } }
                }
                (head(record, &s))
                (tiles(&first_figures(record, &s)?))
                @if all.is_none() { p.muted { "This record holds no figures." } }
                @for text in instrument::results(record) { p { (text) } }
                (charts(i, record, &s))
                (explained::section(i, record, explained))
                @let found = record.findings();
                @if !found.is_empty() { h3 { "Warnings" } (warnings(&found)) }
                (table(&sheets::record::distributions(&s)))
                @if let Some(all) = sheets::record::merged(&s) { (table(&sheets::record::percentiles(s.test, all))) }
                (facts_of(record))
                @if let Some(source) = &p.source {
                    (detail("Imported from", &html! {
                        p { (source.file) " (" (source.format) "), SHA-256 " (source.sha256) }
                    }))
                }
                p { button.download type="button" data-id=(s.id) hidden { "Download the record (JSON)" } }
            }
        }
    })
}

fn head(record: &Record, s: &Summary) -> Markup {
    let kernel = if s.kernel.is_empty() { "unknown" } else { s.kernel.as_str() };
    html! {
        p.muted {
            (s.id) " · " (words::space(record)) " · target " (s.target) " · kernel " (kernel) " " (s.preemption)
            " · started " (s.started) " · ran " (time(s.elapsed_ns as f64))
        }
        @if let Some(w) = &record.parts().witness { p.muted { "witnessed: " (w.in_words()) } }
    }
}

/// Whether the maximum is so far from the rest (10 times the p99) that a linear axis would hide the rest.
fn far_out(s: &Summary) -> bool {
    let all = s.merged.as_ref();
    let p99 = all.and_then(|a| a.percentile("p99")).and_then(|p| p.raw);
    p99.zip(all.and_then(|a| a.max)).is_some_and(|(p99, max)| max / p99.max(1) >= 10)
}

/// A chart of a record: its description, and its static picture.
struct Chart<'a> {
    kind: &'a str,
    log: bool,
    label: &'a str,
    help: &'a str,
    picture: String,
}

/// The static picture of a chart, and the element in which the script draws.
fn chart(record: usize, c: Chart<'_>) -> Markup {
    html! {
        figure.chart data-record=(record) data-chart=(c.kind) data-log=(c.log) {
            figcaption {
                h3 { (c.label) }
                span.help { (c.help) }
                span.buttons {
                    button.axis-kind type="button" { "Log axis" }
                    button.reset type="button" { "Reset zoom" }
                }
            }
            div.live role="group" aria-label={ (c.label) ", interactive" } {}
            div.static { (picture(c.picture)) }
        }
    }
}

fn charts(i: usize, record: &Record, s: &Summary) -> Markup {
    // Outliers would leave a picture with a linear axis almost empty: use a logarithmic axis then; a button switches.
    let log = far_out(s);
    let axis = if log { Axis::Log } else { Axis::Linear };
    let label = format!("{} histogram", words::samples(s.test));
    let histogram = Chart {
        kind: "latency",
        log,
        label: &label,
        help: "Drag to zoom, double click to reset, click a name to hide it.",
        picture: svg::latency(record, axis, Use::Page),
    };
    let percentiles = Chart {
        kind: "percentile",
        log: svg::percentile::is_log(record),
        label: "Percentiles",
        help: "Raw, and with the samples put back that an oversleeping task could not take.",
        picture: svg::percentile(record, Use::Page),
    };
    let worst = Chart {
        kind: "worst",
        log: false,
        label: "Worst samples over time",
        help: "Bursts and periods show here.",
        picture: svg::worst(record, Use::Page),
    };
    html! {
        (chart(i, histogram))
        div.pair { (chart(i, percentiles)) (chart(i, worst)) }
    }
}

fn detail(title: &str, body: &Markup) -> Markup {
    html! { details { summary { (title) } (body) } }
}

/// Details for reference: worst samples, the load's proof, instrument, settings, witness and system.
fn facts_of(record: &Record) -> Markup {
    let p = record.parts();
    let worst = match sheets::record::worst(record, usize::MAX) {
        Some(sheet) => table(&sheet),
        None => html! { p.muted { "No worst samples were kept." } },
    };
    let lists = [
        ("Instrument", instrument::facts(record)),
        ("Search", instrument::search(record)),
        ("Settings", settings_facts(record)),
        ("Witness", if p.witness.is_some() { witness_facts(record) } else { Vec::new() }),
        ("System", system_facts(record)),
    ];
    html! {
        (detail("Worst samples", &worst))
        @if p.load_proof.is_some() { (detail("Load proof", &load_proof(record))) }
        @for (title, known) in lists.iter().filter(|l| !l.1.is_empty()) { (detail(title, &facts(known))) }
    }
}

/// The most important figures.
fn first_figures(record: &Record, s: &Summary) -> Result<Vec<Tile>, ReportError> {
    let Some(all) = &s.merged else { return Ok(Vec::new()) };
    let show = |v: Option<f64>| v.map_or_else(|| "–".to_owned(), time);
    let whole = |v: Option<u64>| show(v.map(|v| v as f64));
    let highest = s.rows.iter().filter(|r| r.max == all.max && r.max.is_some()).map(|r| r.label.as_str()).next().unwrap_or("");
    let p999 = all.percentile("p99.9");
    let expected = all.expected.map_or_else(String::new, |e| format!("of {} expected", count(e)));
    let corrected = p999.and_then(|p| p.corrected.zip(all.corrected_basis)).map_or_else(
        || "not corrected".into(),
        |(c, basis)| if all.by_rule() { format!("{} {basis}", time(c as f64)) } else { format!("{basis} {}", time(c as f64)) },
    );
    let facts = record.parts().instrument.as_ref();
    let mut tiles: Vec<Tile> = Vec::new();
    if s.test == Test::Sustained {
        let interval = facts.and_then(|i| i.sustained).map(|i| i.0);
        let value = interval.map_or_else(|| "–".into(), |i| format!("{} Hz", words::hertz(i)));
        let every = interval.map_or_else(String::new, |i| format!("an edge every {}", time(i as f64)));
        tiles.push(Tile::new("Sustained", value, every));
    }
    if let Some(j) = words::signed(record)? {
        let signed = |ns: Option<i64>| {
            ns.map_or_else(|| "–".into(), |ns| format!("{}{}", if ns < 0 { "-" } else { "+" }, time(ns.unsigned_abs() as f64)))
        };
        #[allow(clippy::cast_possible_truncation)] // a mean of i64
        let mean = signed(j.mean.map(|m| m.round() as i64));
        let grid = facts.and_then(|i| i.grid);
        let drift = grid.map_or_else(String::new, |g| format!("drift {:+.3} ppm", g.drift_ppb as f64 / 1e3));
        tiles.extend([
            Tile::new("Latest", signed(j.max), "above zero: late"),
            Tile::new("Earliest", signed(j.min), "below zero: early"),
            Tile::new("Mean jitter", mean, format!("± {}", show(j.stddev))),
            Tile::new("Grid, last edge", signed(grid.map(|g| g.last)), drift),
        ]);
    } else {
        tiles.extend([
            Tile::new("Maximum", whole(all.max), highest),
            Tile::new("p99.9", whole(p999.and_then(|p| p.raw)), corrected),
            Tile::new("Mean", show(all.mean), format!("± {}", show(all.stddev))),
            Tile::new("Minimum", whole(all.min), ""),
        ]);
    }
    let [late, spurious] = words::troubles(s);
    let of_missed = match (all.missed, late) {
        (0, _) => String::new(),
        (_, 0) => "events without a sample".into(),
        (_, n) => format!("{} of them late", count(n)),
    };
    tiles.push(Tile::new("Samples", count(all.count), expected));
    tiles.push(Tile { doubtful: all.missed > 0, ..Tile::new("Missed", count(all.missed), of_missed) });
    if spurious > 0 {
        tiles.push(Tile { doubtful: true, ..Tile::new("Spurious", count(spurious), "edges that nobody asked for") });
    }
    Ok(tiles)
}

fn load_proof(record: &Record) -> Markup {
    let Some(proof) = &record.parts().load_proof else { return html! {} };
    let oom = proof.oom_kills.map_or_else(|| "OOM kills unknown".into(), |n| format!("OOM kills: {n}"));
    let course = proof.course.as_ref().map(load_course).filter(|c| !c.is_empty());
    html! {
        p {
            (proof.name) " ran " (time(proof.ran_ns as f64)) @if !proof.isolation.is_empty() { ", " (proof.isolation) }
            ", " (oom) @if let Some(course) = course { "; " (course) } "."
        }
        @for p in &proof.processes {
            @let (end, bad) = process_end(p);
            p {
                code { (crate::format::command(&p.command)) } " "
                span class={ "badge " (if bad { "bad" } else { "plain" }) } { (end) } " " (load_achieved(p))
            }
            @let left_out = load_left_out(p);
            @if !left_out.is_empty() { p { (left_out) } }
            @if !p.stderr.is_empty() { pre tabindex="0" { (p.stderr) } }
        }
    }
}
