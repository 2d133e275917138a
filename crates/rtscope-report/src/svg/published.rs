//! Published latencies beside one's own: average and maximum of others as bars, one's own as lines across them.
//!
//! Source: Dewit et al., "PREEMPT_RT on a Raspberry Pi 5" (2024), Fig. 2, which leaves the conditions to the text. Here each
//! row says its own, and a figure that is not what its name says is hollow.

use super::draw::{CHARACTER, Canvas, Size, WIDTH, linear_ticks, lines, log_ticks};
use super::style::Use;
use crate::format::{count, cut, escape, us_f64, us_opt};
use crate::sheets::reference::{MAGNITUDES, marked, notes, standing, title};
use rtscope_analysis::reference::{Beside, Own, Reference, Standing};
use std::fmt::Write as _;

/// Room for names and for conditions, in user units.
const LEFT: f64 = 264.0;
const RIGHT: f64 = 318.0;
/// Most characters of a name, of what is below it, and of a line of conditions.
const NAME: usize = 34;
const UNDER: usize = 41;
const CONDITION: usize = 50;
/// Height of a row, of a bar, of a group's name and of a line of the legend.
const ROW: f64 = 50.0;
const BAR: f64 = 10.0;
const HEAD: f64 = 26.0;
const KEY: f64 = 18.0;
/// Most runs of one's own that can be told apart.
const OWN: usize = 4;
/// The axis is logarithmic where the highest figure is more than this many times the lowest.
const FAR: f64 = 30.0;
/// Dashes of one's own runs.
const DASHES: [&str; OWN] = ["", " d1", " d2", " d3"];

struct Axis {
    low: f64,
    high: f64,
    log: bool,
}

impl Axis {
    /// An axis that holds all figures; `None` where there are none.
    fn of(figures: &[f64]) -> Option<Self> {
        let low = figures.iter().copied().filter(|v| *v > 0.0).reduce(f64::min)?;
        let high = figures.iter().copied().reduce(f64::max)?;
        let log = high / low > FAR;
        Some(if log { Self { low: low / 1.5, high: high * 1.2, log } } else { Self { low: 0.0, high: high * 1.08, log } })
    }

    fn at(&self, v: f64) -> f64 {
        let share = if self.log {
            (v.max(self.low).log10() - self.low.log10()) / (self.high.log10() - self.low.log10())
        } else {
            v / self.high
        };
        LEFT + share.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }

    fn ticks(&self) -> Vec<(f64, String)> {
        if self.log { log_ticks(self.low, self.high, 1e3) } else { linear_ticks(self.high, 1e3, 5.0) }
    }
}

/// What was published of the same test, space and kind of figure as the runs in `b`; `None` where nothing was.
pub fn published(b: &Beside, usage: Use) -> Option<String> {
    if b.references.is_empty() {
        return None;
    }
    // Of many runs those that are latest: a lower maximum is drawn by none of the bars.
    let mut own: Vec<&Own> = b.own.iter().filter(|o| o.max.is_some()).collect();
    own.sort_by_key(|o| std::cmp::Reverse(o.max));
    let more = own.len().saturating_sub(OWN);
    own.truncate(OWN);
    let of_others = b.references.iter().flat_map(|r| [r.avg, r.max]).flatten().map(|ns| ns as f64);
    let figures: Vec<f64> = of_others.chain(own.iter().flat_map(|o| [o.avg, o.max.map(|m| m as f64)]).flatten()).collect();
    let axis = Axis::of(&figures)?;
    let mut about = vec!["bars: what others published · lines across: yours · RT and stock kernels apart".to_owned()];
    about.extend(notes(b).into_iter().flat_map(|n| sentences(&n)));
    if more > 0 {
        about.push(format!("not drawn: {more} more of your runs, with lower maxima"));
    }
    let sub = lines(&about, Size::ALONE.longest(CHARACTER));
    let groups: Vec<&[Reference]> = b.references.chunk_by(|a, c| a.rt == c.rt).collect();
    let top = 58.0 + sub.len() as f64 * 17.0;
    let bottom = top + groups.len() as f64 * HEAD + b.references.len() as f64 * ROW;
    let legend = bottom + 58.0;
    let height = legend + KEY + own.len() as f64 * 2.0 * KEY + 4.0;
    let name = title(b);
    let mut out = Canvas::head(Size::ALONE, usage, [&format!("{name}, beside yours"), &alternative(b, &own)], &sub, height);
    grid(&mut out, &axis, top, bottom);
    let mut y = top;
    for group in groups {
        let kernels = if group[0].rt { "PREEMPT_RT" } else { "Stock kernels" };
        let _ = writeln!(out, "<text class=\"group\" x=\"12\" y=\"{:.1}\">{kernels}</text>", y + 17.0);
        y += HEAD;
        for r in group {
            row(&mut out, r, y, &axis);
            y += ROW;
        }
    }
    for (o, dash) in own.iter().zip(DASHES) {
        for (value, colour, what) in [(o.avg, 0, "average"), (o.max.map(|m| m as f64), 1, "maximum")] {
            let Some(v) = value else { continue };
            let _ = writeln!(
                out,
                "<path class=\"line bold s{colour}{dash}\" d=\"M{:.1} {:.1}V{bottom:.1}\"><title>{}</title></path>",
                axis.at(v),
                top - 8.0,
                escape(&format!("yours, {}: {what} {} µs", o.id, us_f64(Some(v))))
            );
        }
    }
    keys(&mut out, &own, legend);
    out.push_str("</svg>\n");
    Some(out)
}

