//! A small SVG writer: a frame with titles, axes with ticks, a legend, and lines; all texts are escaped.

use super::style::{COLOURS, DARK, LIGHT, STYLE, Use};
use crate::format::{coordinate, cut, escape};
use std::fmt::Write as _;

/// Width of a plot that stands alone, in user units.
pub(super) const WIDTH: f64 = 860.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 22.0;
const ROW: f64 = 18.0;
/// Average width of a character in the plots' text and in a title, for the widest usual font (DejaVu Sans).
pub(super) const CHARACTER: f64 = 7.2;
const TITLE: f64 = 9.4;

/// How many characters of the plots' text fit into this many user units.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a small positive number
pub(super) fn characters(width: f64) -> usize {
    (width / CHARACTER) as usize
}

/// Width of a plot, and height of the area between its axes; the total height follows from the content.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) width: f64,
    pub(super) inner_height: f64,
}

impl Size {
    /// A plot that stands alone.
    pub(super) const ALONE: Self = Self { width: WIDTH, inner_height: 300.0 };
    /// One plot of many; a page shows two next to each other.
    pub(super) const SMALL: Self = Self { width: 440.0, inner_height: 170.0 };

    /// The longest text that fits between the frame's margins, in characters of this width.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a small positive number
    pub(super) fn longest(self, character: f64) -> usize {
        ((self.width - LEFT - RIGHT) / character) as usize
    }
}

/// Maps values to positions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
}

impl Scale {
    /// `r` from one position to another.
    pub(super) fn new(r: Range, from: f64, to: f64) -> Self {
        Self { low: r.low, high: r.high, from, to, log: r.log }
    }

    pub(super) fn at(&self, v: f64) -> f64 {
        let (v, low, high) =
            if self.log { (v.max(self.low).log10(), self.low.log10(), self.high.log10()) } else { (v, self.low, self.high) };
        let share = if high > low { (v - low) / (high - low) } else { 0.0 };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }
}

/// A range of values on an axis.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) log: bool,
}

/// An entry of the legend.
pub(super) struct Key {
    /// Class of the swatch's line.
    pub(super) class: String,
    pub(super) text: String,
}

/// A plot being drawn.
pub(super) struct Canvas {
    out: String,
    size: Size,
    top: f64,
    pub(super) x: Scale,
    pub(super) y: Scale,
}

/// Colour and dash classes of series `i`.
pub(super) fn series_class(i: usize) -> String {
    match i / COLOURS % 4 {
        0 => format!("s{}", i % COLOURS),
        dash => format!("s{} d{dash}", i % COLOURS),
    }
}

/// `texts` on lines of at most `longest` characters, broken at the dots that separate their parts.
pub(super) fn lines(texts: &[String], longest: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for text in texts {
        let mut line = String::new();
        for part in text.split(" · ") {
            if line.is_empty() {
                part.clone_into(&mut line);
            } else if line.chars().count() + 3 + part.chars().count() <= longest {
                line += " · ";
                line += part;
            } else {
                lines.push(std::mem::replace(&mut line, part.to_owned()));
            }
        }
        lines.push(line);
    }
    lines
}

fn legend_columns(keys: &[Key], width: f64) -> usize {
    let widest = keys.iter().map(|k| k.text.chars().count()).max().unwrap_or(0);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a small positive number
    let columns = ((width - LEFT - RIGHT) / (widest as f64 * CHARACTER + 44.0)).floor() as usize;
    columns.clamp(1, 6)
}

impl Canvas {
    /// Opens the SVG and draws its frame: title, sub-titles, legend.
    pub(super) fn open(usage: Use, title: &str, sub: &[String], keys: &[Key], x: Range, y: Range) -> Self {
        Self::open_sized(Size::ALONE, usage, [title, title], sub, keys, x, y)
    }

