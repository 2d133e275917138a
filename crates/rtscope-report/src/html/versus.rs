//! The section of the page that sets stock kernels against PREEMPT_RT: the figures of each pair as a table, and a plot for each load.

use super::sections::banner_of;
use super::tables::table;
use crate::format::{escape, time, times};
use crate::sheets::lab::bands;
use crate::sheets::versus::{loads, seeds};
use crate::svg::{self, Use};
use rtscope_analysis::Versus;
use rtscope_analysis::versus::{Block, Role};
use std::fmt::Write as _;

/// Everything about `v`.
pub(super) fn versus(v: &Versus) -> String {
    let mut out = String::from(
        "<section id=\"versus\" class=\"versus\" aria-labelledby=\"versus-title\">\n<h2 id=\"versus-title\">Stock against RT</h2>\n",
    );
    for b in &v.blocks {
        out += &block(b);
    }
    out.extend(bands(&v.bands, "stock/RT of").map(|s| table(&s)));
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
    out += &table(&loads(b));
    if b.is_pair() {
        out +=
            "<p class=\"muted\">Stock/RT above 1: RT is the better one. A dash: not measured, INVALID, or too few samples.</p>\n";
    }
    out.extend(seeds(b).map(|s| table(&s)));
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
