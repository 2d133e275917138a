//! The section of the page that sets stock kernels against PREEMPT_RT: the figures of each pair as a table, and a plot for each load.

use super::sections::banner_of;
use super::tables::verdict_badge;
use crate::format::{NONE, count, escape, time, times, us_f64, us_opt};
use crate::svg::{self, Use};
use crate::table::{median_ratio, misses, range, short_clock, worst_verdict};
use rtscope_analysis::versus::{Block, Figures, LoadFigures, Ratios, Role};
use rtscope_analysis::{Band, Versus};
use rtscope_record::Verdict;
use std::fmt::Write as _;

/// Everything about `v`.
pub(super) fn versus(v: &Versus) -> String {
    let mut out = String::from(
        "<section id=\"versus\" class=\"versus\" aria-labelledby=\"versus-title\">\n<h2 id=\"versus-title\">Stock against RT</h2>\n",
    );
    for b in &v.blocks {
        out += &block(b);
    }
    out += &bands(&v.bands, "stock/RT");
    for f in &v.findings {
        out += &banner_of(f);
    }
    let _ = write!(out, "<p class=\"muted\">Note: {}.</p>\n</section>\n", escape(&v.note));
    out
}

/// Class of a kernel's colour, the same as in its plots.
fn class(role: Role) -> &'static str {
    if role == Role::Stock { "stock" } else { "rt" }
}

fn block(b: &Block) -> String {
    let clock = if b.virtual_machine { "doubtful" } else { "plain" };
    let what = if b.is_pair() { "" } else { ", no partner" };
    let mut out = format!(
        "<div class=\"run-head\"><h3>Linux {}{what}</h3><span class=\"badge {clock}\">clock: {}</span></div>\n<ul class=\"kernels\">\n",
        escape(&b.series),
        escape(&b.clock_words)
    );
    for k in &b.kernels {
        let release = if k.release.is_empty() { "unknown" } else { &k.release };
        let _ = writeln!(
            out,
            "<li><span class=\"swatch {}\"></span><strong>{}</strong> {} {}</li>",
            class(k.role),
            k.role.as_str(),
            escape(release),
            escape(&k.preemption)
        );
    }
    out += "</ul>\n";
    let place: Vec<String> = [b.machine.as_str(), b.arch.as_str()].into_iter().filter(|p| !p.is_empty()).map(escape).collect();
    let place = if place.is_empty() { String::new() } else { format!("{} · ", place.join(" · ")) };
    let _ = writeln!(out, "<p class=\"muted\">{place}timer latency, {} space, in {} time</p>", b.space, b.clock);
    out += &tiles(b);
    out += &table(b);
    if b.is_pair() {
        out +=
            "<p class=\"muted\">Stock/RT above 1: RT is the better one. A dash: not measured, INVALID, or too few samples.</p>\n";
    }
    out += &seeds(b);
    out += "<div class=\"multiples\">\n";
    for l in &b.loads {
        let _ = writeln!(out, "<figure>{}</figure>", svg::versus(b, l, Use::Page));
    }
    out + "</div>\n"
}

/// The highest latencies of all loads.
fn tiles(b: &Block) -> String {
    let Some(o) = &b.overall else { return String::new() };
    let mut out = String::from("<ul class=\"tiles\">\n");
    for (name, value, note) in [
        ("Maximum, stock", time(o.stock_max as f64), format!("load {}, {} time", o.stock_load, b.clock)),
        ("Maximum, RT", time(o.rt_max as f64), format!("load {}, {} time", o.rt_load, b.clock)),
        ("Stock/RT", times(o.ratio), "of the highest maxima".into()),
    ] {
        let _ = writeln!(
            out,
            "<li><span class=\"name\">{name}</span><span class=\"value\">{value}</span><span class=\"note\">{}</span></li>",
            escape(&note)
        );
    }
    out + "</ul>\n"
}

/// The maxima of the seeds, where a kernel has several.
fn seeds(b: &Block) -> String {
    let of = |f: &Option<Figures>| f.as_ref().and_then(|f| f.seeds);
    if !b.loads.iter().flat_map(|l| &l.figures).any(|f| of(f).is_some_and(|s| s.seeds > 1)) {
        return String::new();
    }
    let mut out = String::from(
        "<div class=\"scroll\"><table class=\"figures narrow\"><caption>Maxima over seeds, µs</caption><thead><tr><th scope=\"col\">Load</th>",
    );
    for k in &b.kernels {
        for head in ["seeds", "lowest", "median", "highest"] {
            let _ = write!(out, "<th scope=\"col\">{} {head}</th>", k.role.as_str());
        }
    }
    out += if b.is_pair() { "<th scope=\"col\">stock/RT of medians</th></tr></thead><tbody>\n" } else { "</tr></thead><tbody>\n" };
    for l in &b.loads {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", escape(&l.load));
        for s in l.figures.iter().map(of) {
            let number = s.map_or_else(|| NONE.into(), |s| s.seeds.to_string());
            let _ = write!(
                out,
                "<td>{number}</td><td>{}</td><td>{}</td><td class=\"strong\">{}</td>",
                us_opt(s.map(|s| s.lowest)),
                us_opt(s.map(|s| s.median)),
                us_opt(s.map(|s| s.highest))
            );
        }
        if b.is_pair() {
            let _ = write!(out, "<td>{}</td>", times(median_ratio(l.figures.iter().map(of), l.ratios.is_some())));
        }
        out += "</tr>\n";
    }
    out + "</tbody></table></div>\n"
}

