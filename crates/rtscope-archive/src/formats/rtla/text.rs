//! The text of rtla's histograms, taken apart line by line.

use crate::formats::error::ImportError;
use crate::formats::foreign::{decimal, number, number_at, whole};
use rtscope_record::limits;

/// First line of `rtla timerlat hist`.
pub(super) const TIMERLAT: &str = "# RTLA timerlat histogram";
/// First line of `rtla osnoise hist`.
pub(super) const OSNOISE: &str = "# RTLA osnoise histogram";
/// Most rows: rtla's `-E` ends below this.
const MOST_ROWS: usize = 10_000_000;
/// Most cells of all rows.
const MOST_CELLS: usize = 64_000_000;

/// What a column is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// From the timer's expiry to the interrupt handler.
    Irq,
    /// To the thread.
    Thread,
    /// To the thread's return from user space.
    User,
    /// A single noise.
    Noise,
}

impl Kind {
    fn of(tag: &str) -> Option<Self> {
        [(Self::Irq, "IRQ"), (Self::Thread, "Thr"), (Self::User, "Usr"), (Self::Noise, "CPU")]
            .into_iter()
            .find_map(|(kind, name)| (name == tag).then_some(kind))
    }

    /// In labels.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Irq => "irq",
            Self::Thread => "thread",
            Self::User => "user",
            Self::Noise => "noise",
        }
    }

    /// At the end of a record's id.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::Irq => "-irq",
            Self::Thread => "-thread",
            Self::User => "-user",
            Self::Noise => "",
        }
    }

    /// In a record's source.
    pub(super) fn format(self) -> &'static str {
        match self {
            Self::Irq => "rtla-timerlat/irq",
            Self::Thread => "rtla-timerlat/thread",
            Self::User => "rtla-timerlat/user",
            Self::Noise => "rtla-osnoise",
        }
    }
}

/// Head of a column.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) kind: Kind,
    pub(super) cpu: u32,
}

/// A cell of a summary line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Figure {
    Number(u64),
    Decimal(f64),
    /// `-`: no samples.
    None,
}

/// A row of the histogram.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) index: u64,
    pub(super) cells: Vec<u64>,
}

/// A line below the histogram.
#[derive(Debug, Default)]
pub(super) struct Summary {
    pub(super) line: usize,
    figures: Vec<Figure>,
}

impl Summary {
    /// A cell that must be a number; the reader has seen to that.
    pub(super) fn cell(&self, i: usize) -> u64 {
        match self.figures.get(i) {
            Some(Figure::Number(n)) => *n,
            _ => 0,
        }
    }

    /// A cell as a number, and whether it was cut off to a whole one; 0 where there is none.
    fn number(&self, i: usize) -> (f64, bool) {
        match self.figure(i) {
            Figure::Number(n) => (n as f64, true),
            Figure::Decimal(n) => (n, false),
            Figure::None => (0.0, false),
        }
    }

    /// A cell.
    pub(super) fn figure(&self, i: usize) -> Figure {
        self.figures.get(i).copied().unwrap_or(Figure::None)
    }
}

/// The whole text.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) unit_ns: Option<u64>,
    pub(super) elapsed_ns: Option<u64>,
    pub(super) columns: Vec<Head>,
    pub(super) rows: Vec<Row>,
    pub(super) over: Summary,
    pub(super) count: Summary,
    pub(super) min: Summary,
    pub(super) avg: Summary,
    pub(super) max: Summary,
    /// What rtla says of events that it missed.
    pub(super) missed: Option<String>,
    /// Lines outside the table.
    pub(super) others: Vec<String>,
    /// The figures of all CPUs: kinds in their order, and lines below them.
    all: Option<(usize, Vec<Kind>)>,
    all_count: Summary,
    all_min: Summary,
    all_avg: Summary,
    all_max: Summary,
}

/// The lines below the histogram, in their order.
const LINES: [&str; 5] = ["over:", "count:", "min:", "avg:", "max:"];

impl Table {
    pub(super) fn of(text: &str, title: &str) -> Result<Self, ImportError> {
        whole(text)?;
        let (mut t, mut titles, mut last) = (Self::default(), 0, 1);
        for (i, line) in text.lines().enumerate() {
            let (nr, line) = (i + 1, line.trim_end());
            if line.is_empty() {
                continue;
            }
            last = nr;
            if line == TIMERLAT || line == OSNOISE {
                titles += 1;
                if titles > 1 || line != title {
                    return Err(ImportError::line(nr, "another histogram of rtla begins here: split the file"));
                }
            } else {
                t.sort(nr, line)?;
            }
        }
        t.complete(last)?;
        Ok(t)
    }

