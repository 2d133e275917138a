//! Adam's Tables 1 and 2: response and periodic tests by kernel and space.

use crate::format::{NONE, count, share, us};
use crate::sheet::{Cell, Columns, Sheet};
use crate::words::{mean, min_max, preempt_rt, release, signed_us, space_name};
use rtscope_analysis::line_tests::{EdgeFigures, External, Group, LineTests};
use rtscope_record::{Nanos, Space, Test, Verdict};
use std::fmt::Write as _;

/// The note below the tables.
pub(crate) const NOTE: &str = "The share is of all stimuli: one that was not answered in time is not below. Where the histogram can't \
    decide, it is given as bounds. stdev and var (us²) are of both edges together unless an edge is named.";

/// A column that says where a group was measured. Values that all groups share are put into the title instead.
type Where = (&'static str, u8, fn(&Group) -> Cell<'_>);
const WHERE: [Where; 4] = [
    ("hardware", 3, |g| g.machine.as_str().into()),
    ("system", 6, |g| g.os.as_str().into()),
    ("load", 0, |g| g.load.as_str().into()),
    ("clock", 0, |g| Cell::clock(g.clock_words.as_str(), g.virtual_machine)),
];

/// The title with the values that `groups` share, and the columns in which they differ.
pub(super) fn places(title: &str, groups: &[&Group]) -> (String, Vec<&'static Where>) {
    let (mut title, mut differ) = (title.to_owned(), Vec::new());
    for place in &WHERE {
        let mut values: Vec<_> = groups.iter().map(|g| (place.2)(g).text).collect();
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

fn spread(e: &EdgeFigures) -> String {
    match (e.stddev, e.variance) {
        (Some(s), Some(v)) => format!("{}/{}", us(s), us(v / 1e3)),
        _ => NONE.into(),
    }
}

/// The period of a wave: two edges are half a period apart.
fn period(g: &Group) -> String {
    Nanos(g.interval.0.saturating_mul(2)).to_string()
}

/// A row of Table 2.
struct Edge<'a> {
    g: &'a Group,
    e: &'a EdgeFigures,
    other: Option<&'a EdgeFigures>,
}

/// Table 2: a row for each group of `test`, and with `edges` one for each edge; `None` without groups.
pub(crate) fn second(a: &LineTests, test: Test, edges: bool) -> Option<Sheet<'_>> {
    let groups: Vec<&Group> = a.groups.iter().filter(|g| g.test == test).collect();
    if groups.is_empty() {
        return None;
    }
    let any = |f: &dyn Fn(&Group) -> bool| groups.iter().any(|g| f(g));
    let (late, spurious) = (any(&|g| g.both.late > 0), any(&|g| g.both.spurious > 0));
    let external = any(&|g| g.external.is_some());
    let wave = test == Test::Periodic;
    let title = if wave { "Periodic tasks: jitter in us, early below zero" } else { "Response latency in us" };
    let (title, places) = places(title, &groups);
    let mut columns = Columns::new()
        .left("kernel", 0, |r: &Edge<'_>| release(r.g).into())
        .right("samples", 2, |r| count(r.e.samples).into())
        .left("space", 0, |r| space_name(r.g).into())
        .left("PREEMPT_RT", 2, |r| preempt_rt(r.g.kernel.role).into());
    for p in places {
        columns = columns.left(p.0, p.1, |r| (p.2)(r.g));
    }
    columns = columns
        .when(wave, |c| c.right("period", 3, |r| period(r.g).into()))
        .when(edges, |c| c.left("edge", 0, |r| r.e.edge.as_str().into()))
        .group(if external { "this instrument" } else { "" })
        .right(if wave { "min/max" } else { "min/max (wcrl)" }, 0, move |r| Cell::main(min_max(test, r.e)))
        .right("mean", 4, move |r| mean(test, r.e.mean).into())
        .right("stdev/var", 1, |r| spread(r.e).into());
    for (i, t) in a.thresholds.iter().enumerate() {
        columns = columns.right(format!("below {t}"), 1, move |r| r.e.shares.get(i).map_or_else(Cell::none, |s| share(s).into()));
    }
    let columns = columns
        .right("missed", 0, |r| Cell::trouble(r.e.missed))
        .when(late, |c| c.right("of them late", 3, |r| Cell::trouble(r.e.late)))
        .when(spurious, |c| c.right("spurious", 3, |r| Cell::trouble(r.e.spurious)))
        .group("the other instrument")
        .when(external, |c| {
            c.right("min/max", 0, move |r| r.other.map_or_else(Cell::none, |o| min_max(test, o).into())).right(
                "mean",
                1,
                move |r| r.other.map_or_else(Cell::none, |o| mean(test, o.mean).into()),
            )
        })
        .group("")
        .whole("verdict", 0, |r| Cell::verdict(r.g.verdict));
    let mut rows = Vec::new();
    for g in groups {
        rows.push(Edge { g, e: &g.both, other: g.external.as_ref().map(|e| &e.both) });
        let other = |e: &EdgeFigures| {
            let same = |x: &External| x.edges.iter().position(|o| o.edge == e.edge);
            g.external.as_ref().and_then(|x| Some(&x.edges[same(x)?]))
        };
        // With a single edge, the row for both edges is enough.
        rows.extend(g.edges.iter().filter(|_| edges && g.edges.len() > 1).map(|e| Edge { g, e, other: other(e) }));
    }
    Some(columns.sheet_of(rows).titled(title))
}

/// A row of Table 1: the groups measured in one place.
struct Place<'a> {
    g: &'a Group,
    periodic: Option<&'a Group>,
    response: Vec<Option<&'a Group>>,
}

