//! Response latencies next to each other: ranges in user and kernel space, and the worst cases of stock and PREEMPT_RT
//! kernels.
//!
//! Source: Adam 2021, Figures 7 and 8, which have one bar for both edges; here each edge has its own.

use super::draw::{CHARACTER, Canvas, Size, WIDTH, linear_ticks, lines, log_ticks};
use super::style::Use;
use crate::format::{cut, escape, time, us};
use crate::words::space_name;
use rtscope_analysis::LineTests;
use rtscope_analysis::line_tests::{EdgeFigures, Group};
use rtscope_analysis::versus::Role;
use rtscope_record::Test;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Least and greatest room for names, most characters of a name, and room for the values; in user units.
const LABEL: [f64; 2] = [150.0, 320.0];
const LONGEST: usize = 42;
const VALUES: f64 = 230.0;
/// Height of an edge's bar, and gap between two groups.
const BAR: f64 = 13.0;
const GAP: f64 = 12.0;
/// The axis is logarithmic where the highest latency shown is more than this many times the lowest.
const FAR: f64 = 30.0;

/// Figure 7: every kernel and space of the response tests of `a`, from minimum to maximum; `None` without samples.
pub fn response_ranges(a: &LineTests, usage: Use) -> Option<String> {
    draw(&groups(a), usage, false)
}

/// Figure 8: the worst cases, with PREEMPT_RT and stock kernels next to each other; `None` without samples.
pub fn response_worst(a: &LineTests, usage: Use) -> Option<String> {
    let mut all = groups(a);
    // Group the kernels by space, whatever machine they ran on.
    all.sort_by_key(|g| g.space);
    draw(&all, usage, true)
}

fn groups(a: &LineTests) -> Vec<&Group> {
    a.groups.iter().filter(|g| g.test == Test::Response && g.both.samples > 0).collect()
}

/// Colour of a kernel, as in the plots of stock against RT.
fn colour(role: Role) -> usize {
    match role {
        Role::Rt => 0,
        Role::Stock => 1,
        Role::Unknown => 7,
    }
}

/// The name of each group: kernel and space, and whatever else distinguishes the groups.
fn names(groups: &[&Group]) -> Vec<[String; 2]> {
    let differ = |f: &dyn Fn(&Group) -> String| groups.iter().map(|g| f(g)).collect::<BTreeSet<_>>().len() > 1;
    let machines = differ(&|g| g.machine.clone());
    let loads = differ(&|g| g.load.clone());
    let clocks = differ(&|g| g.clock_words.clone());
    let name = |g: &&Group| {
        let mut more = vec![space_name(g)];
        more.extend(loads.then(|| format!("load {}", g.load)));
        more.extend(clocks.then(|| g.clock_words.clone()));
        more.extend(machines.then(|| g.machine.clone()));
        [g.kernel.label.clone(), more.join(" · ")]
    };
    groups.iter().map(name).collect()
}

struct Scale {
    left: f64,
    low: f64,
    high: f64,
    log: bool,
}

impl Scale {
    fn at(&self, v: f64) -> f64 {
        let share = if self.log {
            (v.max(self.low).log10() - self.low.log10()) / (self.high.log10() - self.low.log10())
        } else {
            (v - self.low) / (self.high - self.low)
        };
        self.left + share.clamp(0.0, 1.0) * (WIDTH - self.left - VALUES)
    }

    fn ticks(&self) -> Vec<(f64, String)> {
        if self.log { log_ticks(self.low, self.high, 1e3) } else { linear_ticks(self.high, 1e3, 7.0) }
    }
}

fn edges(g: &Group) -> impl Iterator<Item = &EdgeFigures> {
    g.edges.iter().filter(|e| e.samples > 0)
}

