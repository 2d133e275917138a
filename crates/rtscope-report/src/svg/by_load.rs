//! A histogram for each load below the last, on one axis, with a paper's mean and maximum marked in each.
//!
//! Source: Vinh & Chau, "Evaluation of Real Time Performance of Embedded Linux", Figs. 7 to 11. They give each load an axis of its
//! own; here all share one, which is logarithmic, since loads differ by orders of magnitude. Where samples have a sign it goes on
//! below zero, and is linear between -1 and 1 us: that is the resolution of their instrument.

use super::draw::{CHARACTER, Canvas, Range, Scale, Size, WIDTH, lines};
use super::latency::stair_path;
use super::style::{COLOURS, Use};
use crate::format::{count, cut, escape, short};
use crate::sheets::reference::marked;
use crate::words::{mean, signed_us};
use rtscope_analysis::papers::{LoadHistogram, LoadSamples, PaperFigure};
use rtscope_record::{Distribution, Test};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Where the panels begin, and room for the values beside them, in user units.
const LEFT: f64 = 150.0;
const VALUES: f64 = 270.0;
/// Most characters of a load's name, and of the values.
const NAME: usize = 16;
const LONGEST: usize = 46;
/// Height of a panel, and the gap to the next.
const PANEL: f64 = 54.0;
const GAP: f64 = 16.0;
/// The axis is linear up to this on either side of zero, ns; beyond, each decade is as wide as that.
const LINEAR: f64 = 1_000.0;
/// Bins in a decade.
const PER_DECADE: f64 = 20.0;

/// A time (ns) as a position on the axis: 0 is 0, 1 is 1 us, 2 is 10 us, -2 is -10 us.
fn place(ns: f64) -> f64 {
    let size = ns.abs() / LINEAR;
    ns.signum() * if size <= 1.0 { size } else { 1.0 + size.log10() }
}

/// What stands at a whole position of the axis, in us.
fn tick(at: i32) -> String {
    let sign = if at < 0 { "-" } else { "" };
    match at.abs() {
        0 => "0".into(),
        n => format!("{sign}{}", short(10f64.powi(n - 1))),
    }
}

/// (from, to, samples) of each bin that is not empty, as positions on the axis.
fn steps(own: &LoadSamples) -> Vec<(f64, f64, u64)> {
    let mut bins: BTreeMap<i64, u64> = BTreeMap::new();
    for (d, sign) in [(&own.early, -1.0), (&own.late, 1.0)] {
        for (low, high, n) in d.iter().flat_map(|d| d.histogram().iter()) {
            #[allow(clippy::cast_possible_truncation)] // some hundred
            let bin = (place(sign * f64::midpoint(low as f64, high as f64)) * PER_DECADE).floor() as i64;
            *bins.entry(bin).or_default() += n;
        }
    }
    bins.into_iter().map(|(bin, n)| (bin as f64 / PER_DECADE, (bin + 1) as f64 / PER_DECADE, n)).collect()
}

/// First and last whole position of the axis, which holds all samples and published values.
fn extent(f: &PaperFigure) -> [i32; 2] {
    let of = |l: &LoadHistogram| {
        let own = l.own.iter().flat_map(|o| [o.pooled.min, o.pooled.max]).flatten().map(|v| v as f64);
        let theirs = l.published.iter().flat_map(|p| [p.avg, p.max]).flatten().map(|v| v as f64);
        own.chain(theirs).map(place).collect::<Vec<_>>()
    };
    let all: Vec<f64> = f.loads.iter().flat_map(of).collect();
    let [low, high] = [f64::min, f64::max].map(|pick| all.iter().copied().reduce(pick).unwrap_or(0.0));
    #[allow(clippy::cast_possible_truncation)] // some twenty at most
    let [low, high] = [low.floor() as i32, high.ceil() as i32];
    let low = if f.signed { low.min(-1) } else { low.max(0) };
    [low, high.max(low + 1)]
}

/// What the values of a figure are: jitter with its sign, or latency.
fn kind(f: &PaperFigure) -> Test {
    if f.signed { Test::Periodic } else { Test::Response }
}