    fn sort(&mut self, nr: usize, line: &str) -> Result<(), ImportError> {
        if let Some(rest) = line.strip_prefix("# Time unit is ") {
            self.unit_ns = match rest {
                "microseconds (us)" => Some(1000),
                "nanoseconds (ns)" => Some(1),
                _ => return Err(ImportError::line(nr, format!("the unit `{}` is not known", limits::cut(rest, 40)))),
            };
        } else if let Some(rest) = line.strip_prefix("# Duration:") {
            // 5.17 to 6.1 print an hour less than the local time of day, which may be -1.
            self.elapsed_ns = duration(rest);
        } else if let Some(rest) = line.strip_prefix("Index") {
            self.head(nr, rest)?;
        } else if let Some(rest) = line.strip_prefix("ALL:") {
            let kinds: Option<Vec<Kind>> = rest.split_ascii_whitespace().map(Kind::of).collect();
            let kinds = kinds.filter(|_| self.max.line > 0 && self.all.is_none());
            self.all = Some((nr, kinds.ok_or_else(|| ImportError::line(nr, "`ALL:` is not in its place"))?));
        } else if let Some(which) = LINES.iter().position(|l| line.starts_with(l)) {
            self.summary(nr, which, &line[LINES[which].len()..])?;
        } else if line.contains("events missed") || line.starts_with("unknown number of events missed") {
            self.missed = Some(limits::cut(line.trim(), 200));
        } else if line.starts_with(|c: char| c.is_ascii_digit()) && !self.columns.is_empty() && self.over.line == 0 {
            self.row(nr, line)?;
        } else if !self.columns.is_empty() && self.max.line == 0 {
            return Err(ImportError::line(nr, format!("`{}` is no row of the histogram", limits::cut(line, 40))));
        } else {
            self.others.push(line.into());
        }
        Ok(())
    }

    fn head(&mut self, nr: usize, rest: &str) -> Result<(), ImportError> {
        if !self.columns.is_empty() {
            return Err(ImportError::line(nr, "a second head of the table"));
        }
        for cell in rest.split_ascii_whitespace() {
            let column = cell
                .split_once('-')
                .and_then(|(tag, cpu)| Some(Head { kind: Kind::of(tag)?, cpu: number(cpu).and_then(|n| u32::try_from(n).ok())? }));
            let column = column.ok_or_else(|| ImportError::line(nr, format!("`{}` is not a column", limits::cut(cell, 40))))?;
            if self.columns.contains(&column) {
                return Err(ImportError::line(nr, format!("the column `{}` is there twice", limits::cut(cell, 40))));
            }
            self.columns.push(column);
        }
        if self.columns.is_empty() {
            return Err(ImportError::line(nr, "no CPU has a sample: there is nothing to import"));
        }
        limits::check("the columns", self.columns.len(), limits::DISTRIBUTIONS).map_err(|e| ImportError::line(nr, e.to_string()))
    }

    fn row(&mut self, nr: usize, line: &str) -> Result<(), ImportError> {
        let mut cells = line.split_ascii_whitespace();
        let index = number_at(cells.next().unwrap_or_default(), nr, "index")?;
        let cells = cells.map(|c| number_at(c, nr, "count")).collect::<Result<Vec<_>, _>>()?;
        if cells.len() != self.columns.len() {
            return Err(ImportError::line(nr, format!("{} counts, but there are {} columns", cells.len(), self.columns.len())));
        }
        if self.rows.last().is_some_and(|r| r.index >= index) {
            return Err(ImportError::line(nr, format!("index {index} is not above the one before it")));
        }
        if self.rows.len() >= MOST_ROWS || (self.rows.len() + 1).saturating_mul(cells.len()) > MOST_CELLS {
            return Err(ImportError::line(nr, "more rows than rtla can write"));
        }
        self.rows.push(Row { index, cells });
        Ok(())
    }

