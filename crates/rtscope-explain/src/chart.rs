//! What ran from expiry to wake-up as frames of a flame chart with time from left to right, and as folded stacks.

use crate::cause::Cause;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Frames that a chart has at most: so a page with it stays small.
pub const FRAMES: usize = 6000;
/// Rows that a chart has at most: kernel stacks are 16 KiB.
pub const ROWS: u32 = 200;

/// A flame chart. Row 0 is the cause, row 1 the task, the rows below are the calls, outermost first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Chart {
    /// Frames shorter than this, ns, are left out; above 1 only if there were more than [`FRAMES`].
    pub shortest: u64,
    /// The names of causes, tasks and functions, each once.
    pub names: Vec<String>,
    /// The frames, by start and row. Those of a row do not overlap.
    pub frames: Vec<Frame>,
}

/// A stretch of time in which something was so; in JSON an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "(u32, u64, u64, u32, Cause)", from = "(u32, u64, u64, u32, Cause)")]
pub struct Frame {
    /// Its row in the chart.
    pub row: u32,
    /// When it began, ns after the expiry.
    pub start: u64,
    /// Its length, ns.
    pub ns: u64,
    /// Its name, as an index of [`Chart::names`].
    pub name: u32,
    /// The cause of most of it.
    pub cause: Cause,
}

impl From<Frame> for (u32, u64, u64, u32, Cause) {
    fn from(f: Frame) -> Self {
        (f.row, f.start, f.ns, f.name, f.cause)
    }
}

impl From<(u32, u64, u64, u32, Cause)> for Frame {
    fn from((row, start, ns, name, cause): (u32, u64, u64, u32, Cause)) -> Self {
        Self { row, start, ns, name, cause }
    }
}

impl Chart {
    /// Whether it can be drawn for a sample of this latency, ns: it may come from a file that somebody else wrote.
    pub(crate) fn is_sound(&self, latency: u64) -> bool {
        self.frames.len() <= FRAMES
            && self.names.len() <= FRAMES
            && self.frames.iter().all(|f| {
                f.row < ROWS && (f.name as usize) < self.names.len() && f.start.checked_add(f.ns).is_some_and(|end| end <= latency)
            })
    }

    /// The name of a frame.
    pub fn name(&self, frame: &Frame) -> &str {
        self.names.get(frame.name as usize).map_or("", String::as_str)
    }

    /// The number of its rows.
    pub fn rows(&self) -> u32 {
        self.frames.iter().map(|f| f.row + 1).max().unwrap_or(0)
    }
}

/// All time that passed in one task with the same calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// The task, then the calls, outermost first.
    pub names: Vec<String>,
    /// How long, ns.
    pub ns: u64,
}

/// Stacks in the folded form of flame graph tools: a line each, names separated by semicolons, then a space and ns.
///
/// Source of the format: stackcollapse-perf.pl in <https://github.com/brendangregg/FlameGraph>.
pub fn folded(stacks: &[Stack]) -> String {
    // A semicolon would end a name; only names of tasks can have one, or a line's end.
    let clean = |name: &String| name.replace([';', '\n', '\r'], "_");
    let line = |s: &Stack| format!("{} {}\n", s.names.iter().map(clean).collect::<Vec<_>>().join(";"), s.ns);
    stacks.iter().map(line).collect()
}

/// A chart being made, from slices of time in their order.
#[derive(Default)]
pub(crate) struct Maker {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
    open: Vec<Open>,
    done: Vec<Frame>,
    now: u64,
}

/// A frame that has not ended.
struct Open {
    name: u32,
    start: u64,
    causes: [u64; Cause::ALL.len()],
}