/// The figure `f`. Without runs it has just the published values, and says so.
pub fn by_load(f: &PaperFigure, usage: Use) -> String {
    let title = format!("{} Fig. {}: {}", f.paper, f.number, f.what);
    let sub = lines(&subtitle(f), Size::ALONE.longest(CHARACTER));
    let top = 50.0 + sub.len() as f64 * 17.0;
    let bottom = top + f.loads.len() as f64 * (PANEL + GAP) - GAP;
    let mut out = Canvas::head(Size::ALONE, usage, [&title, &alternative(f, &title)], &sub, bottom + 44.0);
    let [low, high] = extent(f);
    let x = Scale::new(Range { low: f64::from(low), high: f64::from(high), log: false }, LEFT, WIDTH - VALUES);
    let stairs: Vec<_> = f.loads.iter().map(|l| l.own.as_ref().map(steps)).collect();
    let most = stairs.iter().flatten().flatten().map(|s| s.2).max().unwrap_or(1);
    let up = Range { low: 0.8, high: (most as f64 * 1.6).max(8.0), log: true };
    for at in low..=high {
        let px = x.at(f64::from(at));
        let class = if at == 0 && f.signed { "axis" } else { "grid" };
        let _ = writeln!(out, "<path class=\"{class}\" d=\"M{px:.1} {:.1}V{bottom:.1}\"/>", top - 8.0);
        text_at(&mut out, ("tick", "middle"), [px, bottom + 17.0], &tick(at));
    }
    let axis = if f.signed { "Jitter (µs), early below zero; logarithmic beyond ±1 µs" } else { "Latency (µs), logarithmic" };
    text_at(&mut out, ("label", "middle"), [f64::midpoint(LEFT, WIDTH - VALUES), bottom + 35.0], axis);
    for (i, (load, stairs)) in f.loads.iter().zip(&stairs).enumerate() {
        let at = top + i as f64 * (PANEL + GAP);
        let panel = Panel { number: i, load, stairs: stairs.as_deref(), top: at, x, up };
        panel.draw(&mut out);
        panel.values(&mut out, kind(f));
    }
    out.push_str("</svg>\n");
    out
}

fn subtitle(f: &PaperFigure) -> Vec<String> {
    let runs = if f.of.is_empty() {
        "none of the runs that count is of this figure · only the published values are drawn".to_owned()
    } else {
        f.of.join(" · ")
    };
    let signs = if f.signed { " · the paper's have no sign, and are drawn as late" } else { "" };
    let marks =
        format!("areas: samples (logarithmic), both edges and all runs together · dashed: the paper's mean and maximum{signs}");
    [runs, f.instead.clone(), marks].into_iter().filter(|line| !line.is_empty()).collect()
}

/// The picture in words.
fn alternative(f: &PaperFigure, title: &str) -> String {
    let of = |l: &LoadHistogram| format!(" Load {}: {}; {}.", l.load, own(l, kind(f)), published(l));
    format!("{title}.{}", f.loads.iter().map(of).collect::<String>())
}

fn own(l: &LoadHistogram, test: Test) -> String {
    let Some(p) = l.own.as_ref().map(|o| &o.pooled) else { return "yours: no runs".into() };
    let [min, max] = [p.min, p.max].map(|v| signed_us(test, v));
    // The worst of a jitter may be early.
    let range = if test == Test::Periodic { format!("{min} to {max}") } else { format!("max {max}") };
    format!("yours: mean {}, {range} µs", mean(test, p.mean))
}

fn published(l: &LoadHistogram) -> String {
    l.published.as_ref().map_or_else(
        || "paper: nothing".into(),
        |p| format!("paper: mean {}, max {} µs", marked(p.avg, p.avg_is), marked(p.max, p.max_is)),
    )
}

/// A load's part of the picture.
struct Panel<'a> {
    number: usize,
    load: &'a LoadHistogram,
    stairs: Option<&'a [(f64, f64, u64)]>,
    top: f64,
    x: Scale,
    /// Of samples.
    up: Range,
}