    fn summary(&mut self, nr: usize, which: usize, rest: &str) -> Result<(), ImportError> {
        let name = LINES[which];
        let (places, wanted): ([Option<&mut Summary>; 5], usize) = match &self.all {
            Some((_, kinds)) => (
                [None, Some(&mut self.all_count), Some(&mut self.all_min), Some(&mut self.all_avg), Some(&mut self.all_max)],
                kinds.len(),
            ),
            None => ([&mut self.over, &mut self.count, &mut self.min, &mut self.avg, &mut self.max].map(Some), self.columns.len()),
        };
        if self.columns.is_empty() {
            return Err(ImportError::line(nr, format!("`{name}` without columns: there is nothing to import")));
        }
        let mut figures = Vec::with_capacity(wanted);
        for cell in rest.split_ascii_whitespace() {
            let figure = match cell {
                "-" if which >= 2 => Some(Figure::None),
                _ if which == 3 && cell.contains('.') => decimal(cell).map(Figure::Decimal),
                _ => number(cell).map(Figure::Number),
            };
            figures.push(
                figure.ok_or_else(|| ImportError::line(nr, format!("`{name}`: `{}` is not a figure", limits::cut(cell, 40))))?,
            );
        }
        if figures.len() != wanted {
            return Err(ImportError::line(nr, format!("`{name}` has {} figures, but there are {wanted} columns", figures.len())));
        }
        let Some(place) = places.into_iter().nth(which).flatten() else {
            return Err(ImportError::line(nr, format!("`{name}` is not in its place")));
        };
        if place.line > 0 {
            return Err(ImportError::line(nr, format!("a second line `{name}`")));
        }
        *place = Summary { line: nr, figures };
        Ok(())
    }

    /// Checks that nothing is missing, and the figures of all CPUs.
    fn complete(&self, last: usize) -> Result<(), ImportError> {
        if self.columns.is_empty() {
            return Err(ImportError::line(last, "there is no line `Index`: rtla's columns are unknown (--no-header, --no-index)"));
        }
        let lines = [&self.over, &self.count, &self.min, &self.avg, &self.max];
        if let Some(missing) = LINES.iter().zip(lines).find(|(_, l)| l.line == 0) {
            let told = format!("the file ends without `{}`: is it cut off, or written with --no-summary?", missing.0);
            return Err(ImportError::line(last, told));
        }
        let Some((at, kinds)) = &self.all else { return Ok(()) };
        for (name, line) in [("count:", &self.all_count), ("min:", &self.all_min), ("avg:", &self.all_avg), ("max:", &self.all_max)]
        {
            if line.line == 0 {
                return Err(ImportError::line(
                    last,
                    format!("the file ends without `{name}` below `ALL:` (line {at}): is it cut off?"),
                ));
            }
        }
        for (k, kind) in kinds.iter().enumerate() {
            let own = || (0..self.columns.len()).filter(|&i| self.columns[i].kind == *kind && self.count.cell(i) > 0);
            let counts = own().fold(0u64, |sum, i| sum.saturating_add(self.count.cell(i)));
            let wrong = |line: usize| {
                Err(ImportError::line(line, format!("the columns of {} give another figure for all CPUs", kind.label())))
            };
            if counts != self.all_count.cell(k) {
                return wrong(self.all_count.line);
            }
            if counts > 0 && own().map(|i| self.min.cell(i)).min() != Some(self.all_min.cell(k)) {
                return wrong(self.all_min.line);
            }
            // Averages are cut off, or have two decimals: each column's sum is known to within its own rounding.
            let all = own().map(|i| (self.avg.number(i), self.count.cell(i) as f64));
            let (sum, exact) = all.fold((0.0, true), |(sum, exact), ((avg, whole), n)| (sum + avg * n, exact && !whole));
            let (mean, off) = (sum / counts.max(1) as f64, if exact { 0.01 } else { 1.0 });
            if counts > 0 && !(mean - off..=mean + off).contains(&self.all_avg.number(k).0) {
                return wrong(self.all_avg.line);
            }
            if counts > 0 && own().map(|i| self.max.cell(i)).max() != Some(self.all_max.cell(k)) {
                return wrong(self.all_max.line);
            }
        }
        Ok(())
    }

    /// Width of a row, in units, and whether it is certain: the widest that all rows allow. Where there is only the first
    /// row, the least that the figures allow.
    pub(super) fn width(&self) -> (u64, bool) {
        let common = self.rows.iter().fold(0, |d, r| gcd(d, r.index));
        match common {
            1 => (1, true),
            0 => {
                let highest = |s: &Summary| {
                    (0..self.columns.len()).filter(|&i| self.count.cell(i) > 0 && self.over.cell(i) == 0).map(|i| s.cell(i)).max()
                };
                let within = highest(&self.max).or_else(|| highest(&self.min)).unwrap_or(0);
                (within.saturating_add(1), false)
            }
            width => (width, false),
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// `  0 00:01:00` in ns.
fn duration(text: &str) -> Option<u64> {
    let (days, clock) = text.trim().split_once(' ')?;
    let parts: Option<Vec<u64>> = clock.trim().split(':').map(number).collect();
    let [h, m, s] = parts?[..] else { return None };
    let hours = number(days)?.checked_mul(24)?.checked_add(h)?;
    hours.checked_mul(60)?.checked_add(m)?.checked_mul(60)?.checked_add(s)?.checked_mul(1_000_000_000)
}
