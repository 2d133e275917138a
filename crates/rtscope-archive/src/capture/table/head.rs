//! The lines above the rows: titles, units and sample rates, as various instruments write them.

use crate::capture::decimal::{date_and_time, picoseconds, sample_rate};
use crate::capture::error::CaptureError;

/// Most lines before the first row.
pub(super) const MOST_LINES: usize = 200;
/// Titles of columns that only number the rows.
const COUNTS: [&str; 8] = ["nr", "no", "#", "n", "index", "sample", "sample number", "samples"];
/// Units of time in titles, each with its power of ten; longer names first.
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

/// How the time of a row is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Times {
    /// In the first column, in units of 10^`scale` seconds.
    Column {
        /// The power of ten.
        scale: i32,
    },
    /// The first column numbers the samples; sample 0 is at `start`, and samples are `step` apart (ps).
    Numbered {
        /// Time of sample 0.
        start: i128,
        /// Time between two samples.
        step: i128,
    },
    /// No time column; the first sample is at `start`, and samples are `step` apart (ps).
    Counted {
        /// Time of the first sample.
        start: i128,
        /// Time between two samples.
        step: i128,
    },
    /// No time column, but a sample rate.
    Rate {
        /// Hz.
        hz: u64,
    },
    /// In the first column, as sigrok counts: each sample at `hz` adds `step`, the interval truncated to an integer.
    Ticks {
        /// Increment of the column between two samples.
        step: i128,
        /// Hz.
        hz: u64,
    },
}

impl Times {
    /// The time between two samples as the head gives it, ps.
    pub(super) fn interval(self) -> Option<u64> {
        let ps = match self {
            Self::Column { .. } => return None,
            Self::Numbered { step, .. } | Self::Counted { step, .. } => step,
            Self::Rate { hz } | Self::Ticks { hz, .. } => 1_000_000_000_000 / i128::from(hz),
        };
        u64::try_from(ps).ok()
    }

    fn has_column(self) -> bool {
        matches!(self, Self::Column { .. } | Self::Numbered { .. } | Self::Ticks { .. })
    }
}

/// Everything above the rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Head {
    /// The separator between cells.
    pub(super) delimiter: u8,
    /// Offset of the first row, bytes.
    pub(super) data: usize,
    /// Number of lines before it.
    pub(super) lines: u64,
    /// Empty columns before the first used one.
    pub(super) skip: usize,
    /// How the time of a row is given.
    pub(super) times: Times,
    /// Names of the columns, without the time column.
    pub(super) names: Vec<String>,
    /// Volts per unit of each of these columns, where it is a voltage.
    pub(super) volts: Vec<f64>,
    /// What wrote it.
    pub(super) writer: String,
}

impl Head {
    pub(super) fn has_time_column(&self) -> bool {
        self.times.has_column()
    }
}

/// A cell in the form of a plain number: without blanks and quotes, with a decimal point, and with `inf` for over range.
/// A comma within a cell is taken for the decimal point; thousands separators make it not a number.
pub(super) fn number(cell: &str) -> String {
    let cell = cell.trim().trim_matches('"').trim();
    if cell.contains('.') { cell.to_owned() } else { cell.replace(',', ".").replace('∞', "inf") }
}

/// A line above the rows.
struct Line<'a> {
    text: &'a str,
    /// Its offset, bytes.
    at: usize,
}

