//! Forest plot: for each load and figure the ratio of two sides with its interval, over the noise of the first side; and the maximum of
//! each run as points.

use super::draw::{CHARACTER, Canvas, Size, WIDTH, characters, lines, log_ticks};
use super::style::Use;
use crate::format::{clean, cut, escape, us};
use crate::sheets::replicates::{amount, metric, word};
use rtscope_analysis::replicates::{LoadRuns, Scale, Word};
use std::fmt::Write as _;

/// Room for the names and for the words, in user units.
const LEFT: f64 = 190.0;
const WORDS: f64 = 272.0;
/// Margins beside a text, in user units.
const MARGINS: f64 = 24.0;
const ROW: f64 = 24.0;
/// An interval that goes further than this is cut, so that the others can be seen.
const FURTHEST: f64 = 1e3;

/// The plot; `None` where no row has an interval of a ratio.
pub fn forest(all: &[LoadRuns], [a, b]: [&str; 2], usage: Use) -> Option<String> {
    let ratios = || {
        let rows = all.iter().flat_map(|l| l.rows.iter().map(move |r| (l, r)));
        rows.filter(|(_, r)| r.difference.scale == Scale::Ratio && r.difference.interval.is_some())
    };
    ratios().next()?;
    let ends = ratios().flat_map(|(_, r)| r.difference.interval.into_iter().chain(r.difference.noise).flatten());
    let (low, high) = ends
        .filter(|v| v.is_finite() && *v > 0.0)
        .fold((0.8f64, 1.25f64), |(l, h), v| (l.min(v.max(1.0 / FURTHEST)), h.max(v.min(FURTHEST))));
    let (low, high) = (low / 1.15, high * 1.15);
    let sub = format!(
        "dot: {b} over {a}, of whole runs · line: interval, all hold together at 95 % · shaded: {a} against itself · left of 1: {b} is lower, which is better"
    );
    let sub = lines(&[sub], Size::ALONE.longest(CHARACTER));
    let top = 44.0 + sub.len() as f64 * 17.0;
    let heads: usize = all.iter().filter(|l| ratios().any(|(of, _)| std::ptr::eq(of, *l))).count();
    let bottom = top + (ratios().count() + heads) as f64 * ROW + 8.0;
    let title = format!("{b} against {a}, whole runs");
    let told: Vec<String> =
        ratios().map(|(l, r)| format!("{} {}: {}", clean(&l.load), metric(l, r), word(r.difference.word))).collect();
    let mut out = Canvas::head(Size::ALONE, usage, [&title, &format!("{title}. {}.", told.join(", "))], &sub, bottom + 44.0);
    let at = |v: f64| LEFT + (v.clamp(low, high).ln() - low.ln()) / (high.ln() - low.ln()) * (WIDTH - LEFT - WORDS);
    axis(&mut out, &log_ticks(low, high, 1.0), &at, [top, bottom], (WORDS, &format!("{b} over {a}, logarithmic")));
    let _ = writeln!(out, "<path class=\"mark\" d=\"M{0:.1} {1:.1}V{bottom:.1}\"/>", at(1.0), top - 4.0);
    let (mut y, mut last) = (top, None);
    for (l, r) in ratios() {
        if last != Some(std::ptr::from_ref(l)) {
            y += ROW;
            let model = l.model.map_or_else(String::new, |m| format!(", model {m}"));
            head(&mut out, y, &l.load, &format!("{model} ({} and {} runs)", l.runs[0], l.runs[1]));
            last = Some(std::ptr::from_ref(l));
        }
        y += ROW;
        let (d, line) = (&r.difference, y - 10.0);
        if let Some([from, to]) = d.noise {
            let (x1, x2) = (at(from), at(to));
            let width = (x2 - x1).max(1.0);
            let _ =
                writeln!(out, "<rect class=\"bar f7\" x=\"{x1:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"16\"/>", line - 8.0);
        }
        let colour = match d.word {
            Word::Better => 2,
            Word::Worse => 1,
            Word::NoDifference | Word::TooFew { .. } => 0,
        };
        let told = d.interval.map_or_else(String::new, |[from, to]| {
            let (x1, x2) = (at(from), at(to));
            let _ = writeln!(out, "<path class=\"line bold s{colour}\" d=\"M{x1:.1} {line:.1}H{x2:.1}\"/>");
            format!(" ({} to {})", amount(d.scale, from), amount(d.scale, to))
        });
        let name = metric(l, r);
        let _ = writeln!(
            out,
            "<circle class=\"dot f{colour}\" cx=\"{:.1}\" cy=\"{line:.1}\" r=\"4.2\"><title>{}</title></circle>",
            at(d.estimate),
            escape(&format!("{name}: {}{told}", amount(d.scale, d.estimate)))
        );
        let _ =
            writeln!(out, "<text text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>", LEFT - 12.0, line + 4.0, escape(&name));
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\">{} <tspan class=\"sub\">{}</tspan></text>",
            WIDTH - WORDS + 12.0,
            line + 4.0,
            amount(d.scale, d.estimate),
            word(d.word)
        );
    }
    out.push_str("</svg>\n");
    Some(out)
}