impl Panel<'_> {
    fn draw(&self, out: &mut String) {
        let (from, to, bottom) = (LEFT, WIDTH - VALUES, self.top + PANEL);
        let up = Scale::new(self.up, bottom, self.top);
        let decades: Vec<f64> = (0..20).map(|e| 10f64.powi(e)).take_while(|v| *v <= self.up.high).collect();
        for v in decades.iter().step_by(decades.len().div_ceil(3)) {
            let y = up.at(*v);
            let _ = writeln!(out, "<path class=\"grid\" d=\"M{from:.1} {y:.1}H{to:.1}\"/>");
            text_at(out, ("tick small", "end"), [from - 6.0, y + 4.0], &short(*v));
        }
        if let Some(stairs) = self.stairs {
            let path = stair_path(stairs, [&self.x, &up], self.up.low);
            let (colour, name) = (self.number % COLOURS, escape(&format!("load {}", self.load.load)));
            let _ = writeln!(out, "<path class=\"line area f{colour} s{colour}\" d=\"{path}\"><title>{name}</title></path>");
        } else {
            text_at(out, ("sub", "middle"), [f64::midpoint(from, to), bottom - PANEL / 2.0], "no runs");
        }
        let _ = writeln!(out, "<path class=\"axis\" d=\"M{from:.1} {bottom:.1}H{to:.1}\"/>");
        let Some(p) = &self.load.published else { return };
        // The words stand on either side of the two lines, which may be near each other; the first load's are enough.
        for (value, is, what, anchor, dx) in [(p.avg, p.avg_is, "mean", "end", -4.0), (p.max, p.max_is, "max", "start", 4.0)] {
            let Some(ns) = value else { continue };
            let (x, title) = (self.x.at(place(ns as f64)), escape(&format!("paper, {}: {what} {} µs", p.load, marked(value, is))));
            let _ = writeln!(out, "<path class=\"mark\" d=\"M{x:.1} {:.1}V{bottom:.1}\"><title>{title}</title></path>", self.top);
            if self.number == 0 {
                text_at(out, ("marked small", anchor), [x + dx, self.top + 9.0], what);
            }
        }
    }

    /// The load's name on the left; one's own values and the paper's on the right.
    fn values(&self, out: &mut String, test: Test) {
        let middle = self.top + PANEL / 2.0;
        text_at(out, ("group", "start"), [12.0, middle - 2.0], &cut(&self.load.load, NAME));
        let pooled = self.load.own.as_ref().map(|o| &o.pooled);
        if let Some(p) = pooled {
            text_at(out, ("sub small", "start"), [12.0, middle + 14.0], p.verdict.as_str());
        }
        let beyond = self
            .load
            .own
            .iter()
            .flat_map(|o| [&o.early, &o.late])
            .flatten()
            .map(Distribution::overflow)
            .fold(0, u64::saturating_add);
        let counted = |n: u64, what: &str| if n > 0 { format!(", {} {what}", count(n)) } else { String::new() };
        let samples = pooled.map_or_else(String::new, |p| {
            let all = format!("{} samples of {} run{}", count(p.samples), p.runs, if p.runs == 1 { "" } else { "s" });
            format!("{all}{}{}", counted(p.missed, "missed"), counted(beyond, "not drawn"))
        });
        let texts = [("", own(self.load, test)), ("sub", samples), ("sub", published(self.load))];
        for ((class, text), dy) in texts.iter().filter(|t| !t.1.is_empty()).zip([-12.0, 4.0, 20.0]) {
            text_at(out, (&format!("{class} small"), "start"), [WIDTH - VALUES + 10.0, middle + dy], &cut(text, LONGEST));
        }
    }
}

fn text_at(out: &mut String, (class, anchor): (&str, &str), [x, y]: [f64; 2], text: &str) {
    let text = escape(text);
    let _ = writeln!(out, "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_is_left_of_zero_and_a_decade_as_wide_everywhere() {
        let x = Scale::new(Range { low: -2.0, high: 3.0, log: false }, 100.0, 600.0);
        let at = |us: f64| x.at(place(us * 1e3));
        assert!(at(-3.0) < at(-0.5) && at(-0.5) < at(0.0) && at(0.0) < at(0.5) && at(0.5) < at(3.0));
        assert!((at(0.0) - 300.0).abs() < 1e-9 && (at(-3.0) + at(3.0) - 600.0).abs() < 1e-9, "as far on either side");
        let widths = [at(1.0) - at(0.0), at(10.0) - at(1.0), at(100.0) - at(10.0), at(-1.0) - at(-10.0)];
        assert!(widths.iter().all(|w| (w - 100.0).abs() < 1e-9), "{widths:?}");
        assert_eq!([-3, -1, 0, 1, 2, 5].map(tick), ["-100", "-1", "0", "1", "10", "10k"]);
    }
}