    /// [`open`](Self::open) with another size, and with an alternative text besides the title.
    pub(super) fn open_sized(
        size: Size,
        usage: Use,
        [title, alternative]: [&str; 2],
        sub: &[String],
        keys: &[Key],
        x: Range,
        y: Range,
    ) -> Self {
        let sub = &lines(sub, size.longest(CHARACTER));
        let columns = legend_columns(keys, size.width);
        let top = 34.0 + sub.len() as f64 * 17.0;
        let legend_top = top + size.inner_height + 52.0;
        let height = legend_top + keys.len().div_ceil(columns) as f64 * ROW + 6.0;
        let mut out = Self::head(size, usage, [title, alternative], sub, height);
        let step = (size.width - LEFT - RIGHT) / columns as f64;
        for (i, key) in keys.iter().enumerate() {
            let (kx, ky) = (LEFT + (i % columns) as f64 * step, legend_top + (i / columns) as f64 * ROW);
            let _ = write!(out, "<path class=\"line bold {}\" d=\"M{kx:.1} {:.1}h22\"/>", key.class, ky - 4.0);
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{ky:.1}\">{}</text>",
                kx + 28.0,
                escape(&cut(&key.text, size.longest(CHARACTER) - 6))
            );
        }
        let (x, y) = (Scale::new(x, LEFT, size.width - RIGHT), Scale::new(y, top + size.inner_height, top));
        Self { out, size, top, x, y }
    }

    /// The opening tag, the style if the SVG is a file, the background, title and sub-titles.
    pub(super) fn head(size: Size, usage: Use, [title, alternative]: [&str; 2], sub: &[String], height: f64) -> String {
        let width = size.width;
        let mut out = String::with_capacity(16 * 1024);
        let _ = writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {width} {height:.0}\" width=\"{width}\" height=\"{height:.0}\">",
            escape(alternative)
        );
        if usage == Use::File {
            let (light, dark) = (LIGHT.trim().replace('\n', ""), DARK.trim().replace('\n', ""));
            let _ = writeln!(
                out,
                "<style>.plot{{{light}}}\n@media(prefers-color-scheme:dark){{.plot{{{dark}}}}}\n@media print{{.plot{{{light}}}}}\n{}</style>",
                STYLE.trim().replace('>', "&gt;")
            );
        }
        let _ = writeln!(out, "<rect class=\"back\" width=\"{width}\" height=\"{height:.0}\"/>");
        let _ = writeln!(out, "<text class=\"title\" x=\"{LEFT}\" y=\"22\">{}</text>", escape(&cut(title, size.longest(TITLE))));
        for (i, line) in sub.iter().enumerate() {
            let _ = writeln!(
                out,
                "<text class=\"sub\" x=\"{LEFT}\" y=\"{:.0}\">{}</text>",
                40.0 + i as f64 * 17.0,
                escape(&cut(line, size.longest(CHARACTER)))
            );
        }
        out
    }

    fn line(&mut self, class: &str, x1: f64, y1: f64, x2: f64, y2: f64) {
        let _ = writeln!(self.out, "<path class=\"{class}\" d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\"/>");
    }

    pub(super) fn text(&mut self, class: &str, anchor: &str, x: f64, y: f64, text: &str) {
        let _ = writeln!(
            self.out,
            "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            escape(text)
        );
    }

    /// Draws both axes with their grid lines and labels.
    pub(super) fn axes(&mut self, x_ticks: &[(f64, String)], x_label: &str, y_ticks: &[(f64, String)], y_label: &str) {
        let (x, y, bottom) = (self.x, self.y, self.top + self.size.inner_height);
        for (v, text) in y_ticks {
            let py = y.at(*v);
            self.line("grid", x.from, py, x.to, py);
            self.text("tick", "end", x.from - 8.0, py + 4.0, text);
        }
        let mut last = f64::NEG_INFINITY;
        for (v, text) in x_ticks {
            let px = x.at(*v);
            self.line("grid", px, y.to, px, y.from);
            // Labels that would touch are left out; their grid lines stay.
            let half = text.chars().count() as f64 * 3.6;
            if px - half > last + 6.0 && px + half < self.size.width {
                self.text("tick", "middle", px, bottom + 17.0, text);
                last = px + half;
            }
        }
        let _ = writeln!(self.out, "<path class=\"axis\" d=\"M{:.1} {:.1}V{bottom:.1}H{:.1}\"/>", x.from, y.to, x.to);
        self.text("label", "middle", f64::midpoint(x.from, x.to), bottom + 35.0, x_label);
        let middle = f64::midpoint(y.from, y.to);
        let _ = writeln!(
            self.out,
            "<text class=\"label\" text-anchor=\"middle\" transform=\"translate(14 {middle:.1}) rotate(-90)\">{}</text>",
            escape(y_label)
        );
    }

    /// A path in `class`, with a tooltip.
    pub(super) fn path(&mut self, class: &str, d: &str, tooltip: &str) {
        if !d.is_empty() {
            let _ = writeln!(self.out, "<path class=\"line {class}\" d=\"{d}\"><title>{}</title></path>", escape(tooltip));
        }
    }

    /// A dot in the fill class of series `i`, with a tooltip.
    pub(super) fn dot(&mut self, i: usize, x: f64, y: f64, tooltip: &str) {
        let (x, y) = (self.x.at(x), self.y.at(y));
        let class = i % COLOURS;
        let _ = writeln!(
            self.out,
            "<circle class=\"dot f{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.6\"><title>{}</title></circle>",
            escape(tooltip)
        );
    }

    /// A dashed vertical line at `x`, with a text next to it that stays inside the frame.
    pub(super) fn mark(&mut self, x: f64, text: &str) {
        let (px, from, to) = (self.x.at(x), self.y.from, self.y.to);
        self.line("mark", px, to, px, from);
        let right = px > f64::midpoint(self.x.from, self.x.to);
        let (anchor, dx) = if right { ("end", -6.0) } else { ("start", 6.0) };
        self.text("marked", anchor, px + dx, to + 12.0, text);
    }

    /// A line of this class from top to bottom at `x`, with a tooltip.
    pub(super) fn across(&mut self, class: &str, x: f64, tooltip: &str) {
        let d = format!("M{:.1} {:.1}V{:.1}", self.x.at(x), self.y.to, self.y.from);
        self.path(class, &d, tooltip);
    }

    /// A triangle below the axis at `x`, in the fill colour of series `i`, with a tooltip: marks the end of a histogram.
    pub(super) fn end(&mut self, i: usize, x: f64, tooltip: &str) {
        let (x, y) = (self.x.at(x), self.y.from);
        let _ = writeln!(
            self.out,
            "<path class=\"dot f{}\" d=\"M{x:.1} {y:.1}l-5 9h10z\"><title>{}</title></path>",
            i % COLOURS,
            escape(tooltip)
        );
    }

    /// A filled rectangle `[x, y, width, height]` in the colour of series `i`, with a text inside and a tooltip.
    pub(super) fn cell(&mut self, i: usize, [x, y, width, height]: [f64; 4], text: &str, tooltip: &str) {
        let class = i % COLOURS;
        let _ = write!(
            self.out,
            "<g><title>{}</title><rect class=\"cell f{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>",
            escape(tooltip)
        );
        if !text.is_empty() {
            let _ = write!(self.out, "<text class=\"small\" x=\"{:.1}\" y=\"{:.1}\">{}</text>", x + 3.0, y + 12.0, escape(text));
        }
        self.out.push_str("</g>\n");
    }

    /// A text in the middle of an empty plot.
    pub(super) fn nothing(&mut self, text: &str) {
        let (x, y) = (f64::midpoint(self.x.from, self.x.to), f64::midpoint(self.y.from, self.y.to));
        self.text("sub", "middle", x, y, text);
    }

    pub(super) fn close(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }
}

