//! The same grid point in two runs: what each sample's time went to, from left to right, on one axis.

use super::draw::{CHARACTER, Canvas, Key, Range, Size, WIDTH, linear_ticks};
use super::flame::{colour, wrapped};
use super::style::Use;
use crate::format::{clean, cut, us_whole};
use rtscope_explain::Cause;
use rtscope_explain::explained::Explained;
use rtscope_record::Record;

/// Height of a bar, and of a line of text.
const BAR: f64 = 26.0;
const LINE: f64 = 16.0;

/// Two explained samples, one below the other: whose and how late, a bar by cause, and the answer in a sentence.
pub fn pair(two: [(&Record, &Explained); 2], usage: Use) -> String {
    let width = Size::ALONE.longest(CHARACTER);
    let sentences = two.map(|(_, e)| wrapped(&clean(&e.sentence), width));
    let heights = [0, 1].map(|i| LINE + 4.0 + BAR + (sentences[i].len() as f64 + 1.0) * LINE);
    let mut seen: Vec<Cause> = Vec::new();
    for f in two.iter().flat_map(|(_, e)| e.explanation.chart.frames.iter().filter(|f| f.row == 0)) {
        if !seen.contains(&f.cause) {
            seen.push(f.cause);
        }
    }
    let keys: Vec<Key> = seen.iter().map(|c| Key { class: format!("bold s{}", colour(*c)), text: c.words().to_owned() }).collect();
    let longest = two.iter().map(|(_, e)| e.explanation.latency).max().unwrap_or(0).max(1);
    let size = Size { width: WIDTH, inner_height: heights[0] + heights[1] };
    let x = Range { low: 0.0, high: longest as f64, log: false };
    let y = Range { low: 0.0, high: size.inner_height, log: false };
    let title = "Why is it late? The same grid point in two runs";
    let told = format!("{title}: {} {}", two[0].1.sentence, two[1].1.sentence);
    let mut c = Canvas::open_sized(size, usage, [title, &told], &[], &keys, x, y);
    let path = two[0].1.explanation.path;
    c.axes(&linear_ticks(x.high, 1e3, 10.0), &format!("Time since the {} (µs)", path.begins()), &[], "");
    let left = c.x.at(0.0);
    let mut top = 0.0;
    for (((record, e), sentence), height) in two.iter().zip(&sentences).zip(heights) {
        let at = |below: f64| size.inner_height - top - below;
        let p = record.parts();
        let whose = format!("{}, load {}: {} µs", clean(&p.target), clean(&p.load), us_whole(e.explanation.latency));
        let label = c.y.at(at(LINE));
        c.text("label", "start", left + 4.0, label, &cut(&whose, width));
        let bar = c.y.at(at(LINE + 4.0));
        for f in e.explanation.chart.frames.iter().filter(|f| f.row == 0) {
            let (from, to) = (c.x.at(f.start as f64), c.x.at((f.start + f.ns) as f64));
            let words = f.cause.words();
            let fits = words.chars().count() as f64 * CHARACTER + 6.0 < to - from;
            let tooltip = format!("{words}: {} µs from +{} µs", us_whole(f.ns), us_whole(f.start));
            // What is shorter than a line's width is seen all the same.
            c.cell(colour(f.cause), [from, bar, (to - from).max(0.4), BAR], if fits { words } else { "" }, &tooltip);
        }
        for (i, line) in sentence.iter().enumerate() {
            let below = c.y.at(at(LINE + 4.0 + BAR + (i as f64 + 1.0) * LINE));
            c.text("tick", "start", left + 4.0, below, line);
        }
        top += height;
    }
    c.close()
}
