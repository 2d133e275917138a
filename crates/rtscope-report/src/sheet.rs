//! The papers' tables as sheets of cells, for the terminal and the page alike.

mod by_load;

pub(crate) use by_load::{BY_LOAD_NOTE, by_load};

use crate::facts::handler;
use crate::format::{NONE, count, share, us, us_f64};
use crate::table::{Paint, verdict_paint};
use rtscope_analysis::adam::{Adam, EdgeFigures, External, Group};
use rtscope_analysis::versus::Role;
use rtscope_record::{Nanos, Space, Test, Verdict};
use std::fmt::Write as _;

/// A column of a sheet.
pub(crate) struct Column {
    /// Head that it shares with its neighbours; empty for none.
    pub(crate) group: &'static str,
    pub(crate) head: String,
    pub(crate) right: bool,
    /// As a grid's: 0 stays always.
    pub(crate) expendable: u8,
}

/// A cell of a sheet.
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) paint: Option<Paint>,
    /// It is a verdict.
    pub(crate) verdict: Option<Verdict>,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), paint: None, verdict: None }
    }
}

impl Cell {
    fn painted(text: impl Into<String>, paint: Paint) -> Self {
        Self { paint: Some(paint), ..text.into().into() }
    }

    fn verdict(v: Verdict) -> Self {
        Self { verdict: Some(v), ..Self::painted(v.as_str(), verdict_paint(v)) }
    }

    /// A number of what went wrong: none is nothing to see.
    fn trouble(n: u64) -> Self {
        if n > 0 { Self::painted(count(n), Paint::Doubtful) } else { count(n).into() }
    }
}

/// A table.
pub(crate) struct Sheet {
    pub(crate) title: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

impl Sheet {
    fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), columns: Vec::new(), rows: Vec::new() }
    }

    fn column(mut self, group: &'static str, head: impl Into<String>, right: bool, expendable: u8) -> Self {
        self.columns.push(Column { group, head: head.into(), right, expendable });
        self
    }

    fn left(self, head: &str, expendable: u8) -> Self {
        self.column("", head, false, expendable)
    }

    fn right(self, head: &str, expendable: u8) -> Self {
        self.column("", head, true, expendable)
    }
}

/// Whether a kernel is PREEMPT_RT, as the paper's column has it.
pub(crate) fn preempt_rt(role: Role) -> &'static str {
    match role {
        Role::Rt => "yes",
        Role::Stock => "no",
        Role::Unknown => "unknown",
    }
}

fn release(g: &Group) -> &str {
    if g.kernel.release.is_empty() { "unknown" } else { &g.kernel.release }
}