/// Reads the head of a file. Fails when there are no rows, or nothing gives their times.
pub(super) fn read(bytes: &[u8]) -> Result<Head, CaptureError> {
    let lines = first_lines(bytes);
    if let Some(head) = beside(&lines) {
        return Ok(head);
    }
    let (first, delimiter) = lines
        .iter()
        .enumerate()
        .find_map(|(i, line)| [b',', b';', b'\t'].into_iter().find(|d| is_row(line.text, *d)).map(|d| (i, d)))
        .or_else(|| single_column(&lines))
        .ok_or_else(|| CaptureError::File(format!("there are no rows of numbers in its first {MOST_LINES} lines")))?;
    let row = cells(lines[first].text, delimiter);
    let above: Vec<Vec<String>> = lines[..first]
        .iter()
        .filter(|l| !l.text.trim().is_empty() && !is_comment(l.text))
        .map(|l| cells(l.text, delimiter))
        .collect();
    let comments: Vec<&str> = lines[..first].iter().map(|l| l.text).filter(|t| is_comment(t)).collect();
    let mut skip = row.iter().take_while(|c| c.is_empty()).count();
    let width = |skip: usize| row.len() - row.iter().rev().take_while(|c| c.is_empty()).count() - skip;
    let mut titles = Titles::of(&above, &comments, skip, width(skip));
    if titles.number_the_rows_beside_their_times() {
        skip += 1;
        titles = Titles::of(&above, &comments, skip, width(skip));
    }
    let times = titles.times(&above, &comments, row.get(skip).map_or("", String::as_str))?;
    let columns = width(skip) - usize::from(times.has_column());
    if columns == 0 {
        return Err(CaptureError::File("its rows have a time, but no value".into()));
    }
    let names = titles.names(columns, times.has_column());
    let volts = titles.volts(columns, times.has_column());
    let writer = comments.first().map(|c| c.trim_start_matches([';', '#', ' ']).trim().to_owned()).unwrap_or_default();
    Ok(Head { delimiter, data: lines[first].at, lines: first as u64, skip, times, names, volts, writer })
}

/// Tektronix' older layout: keys and values stand left of the first rows, followed by an empty column, time and voltage.
fn beside(lines: &[Line<'_>]) -> Option<Head> {
    let rows: Vec<Vec<String>> = lines.iter().map(|l| cells(l.text, b',')).collect();
    let first = rows.first()?;
    let found = first.len() >= 5 && !is_number(&first[0]) && first[2].is_empty() && first[3..5].iter().all(|c| is_number(c));
    let said = |key: &str| rows.iter().find(|r| r[0] == key).and_then(|r| r.get(1)).filter(|v| !v.is_empty()).cloned();
    found.then(|| Head {
        delimiter: b',',
        data: lines[0].at,
        lines: 0,
        skip: 3,
        times: Times::Column { scale: 0 },
        names: vec![said("Source").unwrap_or_else(|| "CH1".into())],
        volts: vec![said("Vertical Units").map_or(1.0, |u| volts(&u))],
        writer: said("Model Number").unwrap_or_default(),
    })
}

/// The lines that may belong to the head, and the first row.
fn first_lines(bytes: &[u8]) -> Vec<Line<'_>> {
    let mut at = 0;
    let mut lines = Vec::new();
    for line in bytes.split_inclusive(|b| *b == b'\n').take(MOST_LINES) {
        // Text after a non-UTF-8 byte, such as a degree sign in Latin-1, is not needed.
        let text = std::str::from_utf8(line).unwrap_or_else(|e| std::str::from_utf8(&line[..e.valid_up_to()]).unwrap_or_default());
        lines.push(Line { text: text.trim_end_matches(['\n', '\r']), at });
        at += line.len();
    }
    lines
}

fn cells(line: &str, delimiter: u8) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).delimiter(delimiter).from_reader(line.as_bytes());
    let row = reader.records().next().and_then(Result::ok).unwrap_or_default();
    row.iter().map(number).collect()
}

fn is_comment(line: &str) -> bool {
    line.starts_with([';', '#'])
}