fn draw(groups: &[&Group], usage: Use, worst: bool) -> Option<String> {
    let ns = |v: Option<i64>| v.map(|v| v as f64);
    let shortest = groups.iter().flat_map(|g| edges(g)).filter_map(|e| ns(if worst { e.max } else { e.min })).reduce(f64::min)?;
    let longest = groups.iter().filter_map(|g| ns(g.both.max)).reduce(f64::max)?.max(1.0);
    let log = longest / shortest.max(1.0) > FAR;
    let names = names(groups);
    let widest = names.iter().flatten().map(|n| n.chars().count()).max().unwrap_or(0).min(LONGEST);
    let left = (widest as f64 * CHARACTER + 24.0).clamp(LABEL[0], LABEL[1]);
    let scale = if log {
        Scale { left, low: shortest.max(1.0) / 1.5, high: longest * 1.15, log }
    } else {
        Scale { left, low: 0.0, high: longest * 1.05, log }
    };
    let height_of = |g: &Group| edges(g).count().max(2) as f64 * BAR + GAP;
    let title = if worst { "Worst-case response latency, PREEMPT_RT and stock" } else { "Response latency: minimum to maximum" };
    let clocks: BTreeSet<&str> = groups.iter().map(|g| g.clock_words.as_str()).collect();
    let loads: BTreeSet<&str> = groups.iter().map(|g| g.load.as_str()).collect();
    let what = if worst { "bar: up to the maximum" } else { "bar: minimum to maximum · tick: mean" };
    let list = |all: BTreeSet<&str>| all.into_iter().collect::<Vec<_>>().join(", ");
    let sub = lines(
        &[
            format!("{what} · upper bar of a pair: rising edge, lower: falling"),
            format!("blue: PREEMPT_RT · orange: stock · load: {} · clock: {}", list(loads), list(clocks)),
        ],
        Size::ALONE.longest(CHARACTER),
    );
    let top = 50.0 + sub.len() as f64 * 17.0;
    let bottom = top + groups.iter().map(|g| height_of(g)).sum::<f64>();
    let words = groups.iter().zip(&names).map(|(g, [kernel, more])| {
        let of = |v: Option<i64>| ns(v).map_or_else(|| "unknown".into(), us);
        format!(" {kernel}, {more}: {} to {} µs, {}.", of(g.both.min), of(g.both.max), g.verdict)
    });
    let alternative = format!("{title}.{}", words.collect::<String>());
    let mut out = Canvas::head(Size::ALONE, usage, [title, &alternative], &sub, bottom + 44.0);
    for (v, text) in scale.ticks() {
        let x = scale.at(v);
        let _ = writeln!(out, "<path class=\"grid\" d=\"M{x:.1} {:.1}V{bottom:.1}\"/>", top - 8.0);
        let _ = writeln!(out, "<text class=\"tick\" text-anchor=\"middle\" x=\"{x:.1}\" y=\"{:.1}\">{text}</text>", bottom + 17.0);
    }
    let axis = if log { "Latency (µs), logarithmic" } else { "Latency (µs)" };
    let _ = writeln!(
        out,
        "<text class=\"label\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{axis}</text>",
        f64::midpoint(scale.left, WIDTH - VALUES),
        bottom + 35.0
    );
    let mut y = top;
    for (g, name) in groups.iter().zip(&names) {
        row(&mut out, g, name, y, &scale, worst);
        y += height_of(g);
    }
    out.push_str("</svg>\n");
    Some(out)
}

fn row(out: &mut String, g: &Group, [kernel, more]: &[String; 2], mut y: f64, scale: &Scale, worst: bool) {
    for (text, class, dy) in [(kernel, "", 10.0), (more, "sub", 24.0)] {
        let _ = writeln!(
            out,
            "<text class=\"{class}\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            scale.left - 12.0,
            y + dy,
            escape(&cut(text, LONGEST))
        );
    }
    let colour = colour(g.kernel.role);
    for (i, e) in edges(g).enumerate() {
        let (min, max) = (e.min.unwrap_or(0) as f64, e.max.unwrap_or(0) as f64);
        let from = if worst { scale.low } else { min };
        let (x1, x2) = (scale.at(from), scale.at(max));
        let class = if e.edge == "falling" { "fall" } else { "rise" };
        let _ = writeln!(
            out,
            "<rect class=\"{class} f{colour}\" x=\"{x1:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\"><title>{}</title></rect>",
            y + 1.0,
            (x2 - x1).max(2.0),
            BAR - 2.0,
            escape(&format!("{kernel}, {more}, {}: {} to {} µs", e.edge, us(min), us(max)))
        );
        if let Some(mean) = e.mean.filter(|_| !worst) {
            let _ = writeln!(out, "<path class=\"line bold all\" d=\"M{:.1} {:.1}v{:.1}\"/>", scale.at(mean), y + 1.0, BAR - 2.0);
        }
        let verdict = if g.verdict.passes_strict() { "" } else { g.verdict.as_str() };
        let shown = if worst { time(max) } else { format!("{} to {}", time(min), time(max)) };
        let _ = writeln!(
            out,
            "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{shown} {}</text>",
            x2 + 6.0,
            y + BAR - 3.0,
            if i == 0 { verdict } else { "" }
        );
        y += BAR;
    }
}