impl Maker {
    /// The number of a name.
    pub(crate) fn name(&mut self, name: &str) -> u32 {
        if let Some(&n) = self.numbers.get(name) {
            return n;
        }
        let n = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), n);
        n
    }

    /// The next slice: `ns` long, of this cause, in these rows below the cause's.
    pub(crate) fn add(&mut self, ns: u64, cause: Cause, rows: &[u32]) {
        let of_cause = self.name(cause.words());
        let rows = || std::iter::once(of_cause).chain(rows.iter().copied()).take(ROWS as usize);
        // The cause's row ends by itself; a row below ends with the ones above it.
        let changed = self.open.iter().zip(rows()).skip(1).take_while(|(o, name)| o.name == *name).count() + 1;
        if self.open.first().is_some_and(|o| o.name != of_cause) {
            let first =
                std::mem::replace(&mut self.open[0], Open { name: of_cause, start: self.now, causes: [0; Cause::ALL.len()] });
            self.close(0, &first);
        }
        while self.open.len() > changed {
            let row = self.open.len() - 1;
            if let Some(last) = self.open.pop() {
                self.close(row, &last);
            }
        }
        for name in rows().skip(self.open.len()) {
            self.open.push(Open { name, start: self.now, causes: [0; Cause::ALL.len()] });
        }
        for open in &mut self.open {
            open.causes[cause as usize] += ns;
        }
        self.now += ns;
    }

    fn close(&mut self, row: usize, open: &Open) {
        let most = Cause::ALL.into_iter().max_by_key(|c| open.causes[*c as usize]).unwrap_or(Cause::User);
        let row = u32::try_from(row).unwrap_or(ROWS);
        self.done.push(Frame { row, start: open.start, ns: self.now - open.start, name: open.name, cause: most });
    }

    /// The chart, without the shortest frames if there are too many.
    pub(crate) fn finish(mut self) -> Chart {
        while let Some(last) = self.open.pop() {
            self.close(self.open.len(), &last);
        }
        self.done.retain(|f| f.ns > 0);
        let mut lengths: Vec<u64> = self.done.iter().map(|f| f.ns).collect();
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        // One longer than the first that has no room.
        let shortest = lengths.get(FRAMES).map_or(1, |ns| ns + 1);
        self.done.retain(|f| f.ns >= shortest);
        self.done.sort_unstable_by_key(|f| (f.start, f.row));
        // Only the names that are left.
        let mut numbers = HashMap::new();
        let mut names = Vec::new();
        for frame in &mut self.done {
            let old = frame.name as usize;
            frame.name = *numbers.entry(old).or_insert_with(|| {
                names.push(self.names[old].clone());
                u32::try_from(names.len() - 1).unwrap_or(u32::MAX)
            });
        }
        Chart { shortest, names, frames: self.done }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn made(slices: &[(u64, Cause, &[&str])]) -> Chart {
        let mut maker = Maker::default();
        for (ns, cause, rows) in slices {
            let rows: Vec<u32> = rows.iter().map(|name| maker.name(name)).collect();
            maker.add(*ns, *cause, &rows);
        }
        maker.finish()
    }

    #[test]
    fn frames_last_as_long_as_their_calls() {
        let off = Cause::InterruptsOff;
        let chart = made(&[
            (10, off, &["load", "a", "b"]),
            (5, Cause::HardInterrupt, &["load", "a", "b", "irq"]),
            (20, off, &["load", "a", "b"]),
            (2, off, &["load", "a"]),
            (3, Cause::User, &["own"]),
        ]);
        let frames: Vec<(u32, u64, u64, &str, Cause)> =
            chart.frames.iter().map(|f| (f.row, f.start, f.ns, chart.name(f), f.cause)).collect();
        let expected = [
            (0, 0, 10, "interrupts off", off),
            (1, 0, 37, "load", off),
            (2, 0, 37, "a", off),
            (3, 0, 35, "b", off),
            (0, 10, 5, "hard interrupt", Cause::HardInterrupt),
            (4, 10, 5, "irq", Cause::HardInterrupt),
            (0, 15, 22, "interrupts off", off),
            (0, 37, 3, "user space", Cause::User),
            (1, 37, 3, "own", Cause::User),
        ];
        assert_eq!(frames, expected);
        assert_eq!((chart.shortest, chart.rows()), (1, 5));
        let text = serde_json::to_string(&chart.frames[0]).unwrap();
        assert_eq!(text, "[0,0,10,0,\"interrupts-off\"]");
        assert_eq!(serde_json::from_str::<Frame>(&text).unwrap(), chart.frames[0]);
    }

    #[test]
    fn of_too_many_frames_the_longest_stay() {
        let mut maker = Maker::default();
        let names: Vec<u32> = (0..2).map(|i| maker.name(&format!("f{i}"))).collect();
        for i in 0..FRAMES as u64 * 2 {
            maker.add(1 + i % 10, Cause::OtherTask, &[names[0], names[usize::from(i % 2 == 0)]]);
        }
        let whole = maker.now;
        let chart = maker.finish();
        assert!(chart.frames.len() <= FRAMES && chart.frames.len() > FRAMES / 2, "{}", chart.frames.len());
        assert!(chart.shortest > 1 && chart.frames.iter().all(|f| f.ns >= chart.shortest));
        assert!(chart.is_sound(whole) && !chart.is_sound(whole - 1));
    }

    #[test]
    fn folded_lines_have_no_ends_in_names() {
        let stack = |names: &[&str], ns| Stack { names: names.iter().map(|n| (*n).to_owned()).collect(), ns };
        let all = [stack(&["a;b\nc[1]", "f"], 12), stack(&["d[2]"], 3)];
        assert_eq!(folded(&all), "a_b_c[1];f 12\nd[2] 3\n");
    }

    proptest! {
        #[test]
        fn each_row_sums_to_what_ran_in_it(slices in prop::collection::vec((1u64..50, 0usize..13, prop::collection::vec(0u32..4, 1..6)), 1..60)) {
            let mut maker = Maker::default();
            for i in 0..4 {
                maker.name(&format!("f{i}"));
            }
            for (ns, cause, rows) in &slices {
                maker.add(*ns, Cause::ALL[*cause], rows);
            }
            let whole: u64 = slices.iter().map(|s| s.0).sum();
            let chart = maker.finish();
            prop_assert!(chart.is_sound(whole));
            for row in 0..chart.rows() {
                let of_row = |f: &&Frame| f.row == row;
                let sum: u64 = chart.frames.iter().filter(of_row).map(|f| f.ns).sum();
                let expected: u64 = slices.iter().filter(|s| row == 0 || s.2.len() >= row as usize).map(|s| s.0).sum();
                prop_assert_eq!(sum, expected, "row {}", row);
                let starts: Vec<(u64, u64)> = chart.frames.iter().filter(of_row).map(|f| (f.start, f.start + f.ns)).collect();
                prop_assert!(starts.windows(2).all(|w| w[0].1 <= w[1].0));
            }
        }
    }
}