/// Ratios over time models, and which conclusion flips.
pub(super) fn bands(bands: &[Band], what: &str) -> String {
    if bands.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "<div class=\"scroll\"><table class=\"figures narrow\"><caption>{what} over the time models</caption><thead><tr><th scope=\"col\">Load</th>\
         <th scope=\"col\">Of</th><th scope=\"col\">Each model</th><th scope=\"col\">Range</th></tr></thead><tbody>\n"
    );
    for b in bands {
        let of = if b.of.is_empty() { String::new() } else { format!("{} ", escape(&b.of)) };
        let each: Vec<String> = b.ratios.iter().map(|(model, r)| format!("{model}: {}", times(Some(*r)))).collect();
        let flips = if b.flips { " <span class=\"badge bad\">flips</span>" } else { "" };
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{of}{}</th><td>{}</td><td>{}</td><td class=\"strong\">{}{flips}</td></tr>",
            escape(&b.load),
            escape(&b.metric),
            each.join(", "),
            range(b)
        );
    }
    out + "</tbody></table></div>\n"
}

type Ratio = fn(&Ratios) -> Option<f64>;

fn table(b: &Block) -> String {
    let missed: Vec<bool> = (0..b.kernels.len()).map(|i| misses(b, i)).collect();
    let figures = |i: usize| ["Mean", "p99", "p99.9", "Max"].into_iter().chain(missed[i].then_some("Missed")).collect::<Vec<_>>();
    let ratios: &[(&str, Ratio)] =
        if b.is_pair() { &[("Mean", |r| r.mean), ("p99", |r| r.p99), ("p99.9", |r| r.p99_9), ("Max", |r| r.max)] } else { &[] };
    let mut out = format!(
        "<div class=\"scroll\"><table class=\"figures\"><caption>Latency in µs of {} time, by load</caption><thead><tr><th scope=\"col\" rowspan=\"2\">Load</th>",
        b.clock
    );
    for (i, k) in b.kernels.iter().enumerate() {
        let _ = write!(
            out,
            "<th scope=\"colgroup\" class=\"group\" colspan=\"{}\"><span class=\"swatch {}\"></span>{}</th>",
            figures(i).len(),
            class(k.role),
            k.role.as_str()
        );
    }
    if !ratios.is_empty() {
        let _ = write!(out, "<th scope=\"colgroup\" class=\"group\" colspan=\"{}\">stock/RT</th>", ratios.len());
    }
    out += "<th scope=\"col\" rowspan=\"2\" class=\"word\">Verdict</th><th scope=\"col\" rowspan=\"2\" class=\"word\">Clock</th></tr><tr>";
    let heads = (0..b.kernels.len()).map(figures).chain([ratios.iter().map(|r| r.0).collect()]);
    for heads in heads {
        for (i, head) in heads.into_iter().enumerate() {
            let first = if i == 0 { " class=\"first\"" } else { "" };
            let _ = write!(out, "<th scope=\"col\"{first}>{head}</th>");
        }
    }
    out += "</tr></thead><tbody>\n";
    for l in &b.loads {
        out += &row(b, l, &missed, ratios);
    }
    out + "</tbody></table></div>\n"
}

fn row(b: &Block, l: &LoadFigures, missed: &[bool], ratios: &[(&str, Ratio)]) -> String {
    let clock = short_clock(b);
    let mut out = format!("<tr><th scope=\"row\">{}</th>", escape(&l.load));
    for (f, &missed) in l.figures.iter().zip(missed) {
        let f = f.as_ref();
        let struck = if f.is_some_and(|f| f.verdict == Verdict::Invalid) { " invalid" } else { "" };
        let _ = write!(
            out,
            "<td class=\"first{struck}\">{}</td><td class=\"{struck}\">{}</td><td class=\"{struck}\">{}</td><td class=\"strong{struck}\">{}</td>",
            us_f64(f.and_then(|f| f.mean)),
            us_opt(f.and_then(|f| f.p99)),
            us_opt(f.and_then(|f| f.p99_9)),
            us_opt(f.and_then(|f| f.max)),
        );
        if missed {
            let _ = write!(out, "<td>{}</td>", f.map_or_else(|| NONE.into(), |f| count(f.missed)));
        }
    }
    for (i, (name, ratio)) in ratios.iter().enumerate() {
        let class = if i == 0 { "first" } else { "" };
        let value = l.ratios.as_ref().and_then(ratio);
        let text = times(value);
        let text = if *name == "Max" && value.is_some() { format!("<span class=\"ratio\">{text}</span>") } else { text };
        let _ = write!(out, "<td class=\"{class}\">{text}</td>");
    }
    let _ = writeln!(out, "<td class=\"word\">{}</td><td class=\"word\">{}</td></tr>", verdicts(b, l), escape(&clock));
    out
}

/// The worst verdict, and whose it is where the kernels disagree.
fn verdicts(b: &Block, l: &LoadFigures) -> String {
    let (worst, whose) = worst_verdict(b, l);
    if whose.is_empty() { verdict_badge(worst) } else { format!("{} ({})", verdict_badge(worst), whose.join(", ")) }
}