/// A path through `points`, interrupted at each `None`.
pub(super) fn polyline(points: impl Iterator<Item = Option<(f64, f64)>>) -> String {
    let mut d = String::new();
    let mut pen_up = true;
    for point in points {
        let Some((x, y)) = point else {
            pen_up = true;
            continue;
        };
        d.push(if pen_up { 'M' } else { 'L' });
        coordinate(&mut d, x);
        d.push(' ');
        coordinate(&mut d, y);
        pen_up = false;
    }
    d
}

/// Ticks of a linear axis from 0 to `high`, labelled in units of `unit`; at most about `most` of them.
pub(super) fn linear_ticks(high: f64, unit: f64, most: f64) -> Vec<(f64, String)> {
    linear_ticks_from(0.0, high, unit, most)
}

/// Ticks of a linear axis from `low` to `high`, labelled in units of `unit`; at most about `most` of them.
pub(super) fn linear_ticks_from(low: f64, high: f64, unit: f64, most: f64) -> Vec<(f64, String)> {
    let raw = (high - low) / unit / most;
    if !(raw > 0.0 && raw.is_finite()) {
        return vec![(low, crate::format::short(low / unit))];
    }
    let magnitude = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|f| f * magnitude).find(|s| *s >= raw).unwrap_or(magnitude * 10.0);
    // Steps are 1, 2 or 5 times a power of ten: use as many decimals as the step needs.
    let decimals = (0..16).find(|d| step >= 10f64.powi(-d) * 0.999).map_or(16, |d| usize::try_from(d).unwrap_or(16));
    let first = (low / unit / step).ceil();
    let at = (0..=100u32).map(|i| (first + f64::from(i)) * step).take_while(|v| *v <= (high + (high - low) * 1e-4) / unit);
    let text = |v: f64| if v.abs() >= 1e6 { crate::format::short(v) } else { format!("{:.decimals$}", v + 0.0) };
    at.map(|v| (v * unit, text(v))).collect()
}