/// A note as parts that fit on a line.
fn sentences(note: &str) -> Vec<String> {
    let note = if note == MAGNITUDES {
        "orders of magnitude compare, not figures: board, kernel, load, samples and tool differ, as rows say"
    } else {
        note
    };
    let mut parts = Vec::new();
    let mut line = String::new();
    for word in note.trim_end_matches('.').split(' ') {
        if line.chars().count() + 1 + word.chars().count() > Size::ALONE.longest(CHARACTER) {
            parts.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    parts.push(line);
    parts
}

/// The picture in words.
fn alternative(b: &Beside, own: &[&Own]) -> String {
    let mut text = format!("{}, beside yours.", title(b));
    for o in own {
        text += &format!(" Yours, {}: average {}, maximum {} µs, {}.", o.id, us_f64(o.avg), us_opt(o.max), standing(o));
    }
    for r in &b.references {
        let (avg, max) = (marked(r.avg, r.avg_is), marked(r.max, r.max_is));
        text += &format!(" {}, {}, {}: average {avg}, maximum {max} µs.", r.study, r.board, r.role());
    }
    text
}

fn grid(out: &mut String, axis: &Axis, top: f64, bottom: f64) {
    for (v, text) in axis.ticks() {
        let x = axis.at(v);
        let _ = writeln!(out, "<path class=\"grid\" d=\"M{x:.1} {:.1}V{bottom:.1}\"/>", top - 8.0);
        let _ = writeln!(out, "<text class=\"tick\" text-anchor=\"middle\" x=\"{x:.1}\" y=\"{:.1}\">{text}</text>", bottom + 17.0);
    }
    let label = if axis.log { "µs, logarithmic" } else { "µs" };
    let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
    let _ =
        writeln!(out, "<text class=\"label\" text-anchor=\"middle\" x=\"{middle:.1}\" y=\"{:.1}\">{label}</text>", bottom + 35.0);
}

fn row(out: &mut String, r: &Reference, y: f64, axis: &Axis) {
    let under = format!("{}, {}", r.board, r.kernel);
    for (class, longest, dy, text) in [("", NAME, 12.0, &r.study), ("sub small", UNDER, 26.0, &under)] {
        let _ = writeln!(
            out,
            "<text class=\"{class}\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}<title>{}</title></text>",
            LEFT - 12.0,
            y + dy,
            escape(&cut(text, longest)),
            escape(&format!("{}: {text}", r.id))
        );
    }
    for (value, is, colour, what, dy) in [(r.avg, r.avg_is, 0, "average", 4.0), (r.max, r.max_is, 1, "maximum", 6.0 + BAR)] {
        let Some(ns) = value else { continue };
        let class = if is == Standing::Printed { "rise" } else { "area" };
        let stroke = if is == Standing::Printed { String::new() } else { format!(" s{colour}") };
        let _ = writeln!(
            out,
            "<rect class=\"{class} f{colour}{stroke}\" x=\"{LEFT:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{BAR}\"><title>{}</title></rect>",
            y + dy,
            (axis.at(ns as f64) - LEFT).max(1.0),
            escape(&format!("{}: {what} {} µs. {}", r.id, marked(Some(ns), is), r.caveat))
        );
    }
    let named = [("avg", r.avg, r.avg_is), ("max", r.max, r.max_is)];
    let values = named.into_iter().filter(|(_, v, _)| v.is_some()).map(|(name, v, is)| format!("{name} {}", marked(v, is)));
    let values = values.collect::<Vec<_>>().join(" · ") + " µs";
    let doubts = r.doubts().iter().fold(values, |all, doubt| format!("{all} · {doubt}"));
    let conditions =
        [("", doubts), ("sub small", format!("load: {}", r.load)), ("sub small", format!("samples: {} · {}", r.samples, r.tool))];
    for (i, (class, text)) in conditions.iter().enumerate() {
        let _ = writeln!(
            out,
            "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\">{}<title>{}</title></text>",
            WIDTH - RIGHT + 12.0,
            y + 12.0 + i as f64 * 14.0,
            escape(&cut(text, CONDITION)),
            escape(text)
        );
    }
}

/// The legend: what the bars mean, then one's own runs with their conditions.
fn keys(out: &mut String, own: &[&Own], top: f64) {
    let mut x = 12.0;
    for (class, text) in [
        ("rise f0", "average"),
        ("rise f1", "maximum"),
        ("area f1 s1", "hollow: approximate, a lower bound, censored or disputed, as its row says"),
    ] {
        let _ = writeln!(out, "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"22\" height=\"{BAR}\"/>", top - 9.0);
        let _ = writeln!(out, "<text x=\"{:.1}\" y=\"{top:.1}\">{text}</text>", x + 28.0);
        x += 28.0 + text.chars().count() as f64 * CHARACTER + 20.0;
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a small positive number
    let longest = ((WIDTH - 110.0) / CHARACTER) as usize;
    for (i, (o, dash)) in own.iter().zip(DASHES).enumerate() {
        let y = top + KEY + i as f64 * 2.0 * KEY;
        for (colour, x) in [(0, 12), (1, 42)] {
            let _ = writeln!(out, "<path class=\"line bold s{colour}{dash}\" d=\"M{x} {:.1}h26\"/>", y - 4.0);
        }
        let figures = format!("yours, {}: average {}, maximum {} µs · {}", o.id, us_f64(o.avg), us_opt(o.max), standing(o));
        let missed = if o.missed > 0 { format!(" · missed {}", count(o.missed)) } else { String::new() };
        let kernel = &o.kernel.label;
        let conditions = format!("{} · {kernel} · load {} · {} samples{missed} · {}", o.board, o.load, count(o.samples), o.tool);
        for (class, dy, text) in [("", 0.0, figures), ("sub small", 14.0, conditions)] {
            let text = escape(&cut(&text, longest));
            let _ = writeln!(out, "<text class=\"{class}\" x=\"78\" y=\"{:.1}\">{text}</text>", y + dy);
        }
    }
}
