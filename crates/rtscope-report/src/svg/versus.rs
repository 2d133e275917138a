//! Stock against PREEMPT_RT under one load, as in Dewit's Fig. 1: both histograms overlaid, samples on a logarithmic
//! axis.
//!
//! Source: Dewit et al., "PREEMPT_RT on a Raspberry Pi 5" (2024), Fig. 1, which shows them side by side. Here they share
//! a latency axis, logarithmic because a stock kernel's tail is ten to several hundred times as long. Published maxima,
//! where they are asked for, are dashed lines across.

use super::draw::{CHARACTER, Canvas, Key, Range, Size, lines, log_ticks};
use super::latency::{stair_path, steps};
use super::style::{Axis, Use};
use crate::format::{count, times, us, us_opt};
use crate::sheets::reference::marked;
use rtscope_analysis::reference::{Beside, Reference, plotted};
use rtscope_analysis::versus::{Figures, KernelPair, LoadFigures, Role};
use rtscope_record::Distribution;

/// Colour and dash of a published kernel, and its maximum in words.
fn published_key(r: &Reference) -> Key {
    let text = format!("{}: {} max {} µs", r.study, r.role(), marked(r.max, r.max_is));
    Key { class: format!("s{} d1", usize::from(!r.rt)), text }
}

/// Colour of a kernel: blue or orange, which can be told apart with any kind of colour vision.
fn colour(role: Role) -> usize {
    usize::from(role == Role::Stock)
}

/// Lowest and highest latency (ns) and highest count of a bin over all loads of a block, so that its plots share their
/// axes.
fn extent(b: &KernelPair, published: &[Beside]) -> Option<(Range, Range)> {
    let all = || b.loads.iter().flat_map(|l| &l.figures).flatten().filter_map(|f| f.all.as_ref());
    let low = all().filter_map(Distribution::min).min()?.max(1) as f64;
    let of_others = b.loads.iter().flat_map(|l| plotted(published, b.space, &l.load)).filter_map(|r| r.max);
    let high = all().filter_map(Distribution::max).chain(of_others).max()?.max(1) as f64;
    let most = all().flat_map(|d| steps(d, Axis::Log, 1)).map(|s| s.2).max().unwrap_or(1);
    let x = Range { low: low / 1.2, high: (high * 1.2).max(low * 10.0), log: true };
    Some((x, Range { low: 0.8, high: (most as f64 * 1.6).max(8.0), log: true }))
}

/// The histograms of a block's kernels under one load, on the axes shared by all loads, with the maxima of `published` that a paper
/// plots so.
pub fn versus(b: &KernelPair, l: &LoadFigures, published: &[Beside], usage: Use) -> String {
    let size = if usage == Use::File { Size::ALONE } else { Size::SMALL };
    let (x, y) = extent(b, published)
        .unwrap_or((Range { low: 1_000.0, high: 100_000.0, log: true }, Range { low: 0.8, high: 8.0, log: true }));
    let of = |l| shown(b, l);
    let shown = of(l);
    let keys: Vec<Key> = shown
        .iter()
        .map(|(role, f)| Key { class: format!("s{}", colour(*role)), text: format!("{} max {} µs", role.as_str(), us_opt(f.max)) })
        .chain(plotted(published, b.space, &l.load).map(published_key))
        .collect();
    let mut title = format!("Load {}", l.load);
    let sub_lines = |l| lines(&[subtitle(l, &of(l))], size.longest(CHARACTER));
    // The same number of lines in every plot of a block, so that the axes are at the same height.
    let tallest = b.loads.iter().map(|l| sub_lines(l).len()).max().unwrap_or(1);
    let mut sub = sub_lines(l);
    sub.resize(tallest.max(sub.len()), String::new());
    if usage == Use::File {
        // A plot that stands alone must state what a page shows above it.
        title = format!("Timer latency, stock against RT, load {}", l.load);
        let kernels: Vec<&str> = b.kernels.iter().map(|k| k.label.as_str()).collect();
        sub.insert(0, format!("{} · {} · {} space · clock: {}", kernels.join(", "), b.arch, b.space, b.clock_words));
    }
    let mut c = Canvas::open_sized(size, usage, [&title, &alternative(b, l, published)], &sub, &keys, x, y);
    c.axes(
        &log_ticks(x.low, x.high, 1e3),
        &format!("Latency (µs of {} time), logarithmic", b.clock),
        &log_ticks(y.low, y.high, 1.0),
        "Samples",
    );
    let mut drawn = false;
    for (role, f) in &shown {
        let Some(d) = f.all.as_ref().filter(|d| d.histogram().total() > 0) else { continue };
        let i = colour(*role);
        let path = stair_path(&steps(d, Axis::Log, 1), [&c.x, &c.y], y.low);
        c.path(&format!("area f{i} s{i}"), &path, &format!("{}, {} samples", role.as_str(), count(d.count())));
        drawn = true;
    }
    for (role, max) in shown.iter().filter_map(|(role, f)| Some((*role, f.max?))) {
        c.end(colour(role), max as f64, &format!("{} max {} µs", role.as_str(), us(max as f64)));
    }
    for r in plotted(published, b.space, &l.load) {
        let key = published_key(r);
        c.across(&key.class, r.max.unwrap_or_default() as f64, &key.text);
    }
    if !drawn {
        c.nothing("no samples");
    }
    c.close()
}

/// The kernels of a block that were measured under a load.
fn shown<'a>(b: &KernelPair, l: &'a LoadFigures) -> Vec<(Role, &'a Figures)> {
    b.kernels.iter().zip(&l.figures).filter_map(|(k, f)| Some((k.role, f.as_ref()?))).collect()
}

fn subtitle(l: &LoadFigures, shown: &[(Role, &Figures)]) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let Some(r) = &l.ratios {
        parts.push(format!("max stock/RT {}", times(r.max)));
    }
    for (role, f) in shown {
        if !f.verdict.passes_strict() {
            parts.push(format!("{} {}", role.as_str(), f.verdict));
        }
        if f.missed > 0 {
            parts.push(format!("{} missed {}", role.as_str(), count(f.missed)));
        }
    }
    let counts: Vec<String> = shown.iter().map(|(_, f)| count(f.count)).collect();
    let same = counts.windows(2).all(|w| w[0] == w[1]) && shown.len() > 1;
    parts.push(if same { format!("{} samples each", counts[0]) } else { format!("{} samples", counts.join("/")) });
    parts.join(" · ")
}

/// The picture in words.
fn alternative(b: &KernelPair, l: &LoadFigures, published: &[Beside]) -> String {
    let mut text = format!("Timer latency under load {}, {} time.", l.load, b.clock);
    for (k, f) in b.kernels.iter().zip(&l.figures) {
        text += &match f {
            None => format!(" {}: not measured.", k.label),
            Some(f) => {
                let mean = f.mean.map_or_else(|| "unknown".into(), us);
                format!(" {}: mean {mean} µs, p99.9 {} µs, maximum {} µs, {}.", k.label, us_opt(f.p99_9), us_opt(f.max), f.verdict)
            }
        };
    }
    for r in plotted(published, b.space, &l.load) {
        text += &format!(" Published: {}.", published_key(r).text);
    }
    text
}
