//! What stands above the rows: titles, units, sample rates, in the ways of several instruments.

use crate::capture::CaptureError;
use crate::capture::decimal::{picoseconds, sample_rate};

/// Lines before the first row, at most.
const MOST_LINES: usize = 200;
/// Units of time in titles, with their power of ten; longer ones first.
const UNITS: [(&str, i32); 17] = [
    ("picoseconds", -12),
    ("nanoseconds", -9),
    ("microseconds", -6),
    ("milliseconds", -3),
    ("seconds", 0),
    ("second", 0),
    ("usec", -6),
    ("msec", -3),
    ("nsec", -9),
    ("sec", 0),
    ("ps", -12),
    ("ns", -9),
    ("us", -6),
    ("µs", -6),
    ("μs", -6),
    ("ms", -3),
    ("s", 0),
];

/// How the time of a row is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Times {
    /// The first column, in 10^`scale` seconds.
    Column {
        /// The power of ten.
        scale: i32,
    },
    /// The first column numbers the samples: from `start`, `step` apart, ps.
    Numbered {
        /// Time of sample 0.
        start: i128,
        /// Between two samples.
        step: i128,
    },
    /// No column: samples from `start`, `step` apart, ps.
    Counted {
        /// Time of the first.
        start: i128,
        /// Between two samples.
        step: i128,
    },
    /// No column: so many samples a second.
    Rate {
        /// Hz.
        hz: u64,
    },
}

/// Everything above the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    /// Between cells.
    pub(super) delimiter: u8,
    /// Where the rows begin, bytes.
    pub(super) data: usize,
    /// Lines before that.
    pub(super) lines: u64,
    /// Empty columns before the first.
    pub(super) skip: usize,
    /// How the time of a row is known.
    pub(super) times: Times,
    /// Names of the columns after that of the time.
    pub(super) names: Vec<String>,
    /// What wrote it.
    pub(super) writer: String,
}

impl Head {
    pub(super) fn has_time_column(&self) -> bool {
        matches!(self.times, Times::Column { .. } | Times::Numbered { .. })
    }

    /// A cell as a number is written: without blanks and quotes, with a point.
    pub(super) fn number(&self, cell: &str) -> String {
        plain(cell, self.delimiter)
    }
}

fn plain(cell: &str, delimiter: u8) -> String {
    let cell = cell.trim().trim_matches('"').trim();
    if delimiter == b',' { cell.to_owned() } else { cell.replace(',', ".") }
}

/// A line of the head.
struct Line<'a> {
    text: &'a str,
    /// Where it begins.
    at: usize,
}

/// Reads the head of a file. An error when there are no rows, or nothing says when they were taken.
pub(super) fn read(bytes: &[u8]) -> Result<Head, CaptureError> {
    let none = || CaptureError::File("there are no rows of numbers in it".into());
    let lines = first_lines(bytes);
    let (first, delimiter) = lines
        .iter()
        .enumerate()
        .find_map(|(i, line)| [b',', b';', b'\t'].into_iter().find(|d| is_row(line.text, *d)).map(|d| (i, d)))
        .or_else(|| single_column(&lines))
        .ok_or_else(none)?;
    let row = cells(lines[first].text, delimiter);
    let skip = row.iter().take_while(|c| c.is_empty()).count();
    let width = row.len() - row.iter().rev().take_while(|c| c.is_empty()).count() - skip;
    let above: Vec<Vec<String>> = lines[..first]
        .iter()
        .filter(|l| !l.text.trim().is_empty() && !is_comment(l.text))
        .map(|l| cells(l.text, delimiter).into_iter().skip(skip).collect())
        .collect();
    let comments: Vec<&str> = lines[..first].iter().map(|l| l.text).filter(|t| is_comment(t)).collect();
    let titles = Titles::of(&above, &comments, width);
    let times = titles.times(&above, &comments)?;
    let has_column = matches!(times, Times::Column { .. } | Times::Numbered { .. });
    let columns = width - usize::from(has_column);
    if columns == 0 {
        return Err(CaptureError::File("its rows have a time, but no value".into()));
    }
    let names = titles.names(columns, has_column);
    let writer = comments.first().map(|c| c.trim_start_matches([';', '#', ' ']).trim().to_owned()).unwrap_or_default();
    Ok(Head { delimiter, data: lines[first].at, lines: first as u64, skip, times, names, writer })
}

/// The lines that may be the head, and the first row.
fn first_lines(bytes: &[u8]) -> Vec<Line<'_>> {
    let start = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let mut at = start;
    let mut lines = Vec::new();
    for line in bytes[start..].split_inclusive(|b| *b == b'\n').take(MOST_LINES) {
        // A degree sign in Latin-1 is nothing that is needed.
        let text = std::str::from_utf8(line).unwrap_or_else(|e| std::str::from_utf8(&line[..e.valid_up_to()]).unwrap_or_default());
        lines.push(Line { text: text.trim_end_matches(['\n', '\r']), at });
        at += line.len();
    }
    lines
}

fn cells(line: &str, delimiter: u8) -> Vec<String> {
    line.split(char::from(delimiter)).map(|c| plain(c, delimiter)).collect()
}

fn is_comment(line: &str) -> bool {
    line.starts_with([';', '#'])
}

fn is_number(cell: &str) -> bool {
    cell.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) && cell.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Two or more numbers and nothing else.
fn is_row(line: &str, delimiter: u8) -> bool {
    if is_comment(line) {
        return false;
    }
    let cells = cells(line, delimiter);
    let filled: Vec<&String> = cells.iter().filter(|c| !c.is_empty()).collect();
    filled.len() >= 2 && filled.iter().all(|c| is_number(c))
}