/// Ticks of a logarithmic axis: the powers of ten of `unit` within the range, plus 2 and 5 times those for a short range.
pub(crate) fn log_ticks(low: f64, high: f64, unit: f64) -> Vec<(f64, String)> {
    let (low, high) = (low / unit, high / unit);
    if low <= 0.0 || !(high / low).is_finite() {
        return Vec::new();
    }
    let factors: &[f64] = if high / low < 300.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let mut ticks = Vec::new();
    #[allow(clippy::cast_possible_truncation)] // exponents of f64
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    for e in first..=last {
        for f in factors {
            // Divide for a negative e, so that 0.1 prints as 0.1.
            let v = if e < 0 { f / 10f64.powi(-e) } else { f * 10f64.powi(e) };
            if (low..=high).contains(&v) {
                ticks.push((v * unit, crate::format::short(v)));
            }
        }
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks() {
        let text = |t: Vec<(f64, String)>| t.into_iter().map(|(_, s)| s).collect::<Vec<_>>();
        assert_eq!(text(linear_ticks(400_000.0, 1e3, 9.0)), ["0", "50", "100", "150", "200", "250", "300", "350", "400"]);
        assert_eq!(text(linear_ticks(500.0, 1e3, 6.0)), ["0.0", "0.1", "0.2", "0.3", "0.4", "0.5"]);
        assert_eq!(text(linear_ticks(0.0, 1e3, 6.0)), ["0"]);
        assert_eq!(text(linear_ticks_from(-1.1, 2.2, 1.0, 7.0)), ["-1.0", "-0.5", "0.0", "0.5", "1.0", "1.5", "2.0"]);
        assert_eq!(text(log_ticks(0.8, 20_000.0, 1.0)), ["1", "10", "100", "1k", "10k"]);
        assert_eq!(text(log_ticks(100.0, 5_000.0, 1e3)), ["0.1", "0.2", "0.5", "1", "2", "5"]);
        assert_eq!(text(log_ticks(0.0, 5_000.0, 1e3)), [""; 0]);
        assert!(linear_ticks(u64::MAX as f64, 1e3, 9.0).len() > 3);
    }

    #[test]
    fn scales_stay_inside() {
        let s = Scale { low: 1.0, high: 100.0, from: 0.0, to: 200.0, log: true };
        assert!((s.at(10.0) - 100.0).abs() < 1e-9);
        assert!(s.at(0.0).abs() < 1e-9 && (s.at(1e9) - 200.0).abs() < 1e-9);
        let flat = Scale { low: 5.0, high: 5.0, from: 0.0, to: 200.0, log: false };
        assert!(flat.at(5.0).abs() < 1e-9);
    }

    #[test]
    fn series_differ_in_colour_or_dash() {
        let classes: std::collections::BTreeSet<_> = (0..32).map(series_class).collect();
        assert_eq!(classes.len(), 32);
    }
}