/// What says where a group was measured. What all groups share stands in the title, the rest in columns of its own.
type Where = (&'static str, u8, fn(&Group) -> Cell);
const WHERE: [Where; 4] =
    [
        ("hardware", 3, |g| g.machine.as_str().into()),
        ("system", 6, |g| g.os.as_str().into()),
        ("load", 0, |g| g.load.as_str().into()),
        ("clock", 0, |g| {
            if g.virtual_machine { Cell::painted(&g.clock_words, Paint::Doubtful) } else { g.clock_words.as_str().into() }
        }),
    ];

/// The title with what `groups` share, and what they differ in.
fn places(title: &str, groups: &[&Group]) -> (String, Vec<&'static Where>) {
    let (mut title, mut differ) = (title.to_owned(), Vec::new());
    for place in &WHERE {
        let mut values: Vec<String> = groups.iter().map(|g| (place.2)(g).text).collect();
        values.sort();
        values.dedup();
        match values.as_slice() {
            [one] if one.is_empty() => {}
            [one] => {
                let name = if matches!(place.0, "load" | "clock") { format!("{} ", place.0) } else { String::new() };
                let _ = write!(title, " · {name}{one}");
            }
            _ => differ.push(place),
        }
    }
    (title, differ)
}

/// User space, or kernel space with its handler.
pub(crate) fn space_name(g: &Group) -> String {
    match handler(&g.device) {
        "" => g.space.to_string(),
        how => format!("{}, {how}", g.space),
    }
}

/// us of a latency, or with its sign of a jitter.
pub(crate) fn signed_us(test: Test, ns: Option<i64>) -> String {
    let Some(ns) = ns else { return NONE.into() };
    let text = us(ns.unsigned_abs() as f64);
    match ns.signum() {
        -1 => format!("-{text}"),
        1 if test == Test::Periodic => format!("+{text}"),
        _ => text,
    }
}

/// Minimum and maximum as the paper writes them: "49.00/147.00".
pub(crate) fn min_max(test: Test, e: &EdgeFigures) -> String {
    format!("{}/{}", signed_us(test, e.min), signed_us(test, e.max))
}

fn spread(e: &EdgeFigures) -> String {
    match (e.stddev, e.variance) {
        (Some(s), Some(v)) => format!("{}/{}", us(s), us(v / 1e3)),
        _ => NONE.into(),
    }
}

/// Mean of a latency, or with its sign of a jitter, us.
pub(crate) fn mean(test: Test, mean: Option<f64>) -> String {
    if test == Test::Periodic { mean.map_or_else(|| NONE.into(), |m| format!("{:+.2}", m / 1e3)) } else { us_f64(mean) }
}

/// "below 160 us".
pub(crate) fn below(threshold: Nanos) -> String {
    format!("below {threshold}")
}

/// Table 2: a row for each group of `test`, and with `edges` one for each edge; `None` where there is none.
pub(crate) fn second(a: &Adam, test: Test, edges: bool) -> Option<Sheet> {
    let groups: Vec<&Group> = a.groups.iter().filter(|g| g.test == test).collect();
    if groups.is_empty() {
        return None;
    }
    let any = |f: &dyn Fn(&Group) -> bool| groups.iter().any(|g| f(g));
    let (late, spurious) = (any(&|g| g.both.late > 0), any(&|g| g.both.spurious > 0));
    let external = any(&|g| g.external.is_some());
    let title = match test {
        Test::Periodic => "Periodic tasks: jitter in us, early below zero",
        _ => "Response latency in us",
    };
    let (title, places) = places(title, &groups);
    let mut sheet = Sheet::new(title).left("kernel", 0).right("samples", 2).left("space", 0).left("PREEMPT_RT", 0);
    for p in &places {
        sheet = sheet.left(p.0, p.1);
    }
    if test == Test::Periodic {
        sheet = sheet.right("period", 3);
    }
    if edges {
        sheet = sheet.left("edge", 0);
    }
    let (own, beside) = if external { ("this instrument", "the other instrument") } else { ("", "") };
    let worst = if test == Test::Periodic { "min/max" } else { "min/max (wcrl)" };
    sheet = sheet.column(own, worst, true, 0).column(own, "mean", true, 4).column(own, "stdev/var", true, 1);
    for t in &a.thresholds {
        sheet = sheet.column(own, below(*t), true, 0);
    }
    sheet = sheet.column(own, "missed", true, 0);
    for (shown, head) in [(late, "of them late"), (spurious, "spurious")] {
        if shown {
            sheet = sheet.column(own, head, true, 0);
        }
    }
    if external {
        sheet = sheet.column(beside, "min/max", true, 0).column(beside, "mean", true, 1);
    }
    sheet = sheet.left("verdict", 0);
    for g in groups {
        let mut figures = vec![(&g.both, g.external.as_ref().map(|e| &e.both))];
        if edges {
            let other = |e: &EdgeFigures| {
                let same = |x: &External| x.edges.iter().position(|o| o.edge == e.edge);
                g.external.as_ref().and_then(|x| Some(&x.edges[same(x)?]))
            };
            // One edge alone is both.
            figures.extend(g.edges.iter().filter(|_| g.edges.len() > 1).map(|e| (e, other(e))));
        }
        for (e, other) in figures {
            let mut row: Vec<Cell> =
                vec![release(g).into(), count(e.samples).into(), space_name(g).into(), preempt_rt(g.kernel.role).into()];
            row.extend(places.iter().map(|p| (p.2)(g)));
            if test == Test::Periodic {
                row.push(Nanos(g.interval.0.saturating_mul(2)).to_string().into());
            }
            if edges {
                row.push(e.edge.as_str().into());
            }
            row.extend([Cell::painted(min_max(test, e), Paint::Bold), mean(test, e.mean).into(), spread(e).into()]);
            row.extend(e.shares.iter().map(|s| share(s).into()));
            row.push(Cell::trouble(e.missed));
            row.extend([(late, e.late), (spurious, e.spurious)].into_iter().filter(|s| s.0).map(|s| Cell::trouble(s.1)));
            if external {
                row.push(other.map_or_else(|| NONE.into(), |o| min_max(test, o)).into());
                row.push(other.map_or_else(|| NONE.into(), |o| mean(test, o.mean)).into());
            }
            row.push(Cell::verdict(g.verdict));
            sheet.rows.push(row);
        }
    }
    Some(sheet)
}

/// Table 1: a row for each kernel and load, with its periodic and response tasks beside each other.
pub(crate) fn first(a: &Adam) -> Sheet {
    let groups: Vec<&Group> = a.groups.iter().collect();
    let (title, places) = places("Latency by hardware and kernel, us", &groups);
    let mut sheet = Sheet::new(title).left("kernel", 0).left("PREEMPT_RT", 0);
    for p in &places {
        sheet = sheet.left(p.0, p.1);
    }
    let waves = groups.iter().any(|g| g.test == Test::Periodic);
    if waves {
        sheet = sheet.column("periodic tasks", "period", true, 1).column("periodic tasks", "jitter", true, 1);
    }
    let spaces: Vec<(Space, &str)> =
        SPACES.into_iter().filter(|s| groups.iter().any(|g| g.test == Test::Response && g.space == s.0)).collect();
    for space in &spaces {
        sheet = sheet.column(space.1, "min, max", true, 0);
        for t in &a.thresholds {
            sheet = sheet.column(space.1, below(*t), true, 0);
        }
    }
    sheet = sheet.left("verdict", 0);
    let place = |g: &Group| {
        (g.machine.clone(), g.os.clone(), g.kernel.release.clone(), g.kernel.role, g.load.clone(), g.clock_words.clone())
    };
    let mut seen = Vec::new();
    for g in &a.groups {
        let here = place(g);
        if seen.contains(&here) {
            continue;
        }
        let same: Vec<&Group> = a.groups.iter().filter(|o| place(o) == here).collect();
        seen.push(here);
        let of = |test: Test, space: Option<Space>| -> Vec<&Group> {
            same.iter().copied().filter(|g| g.test == test && space.is_none_or(|s| g.space == s)).collect()
        };
        let periodic = of(Test::Periodic, None);
        let response: Vec<Vec<&Group>> = spaces.iter().map(|s| of(Test::Response, Some(s.0))).collect();
        let lines = response.iter().map(Vec::len).chain([periodic.len()]).max().unwrap_or(0);
        for i in 0..lines {
            let mut row: Vec<Cell> = vec![release(g).into(), preempt_rt(g.kernel.role).into()];
            row.extend(places.iter().map(|p| (p.2)(g)));
            let shown: Vec<&Group> =
                [periodic.get(i)].into_iter().chain(response.iter().map(|r| r.get(i))).flatten().copied().collect();
            if waves {
                row.extend(match periodic.get(i) {
                    Some(p) => [
                        Nanos(p.interval.0.saturating_mul(2)).to_string().into(),
                        format!("{} ({})", min_max(Test::Periodic, &p.both), space_name(p)).into(),
                    ],
                    None => [NONE.into(), NONE.into()],
                });
            }
            for r in &response {
                match r.get(i) {
                    Some(r) => {
                        let how = if r.device.is_empty() { String::new() } else { format!(" ({})", handler(&r.device)) };
                        let (min, max) = (signed_us(Test::Response, r.both.min), signed_us(Test::Response, r.both.max));
                        row.push(Cell::painted(format!("{min}, {max}{how}"), Paint::Bold));
                        row.extend(r.both.shares.iter().map(|s| share(s).into()));
                    }
                    None => row.extend((0..=a.thresholds.len()).map(|_| NONE.into())),
                }
            }
            row.push(Cell::verdict(shown.iter().map(|g| g.verdict).max().unwrap_or(Verdict::Invalid)));
            sheet.rows.push(row);
        }
    }
    sheet
}

const SPACES: [(Space, &str); 2] = [(Space::User, "response, user space"), (Space::Kernel, "response, kernel space")];

/// What the tables do not say by themselves.
pub(crate) const NOTE: &str = "The share is of all stimuli: one that was not answered in time is not below. Where the histogram can't \
    decide, it is given as bounds. stdev and var (us²) are of both edges together unless an edge is named.";