/// Rows of one number need no delimiter: their times are told by the head.
fn single_column(lines: &[Line<'_>]) -> Option<(usize, u8)> {
    let first = lines.iter().position(|l| !is_comment(l.text) && is_number(l.text.trim().trim_end_matches(',').trim()))?;
    (first > 0).then_some((first, b','))
}

/// The titles of the columns, and their units where they have a line of their own.
struct Titles {
    names: Vec<String>,
    units: Vec<String>,
    /// Names that a comment gives, without a column of time.
    listed: Vec<String>,
}

impl Titles {
    fn of(above: &[Vec<String>], comments: &[&str], width: usize) -> Self {
        let wide = |row: &&Vec<String>| row.iter().filter(|c| !c.is_empty()).count() >= width.min(2);
        let mut last: Vec<&Vec<String>> = above.iter().rev().filter(wide).take(2).collect();
        let units = match last.first() {
            Some(row) if row.iter().skip(usize::from(width > 1)).take(width.max(2) - 1).all(|c| is_unit(c)) => {
                last.remove(0).clone()
            }
            _ => Vec::new(),
        };
        let names = last.first().map(|r| (*r).clone()).unwrap_or_default();
        let listed = comments.iter().find_map(|c| c.split_once("Channels (").and_then(|(_, rest)| rest.split_once("):")));
        let listed = listed.map(|(_, l)| l.split(',').map(|n| n.trim().to_owned()).collect()).unwrap_or_default();
        Self { names, units, listed }
    }

    fn times(&self, above: &[Vec<String>], comments: &[&str]) -> Result<Times, CaptureError> {
        if let Some(times) = self.start_and_increment() {
            return Ok(times);
        }
        let title = self.names.first().map_or("", String::as_str);
        let unit = self.units.first().map_or("", String::as_str);
        if let Some(scale) = time_scale(unit).or_else(|| time_scale(title)) {
            return Ok(Times::Column { scale });
        }
        let bare = title.to_ascii_lowercase();
        if matches!(bare.as_str(), "time" | "t" | "x" | "x-axis" | "timestamp") {
            return Ok(Times::Column { scale: 0 });
        }
        let said = |key: &str| {
            above
                .iter()
                .flatten()
                .find_map(|c| c.split_once(key).and_then(|(_, v)| picoseconds(v.trim().trim_start_matches('=').trim(), 0)))
        };
        if let (Some(start), Some(step)) = (said("t0"), said("tInc")) {
            return positive(start, step).map(|(start, step)| Times::Counted { start, step });
        }
        let rate = comments.iter().find_map(|c| c.split_once("Samplerate:")).and_then(|(_, r)| sample_rate(r.trim()));
        rate.map(|hz| Times::Rate { hz }).ok_or_else(|| {
            let what = if title.is_empty() { "no title".into() } else { format!("the title `{title}`") };
            CaptureError::File(format!(
                "nothing says when its rows were taken: the first column has {what}; give it one such as `Time [s]`, or export with times"
            ))
        })
    }

    /// Rigol: numbered samples, with start and increment beside the titles.
    fn start_and_increment(&self) -> Option<Times> {
        let place = |title: &str| self.names.iter().position(|n| n.eq_ignore_ascii_case(title));
        let value = |at: usize| self.units.get(at).or_else(|| self.names.get(at + 1)).and_then(|v| picoseconds(v, 0));
        let (start, step) = (value(place("Start")?)?, value(place("Increment")?)?);
        (step > 0).then_some(Times::Numbered { start, step })
    }

    fn names(&self, columns: usize, has_time: bool) -> Vec<String> {
        let from = usize::from(has_time);
        let named = |i: usize| {
            let listed = self.listed.get(i).filter(|_| self.listed.len() >= columns);
            let title = self.names.get(i + from).filter(|n| !is_number(n) && !is_unit(n));
            listed.or(title).map(|n| without_unit(n)).filter(|n| !n.is_empty()).unwrap_or_else(|| format!("CH{}", i + 1))
        };
        (0..columns).map(named).collect()
    }
}

fn positive(start: i128, step: i128) -> Result<(i128, i128), CaptureError> {
    if step > 0 { Ok((start, step)) } else { Err(CaptureError::File("its samples are said to be no time apart".into())) }
}

/// A unit that stands for a column: `Volt`, `(V)`, `logic`; beside start and increment also their values.
fn is_unit(cell: &str) -> bool {
    let bare = cell.trim_matches(['(', ')', '[', ']']).to_ascii_lowercase();
    cell.is_empty()
        || is_number(cell)
        || matches!(bare.as_str(), "volt" | "volts" | "v" | "mv" | "v dc" | "v ac" | "mv dc" | "logic" | "amp" | "a" | "ma")
}

/// The name of a column without its unit: `CH1(V)`, `Channel A [V]`.
fn without_unit(name: &str) -> String {
    let end = name.rfind(['(', '[']).filter(|at| *at > 0 && is_unit(name[*at..].trim()));
    name[..end.unwrap_or(name.len())].trim().to_owned()
}

/// The power of ten of a title that says a unit of time: `Time [s]`, `time (us)`, `t_ns`, `Second`, `in s`.
fn time_scale(title: &str) -> Option<i32> {
    let lower = title.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric() && c != 'µ' && c != 'μ').filter(|w| !w.is_empty()).collect();
    let (last, before) = words.split_last()?;
    let scale = UNITS.iter().find(|(u, _)| u == last).map(|(_, s)| *s)?;
    // A channel may well be called `S`: a short unit alone needs its brackets.
    let told = !before.is_empty() || last.len() > 2 || title.starts_with(['(', '[']);
    told.then_some(scale)
}