/// The line above a load's rows: its name, cut where it has no room, and what follows it.
fn head(out: &mut String, y: f64, load: &str, rest: &str) {
    let whole = format!("load {}{rest}", clean(load));
    let name = cut(&clean(load), characters(WIDTH - MARGINS).saturating_sub(5 + rest.chars().count()));
    let shown = format!("load {name}{rest}");
    let y = y - 6.0;
    let _ = writeln!(out, "<text class=\"group\" x=\"12\" y=\"{y:.1}\">{}<title>{}</title></text>", escape(&shown), escape(&whole));
}

/// Grid lines with their numbers below, and the label; `right`: room right of the axis.
fn axis(out: &mut String, ticks: &[(f64, String)], at: &dyn Fn(f64) -> f64, [top, bottom]: [f64; 2], (right, label): (f64, &str)) {
    for (v, text) in ticks {
        let x = at(*v);
        let _ = writeln!(out, "<path class=\"grid\" d=\"M{x:.1} {:.1}V{bottom:.1}\"/>", top - 4.0);
        let _ = writeln!(out, "<text class=\"tick\" text-anchor=\"middle\" x=\"{x:.1}\" y=\"{:.1}\">{text}</text>", bottom + 17.0);
    }
    let (middle, y) = (f64::midpoint(LEFT, WIDTH - right), bottom + 35.0);
    let _ = writeln!(out, "<text class=\"label\" text-anchor=\"middle\" x=\"{middle:.1}\" y=\"{y:.1}\">{}</text>", escape(label));
}

/// The maximum of each run of both sides, load by load; `None` where no side has two.
pub fn run_maxima(all: &[LoadRuns], names: [&str; 2], usage: Use) -> Option<String> {
    let several: Vec<&LoadRuns> = all.iter().filter(|l| l.maxima.iter().any(|side| side.len() > 1)).collect();
    if several.is_empty() {
        return None;
    }
    let values = || several.iter().flat_map(|l| l.maxima.iter().flatten().copied()).filter(|v| *v > 0.0);
    let low = values().fold(f64::INFINITY, f64::min) / 1.2;
    let high = (values().fold(0.0, f64::max) * 1.2).max(low * 3.0);
    let sub = lines(
        &["a dot for each run · no statistics of these: a maximum is what happened once".to_owned()],
        Size::ALONE.longest(CHARACTER),
    );
    let top = 44.0 + sub.len() as f64 * 17.0;
    let rows: usize = several.len() * 3;
    let bottom = top + rows as f64 * ROW + 8.0;
    let title = "Maximum of each run";
    let mut out = Canvas::head(Size::ALONE, usage, [title; 2], &sub, bottom + 44.0);
    let at = |v: f64| LEFT + (v.clamp(low, high).ln() - low.ln()) / (high.ln() - low.ln()) * (WIDTH - LEFT - 30.0);
    axis(&mut out, &log_ticks(low, high, 1e3), &at, [top, bottom], (30.0, "Latency (µs), logarithmic"));
    let mut y = top;
    for l in several {
        y += ROW;
        head(&mut out, y, &l.load, "");
        for (i, name) in names.into_iter().enumerate() {
            y += ROW;
            let label = cut(&clean(name), characters(LEFT - MARGINS));
            let _ =
                writeln!(out, "<text text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>", LEFT - 12.0, y - 6.0, escape(&label));
            for v in &l.maxima[i] {
                let _ = writeln!(
                    out,
                    "<circle class=\"dot f{}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4.2\"><title>{} µs</title></circle>",
                    1 - i,
                    at(*v),
                    y - 10.0,
                    us(*v)
                );
            }
        }
    }
    out.push_str("</svg>\n");
    Some(out)
}