fn is_number(cell: &str) -> bool {
    let cell = cell.strip_prefix(['+', '-']).unwrap_or(cell);
    cell == "inf" || cell.starts_with(|c: char| c.is_ascii_digit() || c == '.') && cell.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Whether the line consists of two or more numbers and nothing else.
fn is_row(line: &str, delimiter: u8) -> bool {
    if is_comment(line) {
        return false;
    }
    let cells = cells(line, delimiter);
    let filled: Vec<&String> = cells.iter().filter(|c| !c.is_empty()).collect();
    filled.len() >= 2 && (is_number(filled[0]) || date_and_time(filled[0]).is_some()) && filled[1..].iter().all(|c| is_number(c))
}

/// The first row of a single column. It needs no delimiter, and the head gives the times.
fn single_column(lines: &[Line<'_>]) -> Option<(usize, u8)> {
    let first = lines.iter().position(|l| !is_comment(l.text) && is_number(l.text.trim().trim_end_matches(',').trim()))?;
    (first > 0).then_some((first, b','))
}

/// The titles of the columns, and their units where these are on a line of their own.
struct Titles {
    names: Vec<String>,
    units: Vec<String>,
    /// Names listed in a comment, without the time column.
    listed: Vec<String>,
    /// Number of columns in the rows.
    width: usize,
}

impl Titles {
    fn of(above: &[Vec<String>], comments: &[&str], skip: usize, width: usize) -> Self {
        let above = above.iter().map(|row| row.get(skip..).unwrap_or_default());
        let wide = |row: &&[String]| row.iter().filter(|c| !c.is_empty()).count() >= width.min(2);
        let mut last: Vec<&[String]> = above.rev().filter(wide).take(2).collect();
        // In a line of units the time column holds a unit too, not a title: otherwise channels called `A` or `V` would
        // be taken for units.
        let of_units = |row: &[String]| {
            let rest = row.iter().skip(usize::from(width > 1)).take(width.max(2) - 1);
            rest.clone().all(|c| is_unit(c)) && row.first().is_some_and(|c| width < 2 || is_unit(c) || is_unit_of_time(c))
        };
        let units = if last.first().is_some_and(|row| of_units(row)) { last.remove(0).to_vec() } else { Vec::new() };
        let names = last.first().map(|r| r.to_vec()).unwrap_or_default();
        let listed = comments.iter().find_map(|c| c.split_once("Channels (").and_then(|(_, rest)| rest.split_once("):")));
        let listed = listed.map(|(_, l)| l.split(',').map(|n| n.trim().to_owned()).collect()).unwrap_or_default();
        Self { names, units, listed, width }
    }

    /// Whether the first column numbers the rows and the second one holds their times.
    fn number_the_rows_beside_their_times(&self) -> bool {
        let [first, second, ..] = &self.names[..] else { return false };
        COUNTS.contains(&first.to_ascii_lowercase().as_str())
            && (is_bare_time(second) || time_scale(second).is_some() || self.units.get(1).is_some_and(|u| time_scale(u).is_some()))
    }

    /// How times are given; `cell` is the first cell of the first row.
    fn times(&self, above: &[Vec<String>], comments: &[&str], cell: &str) -> Result<Times, CaptureError> {
        if let Some(times) = self.start_and_increment() {
            return Ok(times);
        }
        let title = self.names.first().map_or("", String::as_str);
        let unit = self.units.first().map_or("", String::as_str);
        let rate = comments.iter().find_map(|c| c.split_once("Samplerate:")).and_then(|(_, r)| sample_rate(r.trim()));
        let sigrok = comments.iter().any(|c| c.contains("generated by libsigrok"));
        if let Some(times) = rate.filter(|_| sigrok).and_then(|hz| self.ticks(hz, title, unit, cell)) {
            return Ok(times);
        }
        if let Some(scale) = time_scale(unit).or_else(|| time_scale(title)) {
            return Ok(Times::Column { scale });
        }
        if is_bare_time(title) {
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
        rate.map(|hz| Times::Rate { hz }).ok_or_else(|| {
            let what = if title.is_empty() { "no title".into() } else { format!("the title `{title}`") };
            CaptureError::File(format!(
                "nothing says when its rows were taken: the first column has {what}; give it one such as `Time [s]`, or export with times"
            ))
        })
    }

    /// sigrok's tables count time in integers, in a unit that follows from the sample rate and is not always stated. Each
    /// sample adds the interval truncated to an integer: at 24 MHz 41 ns instead of 41.67. So the column only gives the
    /// number of the sample.
    fn ticks(&self, hz: u64, title: &str, unit: &str, cell: &str) -> Option<Times> {
        let untitled = title.is_empty() && unit.is_empty() && !self.listed.is_empty() && self.width == self.listed.len() + 1;
        let column = untitled || is_bare_time(title) || time_scale(unit).or_else(|| time_scale(title)).is_some();
        if !column || cell.is_empty() || !cell.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let scale = [3u32, 6, 9, 12, 15].into_iter().map(|e| 10u64.pow(e)).find(|scale| *scale >= hz)?;
        Some(Times::Ticks { step: i128::from(scale / hz), hz })
    }

    /// Rigol: numbered samples, with start and increment next to the titles.
    fn start_and_increment(&self) -> Option<Times> {
        let place = |title: &str| self.names.iter().position(|n| n.eq_ignore_ascii_case(title));
        let value = |at: usize| self.units.get(at).or_else(|| self.names.get(at + 1)).and_then(|v| picoseconds(v, 0));
        let (start, step) = (value(place("Start")?)?, value(place("Increment")?)?);
        (step > 0).then_some(Times::Numbered { start, step })
    }

    fn names(&self, columns: usize, has_time: bool) -> Vec<String> {
        let from = usize::from(has_time);
        // The first cell of a line of titles is not a number nor, without a time column, a unit. The other titles may be
        // 1 and 3, or A and V.
        let titled = self.names.first().is_some_and(|n| !is_number(n) && (has_time || !is_unit(n)));
        let named = |i: usize| {
            let listed = self.listed.get(i).filter(|_| self.listed.len() >= columns);
            let title = self.names.get(i + from).filter(|_| titled);
            listed.or(title).map(|n| without_unit(n)).filter(|n| !n.is_empty()).unwrap_or_else(|| format!("CH{}", i + 1))
        };
        (0..columns).map(named).collect()
    }

    /// Volts per unit of each column, from the line of units or from behind its title.
    fn volts(&self, columns: usize, has_time: bool) -> Vec<f64> {
        let from = usize::from(has_time);
        let behind = |name: &String| name.rfind(['(', '[']).map(|at| name[at..].to_owned());
        let unit = |i: usize| self.units.get(i + from).cloned().or_else(|| self.names.get(i + from).and_then(behind));
        (0..columns).map(|i| unit(i).map_or(1.0, |u| volts(&u))).collect()
    }
}

fn positive(start: i128, step: i128) -> Result<(i128, i128), CaptureError> {
    if step > 0 { Ok((start, step)) } else { Err(CaptureError::File("its samples are said to be no time apart".into())) }
}

/// Whether a cell is a unit of a column: `Volt`, `(V)`, `logic`. The values beside start and increment count too.
fn is_unit(cell: &str) -> bool {
    let bare = bare(cell);
    cell.is_empty()
        || is_number(cell)
        || matches!(bare.as_str(), "logic" | "amp" | "a" | "ma")
        || bare.split(' ').next().is_some_and(|u| volts_scale(u).is_some())
}

/// The unit without brackets, in lower case.
fn bare(unit: &str) -> String {
    unit.trim().trim_matches(['(', ')', '[', ']']).trim().to_lowercase()
}

/// Volts per unit: `(mV)`, `mV DC`; 1 for anything else.
fn volts(unit: &str) -> f64 {
    bare(unit).split(' ').next().and_then(volts_scale).unwrap_or(1.0)
}

fn volts_scale(unit: &str) -> Option<f64> {
    match unit {
        "v" | "volt" | "volts" => Some(1.0),
        "mv" | "millivolt" | "millivolts" => Some(1e-3),
        "uv" | "µv" | "μv" => Some(1e-6),
        "kv" => Some(1e3),
        _ => None,
    }
}

/// Whether a cell is only a unit of time, or says that the rows are numbered.
fn is_unit_of_time(cell: &str) -> bool {
    let bare = bare(cell);
    bare == "sequence" || UNITS.iter().any(|(u, _)| *u == bare)
}

/// Whether a title names a time without its unit; seconds are assumed then.
fn is_bare_time(title: &str) -> bool {
    matches!(title.to_ascii_lowercase().as_str(), "time" | "t" | "x" | "x-axis" | "timestamp" | "zeit")
}

/// The name of a column without its unit: `CH1(V)`, `Channel A [V]`.
fn without_unit(name: &str) -> String {
    let end = name.rfind(['(', '[']).filter(|at| *at > 0 && is_unit(name[*at..].trim()));
    name[..end.unwrap_or(name.len())].trim().to_owned()
}

/// The power of ten of a title that names a unit of time: `Time [s]`, `time (us)`, `t_ns`, `Second`, `in s`.
fn time_scale(title: &str) -> Option<i32> {
    let lower = title.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric() && c != 'µ' && c != 'μ').filter(|w| !w.is_empty()).collect();
    let (last, before) = words.split_last()?;
    let scale = UNITS.iter().find(|(u, _)| u == last).map(|(_, s)| *s)?;
    // A channel may be called `S`: a short unit alone needs its brackets.
    let told = !before.is_empty() || last.len() > 2 || title.starts_with(['(', '[']);
    told.then_some(scale)
}
