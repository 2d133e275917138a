//! The page's section that compares stock kernels with PREEMPT_RT: the figures of each pair as a table, and a plot for
//! each load.

use super::parts::{Tile, clock_badge, finding, small, tiles};
use super::table::table;
use crate::format::{time, times};
use crate::sheets::lab::bands;
use crate::sheets::versus::{loads, seeds};
use crate::svg::{self, Use};
use maud::{Markup, html};
use rtscope_analysis::Versus;
use rtscope_analysis::reference::Beside;
use rtscope_analysis::versus::{KernelPair, Role};

/// Everything about `v`, with the maxima of `published` in its plots.
pub(super) fn versus(v: &Versus, published: &[Beside]) -> Markup {
    html! {
        section.versus id="versus" aria-labelledby="versus-title" {
            h2 id="versus-title" { "Stock against RT" }
            @for b in &v.blocks {
                (block(b, published))
                (super::comparison::replicates(&b.runs, ["stock", "RT"]))
            }
            @if let Some(sheet) = bands(&v.bands, "stock/RT of") { (table(&sheet)) }
            @for f in &v.findings { (finding(f)) }
            p.muted { "Note: " (v.note) "." }
        }
    }
}

fn block(b: &KernelPair, published: &[Beside]) -> Markup {
    let place = [b.machine.as_str(), b.arch.as_str()].into_iter().filter(|p| !p.is_empty());
    html! {
        div.run-head {
            h3 { "Linux " (b.series) @if !b.is_pair() { ", no partner" } }
            (clock_badge(&b.clock_words, b.virtual_machine))
        }
        ul.kernels {
            @for k in &b.kernels {
                li {
                    span class={ "swatch " (if k.role == Role::Stock { "stock" } else { "rt" }) } {}
                    strong { (k.role.as_str()) } " "
                    (if k.release.is_empty() { "unknown" } else { &k.release }) " " (k.preemption)
                }
            }
        }
        p.muted { @for part in place { (part) " · " } "timer latency, " (b.space) " space, in " (b.clock) " time" }
        (highest(b))
        (table(&loads(b)))
        @if b.is_pair() {
            p.muted { "Stock/RT above 1: RT is the better one. A dash: not measured, INVALID, or too few samples." }
        }
        @if let Some(sheet) = seeds(b) { (table(&sheet)) }
        div.multiples { @for l in &b.loads { figure { (small(svg::versus(b, l, published, Use::Page))) } } }
    }
}

/// The highest latencies over all loads.
fn highest(b: &KernelPair) -> Markup {
    let Some(o) = &b.overall else { return html! {} };
    tiles(&[
        Tile::new("Maximum, stock", time(o.stock_max as f64), format!("load {}, {} time", o.stock_load, b.clock)),
        Tile::new("Maximum, RT", time(o.rt_max as f64), format!("load {}, {} time", o.rt_load, b.clock)),
        Tile::new("Stock/RT", times(o.ratio), "of the highest maxima"),
    ])
}