impl Place<'_> {
    fn verdict(&self) -> Verdict {
        let all = self.response.iter().chain([&self.periodic]).flatten();
        all.map(|g| g.verdict).max().unwrap_or(Verdict::Invalid)
    }
}

const SPACES: [(Space, &str); 2] = [(Space::User, "response, user space"), (Space::Kernel, "response, kernel space")];

/// Table 1: a row for each kernel and load, with its periodic and response tasks next to each other.
pub(crate) fn first(a: &LineTests) -> Sheet<'_> {
    let groups: Vec<&Group> = a.groups.iter().collect();
    let (title, places) = places("Latency by hardware and kernel, us", &groups);
    let mut columns = Columns::new()
        .left("kernel", 0, |r: &Place<'_>| release(r.g).into())
        .left("PREEMPT_RT", 2, |r| preempt_rt(r.g.kernel.role).into());
    for p in places {
        columns = columns.left(p.0, p.1, |r| (p.2)(r.g));
    }
    let jitter = |g: &Group| format!("{} ({})", min_max(Test::Periodic, &g.both), space_name(g));
    columns = columns.when(groups.iter().any(|g| g.test == Test::Periodic), |c| {
        c.group("periodic tasks").right("period", 1, |r| r.periodic.map_or_else(Cell::none, |g| period(g).into())).right(
            "jitter",
            1,
            move |r| r.periodic.map_or_else(Cell::none, |g| jitter(g).into()),
        )
    });
    let spaces: Vec<(Space, &str)> =
        SPACES.into_iter().filter(|s| groups.iter().any(|g| g.test == Test::Response && g.space == s.0)).collect();
    for (i, (_, name)) in spaces.iter().copied().enumerate() {
        columns = columns
            .group(name)
            .right("min, max", 0, move |r| r.response.get(i).copied().flatten().map_or_else(Cell::none, |g| Cell::main(range(g))));
        for (n, t) in a.thresholds.iter().enumerate() {
            columns = columns.right(format!("below {t}"), 1, move |r| {
                let of = r.response.get(i).copied().flatten().and_then(|g| g.both.shares.get(n));
                of.map_or_else(Cell::none, |s| share(s).into())
            });
        }
    }
    let columns = columns.group("").whole("verdict", 0, |r| Cell::verdict(r.verdict()));
    let key = |g: &Group| {
        (g.machine.clone(), g.os.clone(), g.kernel.release.clone(), g.kernel.role, g.load.clone(), g.clock_words.clone())
    };
    let (mut seen, mut rows) = (Vec::new(), Vec::new());
    for g in &a.groups {
        let here = key(g);
        if seen.contains(&here) {
            continue;
        }
        let same: Vec<&Group> = a.groups.iter().filter(|o| key(o) == here).collect();
        seen.push(here);
        let of = |test: Test, space: Option<Space>| -> Vec<&Group> {
            same.iter().copied().filter(|g| g.test == test && space.is_none_or(|s| g.space == s)).collect()
        };
        let periodic = of(Test::Periodic, None);
        let response: Vec<Vec<&Group>> = spaces.iter().map(|s| of(Test::Response, Some(s.0))).collect();
        let lines = response.iter().map(Vec::len).chain([periodic.len()]).max().unwrap_or(0);
        for i in 0..lines {
            let response = response.iter().map(|all| all.get(i).copied()).collect();
            rows.push(Place { g, periodic: periodic.get(i).copied(), response });
        }
    }
    columns.sheet_of(rows).titled(title)
}

/// Minimum and maximum with the handler: "49.00, 147.00 (hardirq)".
fn range(g: &Group) -> String {
    let how = if g.device.is_empty() { String::new() } else { format!(" ({})", crate::properties::handler(&g.device)) };
    let (min, max) = (signed_us(Test::Response, g.both.min), signed_us(Test::Response, g.both.max));
    format!("{min}, {max}{how}")
}
