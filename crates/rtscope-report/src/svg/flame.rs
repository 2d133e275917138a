//! The flame chart of an explained sample: causes, tasks and calls, with time from left to right.

use super::draw::{CHARACTER, Canvas, Key, Range, Size, WIDTH, linear_ticks};
use super::style::Use;
use crate::format::{clean, cut};
use rtscope_explain::Cause;
use rtscope_explain::chart::{Chart, Frame};
use rtscope_explain::explanation::Explanation;

/// Height of a row.
const ROW: f64 = 17.0;
/// Frames narrower than this are left out of a picture.
const NARROWEST: f64 = 0.4;

/// Number of the colour in which a cause is drawn.
pub(crate) fn colour(cause: Cause) -> usize {
    match cause {
        Cause::HardInterrupt => 0,
        Cause::NotPreemptible => 1,
        Cause::Scheduling | Cause::Return | Cause::ReturnFromWait | Cause::User | Cause::Call | Cause::KernelTask => 2,
        Cause::BottomHalvesOff => 3,
        Cause::PreemptionOff => 4,
        Cause::Softirq => 5,
        Cause::InterruptsOff => 6,
        Cause::NotAsleep
        | Cause::NotLogged
        | Cause::Delivery
        | Cause::InterruptThread
        | Cause::OtherTask
        | Cause::Idle
        | Cause::OtherCpu => 7,
    }
}

/// A frame in words: its name, how long it was and when, and what most of it was.
pub(crate) fn words(chart: &Chart, f: &Frame) -> String {
    let name = clean(chart.name(f));
    let when = format!("{} from +{}", exact(f.ns), exact(f.start));
    if f.row == 0 { format!("{name}: {when}") } else { format!("{name}: {when}, mostly {}", f.cause) }
}

/// Microseconds to the nanosecond.
fn exact(ns: u64) -> String {
    format!("{}.{:03} µs", ns / 1000, ns % 1000)
}

/// The flame chart of a sample; `sub` says whose.
pub fn flame(e: &Explanation, sub: &str, usage: Use) -> String {
    let chart = &e.chart;
    let mut seen: Vec<Cause> = Vec::new();
    for f in chart.frames.iter().filter(|f| f.row == 0) {
        if !seen.contains(&f.cause) {
            seen.push(f.cause);
        }
    }
    let keys: Vec<Key> = seen.iter().map(|c| Key { class: format!("bold s{}", colour(*c)), text: c.words().to_owned() }).collect();
    let rows = f64::from(chart.rows().max(1));
    let size = Size { width: WIDTH, inner_height: rows * ROW };
    let x = Range { low: 0.0, high: e.latency.max(1) as f64, log: false };
    let y = Range { low: 0.0, high: rows, log: false };
    let title = e.path.title();
    let under: Vec<String> = std::iter::once(clean(sub)).chain(wrapped(&clean(&e.sentence()), size.longest(CHARACTER))).collect();
    let mut c = Canvas::open_sized(size, usage, [title, &e.sentence()], &under, &keys, x, y);
    let since = format!("Time since the {} (µs)", e.path.begins());
    c.axes(&linear_ticks(x.high, 1e3, 10.0), &since, &[], "cause, task, calls");
    for f in &chart.frames {
        let (left, right) = (c.x.at(f.start as f64), c.x.at((f.start + f.ns) as f64));
        if right - left < NARROWEST {
            continue;
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a small positive number
        let room = ((right - left - 6.0) / CHARACTER).max(0.0) as usize;
        let text = if room < 3 { String::new() } else { cut(&clean(chart.name(f)), room) };
        let top = c.y.at(rows - f64::from(f.row));
        c.cell(colour(f.cause), [left, top, right - left, ROW - 1.0], &text, &words(chart, f));
    }
    c.close()
}

/// `text` on lines of at most `longest` characters, broken between words.
pub(super) fn wrapped(text: &str, longest: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= longest => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_and_foreign_names_harmless() {
        let frame = Frame { row: 2, start: 1_005, ns: 62_003, name: 0, cause: Cause::Softirq };
        let chart = Chart { shortest: 1, names: vec!["a<b\u{1b}[2J".into()], frames: vec![frame] };
        assert_eq!(words(&chart, &frame), "a<b\\x1b[2J: 62.003 µs from +1.005 µs, mostly softirq");
    }
}
